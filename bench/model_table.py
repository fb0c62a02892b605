#!/usr/bin/env python3
"""Every model as a newcomer runs it: the default profile, the planner's choice, and what is measured.

For every built-in network, and every ONNX model in the folders given, with 4 and with 16 members: profiles it with the
defaults, plans, and runs in turn the plan, one member after another and the best candidates of other kinds of plan. No
row is profiled or measured a second time. Needs nothing beyond Python's library; writes a Markdown table.

  bench/model_table.py --output bench/results/models.md
  bench/model_table.py --onnx FOLDER --match shufflenet       one model of a folder that has MODEL/model.onnx
  bench/model_table.py --networks --onnx FOLDER               ONNX models only
  bench/model_table.py --file "vad.onnx --dim sequence=576"   a file with the options that `cohort profile` needs for it
  bench/model_table.py --networks --packages mtcnn asr        models out of packages from PyPI, as bench/package_models.py names them
  bench/model_table.py --thorough                             the same from thorough profiles, which take minutes each
"""

import argparse
import json
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

import package_models
from speedup_table import ROOT, kind_of, provenance

NETWORKS = ["mlp", "lenet5", "lstm", "gru", "smallcnn", "encoder", "squeezenet1_1", "mobilenet_v2", "alexnet5", "randwire",
            "resnet18", "densenet121", "alexnet", "inception_v3", "resnet50"]
HELD_OUT = ["inception_v3", "resnet50", "alexnet", "gru", "randwire"]
WITHIN = 0.05  # of the best measured, for a choice to be good
GAIN = 0.10    # from here on a gain's own error is told
DAY = 0.08     # of what was predicted, for a baseline to be as profiled


class Bench:
    """Profiles models and measures what the planner makes of them. `how` gives what is added to the profile command of a model."""

    def __init__(self, options, folder, how=lambda _name: []):
        self.options, self.folder, self.how = options, folder, how

    def call(self, *arguments):
        result = subprocess.run([str(self.options.cohort), *map(str, arguments)], capture_output=True, text=True)
        if result.returncode != 0:
            raise RuntimeError(f"cohort {' '.join(map(str, arguments))}: {result.stderr.strip()}")
        return json.loads(result.stdout) if "--json" in arguments else result.stdout

    def rows(self, name, model):
        profile = self.folder / f"{name}.trace.json.gz"
        begin = time.monotonic()
        self.call("profile", model, "-f", "-o", profile, *self.how(name), *(["--thorough"] if self.options.thorough else []))
        took = time.monotonic() - begin
        for count in self.options.members:
            yield self.row(name, profile, count) | {"profile_s": took}

    def measure(self, plan, others):
        """As many of the others beside the plan as memory has room for; those that have none leave the list."""
        while True:
            try:
                return self.call("run", plan, *(["--beside", *others] if others else []), "-f", "--json", "--iterations", 3,
                                 "--blocks", 9, "--block-ms", 80, "-o", self.folder / "measured.json.gz")
            except RuntimeError as error:
                if not others or "of memory are free" not in str(error):
                    raise
                others.pop()

    def row(self, name, profile, count):
        plan, candidates = self.folder / "x.plan.json", self.folder / f"{name}-{count}"
        ranked = self.call("plan", profile, "-n", count, "-f", "--json", "-o", plan, "--candidates", candidates)
        others, kinds = [], {kind_of(json.loads(plan.read_text()))}
        digits = max(2, len(str(len(ranked["ranked"]))))
        for place in range(1, len(ranked["ranked"])):
            file = candidates / f"{place + 1:0{digits}}.plan.json"
            kind = kind_of(json.loads(file.read_text()))
            if kind not in kinds and len(others) < self.options.others:
                kinds.add(kind)
                others.append(file)
        times = self.measure(plan, others)
        top = ranked["ranked"][0]
        baseline, step = (times[key]["median_ns"] for key in ("baseline", "plan"))
        best = min([baseline, step, *(each["median_ns"] for each in times["beside"])])
        profiled = json.loads(plan.read_text())["resolved"].get("core_round_trip_ns", 0)
        measured = max(times[key]["core_round_trip_ns"] for key in ("baseline", "plan"))
        return {"trips": (profiled, measured), "name": name, "count": count, "plan": top["name"], "predicted": top["predicted_speedup"],
                "low": top["speedup_80_low"], "high": top["speedup_80_high"], "measured": times["measured_speedup"],
                "baseline": baseline, "predicted_baseline": ranked["baseline_ns"], "step": step,
                "predicted_step": top["step_ns"], "regret": step / best - 1,
                "of": len(others) + 2}


