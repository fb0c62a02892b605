#!/usr/bin/env python3
"""Predicted against measured speedup of model batches on the CPU device.

For every case: profiles the model alone, plans, and runs in turn the plan, its baseline and the best candidates of
other kinds of plan, so that the planner's choice can be judged: the plan, or one member after another where it
predicts no gain. Needs nothing beyond Python's library; writes a
Markdown table.

  bench/speedup_table.py --output bench/results/cpu-all.md        everything, an hour or more on 2 cores
  bench/speedup_table.py --quick                              a few small cases
  bench/speedup_table.py --profiles FOLDER --predict-again bench/results/cpu-all.md
                                                              what a changed simulator says of the plans and profiles
                                                              that are kept there, beside what was measured then
"""

import argparse
import datetime
import gzip
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Network, arguments, minibatch, numbers of members, input. "held out": never looked at when costs or the
# simulator's rules were tuned.
TUNED = ["lenet5", "mlp", "lstm", "smallcnn", "alexnet5"]
HELD_OUT = ["squeezenet1_1", "resnet18"]
SAME_MACHINE = 0.15  # as part of the baseline's time: within it the machine counts as the one that was profiled


def cases(quick):
    if quick:
        return [("lenet5", 1, 4, "made up, shared"), ("mlp", 1, 16, "made up, shared")]
    rows = [("smallcnn", 16, 16, source) for source in ("JPEG, shared", "JPEG, separate")]
    for count in (4, 16, 64):
        rows += [(network, minibatch, count, f"made up, {sharing}")
                 for network in TUNED for minibatch in (1, 16) for sharing in ("shared", "separate")]
        if count < 64:
            rows += [(network, minibatch, count, "made up, shared") for network in HELD_OUT for minibatch in (1, 16)]
    rows += [("alexnet5", 16, 16, source) for source in ("JPEG, shared", "JPEG, separate")]
    return sorted(rows, key=seconds_of)


def seconds_of(case):
    """What takes longest comes last, so that a limit on the time leaves out the least: cost of a step, roughly."""
    network, minibatch, count, _ = case
    return {"alexnet5": 25, "resnet18": 30, "smallcnn": 3, "squeezenet1_1": 8}.get(network, 1) * minibatch * count


def kind_of(plan):
    """What sort of plan a candidate is, as far as the choice between kinds goes."""
    strategies = {group["strategy"] for group in plan["groups"]}
    threads = {group.get("threads", 0) for group in plan["groups"] if group["strategy"] == "serial"}
    fused = tuple(sorted(strategies - {"serial", "concurrent"}))
    return (plan["streams"] > 1, fused, tuple(sorted(threads)) if not fused else ())


def chosen_ms(row):
    """Where no plan is predicted to gain, the planner says to run members one after another."""
    return row["step_ms"] if row["predicted"] > 1 else row["baseline_ms"]


def regret(row):
    """How much longer the choice took than the fastest of all that ran in turn with it, the baseline among them."""
    return chosen_ms(row) / min(row["step_ms"], row["baseline_ms"], *row["others_ms"]) - 1


