"""Measurements with NVIDIA's tools and with our tracer. See gpukit.step."""

import csv
import gzip
import io
import json
import re
import signal
import subprocess

from . import places
from .children import die_with_parent
from .steps import COHORT, DEVICE, TRACER_TRIED, TRACER_WORKS, TRACES, WORK, StepError, cohort, of_each_kind, planned, profile

# Not every chip has all of them.
COUNTERS = ["dram__bytes_read.sum", "dram__bytes_write.sum", "lts__t_bytes.sum", "sm__inst_executed_pipe_tensor.sum",
            "sm__inst_executed_pipe_fma.sum", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
            "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active", "sm__inst_issued.avg.pct_of_peak_sustained_active",
            "sm__warps_active.avg.pct_of_peak_sustained_active", "gpu__time_duration.sum"]
UNKNOWN_COUNTER = re.compile(r"(?:[Ff]ailed to find metric|[Uu]nknown metric)\W+([\w.]+)")


def ran_under(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, errors="replace", check=False,
                          preexec_fn=die_with_parent)


def function_name(kernel):
    """Of "void a::gemm<int, (bool)1>(float *)": gemm, as Nsight Compute names functions."""
    bare, depth = "", 0
    for letter in kernel.replace("(anonymous namespace)::", ""):
        if letter == "(" and depth == 0:
            break
        depth += {"<": 1, ">": -1}.get(letter, 0)
        bare += letter if depth == 0 and letter != ">" else ""
    return bare.split()[-1].rsplit("::", 1)[-1] if bare.split() else kernel


def sizes(text):
    """Of a grid or a block, as Nsight Compute and traces write it: "(8, 1, 1)", "[8,1,1]", [8, 1, 1]."""
    return tuple(int(number) for number in re.findall(r"\d+", str(text)))


def costly_kernels(file):
    """The distinct kernels of a profile, each (function, grid, block), those that took most time in all first; and their
    time in nanoseconds."""
    spent = {}
    with gzip.open(file, "rt") as text:
        for event in json.load(text)["traceEvents"]:
            if event.get("ph") == "X" and event.get("cat") == "kernel":
                key = (function_name(event["name"]), sizes(event["args"]["grid"]), sizes(event["args"]["block"]))
                spent[key] = spent.get(key, 0) + round(event["dur"] * 1000)
    return sorted(spent.items(), key=lambda entry: (-entry[1], entry[0]))


def table_of(text):
    """The table that ncu printed after what the program printed: its units and its rows. Without a kernel it prints none."""
    lines = text.splitlines()
    header = next((place for place, line in enumerate(lines) if line.startswith('"ID"')), None)
    if header is None:
        if "No kernels were profiled" in text:
            return {}, []
        raise StepError("ncu printed no table")
    rows = list(csv.DictReader(io.StringIO("\n".join(line for line in lines[header:] if line.startswith('"')))))
    return (rows[0], rows[1:]) if rows else ({}, [])


def counter_value(text):
    """A number, written with commas between thousands; None where the chip does not count it."""
    try:
        return float((text or "").replace(",", ""))
    except ValueError:
        return None


def ncu(program, wanted, *filters):
    """Units and rows of the counters of a program's kernels. Counters that the chip does not have are taken out of `wanted`.
    Clocks are left as they are: locking them is the machine's owner's business. Caches are flushed before each kernel."""
    while True:
        ran = ran_under(places.tool("ncu"), "--csv", "--page", "raw", "--print-units", "base", "--metrics", ",".join(wanted),
                        "--clock-control", "none", "--target-processes", "all", *filters, *program)
        said = ran.stdout + ran.stderr
        unknown = [name for name in UNKNOWN_COUNTER.findall(said) if name in wanted]
        if not unknown or len(wanted) == len(unknown):
            break
        wanted[:] = [name for name in wanted if name not in unknown]
    if "ERR_NVGPUCTRPERM" in said:
        raise StepError("the driver lets only administrators read counters (ERR_NVGPUCTRPERM)", 4)
    if "LibraryNotLoaded" in said:
        raise StepError("Nsight Compute cannot start its profiler here (LibraryNotLoaded)", 4)
    if ran.returncode != 0:
        raise StepError(f"ncu: {(ran.stderr or ran.stdout).strip()[-1500:]}")
    return table_of(ran.stdout)


