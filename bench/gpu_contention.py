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
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

from gpu_measured import IMAGE, SAMPLE_BYTES, colocate
from speedup_table import provenance
from sweeps import ROOT, cohort, guarded

NETWORKS = {"resnet50": "resnet50", "mobilenetv2": "mobilenet_v2", "densenet121": "densenet121", "inceptionv3": "inception_v3"}
SLICES = {1: "1g.10gb", 2: "2g.20gb", 3: "3g.40gb", 4: "4g.40gb", 7: "7g.80gb"}


def rows_of(network, path, options, folder):
    profile = folder / "profile.json.gz"
    copied = SAMPLE_BYTES.get(network, IMAGE)
    works = {}  # by GPCs and minibatch: seconds of the GPU in one step, as the profile has it
    for row in colocate(options.cohort, path, "-n", "2,3,4,5", "--copied", copied)["rows"]:
        if "measured_step_ns" not in row or row["measured_less_processes"]:
            continue
        gpcs, minibatch, count = int(row["share"]), row["minibatch"], row["processes"]
        if (gpcs, minibatch) not in works:
            made = cohort(options.cohort, "profile", NETWORKS[network], "--minibatch", minibatch, "--times", path, "--device-profile",
                          f"A100 80GB MIG {SLICES[gpcs]}", "--copied", copied, "--precision", "tf32", "-f",
                          "--json", "-o", profile)
            works = {(gpcs, minibatch): made["gpu_work_ns"]}
        work, measured = works[gpcs, minibatch], row["measured_step_ns"]
        if count * work < options.busy * row["alone_ns"]:
            continue
        simulated = cohort(options.cohort, "simulate", profile, "-n", count, "--strategy", "concurrent", "--streams", count, "--graphs",
                           "--input", "separate", "--json")["predicted_ns"]
        yield {"network": network, "gpcs": gpcs, "minibatch": minibatch, "processes": count, "simulated": simulated / measured - 1,
               "conserved": count * work / measured - 1}


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
    sys.exit(guarded(main))
