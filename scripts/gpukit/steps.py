"""What single measurements do: each is a command that prints one JSON object. Started by the runner as
`python3 -m gpukit.steps NAME ...`, with cohort, the device and the folders in the environment."""

import argparse
import array
import ast
import csv
import io
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys

from . import places

COHORT = os.environ.get("GPUKIT_COHORT", "cohort")
DEVICE = os.environ.get("GPUKIT_DEVICE", "cuda:0")
WORK = pathlib.Path(os.environ.get("GPUKIT_WORK", "."))
TRACES = pathlib.Path(os.environ.get("GPUKIT_TRACES", "."))
# Strategies agree with the serial run of each member within this, of the largest value of the output (float32).
TOLERANCE = 2e-4


class StepError(Exception):
    def __init__(self, message, code=1):
        super().__init__(message)
        self.code = code


def cohort(*arguments):
    """Runs cohort; its JSON where --json is among the arguments. Its exit code is passed on."""
    try:
        ran = subprocess.run([COHORT, *map(str, arguments)], capture_output=True, text=True, check=False)
    except OSError as error:
        raise StepError(f"{COHORT} does not start: {error.strerror}") from error
    if ran.returncode != 0:
        raise StepError(f"cohort {' '.join(map(str, arguments))}: {ran.stderr.strip()[-1500:]}", ran.returncode)
    return json.loads(ran.stdout) if "--json" in arguments else ran.stdout


def profile(network, minibatch, settings=(), data=None):
    """The profile of a network, recorded on first use. Kept among the results."""
    label = "".join("-" + text.replace("=", "") for text in settings) + ("-data" if data else "")
    file = TRACES / f"{network}-b{minibatch}{label}.trace.json.gz"
    if not file.exists():
        extra = [word for text in settings for word in ("--set", text)] + (["--data", data] if data else [])
        cohort("profile", network, "--minibatch", minibatch, "--device", DEVICE, *extra, "-o", file)
    return file


def kind_of(plan):
    """What sort of plan a candidate is, as far as the choice between kinds goes."""
    strategies = tuple(sorted({group["strategy"] for group in plan["groups"]}))
    return (plan["streams"] > 1, strategies, plan.get("launch"))


def images():
    """A folder of JPEGs, made once."""
    folder = WORK / "images"
    if not folder.exists():
        cohort("dataset", "synth", folder, "--classes", 4, "--images-per-class", 64)
    return folder


def planned(name, profile_file, count, options=(), members=None):
    """Plans for `count` copies, or for the members of a file: the table, and a folder of one file a rank."""
    folder = WORK / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    who = ["--members", members] if members else ["-n", count]
    profiles = profile_file if isinstance(profile_file, list) else [profile_file]
    table = cohort("plan", *profiles, *who, *options, "-f", "--json", "-o", folder / "best.plan.json", "--candidates", folder)
    files = [file for file in sorted(folder.glob("*.plan.json")) if file.name != "best.plan.json"]
    return table["ranked"], files or [folder / "best.plan.json"]


def run_kinds(name, ranked, files, most, blocks):
    """Runs the best plan of each kind, each interleaved with its baseline. `run` gives every repetition."""
    rows, kinds = [], set()
    for place, file in enumerate(files):
        plan = json.loads(file.read_text())
        if kind_of(plan) in kinds or len(rows) >= most:
            continue
        kinds.add(kind_of(plan))
        plan.pop("resolved", None)  # follows from the profile, and is long
        ran = cohort("run", file, "-f", "--json", "--device", DEVICE, "--blocks", blocks, "--block-ms", 50, "--iterations", 1,
                     "-o", WORK / f"{name}.measured.json.gz")
        predicted = ranked[place] if place < len(ranked) else {}
        rows.append({"plan": predicted.get("name"), "predicted_speedup": predicted.get("predicted_speedup"),
                     "predicted_step_ns": predicted.get("step_ns"), "measured": ran, "plan_file": plan})
    return rows


def wall(arguments):
    """Every kind of plan for N copies, measured in turn with its baseline; raw repetitions."""
    name = f"{arguments.network}-b{arguments.minibatch}-n{arguments.count}" + ("-" + arguments.input if arguments.input else "")
    data = images() if arguments.input == "jpeg" else None
    file = profile(arguments.network, arguments.minibatch, arguments.set, data)
    options = ["--data", data] if data else []
    ranked, files = planned(name, file, arguments.count, options)
    return {"network": arguments.network, "set": arguments.set, "minibatch": arguments.minibatch, "members": arguments.count,
            "input": arguments.input or "on the device", "profile": file.name,
            "plans": run_kinds(name, ranked, files, arguments.most, arguments.blocks)}