def counters(arguments):
    """Nsight Compute's counters of the kernels of a network's op table, each function and geometry once, as many functions as
    `most`, those that take most time first. Its launches are told apart by geometry alone, so that a second run takes up
    functions that share one with another."""
    kernels = costly_kernels(profile(arguments.network, arguments.minibatch))
    functions = list(dict.fromkeys(key[0] for key, _ in kernels))[: arguments.most]
    # Without CUPTI: only one tool can hold a process.
    program = [COHORT, "profile", arguments.network, "--minibatch", arguments.minibatch, "--device", DEVICE, "--no-kernels",
               "--quiet", "-f", "-o", WORK / "counters.trace.json.gz"]
    wanted, found, units = list(COUNTERS), {}, {}
    if not kernels:
        raise StepError(f"the profile of {arguments.network} has no kernels, so none can be chosen", 4)

    def take(*filters):
        of, rows = ncu(program, wanted, *filters)
        units.update({counter: of.get(counter) for counter in wanted if of.get(counter)})
        for row in rows:
            key = (function_name(row["Kernel Name"]), sizes(row["Grid Size"]), sizes(row["Block Size"]))
            found.setdefault(key, {"name": row["Kernel Name"], "grid": key[1], "block": key[2],
                                   **{counter: counter_value(row.get(counter)) for counter in wanted}})

    take("--kernel-name", f"regex:^({'|'.join(map(re.escape, functions))})$", "--filter-mode", "per-launch-config", "--launch-count", "1")
    missed = [function for function in functions if function not in {key[0] for key in found}]
    if missed:
        take("--kernel-id", f"::regex:^({'|'.join(map(re.escape, missed))})$:1")
    counted = sum(time for key, time in kernels if key in found)
    return {"network": arguments.network, "minibatch": arguments.minibatch, "units": units, "kernels": list(found.values()),
            "share_of_kernel_time": counted / max(1, sum(time for _, time in kernels)),
            "not_counted": [{"function": key[0], "grid": key[1], "block": key[2], "ns": time}
                            for key, time in kernels if key not in found]}


def sanitizer(arguments):
    """One of NVIDIA's memory checks on short runs of each kind of plan, in one process. Fails where it finds something."""
    ranked, files = planned("sanitizer", profile(arguments.network, 1), 2)
    chosen = of_each_kind(ranked, files, len(files))
    beside = ["--beside", *[file for _, file in chosen[1:]]] if len(chosen) > 1 else []
    # Without CUPTI: only one tool can hold a process.
    ran = ran_under(places.tool("compute-sanitizer"), "--tool", arguments.check, "--error-exitcode", "86", COHORT, "run", chosen[0][1],
                    "-f", "--quiet", "--no-kernels", "--device", DEVICE, "--blocks", "1", "--block-ms", "1", "--iterations", "1",
                    "-o", WORK / "sanitizer.json.gz", *beside)
    if "Device not supported" in ran.stdout + ran.stderr:
        raise StepError(f"{arguments.check}: this device is not supported here", 4)
    if ran.returncode == 86:
        raise StepError(f"{arguments.check}: {ran.stdout.strip()[-1500:]}")
    if ran.returncode != 0:
        raise StepError(f"{arguments.check}: {(ran.stderr or ran.stdout).strip()[-1500:]}")
    summary = [line.removeprefix("========= ") for line in ran.stdout.splitlines() if "SUMMARY" in line]
    if not summary:
        raise StepError(f"{arguments.check} printed no summary, so nothing was checked: {ran.stdout.strip()[-500:]}")
    return {"check": arguments.check, "network": arguments.network, "plans": [predicted.get("name") for predicted, _ in chosen],
            "summary": summary[-1]}