class Bench:
    def __init__(self, cohort, folder, images, options):
        self.cohort, self.folder, self.images, self.options = cohort, folder, images, options

    def call(self, *arguments):
        result = subprocess.run([self.cohort, *map(str, arguments)], capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"cohort {' '.join(map(str, arguments))}: {result.stderr.strip()}")
        return json.loads(result.stdout) if "--json" in arguments else result.stdout

    def profile(self, network, minibatch, fused=True):
        file = self.folder / f"{network}-{minibatch}{'' if fused else '-single'}.trace.json.gz"
        if not file.exists():
            extra = ["--data", self.images] if network in ("smallcnn", "alexnet5") else []
            extra += [] if fused else ["--no-fused"]
            self.call("profile", network, "--minibatch", minibatch, *extra, "-o", file)
        return file

    def measure(self, plan, others=()):
        beside = ["--beside", *others] if others else []
        return self.call("run", plan, *beside, "-f", "--json", "--blocks", self.options.blocks,
                         "--block-ms", self.options.block_ms, "--iterations", 3, "-o", self.folder / "measured.json.gz")

    def row(self, network, minibatch, count, source):
        profile = self.profile(network, minibatch)
        values, sharing = source.split(", ")
        candidates = self.folder / f"{network}-{minibatch}-{count}-{values}-{sharing}"
        plan = self.folder / f"{candidates.name}.plan.json"
        data = ["--input", sharing] + (["--data", self.images] if values == "JPEG" else [])
        ranked = self.call("plan", profile, "-n", count, *data, "-f", "--json", "-o", plan, "--candidates", candidates)

        others, kinds = [], {kind_of(json.loads(plan.read_text()))}
        digits = max(2, len(str(len(ranked["ranked"]))))
        for place in range(1, len(ranked["ranked"])):
            file = candidates / f"{place + 1:0{digits}}.plan.json"
            candidate = json.loads(file.read_text())
            if kind_of(candidate) in kinds or len(others) >= self.options.others:
                continue
            if candidate["input"]["sharing"] != json.loads(plan.read_text())["input"]["sharing"]:
                continue
            kinds.add(kind_of(candidate))
            others.append(file)
        top = ranked["ranked"][0]
        analytic = None
        strategies = {group["strategy"] for group in json.loads(plan.read_text())["groups"]}
        if values == "made up" and strategies - {"serial", "concurrent"}:
            single = self.profile(network, minibatch, fused=False)
            analytic = self.call("simulate", single, "--plan", plan, "--json")["predicted_speedup"]
        times = self.measure(plan, others)
        runs = [times["plan"], times["baseline"], *times["beside"]]
        return {
            "network": network, "minibatch": minibatch, "count": count, "input": source, "plan": top["name"],
            "predicted": top["predicted_speedup"], "measured": times["measured_speedup"], "analytic": analytic,
            "baseline_ms": times["baseline"]["median_ns"] / 1e6, "profile": profile, "file": plan, "tries": 1, "again": None,
            "step_ms": times["plan"]["median_ns"] / 1e6, "predicted_ms": top["step_ns"] / 1e6,
            "samples_per_second": times["samples_per_step"] / times["plan"]["median_ns"] * 1e9,
            "others_ms": [run["median_ns"] / 1e6 for run in times["beside"]],
            "discarded": sum(run["discarded"] for run in runs), "disturbed": any(run["disturbed"] for run in runs),
        }

    def forget(self, network, minibatch):
        """What was profiled of a network, so that it is profiled anew."""
        for what in ("", "-single"):
            (self.folder / f"{network}-{minibatch}{what}.trace.json.gz").unlink(missing_ok=True)

    def try_again(self, row):
        """The same row from a new profile; of both the one whose baseline was nearer to what its profile says."""
        tried = self.row(row["network"], row["minibatch"], row["count"], row["input"])
        tries = row["tries"] + 1
        if abs(drift(tried)) < abs(drift(row)):
            row.update(tried)
        row["tries"] = tries

    def measure_again(self, row):
        row["again"] = self.measure(row["file"])["measured_speedup"]


def error(row, key="predicted"):
    return (row[key] - row["measured"]) / row["measured"]


def summary(rows, key="predicted"):
    errors = sorted(abs(error(row, key)) for row in rows if row[key] is not None)
    if not errors:
        return "no rows"
    p90 = errors[min(len(errors) - 1, int(0.9 * len(errors)))]
    return f"median {statistics.median(errors):.1%}, 90th percentile {p90:.1%}, worst {errors[-1]:.1%} ({len(errors)} rows)"


def drift(row):
    """How far the baseline's time was from what the profile says."""
    return row["baseline_ms"] / (row["predicted_ms"] * row["predicted"]) - 1


def as_profiled(rows):
    """Rows whose baseline, which is nothing but the profiled ops, took what it was profiled to take: for the others the
    machine had changed between profile and run, and nobody can tell what a prediction from that profile is worth."""
    same = [row for row in rows if abs(drift(row)) <= SAME_MACHINE]
    good = sum(regret(row) <= 0.05 for row in same)
    return (f"- Rows whose baseline took within {SAME_MACHINE:.0%} of what it was profiled to take: {summary(same)}; the planner's choice "
            f"within 5% of the best measured in {good} of them")


def noise(rows):
    """What measuring the same plan again gives: no prediction of it can be nearer than that."""
    if all(row["again"] is None for row in rows):
        return []
    return [f"- The same plans measured once more, after all rows: they differ by {summary(rows, 'again')}"]


