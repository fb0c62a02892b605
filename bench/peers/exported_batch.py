#!/usr/bin/env python3
"""A model batch as one ONNX model (`cohort export`) in ONNX Runtime, beside the single models there and Cohort itself.

For every network: profiles it, plans it N times, and exports the plan twice: with what the plan fuses, and with all that
can be fused. Every output of both is checked against the single model's in ONNX Runtime, on the same input. Then timed
round by round, in the same run, on --threads cores: the N single models by ONNX Runtime one after another, the better of
1 and --threads threads; both exports, with all threads; and Cohort on its plan. Times are medians over the rounds.

A network is a built-in one, its arguments behind it in quotes, or an ONNX file with the options of `cohort profile`:

  bench/peers/exported_batch.py "mlp --set inputs=64 --set hidden=64" lenet5 -n 16 64
  bench/peers/exported_batch.py lenet5 --input separate --output FILE

Needs numpy and onnxruntime (PyPI), best in a virtual environment; without them it says so and ends with 77, which test
runners read as skipped. The onnx package's checker and shape inference look at every export where it is installed.
"""

import argparse
import json
import pathlib
import statistics
import sys
import tempfile

from beside import Failed, Program, Share, add_timing_options, machine, shown, write
from onnx_session import TOLERANCE, VERSION, Model, Peer, block, distance

import numpy as np
import onnxruntime

try:
    import onnx
except ImportError:
    onnx = None


def single(cohort, model, seed, folder):
    """The ONNX file of member number `seed`: members of a file share its weights."""
    if pathlib.Path(model.path).exists():
        return pathlib.Path(model.path)
    file = folder / f"{model.name}-{seed}.onnx"
    cohort.call("models", model.path, *model.options, "--seed", seed, "--export", file, "-f")
    return file


def exported(cohort, plan, fuse):
    file = plan.with_suffix(f".{fuse}.onnx")
    answer = json.loads(cohort.call("export", plan, "--fuse", fuse, "-o", file, "-f", "--json"))
    if onnx is not None:
        onnx.checker.check_model(str(file), full_check=True)
    return file, answer


def checked(file, single, answer, shared):
    """The largest difference of an output from what the single models make of the same inputs."""
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    generator = np.random.default_rng(7)
    batch_inputs = {}
    for node in session.get_inputs():
        kind = np.float32 if node.type == "tensor(float)" else np.int32
        batch_inputs[node.name] = generator.uniform(-1, 1, node.shape).astype(kind)
    names = [node.name for node in session.get_outputs()]
    together = dict(zip(names, session.run(names, batch_inputs)))
    worst, members = 0.0, list(dict.fromkeys(name.split("/")[0] for name in answer["outputs"]))
    for member, peer in zip(members, single):
        inputs = {}
        for name, made_up in peer.inputs.items():
            given = batch_inputs.get(name if shared else f"{member}/{name}")
            inputs[name] = made_up if given is None else given.astype(made_up.dtype)
        own = [node.name for node in peer.session.get_outputs()]
        for name, expected in zip(own, peer.session.run(own, inputs)):
            if f"{member}/{name}" not in together:
                raise Failed(f"the export has no output {member}/{name}")
            worst = max(worst, distance(together[f"{member}/{name}"], expected))
    if len(together) != len(members) * len(own):
        raise Failed(f"the export has {len(together)} outputs for {len(members)} models of {len(own)}")
    if not worst <= TOLERANCE:
        raise Failed(f"outputs differ by {worst:.1e} of the largest")
    return worst


