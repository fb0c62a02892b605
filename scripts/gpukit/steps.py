"""What single measurements do with cohort alone: each gives one JSON object. See gpukit.step."""

import array
import ast
import gzip
import json
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys

from . import places
from .children import die_with_parent

COHORT = os.environ.get("GPUKIT_COHORT", "cohort")
DEVICE = os.environ.get("GPUKIT_DEVICE", "cuda:0")
WORK = pathlib.Path(os.environ.get("GPUKIT_WORK", "."))
TRACES = pathlib.Path(os.environ.get("GPUKIT_TRACES", "."))
IDENTITY = os.environ.get("GPUKIT_IDENTITY", "")  # of program and device: what recordings depend on
# Strategies agree with the serial run of each member within this, of the largest value of the output (float32).
TOLERANCE = 2e-4
BLOCK_MS = 30  # many steps of what a GPU runs at once; six plans and baselines take turns


class StepError(Exception):
    """`result`: what was measured all the same."""

    def __init__(self, message, code=1, result=None):
        super().__init__(message)
        self.code, self.result = code, result


def cohort(*arguments):
    """Runs cohort; its JSON where --json is among the arguments. Its exit code is passed on."""
    try:
        ran = subprocess.run([COHORT, *map(str, arguments)], capture_output=True, text=True, errors="replace", check=False,
                             preexec_fn=die_with_parent)
    except OSError as error:
        raise StepError(f"{COHORT} does not start: {error.strerror}") from error
    if ran.returncode != 0:
        raise StepError(f"cohort {' '.join(map(str, arguments))}: {ran.stderr.strip()[-1500:]}", ran.returncode)
    return json.loads(ran.stdout) if "--json" in arguments else ran.stdout


def recorded(file, *command):
    """A file that cohort records, made on first use by this program on this device; what another one made is replaced."""
    key = file.with_name(file.name + ".of")
    if not file.exists() or not key.exists() or key.read_text() != IDENTITY:
        cohort(*command, "-f", "-o", file)
        key.write_text(IDENTITY)
    return file


TRACER_TRIED, TRACER_WORKS = WORK / "tracer.tried", WORK / "tracer.works"  # the step `tracer` writes them


def without_kernels():
    """Where the tracer did not come back, or not with what it was asked for, a profile has times alone, and at least these."""
    return ["--no-kernels"] if TRACER_TRIED.exists() and not TRACER_WORKS.exists() else []


def profile(network, minibatch, settings=(), data=None, precision=None, layout=None, train=None, quick=False, again=False):
    """The profile of a network, or of its training step by an optimizer, kept among the results. A quick one has single ops alone, for checks and not for predictions;
    one made again lies beside the first."""
    label = "".join("-" + text.replace("=", "") for text in settings) + ("-data" if data else "")
    label += "".join(f"-{text}" for text in (precision, layout, train) if text) + ("-quick" if quick else "") + ("-again" if again else "")
    extra = [word for text in settings for word in ("--set", text)] + (["--data", data] if data else [])
    extra += (["--precision", precision] if precision else []) + (["--layout", layout] if layout else [])
    extra += ["--train", train] if train else []
    extra += ["--no-fused", "--no-kernels"] if quick else without_kernels()
    return recorded((WORK if quick else TRACES) / f"{network}-b{minibatch}{label}.trace.json.gz", "profile", network,
                    "--minibatch", minibatch, "--device", DEVICE, *extra)


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


def fitted_figures():
    """The option for the GPU's figures as its calibration tells them, fitted once; none where there is no calibration, or none
    to fit to."""
    calibration, file = TRACES / places.CALIBRATION, WORK / "device.profile.json"
    if not calibration.exists():
        return []
    key = WORK / (file.name + ".of")
    state = f"{IDENTITY} {calibration.stat().st_mtime_ns}"
    if not key.exists() or key.read_text() != state:
        file.unlink(missing_ok=True)
        try:
            cohort("calibrate", "--fit", calibration, "-f", "-o", file)
        except StepError as error:  # plans are then made with the published figures
            print(f"calibration not fitted: {error}", file=sys.stderr)
        key.write_text(state)
    return ["--device-profile", file] if file.exists() else []