def mixed(arguments):
    """Members that differ: several networks in one model batch."""
    files = [profile(network, arguments.minibatch) for network in arguments.networks]
    members = WORK / "mixed.members.json"
    members.write_text(json.dumps({"members": [{"name": f"{network}-{seed}", "model": network, "minibatch": arguments.minibatch,
                                                "seed": seed} for seed in range(2)
                                               for network in arguments.networks]}))
    ranked, plans = planned("mixed", files, 0, members=members)
    return {"networks": arguments.networks, "plans": run_kinds("mixed", ranked, plans, arguments.most, arguments.blocks)}


def read_npy(file):
    """Values of a float32 array."""
    content = pathlib.Path(file).read_bytes()
    if content[:6] != b"\x93NUMPY":
        raise StepError(f"{file} is no .npy file")
    wide = content[6] >= 2
    length = int.from_bytes(content[8 : 12 if wide else 10], "little")
    begin = (12 if wide else 10) + length
    header = ast.literal_eval(content[12 if wide else 10 : begin].decode("latin1"))
    if header["descr"] != "<f4" or header["fortran_order"]:
        raise StepError(f"{file}: float32 in C order expected, not {header}")
    values = array.array("f")
    values.frombytes(content[begin:])
    return values


def largest_difference(folder, expected):
    """Of all outputs in two folders: the largest difference as a share of the largest value. None: files differ."""
    names = sorted(str(file.relative_to(expected)) for file in expected.rglob("*.npy"))
    if not names or names != sorted(str(file.relative_to(folder)) for file in folder.rglob("*.npy")):
        return None
    worst = 0.0
    for name in names:
        right, got = read_npy(expected / name), read_npy(folder / name)
        if len(right) != len(got):
            return None
        scale = max((abs(value) for value in right), default=0.0) or 1.0
        for a, b in zip(right, got):
            worst = max(worst, abs(a - b) / scale if a == a and b == b else float("inf"))
    return worst


def equality(arguments):
    """Every kind of plan gives each member what the serial plan gives it. Fails where one does not."""
    name = f"equal-{arguments.network}"
    ranked, files = planned(name, profile(arguments.network, arguments.minibatch), arguments.count)
    plans = [(file, json.loads(file.read_text())) for file in files]
    serial = [file for file, plan in plans if plan["streams"] == 1 and {g["strategy"] for g in plan["groups"]} == {"serial"}]
    if not serial:
        plan = dict(plans[0][1], streams=1)
        plan["groups"] = [dict(group, strategy="serial") for group in plan["groups"]]
        plan.pop("resolved", None)
        serial = [WORK / name / "serial.plan.json"]
        serial[0].write_text(json.dumps(plan))
    quick = ["-f", "--json", "--device", DEVICE, "--blocks", 1, "--block-ms", 1, "--iterations", 1, "-o", WORK / "equal.json.gz"]
    expected = WORK / name / "expected"
    cohort("run", serial[0], *quick, "--outputs", expected)
    rows, kinds, wrong = [], set(), []
    for place, (file, plan) in enumerate(plans):
        if kind_of(plan) in kinds:
            continue
        kinds.add(kind_of(plan))
        folder = WORK / name / f"outputs-{place}"
        cohort("run", file, *quick, "--outputs", folder)
        difference = largest_difference(folder, expected)
        label = ranked[place]["name"] if place < len(ranked) else file.name
        rows.append({"plan": label, "largest_difference": difference})
        if difference is None or not difference <= TOLERANCE:
            wrong.append(f"{label}: {'outputs missing' if difference is None else difference}")
    if wrong:
        raise StepError(f"{arguments.network}: not equal to serial within {TOLERANCE}: " + "; ".join(wrong))
    return {"network": arguments.network, "tolerance": TOLERANCE, "plans": rows}


def optable(arguments):
    """The profile of one network: each op and alternative. Kept as a trace."""
    file = profile(arguments.network, arguments.minibatch)
    return {"network": arguments.network, "minibatch": arguments.minibatch, "trace": file.name, "bytes": file.stat().st_size}


def trace(arguments):
    """Traces of one step of each kind of plan: of its tasks, and of its kernels with CUPTI."""
    name = f"{arguments.network}-b{arguments.minibatch}-n{arguments.count}"
    ranked, files = planned("trace-" + name, profile(arguments.network, arguments.minibatch), arguments.count)
    kept, kinds = [], set()
    for place, file in enumerate(files):
        kind = kind_of(json.loads(file.read_text()))
        if kind in kinds or len(kinds) >= arguments.most:
            continue
        kinds.add(kind)
        out = TRACES / f"{name}-{len(kinds)}.measured.json.gz"
        cohort("run", file, "-f", "--device", DEVICE, "--blocks", 3, "--block-ms", 20, "--iterations", 1, "-o", out)
        kernels = TRACES / f"{name}-{len(kinds)}.kernels.json.gz"
        words = ["run", file, "-f", "--quiet", "--device", DEVICE, "--blocks", 1, "--block-ms", 1, "--iterations", 1,
                 "-o", WORK / "traced.json.gz"]
        recorded = cohort("profile", "-f", "--json", "-o", kernels, "--", COHORT, *words) if DEVICE.startswith("cuda") else None
        kept.append({"plan": ranked[place]["name"] if place < len(ranked) else file.name, "trace": out.name,
                     "kernels": recorded})
    return {"network": arguments.network, "traces": kept}


