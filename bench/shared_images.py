#!/usr/bin/env python3
"""A sweep of 16 small CNNs on a folder of JPEGs, and what sharing the images gives to those that train together.

Makes a folder of JPEGs (cohort dataset synth) and trains 16 networks on it with `cohort train`: 8 learning rates, 2 widths,
one stream of decoded images for all of them, and halving, which repacks those that are left. Then, for 1 to 16 networks of
one width, runs training steps in three ways: each network decoding for itself, one after another (separate); images decoded
once, networks still one after another (shared in turn); and the plan that the planner chooses. Of each: samples a second
over all networks, and the share of the work that is preprocessing (core time of decoding by that of all tasks of the traced
steps), as predicted and as measured. ModelBatch's Figure 3 is about the latter.

Needs nothing beyond Python's library. Writes a Markdown table, and with --figure the figure as SVG.

  bench/shared_images.py --figure docs/images/shared-images.svg      the figure in the README; minutes
  bench/shared_images.py --counts 1 4 --epochs 2 --images 16         quick
"""

import argparse
import gzip
import json
import os
import pathlib
import sys
import tempfile

from speedup_table import provenance
from sweeps import ROOT, cohort, figure, guarded, train

SWEEP = """# 16 small CNNs on JPEGs, decoded once for all of them in every step; the worse half leaves after each two epochs.
model = "smallcnn"
minibatch = {minibatch}
epochs = {epochs}
optimizer = "momentum"

[data]
folder = "images"
held_out = 0.2
keep = false

[space]
learning_rate = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2]
arguments.width = [8, 16]

[halving]
every = 2
keep = 0.5
at_least = 4
"""
SEPARATE, SHARED, CHOSEN = "separate", "shared in turn", "planner's choice"
WAYS = (SEPARATE, SHARED, CHOSEN)


def preprocessing_share(trace):
    """Of a recorded or predicted step: core time of decoding a minibatch by core time of all that a step does."""
    with gzip.open(trace) as file:
        slices = [event for event in json.load(file)["traceEvents"] if event.get("ph") == "X"]
    decoding = [each for each in slices if each.get("cat") == "input"]
    computing = [each for each in slices if each.get("cat") == "task"]
    minibatches = {each["args"]["minibatch"] for each in decoding}
    steps = {each["args"]["iteration"] for each in computing}
    decode = sum(each["dur"] for each in decoding) / max(1, len(minibatches))
    compute = sum(each["dur"] * each["args"].get("threads", 1) for each in computing) / max(1, len(steps))
    return decode / (decode + compute)


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder, self.images = options, folder, folder / "images"
        self.profile = folder / "smallcnn.trace.json.gz"

    def call(self, *arguments):
        return cohort(self.options.cohort, *arguments)

    def prepare(self):
        self.call("dataset", "synth", self.images, "--classes", 4, "--images-per-class", self.options.images, "-q")
        self.call("profile", "smallcnn", "--train", "momentum", "--minibatch", self.options.minibatch, "--data", self.images,
                  "-o", self.profile)

    def sweep(self):
        file = self.folder / "sweep.toml"
        file.write_text(SWEEP.format(minibatch=self.options.minibatch, epochs=self.options.epochs))
        return train(self.options.cohort, file, self.folder / "sweep")

    def in_turn(self, plan, count, sharing):
        """The same members one after another, algorithms chosen by recorded cost."""
        made = json.loads(plan.read_text())
        made["input"]["sharing"] = sharing
        made["streams"] = 1
        made["groups"] = [{"name": "all", "members": f"0-{count - 1}" if count > 1 else "0", "strategy": "serial"}]
        made.pop("resolved", None)
        file = self.folder / f"{sharing}-{count}.plan.json"
        file.write_text(json.dumps(made))
        self.call("plan", self.profile, "--resolve", file, "-f", "-o", file)
        return file

    def row(self, count):
        chosen = self.folder / f"chosen-{count}.plan.json"
        top = self.call("plan", self.profile, "-n", count, "--data", self.images, "-f", "--json", "-o", chosen)["ranked"][0]
        files = {SEPARATE: self.in_turn(chosen, count, "separate"), SHARED: self.in_turn(chosen, count, "shared"), CHOSEN: chosen}
        row = {"count": count, "plan": top["name"], "predicted": {}, "measured": {}, "predicted_share": {}, "share": {}}
        samples = count * self.options.minibatch
        for way, file in files.items():
            trace = self.folder / "x.trace.json.gz"
            predicted = self.call("simulate", self.profile, "--plan", file, "-f", "--json", "-o", trace)
            row["predicted"][way] = samples / predicted["predicted_ns"] * 1e9
            row["predicted_share"][way] = preprocessing_share(trace)
            times = self.call("run", file, "-f", "--json", "--blocks", self.options.blocks, "--block-ms", self.options.block_ms,
                              "--iterations", 5, "-o", trace)
            row["measured"][way] = samples / times["plan"]["median_ns"] * 1e9
            row["share"][way] = preprocessing_share(trace)
        return row