def planned(name, profile_file, count, options=(), members=None):
    """Plans for `count` copies, or for the members of a file: the table, and a folder of one file a rank."""
    folder = WORK / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    who = ["--members", members] if members else ["-n", count]
    profiles = profile_file if isinstance(profile_file, list) else [profile_file]
    table = cohort("plan", *profiles, *who, *options, *fitted_figures(), "-f", "--json", "-o", folder / "best.plan.json", "--candidates", folder)
    files = [file for file in sorted(folder.glob("*.plan.json")) if file.name != "best.plan.json"]
    return table["ranked"], files or [folder / "best.plan.json"]


def of_each_kind(ranked, files, most):
    """The best plan of each kind, in the order of the ranking: what was predicted of it, and its file."""
    chosen, kinds = [], set()
    for place, file in enumerate(files):
        kind = kind_of(json.loads(file.read_text()))
        if kind not in kinds and len(chosen) < most:
            kinds.add(kind)
            chosen.append((ranked[place] if place < len(ranked) else {}, file))
    return chosen


def measured_together(name, files, blocks, iterations=1):
    """Times of plans of the same members, which take turns with one baseline in one process: a start costs seconds. What `run`
    tells of the first, and the times of each of the others."""
    beside = ["--beside", *files[1:]] if files[1:] else []
    ran = cohort("run", files[0], "-f", "--json", "--no-kernels", "--device", DEVICE, "--blocks", blocks, "--block-ms", BLOCK_MS,
                 "--iterations", iterations, "-o", WORK / f"{name}.measured.json.gz", *beside)
    others = ran.pop("beside", [])
    return [ran, *({"measured_speedup": other.pop("measured_speedup"), "plan": other} for other in others)]


def measured_or_not(name, files, blocks, iterations):
    """The same, or of each plan alone where one of them spoils it: its times, or why there are none."""
    try:
        return measured_together(name, files, blocks, iterations)
    except StepError as error:
        if len(files) == 1 or error.code == 4:
            raise
    found = []
    for file in files:
        try:
            found += measured_together(name, [file], blocks, iterations)
        except StepError as error:
            found.append(error)
    return found


def run_kinds(name, ranked, files, most, blocks, iterations=1):
    """Runs the best plan of each kind. `run` gives every repetition. The plan is kept with the algorithms that ran. Those that
    ran, and what went wrong with others."""
    chosen = of_each_kind(ranked, files, most)
    rows, wrong = [], []
    for (predicted, file), ran in zip(chosen, measured_or_not(name, [file for _, file in chosen], blocks, iterations)):
        if isinstance(ran, StepError):
            wrong.append(f"{predicted.get('name', file.name)}: {ran}")
            continue
        rows.append({"plan": predicted.get("name"), "predicted_speedup": predicted.get("predicted_speedup"),
                     "predicted_step_ns": predicted.get("step_ns"), "measured": ran, "plan_file": json.loads(file.read_text())})
    return rows, wrong


def told(result, wrong):
    """A result, which is also kept where a part of it went wrong."""
    if wrong:
        raise StepError("; ".join(wrong), result=result)
    return result


def preprocessing(file, steps):
    """Nanoseconds that a step's input and its tasks took in a measured trace, and the share of the input in their sum: what
    ModelBatch's figure 3 shows."""
    with gzip.open(file, "rt") as text:
        events = json.load(text)["traceEvents"]
    spent = {kind: sum(event["dur"] for event in events if event.get("ph") == "X" and event.get("cat") == kind) * 1000 / steps
             for kind in ("input", "task")}
    both = sum(spent.values())
    return {"input_ns": round(spent["input"]), "tasks_ns": round(spent["task"]), "share": spent["input"] / both if both else None}


