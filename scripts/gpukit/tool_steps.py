"""Measurements with NVIDIA's tools and with our tracer. See gpukit.step."""

import csv
import io
import re
import subprocess

from . import places
from .children import die_with_parent
from .steps import COHORT, DEVICE, TRACES, WORK, StepError, cohort, planned, profile

# Not every chip has all of them.
COUNTERS = ["dram__bytes_read.sum", "dram__bytes_write.sum", "lts__t_bytes.sum", "sm__inst_executed_pipe_tensor.sum",
            "sm__inst_executed_pipe_fma.sum", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
            "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active", "sm__inst_issued.avg.pct_of_peak_sustained_active",
            "sm__warps_active.avg.pct_of_peak_sustained_active", "gpu__time_duration.sum"]
UNKNOWN_COUNTER = re.compile(r"(?:[Ff]ailed to find metric|[Uu]nknown metric)\W+([\w.]+)")


def run_of(file, output):
    """A short run of a plan, without CUPTI: only one tool can hold a process."""
    return [COHORT, "run", str(file), "-f", "--quiet", "--no-kernels", "--device", DEVICE, "--blocks", "1", "--block-ms", "1",
            "--iterations", "1", "-o", str(WORK / output)]


def ran_under(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, errors="replace", check=False,
                          preexec_fn=die_with_parent)


def counters(arguments):
    """Nsight Compute's counters of the kernels of one plan's first step, each distinct kernel once. Clocks are left as they
    are: locking them is the machine's owner's business. Caches are flushed before each kernel."""
    name = f"counters-{arguments.network}"
    _, files = planned(name, profile(arguments.network, arguments.minibatch), 4)
    wanted = list(COUNTERS)
    while True:
        ran = ran_under(places.tool("ncu"), "--csv", "--page", "raw", "--metrics", ",".join(wanted), "--clock-control", "none",
                        "--launch-count", "200", "--target-processes", "all", *run_of(files[0], "counters.json.gz"))
        unknown = [name for name in UNKNOWN_COUNTER.findall(ran.stdout + ran.stderr) if name in wanted]
        if not unknown or len(wanted) == len(unknown):
            break
        wanted = [name for name in wanted if name not in unknown]
    if "ERR_NVGPUCTRPERM" in ran.stdout + ran.stderr:
        raise StepError("the driver lets only administrators read counters (ERR_NVGPUCTRPERM)", 4)
    if "LibraryNotLoaded" in ran.stdout + ran.stderr:
        raise StepError("Nsight Compute cannot start its profiler here (LibraryNotLoaded)", 4)
    if ran.returncode != 0:
        raise StepError(f"ncu: {(ran.stderr or ran.stdout).strip()[-1500:]}")
    lines = ran.stdout.splitlines()
    header = next((place for place, line in enumerate(lines) if line.startswith('"ID"')), None)
    if header is None:
        raise StepError("ncu printed no table")
    rows = list(csv.DictReader(io.StringIO("\n".join(lines[header:]))))
    kernels = {}
    for row in rows[1:]:  # the first holds units
        key = (row.get("Kernel Name"), row.get("Grid Size"), row.get("Block Size"))
        kernels.setdefault(key, {counter: row.get(counter) for counter in wanted})
    return {"network": arguments.network, "units": {counter: rows[0].get(counter) for counter in wanted} if rows else {},
            "kernels": [{"name": key[0], "grid": key[1], "block": key[2], **values} for key, values in kernels.items()]}


def sanitizer(arguments):
    """NVIDIA's memory checks on short runs of each kind of plan. Fails where one finds something."""
    _, files = planned("sanitizer", profile(arguments.network, 1), 2)
    found = []
    for check in ("memcheck", "racecheck"):
        ran = ran_under(places.tool("compute-sanitizer"), "--tool", check, "--error-exitcode", "86",
                        *run_of(files[0], "sanitizer.json.gz"))
        if "Device not supported" in ran.stdout + ran.stderr:
            raise StepError(f"{check}: this device is not supported here", 4)
        if ran.returncode == 86:
            raise StepError(f"{check}: {ran.stdout.strip()[-1500:]}")
        if ran.returncode != 0:
            raise StepError(f"{check}: {(ran.stderr or ran.stdout).strip()[-1500:]}")
        found.append({"check": check, "summary": ran.stdout.strip().splitlines()[-1:]})
    return {"checks": found}


def overhead(arguments):
    """How much our tracer slows a step: in the process that runs the plan, and injected into one. Each repetition."""
    _, files = planned("overhead", profile(arguments.network, arguments.minibatch), arguments.count)
    run = ["run", files[0], "-f", "--json", "--device", DEVICE, "--blocks", 5, "--block-ms", 50]
    inside = cohort(*run, "--iterations", 50, "-o", WORK / "overhead.json.gz")
    # What the traced program prints is not ours.
    words = ["sh", "-c", 'exec "$@" >/dev/null', "sh", COHORT, *run, "--no-kernels", "-o", WORK / "injected.json.gz"]
    injected = cohort("profile", "--twice", "--json", "-f", "-o", WORK / "overhead.trace.json.gz", "--", *words)
    return {"network": arguments.network, "minibatch": arguments.minibatch, "members": arguments.count, "in_process": inside,
            "injected": injected}


def beside(arguments):
    """The ops that take most of a network's time, beside themselves, each other and probes of known demand."""
    out = TRACES / f"{arguments.network}-b{arguments.minibatch}-beside.trace.json.gz"
    ran = cohort("profile", arguments.network, "--minibatch", arguments.minibatch, "--device", DEVICE, "--beside", "--no-fused",
                 "-f", "--json", "-o", out)
    return {"network": arguments.network, "minibatch": arguments.minibatch, "trace": out.name, "bytes": out.stat().st_size, **ran}