def objects_in(text):
    """JSON objects that were written one behind the other."""
    found, place = [], 0
    while place < len(text.rstrip()):
        value, place = json.JSONDecoder().raw_decode(text, place)
        found.append(value)
        place += len(text[place:]) - len(text[place:].lstrip())
    return found


def overhead(arguments):
    """How much our tracer slows a step: in the process that runs the plan, and injected into one. Each repetition."""
    _, files = planned("overhead", profile(arguments.network, arguments.minibatch), arguments.count)
    run = ["run", files[0], "-f", "--json", "--device", DEVICE, "--blocks", 5, "--block-ms", 50]
    inside = cohort(*run, "--iterations", 50, "-o", WORK / "overhead.json.gz")
    # What the program prints, once untraced and once traced, is kept apart from what the tracer says of it.
    printed = WORK / "overhead.printed"
    printed.unlink(missing_ok=True)
    words = ["sh", "-c", 'file=$1; shift; exec "$@" >>"$file"', "sh", printed, COHORT, *run, "--no-kernels",
             "-o", WORK / "injected.json.gz"]
    injected = cohort("profile", "--twice", "--json", "-f", "-o", WORK / "overhead.trace.json.gz", "--", *words)
    steps = objects_in(printed.read_text() if printed.exists() else "")
    return {"network": arguments.network, "minibatch": arguments.minibatch, "members": arguments.count, "in_process": inside,
            "injected": {**injected, **dict(zip(("run_untraced", "run_traced"), steps))}}


def tracer(arguments):
    """Whether our tracer records kernels here, before every profile depends on it. Without, profiles have times alone. Never
    fails: what is right or wrong does not depend on it."""
    TRACER_TRIED.write_text("")
    TRACER_WORKS.unlink(missing_ok=True)
    file = WORK / "tracer.trace.json.gz"
    try:
        cohort("profile", arguments.network, "--no-fused", "--device", DEVICE, "--quiet", "-f", "-o", file)
    except StepError as error:
        return {"works": False, "reason": str(error)}
    with gzip.open(file, "rt") as text:
        content = json.load(text)
    kernels = sum(event.get("cat") == "kernel" for event in content["traceEvents"])
    if kernels:
        TRACER_WORKS.write_text("")
    reason = content.get("cohort", {}).get("settings", {}).get("kernels not recorded")
    return {"works": kernels > 0, "kernels": kernels, **({"reason": reason} if reason else {})}


def crash(arguments):
    """A traced program that is ended by a signal in the middle of its steps: the trace is whole as far as it goes, and says that
    it has no end."""
    _, files = planned("crash", profile(arguments.network, arguments.minibatch), arguments.count)
    seconds = 8  # a start takes half of them
    ran = ran_under(COHORT, "profile", "--json", "-f", "-o", WORK / "crash.trace.json.gz", "--", "timeout", "--preserve-status",
                    "--signal", "SEGV", seconds, COHORT, "run", files[0], "-f", "--quiet", "--no-kernels", "--device", DEVICE,
                    "--blocks", 1000, "--block-ms", 50, "-o", WORK / "crash.measured.json.gz")
    ended_so = 128 + signal.SIGSEGV
    if ran.returncode != ended_so:
        raise StepError(f"exit code {ran.returncode}, not that of the program, {ended_so}: {ran.stderr.strip()[-1500:]}",
                        4 if ran.returncode == 4 else 1)
    told = json.loads(ran.stdout)
    if told["complete"] or told["kernels"] == 0:
        raise StepError("the trace of a program that crashed has no kernels, or claims to be complete", result=told)
    return {"network": arguments.network, **told}


def beside(arguments):
    """The ops that take most of a network's time, beside themselves, each other and probes of known demand."""
    out = TRACES / f"{arguments.network}-b{arguments.minibatch}-beside{'-again' if arguments.again else ''}.trace.json.gz"
    ran = cohort("profile", arguments.network, "--minibatch", arguments.minibatch, "--device", DEVICE, "--beside", "--no-fused",
                 "-f", "--json", "-o", out)
    return {"network": arguments.network, "minibatch": arguments.minibatch, "trace": out.name, "bytes": out.stat().st_size, **ran}