def provenance(_arguments):
    """What machine and software this is, and cuDNN's own description of the device."""
    found = {"devices": cohort("devices", "--json"), "python": platform.python_version(), "system": platform.platform(),
             "environment": {name: value for name, value in sorted(os.environ.items())
                             if name.startswith(("CUDA_", "NVIDIA_", "OMP_", "COHORT_"))},
             "cuda_libraries": places.cuda_library_folders()}
    for name, command in (("nvidia_smi", ("nvidia-smi", "-q")), ("topology", ("nvidia-smi", "topo", "-m")),
                          ("cpu", ("lscpu",)), ("numa", ("numactl", "-H"))):
        found[name] = places.output_of(*command)
    folder = TRACES / "device"
    folder.mkdir(parents=True, exist_ok=True)
    cohort("calibrate", "--device", DEVICE, "--seconds", 0, "--properties", folder, "-f", "-o", WORK / "none.trace.json")
    found["properties"] = sorted(file.name for file in folder.iterdir())
    return found


COUNTERS = ["dram__bytes_read.sum", "dram__bytes_write.sum", "lts__t_bytes.sum", "sm__inst_executed_pipe_tensor.sum",
            "sm__inst_executed_pipe_fma.sum", "sm__inst_issued.avg.pct_of_peak_sustained_active",
            "sm__warps_active.avg.pct_of_peak_sustained_active", "gpu__time_duration.sum"]


def counters(arguments):
    """Nsight Compute's counters of the kernels of one plan's step, each distinct kernel once."""
    name = f"counters-{arguments.network}"
    _, files = planned(name, profile(arguments.network, arguments.minibatch), 4)
    command = [places.tool("ncu"), "--csv", "--page", "raw", "--metrics", ",".join(COUNTERS), "--launch-count", "200",
               "--target-processes", "all", COHORT, "run", str(files[0]), "-f", "--quiet", "--device", DEVICE, "--blocks", "1",
               "--block-ms", "1", "--iterations", "1", "-o", str(WORK / "counters.json.gz")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if "ERR_NVGPUCTRPERM" in ran.stdout + ran.stderr:
        raise StepError("the driver lets only administrators read counters (ERR_NVGPUCTRPERM)", 4)
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
        kernels.setdefault(key, {counter: row.get(counter) for counter in COUNTERS})
    return {"network": arguments.network, "units": {counter: rows[0].get(counter) for counter in COUNTERS} if rows else {},
            "kernels": [{"name": key[0], "grid": key[1], "block": key[2], **values} for key, values in kernels.items()]}


def sanitizer(arguments):
    """NVIDIA's memory checks on short runs of each kind of plan. Fails where one finds something."""
    _, files = planned("sanitizer", profile(arguments.network, 1), 2)
    found = []
    for check in ("memcheck", "racecheck"):
        command = [places.tool("compute-sanitizer"), "--tool", check, "--error-exitcode", "86", COHORT, "run", str(files[0]),
                   "-f", "--quiet", "--device", DEVICE, "--blocks", "1", "--block-ms", "1", "--iterations", "1",
                   "-o", str(WORK / "sanitizer.json.gz")]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode == 86:
            raise StepError(f"{check}: {ran.stdout.strip()[-1500:]}")
        if ran.returncode != 0:
            raise StepError(f"{check}: {ran.stderr.strip()[-1500:]}")
        found.append({"check": check, "summary": ran.stdout.strip().splitlines()[-1:]})
    return {"checks": found}


def overhead(arguments):
    """How much our tracer slows a run, by running it with and without."""
    _, files = planned("overhead", profile(arguments.network, arguments.minibatch), arguments.count)
    words = [COHORT, "run", files[0], "-f", "--quiet", "--device", DEVICE, "--blocks", 5, "--block-ms", 50, "-o", WORK / "o.json.gz"]
    return cohort("profile", "--twice", "--json", "-f", "-o", WORK / "overhead.trace.json.gz", "--", *words)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)
    for function in (wall, equality, optable, trace, counters, overhead, sanitizer, mixed, provenance):
        step = steps.add_parser(function.__name__)
        step.set_defaults(function=function)
        if function is mixed:
            step.add_argument("networks", nargs="+")
        elif function is not provenance:
            step.add_argument("network")
        step.add_argument("--minibatch", type=int, default=1)
        step.add_argument("--count", type=int, default=4)
        step.add_argument("--most", type=int, default=5)
        step.add_argument("--blocks", type=int, default=7)
        step.add_argument("--input")
        step.add_argument("--set", action="append", default=[])
    arguments = parser.parse_args()
    try:
        print(json.dumps(arguments.function(arguments)))
    except StepError as error:
        print(error, file=sys.stderr)
        return error.code
    return 0


if __name__ == "__main__":
    sys.exit(main())