def decode_ms(profile):
    """Time of one image on one core, read from a profile: the sum of the stages' medians."""
    with gzip.open(profile) as file:
        events = json.load(file)["traceEvents"]
    stages = {}
    for event in events:
        name = event.get("args", {}).get("signature", "")
        if event.get("ph") == "X" and name.startswith("input "):
            stages.setdefault(name, []).append(event["dur"] / 1e3)
    return sum(statistics.median(times) for times in stages.values())


def sharing(rows):
    """How much of what sharing can give is reached: 16(D + C)/(D + 16C) from decode and compute measured alone."""
    lines = []
    for network in ("smallcnn", "alexnet5"):
        pick = {row["input"]: row for row in rows if (row["network"], row["minibatch"], row["count"]) == (network, 16, 16)}
        if "JPEG, shared" not in pick or "made up, shared" not in pick:
            continue
        d = decode_ms(pick["JPEG, shared"]["profile"]) * 16 / cores()
        c = pick["made up, shared"]["baseline_ms"] / 16
        limit = 16 * (d + c) / (d + 16 * c)
        got = pick["JPEG, shared"]["measured"]
        lines.append(f"- Sharing JPEG input among 16 {network}, minibatch 16: D = {d:.2f} ms, C = {c:.2f} ms on {cores()} cores, limit "
                     f"{limit:.2f}x, measured {got:.2f}x ({got / limit:.0%} of it), {pick['JPEG, shared']['samples_per_second']:.0f} images/s "
                     "over all members (more than all of it where a member alone leaves cores idle between decoding and computing)")
    return lines


def said(*command):
    """What a program says, empty where there is none."""
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()
    except FileNotFoundError:
        return ""


def cores():
    return len(os.sched_getaffinity(0))


def provenance():
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    system = platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    commit = said("git", "-C", ROOT, "rev-parse", "--short", "HEAD") + (
        " with changes" if said("git", "-C", ROOT, "status", "--porcelain", "--untracked-files=no") else "")
    return (f"{datetime.date.today()}, commit {commit}; {cpu}, {cores()} cores, oneDNN {said('dpkg-query', '-W', '-f', '${Version}', 'libdnnl-dev')}, "
            f"gcc {said('gcc', '-dumpfullversion')}, {system}")


def table(rows, call, made):
    held = [row for row in rows if row["network"] in HELD_OUT]
    tuned = [row for row in rows if row["network"] not in HELD_OUT]
    good = sum(regret(row) <= 0.05 for row in rows)
    out = [
        "# Predicted against measured speedup, CPU device", "",
        f"`{call}`, {made}.", "",
        "Speedup is over the best single-model plan, members one after another. Step times are medians of interleaved",
        "blocks; `lost` counts disturbed blocks that were discarded, `*` rows that were never quiet. The planner's choice is",
        "the plan, or members one after another where it predicts no gain; `regret` is how much longer the choice took than",
        "the fastest of all that were run in turn: one after another, and the kinds of plan, `of` so many in all.",
        "`analytic` is the prediction for the same plan from single ops only, `baseline` how far the baseline's",
        "time was from what the profile says. `tries`: where that was further than "
        f"{SAME_MACHINE:.0%}, the network was profiled and the row measured again", "after all others; the try counts whose baseline was nearest to its profile.", "",
        f"- Tuned networks: {summary(tuned)}",
        f"- Held out (squeezenet1_1, resnet18): {summary(held)}",
        f"- Fusion predicted from single ops only: {summary(rows, 'analytic')}; the same rows with fused calls profiled: "
        + summary([row for row in rows if row["analytic"] is not None]),
        f"- The planner's choice within 5% of the best measured: {good} of {len(rows)} rows",
        as_profiled(rows), *noise(rows), *sharing(rows), "",
        "| network | minibatch | N | input | chosen plan | step ms | predicted | measured | error | analytic | baseline | tries | regret | of | lost |",
        "|---|--:|--:|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        analytic = f"{row['analytic']:.2f}x" if row["analytic"] is not None else ""
        out.append(f"| {row['network']} | {row['minibatch']} | {row['count']} | {row['input']} | {row['plan']} | {row['step_ms']:.3g} | "
                   f"{row['predicted']:.2f}x | {row['measured']:.2f}x | {error(row):+.1%} | {analytic} | {drift(row):+.0%} | {row['tries']} | {regret(row):.1%} | "
                   f"{len(row['others_ms']) + 2} | {row['discarded']}{'*' if row['disturbed'] else ''} |")
    return "\n".join(out) + "\n"


def predict_again(bench, file):
    """The plans of a table that was measured before, predicted anew from the profiles kept with them. Nothing runs."""
    rows = []
    for line in file.read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) < 10 or not cells[2].isdigit():
            continue
        network, minibatch, count, source = cells[1:5]
        plan = bench.folder / f"{network}-{minibatch}-{count}-{source.replace(', ', '-')}.plan.json"
        profile = bench.folder / f"{network}-{minibatch}.trace.json.gz"
        for needed in (plan, profile):
            if not needed.exists():
                sys.exit(f"{needed} is missing; give the folder that the table was made with (--profiles)")
        now = bench.call("simulate", profile, "--plan", plan, "--json")["predicted_speedup"]
        rows.append({"network": network, "predicted": now, "measured": float(cells[8].removesuffix("x"))})
        print(f"{network} b{minibatch} N={count} {source}: predicted {cells[7]} then, {now:.2f}x now, measured {cells[8]} "
              f"({error(rows[-1]):+.1%})")
    print(f"tuned networks: {summary([row for row in rows if row['network'] not in HELD_OUT])}")
    print(f"held out: {summary([row for row in rows if row['network'] in HELD_OUT])}")