def compare(cohort, network, count, options, folder):
    profile = folder / f"{network.name}.trace.json.gz"
    cohort.call("profile", network.path, *network.options, "-f", "-o", profile)
    plan = folder / f"{network.name}-{count}.plan.json"
    cohort.call("plan", profile, "-n", count, "--input", options.input, "-f", "-o", plan)
    files = [single(cohort, network, seed, folder) for seed in range(count)]
    singles = {threads: [network.session(file, threads, seed) for seed, file in enumerate(files)]
               for threads in (1, options.threads)}
    batches, ops = {}, {}
    for fuse in ("plan", "all"):
        file, answer = exported(cohort, plan, fuse)
        checked(file, singles[1], answer, options.input == "shared")
        batches[fuse] = Peer(file, options.threads)
        ops[fuse] = answer["ops"]
    times = {key: [] for key in ("plan", "all", "cohort", *singles)}
    for _ in range(options.rounds):
        answer = json.loads(cohort.call("run", plan, "-f", "--json", "--blocks", options.blocks, "--block-ms",
                                        options.block_ms, "--iterations", 1, "-o", folder / "measured.json.gz"))
        times["cohort"].append(answer["plan"]["median_ns"])
        for key, peers in [*singles.items(), *((fuse, [peer]) for fuse, peer in batches.items())]:
            block(peers, 0.02)  # their threads were asleep
            times[key].append(statistics.median(block(peers, options.block_ms / 1e3) for _ in range(options.blocks)))
    row = {key: statistics.median(values) for key, values in times.items()}
    return {"name": network.text.replace("--set ", ""), "count": count, "single": min(row[threads] for threads in singles), "ops": ops,
            "plan": row["plan"], "all": row["all"], "cohort": row["cohort"]}


def table(rows, failures, options):
    out = ["# Model batches as one ONNX model, in ONNX Runtime", "",
           f"`bench/peers/exported_batch.py --input {options.input}`, {machine(options)}, ONNX Runtime {VERSION} (CPU provider); medians "
           f"of {options.rounds} rounds.", "",
           f"`one by one`: the single models in ONNX Runtime, one after another, the better of 1 and {options.threads} threads. `as planned`, "
           "`all fused`: `cohort export`",
           "with what the plan fuses for Cohort's own kernels, and with all that can be fused. `gain`: of the better of the two. "
           "`Cohort`: its executor on the plan.", "",
           "| network | models | one by one | as planned | all fused | gain | Cohort |", "|---|--:|--:|--:|--:|--:|--:|"]
    for row in rows:
        gain = row["single"] / min(row["plan"], row["all"])
        out.append(f"| {row['name']} | {row['count']} | {shown(row['single'])} | {shown(row['plan'])} | {shown(row['all'])} | "
                   f"{gain:.2f}x | {shown(row['cohort'])} |")
    if failures:
        out += ["", "Not compared:", "", *(f"- {name}: {reason}" for name, reason in failures)]
    return "\n".join([*out, ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="+", metavar="NETWORK")
    parser.add_argument("-n", type=int, nargs="+", default=[16], help="models")
    parser.add_argument("--input", choices=["shared", "separate"], default="shared")
    add_timing_options(parser)
    options = parser.parse_args()
    rows, failures = [], []
    cohort = Program(options.cohort, options.threads, Share(options.minutes * 60))
    with tempfile.TemporaryDirectory() as folder:
        for network in map(Model, options.networks):
            for count in options.n:
                try:
                    rows.append(compare(cohort, network, count, options, pathlib.Path(folder)))
                except Exception as error:  # whatever it is, the others have their rows
                    failures.append((f"{network.name}, {count}", str(error).strip().replace("\n", " ")))
                    print(f"{network.name}, {count}: {failures[-1][1]}", file=sys.stderr, flush=True)
                    continue
                row = rows[-1]
                print(f"{row['name']}, {count}: one by one {shown(row['single'])}, as planned {shown(row['plan'])} ({row['ops']['plan']} ops), "
                      f"all fused {shown(row['all'])} ({row['ops']['all']} ops), Cohort {shown(row['cohort'])}", file=sys.stderr, flush=True)
    text = table(rows, failures, options)
    if options.output:
        write(options.output, text)
    else:
        print(text)
    if failures:
        sys.exit(1)


if __name__ == "__main__":
    main()