def error(row):
    return row["predicted"] / row["measured"] - 1


def gain_error(row):
    """Of the speedup less 1; nothing where there was next to none."""
    gain = row["measured"] - 1
    return (row["predicted"] - 1) / gain - 1 if gain >= GAIN else None


def error_of_no_gain(row):
    """What the prediction that nothing is gained would have erred by."""
    return 1 / row["measured"] - 1


def drift(row):
    return row["predicted_baseline"] / row["baseline"] - 1


def cores_moved(row):
    """Whether cores were twice or half as far apart as when profiled; not where either is not known."""
    shorter, longer = sorted(row["trips"])
    return shorter > 0 and longer >= 2 * shorter


def spread(errors):
    """Of relative errors, whatever their sign."""
    if not errors:
        return "no rows"
    errors = sorted(map(abs, errors))
    p90 = errors[min(len(errors) - 1, int(0.9 * len(errors)))]
    return f"median {statistics.median(errors):.1%}, 90th percentile {p90:.1%}, worst {errors[-1]:.1%} ({len(errors)} rows)"


def inside(rows):
    return sum(row["low"] <= row["measured"] <= row["high"] for row in rows)


def losing(rows):
    return sum(row["measured"] < 0.98 for row in rows)


def summary(rows):
    return spread([error(row) for row in rows])


def table(rows, failures, title, made):
    """`made`: the command, when and where."""
    ran = [row for row in rows if row["plan"] != "one after another"]  # the others are predicted and measured as 1.00x
    still = [row for row in rows if not cores_moved(row)]
    known = [row for row in ran if row["name"] in NETWORKS and row["name"] not in HELD_OUT]
    unseen = [row for row in ran if row not in known]
    longest = max((row for row in rows), key=lambda row: row["profile_s"], default=None)
    out = [f"# {title}", "", f"{made}.", "",
           "Speedup is over members one after another, each in its best single-model plan. `8 of 10`: where the measured speedup",
           "is predicted to lie. `baseline`: how far its predicted time was from the measured one. `regret`: how much longer the",
           "chosen plan took than the fastest of all that ran in turn with it, `of` so many. `cores`: ns in which a cache line goes",
           "from one core to another and back, when profiled and when measured; the system moves the cores of a virtual machine about.",
           f"`gain`: error of the gain, the speedup less 1, where that was {GAIN:.0%} or more. `none`: what \"no gain\" would have erred by.", "",
           f"- Speedup of chosen plans, error: {summary(ran)}",
           f"- Networks that were looked at while rules were made: {summary(known)}",
           f"- Others: {summary(unseen)}",
           f"- Rows whose cores were as far apart as when profiled: {summary([row for row in ran if row in still])}; baselines off "
           f"by {spread([drift(row) for row in still])}",
           f"- Gain (speedup less 1) where it was {GAIN:.0%} or more, error: {spread([each for each in map(gain_error, ran) if each is not None])}",
           f"- Had every prediction been \"no gain\", error of the speedup: {spread([error_of_no_gain(row) for row in ran])}",
           f"- Step time of chosen plans, error: {spread([row['predicted_step'] / row['step'] - 1 for row in rows])}",
           f"- Measured inside its interval: {inside(ran)} of {len(ran)}; {len(rows) - len(ran)} rows chose one after another",
           f"- Baseline within {DAY:.0%} of its prediction: {sum(abs(drift(row)) <= DAY for row in rows)} of {len(rows)}; "
           f"off by {spread([drift(row) for row in rows])}",
           f"- The choice within {WITHIN:.0%} of the best measured: {sum(row['regret'] <= WITHIN for row in rows)} of {len(rows)}",
           f"- Plans that lose more than 2%: {losing(ran)} of {len(rows)}"]
    if longest:
        out.append(f"- Longest profile: {longest['profile_s']:.1f} s ({longest['name']})")
    out += [f"- Failed: {failure}" for failure in failures]
    out += ["", "| model | N | profile s | chosen plan | step ms | predicted | 8 of 10 | measured | error | gain | none | baseline | regret | of | cores |",
            "|---|--:|--:|---|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|"]
    for row in rows:
        of_gain = gain_error(row)
        plan = row["plan"] if len(row["plan"]) < 60 else row["plan"][:57] + "..."
        out.append(f"| {row['name']} | {row['count']} | {row['profile_s']:.1f} | {plan} | {row['step'] / 1e6:.3g} | {row['predicted']:.2f}x | "
                   f"{row['low']:.2f} to {row['high']:.2f} | {row['measured']:.2f}x | {error(row):+.1%} | "
                   f"{'' if of_gain is None else format(of_gain, '+.0%')} | {error_of_no_gain(row):+.1%} | {drift(row):+.1%} | "
                   f"{row['regret']:.1%} | {row['of']} | {row['trips'][0]}, {row['trips'][1]} |")
    return "\n".join(out) + "\n"