def sweep_text(results, options):
    best = next(member for member in results["members"] if member["member"] == results["best"])
    outcomes = [member["outcome"] for member in results["members"]]
    run = results["run"]
    return [f"- Sweep of {len(outcomes)}: {outcomes.count('finished')} finished, {outcomes.count('dropped')} dropped by halving; best "
            f"{best['epochs'][-1]['accuracy']:.1%} ({best['hyperparameters']}), {run['samples_per_second']:.0f} samples a second over all, "
            f"{run['input_share']:.0%} of the time waiting for images"]


def table(rows, sweep, options, made):
    out = ["# Images that are shared by networks in training", "", f"{made}.", "",
           "Throughput is samples a second over all networks; behind the slash what was predicted. `preprocessing`: core time of decoding",
           "by core time of all that a step does.", "", *sweep, "",
           "| networks | " + " | ".join(f"{way}" for way in WAYS) + " | choice over separate | " +
           " | ".join(f"preprocessing, {way}" for way in WAYS) + " | chosen plan |", f"|--:|{'--:|' * (2 * len(WAYS) + 1)}---|"]
    for row in rows:
        speeds = " | ".join(f"{row['measured'][way]:.0f} / {row['predicted'][way]:.0f}" for way in WAYS)
        shares = " | ".join(f"{row['share'][way]:.0%} / {row['predicted_share'][way]:.0%}" for way in WAYS)
        gains = [f"{row[key][CHOSEN] / row[key][SEPARATE]:.2f}x" for key in ("measured", "predicted")]
        out.append(f"| {row['count']} | {speeds} | {gains[0]} / {gains[1]} | {shares} | {row['plan']} |")
    return "\n".join(out) + "\n"


def figure_of(rows):
    places = [row["count"] for row in rows]
    throughput, shares = {}, {}
    for way in WAYS:
        throughput[way] = [row["measured"][way] for row in rows], False
        throughput[f"{way}, predicted"] = [row["predicted"][way] for row in rows], True
        if way != CHOSEN:
            shares[way] = [100 * row["share"][way] for row in rows], False
            shares[f"{way}, predicted"] = [100 * row["predicted_share"][way] for row in rows], True
    return figure([("Throughput", "samples a second, all networks", places, throughput),
                   ("Preprocessing", "% of the work of a step", places, shares)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cohort", default=ROOT / "build/release/bin/cohort")
    parser.add_argument("--counts", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--minibatch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=8, help="of the sweep; 0: no sweep")
    parser.add_argument("--images", type=int, default=64, help="of each of 4 classes")
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--block-ms", type=int, default=200)
    parser.add_argument("--output", type=pathlib.Path, help="Markdown file; standard output unless given")
    parser.add_argument("--figure", type=pathlib.Path, help="SVG file")
    options = parser.parse_args()
    made = (f"`{' '.join(['bench/shared_images.py', *sys.argv[1:]])}`, {provenance()}; load of the machine at the start "
            f"{os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as temporary:
        bench = Bench(options, pathlib.Path(temporary))
        bench.prepare()
        sweep = sweep_text(bench.sweep(), options) if options.epochs else []
        rows = []
        for count in sorted(options.counts):
            rows.append(bench.row(count))
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
            if options.output:
                options.output.write_text(table(rows, sweep, options, made))
            if options.figure and len(rows) > 1:
                options.figure.write_text(figure_of(rows))
    if not options.output:
        print(table(rows, sweep, options, made))


if __name__ == "__main__":
    sys.exit(guarded(main))
