#!/usr/bin/env python3
"""Predicted against measured: models run together on real GPUs, as others measured them.

DIR holds the tables of ParvaGPU (parvagpu/*.csv), iGniter (igniter/solo.csv, pairs.csv) and Abacus (abacus/*.csv), as
docs/colocation.md describes them; what is absent is left out. Every co-run is predicted by `cohort colocate` from rows
of one process alone.

    bench/gpu_measured.py DIR [--networks resnet101,vgg19] [--own-slice] [--one-row] [--json]
    bench/gpu_measured.py DIR --figures docs/images      draws ParvaGPU's networks on the whole GPU, and scores nothing
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

ROOT = Path(__file__).resolve().parent.parent
IMAGE = 3 * 224 * 224 * 4  # bytes of one sample
SAMPLE_BYTES = {"inceptionv3": 3 * 299 * 299 * 4, "inception_v3": 3 * 299 * 299 * 4, "bert": 128 * 8,
                "ssd": 3 * 300 * 300 * 4}


class Errors:
    """Of predictions: relative errors, and how many measured values lie in the interval."""

    GAIN = 1.3

    def __init__(self):
        self.rows = []
        self.answers = []  # whether two processes gain at least GAIN: right or wrong, where the interval does not span it

    def answer(self, predicted, measured, low, high):
        if not low < self.GAIN < high:
            self.answers.append((predicted >= self.GAIN) == (measured >= self.GAIN))

    def add(self, group, predicted, measured, low, high, naive):
        self.rows.append((group, predicted / measured - 1, low <= measured <= high, naive / measured - 1))

    def summary(self, group=None):
        rows = [row for row in self.rows if group is None or group in row[0]]
        if not rows:
            return None
        sizes = sorted(abs(row[1]) for row in rows)
        naive = sorted(abs(row[3]) for row in rows)
        tenth = int(0.9 * len(rows))
        found = {"rows": len(rows), "median": statistics.median(sizes), "p90": sizes[tenth],
                 "inside": sum(row[2] for row in rows) / len(rows), "naive_median": statistics.median(naive),
                 "naive_p90": naive[tenth]}
        if group is None and self.answers:
            found["gains_1_3"] = {"right": sum(self.answers), "of": len(self.answers)}
        return found

    def groups(self):
        return sorted({name for row in self.rows for name in row[0]})


def colocate(cohort, *arguments):
    done = subprocess.run([cohort, "colocate", "--json", *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"gpu_measured: {' '.join(map(str, arguments))}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def write_table(path, columns, rows):
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(columns)
        out.writerows(rows)
    return path


# ---- ParvaGPU: equal processes on a MIG slice

def parvagpu(folder, cohort, scratch, options):
    errors = Errors()
    apart = Errors()
    for path in sorted(folder.glob("*.csv")):
        network = path.stem
        if options.networks and network not in options.networks:
            continue
        rows = list(csv.DictReader(open(path)))
        tables = [rows]
        if options.one_row:
            tables = [[row for row in rows if (row["gpcs"], row["minibatch"]) == key]
                      for key in sorted({(row["gpcs"], row["minibatch"]) for row in rows})]
        elif options.own_slice:
            tables = [[row for row in rows if row["gpcs"] == gpcs] for gpcs in sorted({row["gpcs"] for row in rows})]
        for table in tables:
            if len({row["processes"] == "1" for row in table}) < 2:  # nothing to predict, or nothing to predict from
                continue
            part = write_table(scratch / f"{network}.csv", list(table[0]), [list(row.values()) for row in table])
            answer = colocate(cohort, part, "-n", "2,3,4,5", "--copied", SAMPLE_BYTES.get(network, IMAGE))
            for row in answer["rows"]:
                if "measured_gain" not in row or row["measured_less_processes"]:
                    continue
                group = (network, f"N = {row['processes']}", f"{row['share']:g} GPCs", f"minibatch {row['minibatch']}")
                best = max(float(other["samples_per_s_each"]) for other in table
                           if other["processes"] == "1" and float(other["gpcs"]) == row["share"])
                naive = min(row["processes"], best * row["alone_ns"] / 1e9 / row["minibatch"])
                # bert's rows do not fit the published script: told apart.
                found = apart if network == "bert" else errors
                prediction = [row[key] for key in ("predicted_gain", "measured_gain", "gain_80_low", "gain_80_high")]
                found.add(group, *prediction, naive)
                if row["processes"] == 2:
                    found.answer(*prediction)
    return errors, apart


def draw(folder, cohort, options):
    for path in sorted(folder.glob("*.csv")):
        if not options.networks or path.stem in options.networks:
            colocate(cohort, path, "-n", "2,3,4,5", "--copied", SAMPLE_BYTES.get(path.stem, IMAGE), "--share", "7", "-f",
                     "--chart", options.figures / f"parvagpu-{path.stem}.svg")


# ---- iGniter: pairs, each with multiprocessors of its own

def igniter(folder, cohort, scratch, options):
    errors = Errors()
    solo = list(csv.DictReader(open(folder / "solo.csv")))
    for model in {row["model"] for row in solo}:
        write_table(scratch / f"{model}.csv", ["minibatch", "sm_percent", "step_ms", "dram_percent"],
                    [[row["minibatch"], row["sm_percent"], row["latency_ms"], row["dram"]] for row in solo
                     if row["model"] == model])
    alone = {(row["model"], row["minibatch"], int(row["sm_percent"])): float(row["latency_ms"]) for row in solo}
    for row in csv.DictReader(open(folder / "pairs.csv")):
        models = [row["model_a"], row["model_b"]]
        if options.networks and not set(models) & options.networks:
            continue
        minibatches = [row["minibatch_a"], row["minibatch_b"]]
        shares = [int(row["sm_percent_a"]), 100 - int(row["sm_percent_a"])]
        answer = colocate(cohort, *(scratch / f"{model}.csv" for model in models),
                          "--minibatch", ",".join(minibatches), "--share", ",".join(map(str, shares)),
                          "--copied", ",".join(str(SAMPLE_BYTES.get(model, IMAGE)) for model in models))
        for i, name in enumerate(("latency_a_ms", "latency_b_ms")):
            errors.add((models[i], f"{shares[i]}%"), answer["predicted_step_ns"][i] / 1e6, float(row[name]),
                       answer["step_80_low_ns"][i] / 1e6, answer["step_80_high_ns"][i] / 1e6,
                       alone[models[i], minibatches[i], shares[i]])
    return errors


# ---- Abacus: parts of two networks, begun together

def abacus_rows(path):
    with open(path, newline="") as file:
        lines = list(csv.reader(file))[1:]
    for line in lines:
        yield tuple((line[i], int(line[i + 1]), int(line[i + 2]), int(line[i + 3]), int(line[i + 4]))
                    for i in (0, 5)), float(line[10])


def solo_times(pairs):
    """By (network, begin, end, samples, tokens): what it takes beside nothing."""
    times = {}
    for (a, b), time in pairs:
        for one, other in ((a, b), (b, a)):
            if other[1] == other[2] and one[1] < one[2]:
                times.setdefault(one, []).append(time)
    return {key: statistics.median(values) for key, values in times.items()}


def size(segment):
    return segment[3] * max(1, segment[4])


def abacus(folder, cohort, scratch, options):
    errors = Errors()
    files = {path: list(abacus_rows(path)) for path in sorted(folder.glob("*.csv"))}
    everywhere = solo_times(pair for pairs in files.values() for pair in pairs)
    ends = {}
    for segment in everywhere:
        ends[segment[0]] = max(ends.get(segment[0], 0), segment[2])
    for pairs in files.values():
        own = solo_times(pairs)
        known = [(pair, time) for pair, time in pairs if all(segment in own for segment in pair)]
        if not known:
            continue
        for network in {segment[0] for segment in own}:
            whole = {}
            for segment, time in everywhere.items():
                if segment[0] == network and segment[1] == 0 and segment[2] == ends[network]:
                    whole.setdefault(size(segment), []).append(time)
            parts = {}
            for segment, time in own.items():
                if segment[0] == network:
                    parts.setdefault((size(segment), part_name(segment)), []).append(time)
            rows = [[minibatch, "", statistics.median(times)] for minibatch, times in sorted(whole.items())]
            rows += [[minibatch, part, statistics.median(times)] for (minibatch, part), times in sorted(parts.items())]
            write_table(scratch / f"{network}.csv", ["minibatch", "part", "step_us"], rows)
        for pair, time in known:
            names = [segment[0] for segment in pair]
            if options.networks and not set(names) & options.networks:
                continue
            answer = colocate(cohort, *(scratch / f"{name}.csv" for name in names),
                              "--minibatch", ",".join(str(size(segment)) for segment in pair),
                              "--part", ",".join(part_name(segment) for segment in pair))
            errors.add((" + ".join(names),), answer["predicted_all_ns"] / 1e3, time, answer["all_80_low_ns"] / 1e3,
                       answer["all_80_high_ns"] / 1e3, max(own[segment] for segment in pair))
    return errors


def part_name(segment):
    tokens = f" x{segment[4]}" if segment[4] else ""
    return f"{segment[1]}-{segment[2]}{tokens} of {segment[3]}"


# ---- The table

def print_set(name, errors):
    if not errors.rows:
        return
    print(f"\n## {name}\n")
    print("| | rows | median error | 90th percentile | in the interval of 80% | naive rule: median, 90th percentile |")
    print("|---|---|---|---|---|---|")
    for group in [None, *errors.groups()]:
        found = errors.summary(group)
        print(f"| {group or '**all**'} | {found['rows']} | {100 * found['median']:.1f}% | {100 * found['p90']:.1f}% "
              f"| {100 * found['inside']:.0f}% | {100 * found['naive_median']:.1f}%, "
              f"{100 * found['naive_p90']:.1f}% |")
    if errors.answers:
        print(f"\nDo two processes gain at least {errors.GAIN}x? Answered rightly in {sum(errors.answers)} of "
              f"{len(errors.answers)} cases whose interval does not span it.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--networks", type=lambda text: set(text.split(",")), default=set(),
                        help="score only co-runs with one of these")
    parser.add_argument("--own-slice", action="store_true", help="hide what was measured on other slices (ParvaGPU)")
    parser.add_argument("--one-row", action="store_true", help="show one row of one process alone (ParvaGPU)")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--figures", type=Path, metavar="FOLDER", help="draw predicted and measured gains, SVG")
    parser.add_argument("--cohort", default=os.environ.get("COHORT", ROOT / "build/release/bin/cohort"))
    options = parser.parse_args()
    if not options.folder.is_dir():
        parser.error(f"{options.folder} is not a folder")
    if options.figures:
        draw(options.folder / "parvagpu", options.cohort, options)
        return
    sets = {}
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        if (options.folder / "parvagpu").is_dir():
            sets["parvagpu"], sets["parvagpu_bert"] = parvagpu(options.folder / "parvagpu", options.cohort, scratch,
                                                               options)
        if (options.folder / "igniter").is_dir() and not (options.own_slice or options.one_row):
            sets["igniter"] = igniter(options.folder / "igniter", options.cohort, scratch, options)
        if (options.folder / "abacus").is_dir() and not (options.own_slice or options.one_row):
            sets["abacus"] = abacus(options.folder / "abacus", options.cohort, scratch, options)
    if not any(errors.rows for errors in sets.values()):
        sys.exit(f"gpu_measured: {options.folder} holds no co-run to predict")
    if options.json:
        print(json.dumps({name: errors.summary() for name, errors in sets.items() if errors.rows}, indent=2))
        return
    for name, errors in sets.items():
        print_set(name, errors)


if __name__ == "__main__":
    main()