def measure(bench, models, title, made):
    """Rows of all models, by name, told and written as they come; no further model is begun when --minutes are over."""
    options, rows, failures = bench.options, [], []
    begin = time.monotonic()
    for name, model in models.items():
        if options.match not in name:
            continue
        if options.minutes and time.monotonic() - begin > 60 * options.minutes:
            failures.append(f"{name}: not begun, {options.minutes:g} minutes were over")
            continue
        try:
            for row in bench.rows(name, model):
                rows.append(row)
                print(f"{name} N={row['count']}: profile {row['profile_s']:.1f} s, predicted {row['predicted']:.2f}x "
                      f"({row['low']:.2f} to {row['high']:.2f}), measured {row['measured']:.2f}x ({error(row):+.1%}), baseline "
                      f"{drift(row):+.1%}, regret {row['regret']:.1%}", file=sys.stderr, flush=True)
        except RuntimeError as problem:
            failures.append(f"{name}: {problem}")
            print(failures[-1], file=sys.stderr)
        if options.output:
            options.output.write_text(table(rows, failures, title, made))
    if not options.output:
        print(table(rows, failures, title, made))


def parser_of(text):
    """Options of every table of this kind."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cohort", default=ROOT / "build/release/bin/cohort")
    parser.add_argument("--output", type=pathlib.Path, help="Markdown file; standard output unless given")
    parser.add_argument("--networks", nargs="*", default=NETWORKS)
    parser.add_argument("--match", default="", help="only models with this in their name")
    parser.add_argument("--members", type=int, nargs="+", default=[4, 16])
    parser.add_argument("--others", type=int, default=3, help="other kinds of plan to run for each row")
    parser.add_argument("--thorough", action="store_true")
    parser.add_argument("--minutes", type=float, help="begin no further model after this long")
    return parser


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--onnx", type=pathlib.Path, action="append", default=[], help="folder of folders with a model.onnx each")
    parser.add_argument("--file", action="append", default=[], help="an ONNX file and options of `cohort profile`, in quotes")
    parser.add_argument("--packages", nargs="*", metavar="WORD", help="models from packages with such a word in their name; without one: all")
    options = parser.parse_args()
    models = {name: name for name in options.networks}
    for folder in options.onnx:
        models |= {path.parent.name: path for path in sorted(folder.glob("*/model.onnx"))}
    added = {}
    for text in options.file:
        file, *more = shlex.split(text)
        name = pathlib.Path(file).stem
        models[name], added[name] = file, more
    if options.packages is not None:
        for model in package_models.fetch(options.packages):
            models[model.name], added[model.name] = model.file, model.options
    call = " ".join(["bench/model_table.py", *map(shlex.quote, sys.argv[1:])])
    for folder in [*options.onnx, *{pathlib.Path(shlex.split(text)[0]).parent for text in options.file}]:
        call = call.replace(str(folder), "FOLDER")
    with tempfile.TemporaryDirectory() as temporary:
        measure(Bench(options, pathlib.Path(temporary), lambda name: added.get(name, [])), models, f"Every model with its {'thorough' if options.thorough else 'default'} profile, CPU device",
                f"`{call}`, {provenance()}")


if __name__ == "__main__":
    main()
