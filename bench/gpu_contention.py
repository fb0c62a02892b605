#!/usr/bin/env python3
"""The model of contention against several processes on a real GPU that keep it busy, as ParvaGPU measured them.

DIR holds ParvaGPU's tables (NETWORK.csv, docs/colocation.md). For each network that Cohort has, each MIG slice and minibatch:
makes a profile from the step times of one process alone (`cohort profile --times`), simulates N members on N streams of that
slice (`cohort simulate`), and compares with the measured step of N processes. Only rows count in which the GPU decides: those in
which N times the GPU's part of one step is at least --busy times the step of one process. Beside the simulation stands what
"GPU time is conserved" says: N times the GPU's part, as `cohort colocate` has it.

    bench/gpu_contention.py DIR [--networks resnet50] [--output bench/results/gpu-contention.md]
"""

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from gpu_measured import IMAGE, ROOT, SAMPLE_BYTES
from speedup_table import provenance

NETWORKS = {"resnet50": "resnet50", "mobilenetv2": "mobilenet_v2", "densenet121": "densenet121", "inceptionv3": "inception_v3"}
SLICES = {1: "1g.10gb", 2: "2g.20gb", 3: "3g.40gb", 4: "4g.40gb", 7: "7g.80gb"}


def call(options, *arguments):
    done = subprocess.run([options.cohort, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"gpu_contention: {' '.join(map(str, arguments))}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def measured_steps(path):
    """By GPCs and minibatch: seconds of a step of each of so many processes; without rows of processes that had ended."""
    steps = {}
    for row in csv.DictReader(open(path)):
        case = steps.setdefault((int(row["gpcs"]), int(row["minibatch"])), {})
        case[int(row["processes"])] = int(row["minibatch"]) / float(row["samples_per_s_each"])
    for case in steps.values():
        for count in sorted(case, reverse=True):
            if count - 1 in case and abs(case[count] / case[count - 1] - 1) < 0.002:
                del case[count]
    return steps


def rows_of(network, path, options, folder):
    profile = folder / "profile.json.gz"
    for (gpcs, minibatch), steps in sorted(measured_steps(path).items()):
        if 1 not in steps or len(steps) < 2:
            continue
        made = call(options, "profile", NETWORKS[network], "--minibatch", minibatch, "--times", path, "--device-profile",
                    f"A100 80GB MIG {SLICES[gpcs]}", "--copied", SAMPLE_BYTES.get(network, IMAGE), "--precision", "tf32", "-f", "--json",
                    "-o", profile)
        work = made["gpu_work_ns"] / 1e9
        for count, measured in sorted(steps.items()):
            if count < 2 or count * work < options.busy * steps[1]:
                continue
            simulated = call(options, "simulate", profile, "-n", count, "--strategy", "concurrent", "--streams", count, "--graphs",
                             "--input", "separate", "--json")["predicted_ns"] / 1e9
            yield {"network": network, "gpcs": gpcs, "minibatch": minibatch, "processes": count,
                   "simulated": simulated / measured - 1, "conserved": count * work / measured - 1}


def line(name, rows):
    def spread(key):
        errors = sorted(abs(row[key]) for row in rows)
        return f"{100 * statistics.median(errors):.1f}%, {100 * errors[int(0.9 * len(errors))]:.1f}%"

    def bias(key):
        return f"{100 * statistics.median(row[key] for row in rows):+.1f}%"

    return f"| {name} | {len(rows)} | {spread('simulated')} | {bias('simulated')} | {spread('conserved')} | {bias('conserved')} |"


def table(rows, options):
    out = ["# The model of contention against processes that keep a GPU busy", "",
           f"`bench/gpu_contention.py DIR`, {provenance()}. Step time of N processes under MPS on a MIG slice of an A100 (ParvaGPU), against",
           "N members on N streams simulated from the step of one, and against N times the GPU's part of one. Errors: median, 90th percentile;",
           f"*bias*: median with its sign, negative where it promises too much. Rows in which N times the GPU's part is at least {options.busy:g}",
           "times a step alone.", "",
           "| | rows | simulated | bias | conserved | bias |", "|---|--:|--:|--:|--:|--:|", line("**all**", rows)]
    for key, unit in (("network", ""), ("gpcs", "{} GPCs"), ("minibatch", "minibatch {}"), ("processes", "N = {}")):
        for value in sorted({row[key] for row in rows}):
            out.append(line(unit.format(value) if unit else value, [row for row in rows if row[key] == value]))
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--networks", type=lambda text: text.split(","), default=sorted(NETWORKS))
    parser.add_argument("--busy", type=float, default=1.5)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--json", action="store_true", help="every row")
    parser.add_argument("--cohort", default=os.environ.get("COHORT", ROOT / "build/release/bin/cohort"))
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for network in options.networks:
            path = options.folder / f"{network}.csv"
            if network in NETWORKS and path.exists():
                rows += rows_of(network, path, options, Path(folder))
    if not rows:
        sys.exit(f"gpu_contention: {options.folder} holds no table of {', '.join(NETWORKS)} with rows of several processes")
    text = json.dumps(rows, indent=1) if options.json else table(rows, options)
    if options.output:
        options.output.write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