def wall(arguments):
    """Every kind of plan for N copies, measured in turn with one baseline; raw repetitions."""
    name = f"{arguments.network}-b{arguments.minibatch}-n{arguments.count}" + ("-" + arguments.input if arguments.input else "")
    name += "".join(f"-{text}" for text in (arguments.precision, arguments.layout, arguments.train) if text)
    data = images() if arguments.input == "jpeg" else None
    file = profile(arguments.network, arguments.minibatch, arguments.set, data, arguments.precision, arguments.layout, arguments.train)
    options = ["--data", data] if data else []
    ranked, files = planned(name, file, arguments.count, options)
    steps = 20 if data else 1  # enough images that every decode worker has had its share
    plans, wrong = run_kinds(name, ranked, files, arguments.most, arguments.blocks, steps)
    result = {"network": arguments.network, "set": arguments.set, "minibatch": arguments.minibatch, "members": arguments.count,
              "input": arguments.input or "on the device", "precision": arguments.precision or "float32", "layout": arguments.layout or "usual",
              "train": arguments.train, "profile": file.name,
              "plans": plans}
    if data and plans and not wrong:
        result["preprocessing"] = preprocessing(WORK / f"{name}.measured.json.gz", steps)
    return told(result, wrong)


def mixed(arguments):
    """Members that differ: several networks in one model batch."""
    files = [profile(network, arguments.minibatch) for network in arguments.networks]
    members = WORK / "mixed.members.json"
    members.write_text(json.dumps({"members": [{"name": f"{network}-{seed}", "model": network, "minibatch": arguments.minibatch,
                                                "seed": seed} for seed in range(2)
                                               for network in arguments.networks]}))
    ranked, files = planned("mixed", files, 0, members=members)
    plans, wrong = run_kinds("mixed", ranked, files, arguments.most, arguments.blocks)
    return told({"networks": arguments.networks, "plans": plans}, wrong)


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


def serial_plan(folder, plans):
    """The file of a plan that runs every member after the other: one of those ranked, or one made of the first."""
    for file, plan in plans:
        if plan["streams"] == 1 and {group["strategy"] for group in plan["groups"]} == {"serial"}:
            return file
    plan = dict(plans[0][1], streams=1)
    plan["groups"] = [dict(group, strategy="serial") for group in plan["groups"]]
    plan.pop("resolved", None)
    file = folder / "serial.plan.json"
    file.write_text(json.dumps(plan))
    return file


def equality(arguments):
    """Every kind of plan gives each member what the serial plan gives it. Fails where one does not. All run in one process."""
    name = f"equal-{arguments.network}"
    ranked, files = planned(name, profile(arguments.network, arguments.minibatch, quick=True), arguments.count)
    serial = serial_plan(WORK / name, [(file, json.loads(file.read_text())) for file in files])
    chosen = of_each_kind(ranked, files, len(files))
    outputs = WORK / name / "outputs"
    cohort("run", serial, "-f", "--json", "--no-kernels", "--device", DEVICE, "--blocks", 1, "--block-ms", 1, "--iterations", 1,
           "-o", WORK / "equal.json.gz", "--outputs", outputs, "--beside", *[file for _, file in chosen])
    others = [outputs / f"beside-{place + 1}" for place in range(len(chosen))]
    expected = WORK / name / "expected"
    expected.mkdir()
    for member in set(outputs.iterdir()) - set(others):
        member.rename(expected / member.name)
    rows, wrong = [], []
    for (predicted, file), folder in zip(chosen, others):
        difference = largest_difference(folder, expected)
        label = predicted.get("name", file.name)
        rows.append({"plan": label, "largest_difference": difference})
        if difference is None or not difference <= TOLERANCE:
            wrong.append(f"{label}: {'outputs missing' if difference is None else difference}")
    if wrong:
        raise StepError(f"{arguments.network}: not equal to serial within {TOLERANCE}: " + "; ".join(wrong))
    return {"network": arguments.network, "tolerance": TOLERANCE, "plans": rows}


def op_times(events):
    """Of each op and way of running it in a profile's events: medians in nanoseconds of warm calls and of those with flushed
    caches, and the first execution. None: not recorded."""
    cases = {}
    for event in events:
        words = event.get("args", {})
        if event.get("cat") != "profile" or "signature" not in words or words.get("neighbours", 0) != 0:
            continue
        case = cases.setdefault((event["name"], *(words[key] for key in ("signature", "strategy", "width", "algorithm"))), {})
        state = {"caches flushed": "flushed", "first execution": "first"}.get(words.get("state"), "warm")
        case.setdefault((state, words.get("footprint bytes", 0)), []).append(round(event["dur"] * 1000))
    rows = []
    for (name, signature, strategy, width, algorithm), case in cases.items():
        row = {"op": name, "signature": signature, "strategy": strategy, "width": width, "algorithm": algorithm}
        for state in ("warm", "flushed", "first"):  # of several footprints the smallest is the warm one
            footprints = sorted(footprint for of, footprint in case if of == state)
            row[state + "_ns"] = round(statistics.median(case[state, footprints[0]])) if footprints else None
        rows.append(row)
    return [row for row in rows if row["first_ns"] is not None]