def command():
    return " ".join(["bench/speedup_table.py", *sys.argv[1:]])


def write(options, rows):
    """After every row: what was measured is kept whatever comes next."""
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(table(rows, command(), options.made))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cohort", default=ROOT / "build/release/bin/cohort")
    parser.add_argument("--output", type=pathlib.Path, help="Markdown file; standard output unless given")
    parser.add_argument("--profiles", type=pathlib.Path, help="keep profiles here, and take those that are there")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--match", default="", help="only cases with this in 'NETWORK MINIBATCH N INPUT', as 'made up, separate'")
    parser.add_argument("--blocks", type=int, default=9)
    parser.add_argument("--block-ms", type=int, default=80)
    parser.add_argument("--others", type=int, default=4, help="other kinds of plan to run for each case")
    parser.add_argument("--minutes", type=float, help="measure no further case, nor one again, after this long")
    parser.add_argument("--retries", type=int, default=2, help="how often rows whose baseline was not as profiled are profiled and measured again")
    parser.add_argument("--predict-again", type=pathlib.Path, metavar="TABLE", help="measure nothing: predict the plans of this table anew")
    parser.add_argument("--again", action="store_true", help="at the end measure every plan once more: the noise of the machine")
    options = parser.parse_args()
    if options.predict_again:
        if not options.profiles:
            parser.error("--predict-again needs --profiles: the folder that the table was made with")
        return predict_again(Bench(str(options.cohort), options.profiles, None, options), options.predict_again)
    options.made = provenance()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.profiles or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        images = pathlib.Path(temporary) / "images"
        bench = Bench(str(options.cohort), folder, images, options)
        bench.call("dataset", "synth", images, "--classes", 4, "--images-per-class", 64, "-q")
        rows = []

        def is_over():
            return options.minutes and time.monotonic() - begin > 60 * options.minutes

        for case in (case for case in cases(options.quick) if options.match in " ".join(map(str, case))):
            if is_over():
                print(f"{options.minutes} minutes are over: {' '.join(map(str, case))} and what follows is left out", file=sys.stderr)
                break
            rows.append(bench.row(*case))
            row = rows[-1]
            print(f"{row['network']} b{row['minibatch']} N={row['count']} {row['input']}: predicted {row['predicted']:.2f}x, "
                  f"measured {row['measured']:.2f}x ({error(row):+.1%}), regret {regret(row):.1%}", file=sys.stderr, flush=True)
            write(options, rows)
        for _ in range(options.retries):
            off = [row for row in rows if abs(drift(row)) > SAME_MACHINE]
            for model in dict.fromkeys((row["network"], row["minibatch"]) for row in off):
                if is_over():
                    break
                bench.forget(*model)
                for row in (row for row in off if (row["network"], row["minibatch"]) == model):
                    bench.try_again(row)
                    write(options, rows)
        for row in rows if options.again else []:
            bench.measure_again(row)
            write(options, rows)
    if not options.output:
        print(table(rows, command(), options.made))


if __name__ == "__main__":
    main()