def optable(arguments):
    """The profile of one network: each op and alternative, warm, with flushed caches, and for the first time. Kept as a
    trace, which also holds the kernels of each with their geometry. What was left out stands beside it, with the reason."""
    file = profile(arguments.network, arguments.minibatch, again=arguments.again)
    with gzip.open(file) as opened:
        content = json.load(opened)
    return {"network": arguments.network, "minibatch": arguments.minibatch, "trace": file.name, "bytes": file.stat().st_size,
            "ops": op_times(content["traceEvents"]), "left_out": content.get("cohort", {}).get("dropped", {})}


def streams_first(chosen):
    """The best plan that uses streams before the others: how kernels overlap is what a trace shows best."""
    streams = next((entry for entry in chosen if json.loads(entry[1].read_text())["streams"] > 1), None)
    return chosen if streams is None else [streams, *(entry for entry in chosen if entry is not streams)]


def trace(arguments):
    """Traces of a few steps of the best plan with streams, and of the best of other kinds: tasks, and the kernels, copies and
    calls that they are made of."""
    name = f"{arguments.network}-b{arguments.minibatch}-n{arguments.count}"
    ranked, files = planned("trace-" + name, profile(arguments.network, arguments.minibatch), arguments.count)
    kept = []
    for place, (predicted, file) in enumerate(streams_first(of_each_kind(ranked, files, len(files)))[: arguments.most]):
        out = TRACES / f"{name}-{place + 1}.measured.json.gz"
        ran = cohort("run", file, "-f", "--json", "--device", DEVICE, "--blocks", 3, "--block-ms", 20, "--iterations", 2, "-o", out)
        kept.append({"plan": predicted.get("name", file.name), "streams": json.loads(file.read_text())["streams"], "trace": out.name,
                     "bytes": out.stat().st_size, "measured": ran})
    result = {"network": arguments.network, "traces": kept}
    missing = [entry["measured"]["kernels_not_recorded"] for entry in kept if entry["measured"].get("kernels_not_recorded")]
    if missing:
        raise StepError(f"traces of tasks alone were kept, kernels were not recorded: {missing[0]}", result=result)
    return result


def without_serial_numbers(text):
    """What nvidia-smi says, without what tells one card from another of its kind: results are published."""
    return text and "".join(line for line in text.splitlines(True)
                            if not re.search(r"UUID|Serial|Board ID|Part Number|Host ID|Bus Id", line))


def provenance(_arguments):
    """What machine and software this is, and cuDNN's own description of the device."""
    found = {"commit": places.commit(), "devices": cohort("devices", "--json"), "python": platform.python_version(), "system": platform.platform(),
             "environment": {name: value for name, value in sorted(os.environ.items())
                             if name.startswith(("CUDA_", "NVIDIA_", "OMP_", "COHORT_"))},
             "cuda_libraries": places.cuda_library_folders()}
    # Any of them may be missing; the driver's version and the device's state are in calibrations, too.
    for name, command in (("nvidia_smi", ("nvidia-smi", "-q")), ("topology", ("nvidia-smi", "topo", "-m")),
                          ("cpu", ("lscpu",)), ("numa", ("numactl", "-H"))):
        found[name] = without_serial_numbers(places.output_of(*command))
    folder = TRACES / "device"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        cohort("calibrate", "--device", DEVICE, "--seconds", 0, "--properties", folder, "-f", "-o", WORK / "none.trace.json")
    except StepError as error:  # no reason to measure nothing else
        found["properties_missing"] = str(error)
    found["properties"] = sorted(file.name for file in folder.iterdir())
    return found
