#!/usr/bin/env python3
"""Training steps side by side with PyTorch and JAX on the CPU.

Two tables, both measured in one run. Single steps: a network alone, profiled and planned (N = 1), beside PyTorch's eager
mode, with --compile beside torch.compile, too. Model batches: the plan that Cohort's planner chooses and the speedup that
it predicts, beside the members one after another by Cohort and by PyTorch, torch.func.vmap over grad, and JAX's vmap over
grad with jit. A step is the forward pass, softmax cross-entropy, gradients and update; all members read one minibatch.

Programs are timed in turn, round by round: a short `cohort run`, then a few blocks of each peer, so that what else the
machine does meets all of them alike; a time is the median over the rounds. It ends within --minutes: every row has an
equal share of what is left, and rounds end with the share. What fails, or has no time left, is listed below the tables
and loses no other row; --output is written after every row.

Needs PyTorch and JAX (PyPI), best in a virtual environment; exit code 4 where one is missing. --without-jax does without.

  bench/peers/training.py --output bench/results/peers-training.md                      everything, in 10 minutes
  bench/peers/training.py --networks mlp lenet5 --together mlp --counts 16 --minutes 2  a few rows
  bench/peers/training.py --optimizer adam --compile --minutes 30                       with torch.compile
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from beside import ROOT, Failed, OutOfTime, Program, Share, geometric_mean, machine, shown, write
from measured import OPTIMIZERS, timed

try:
    import torch

    import pytorch
    from pytorch_training import TrainingCase
except ImportError as error:
    print(f"PyTorch is missing: {error}", file=sys.stderr)
    sys.exit(4)

SINGLE = ["mlp", "lenet5", "lstm", "gru", "smallcnn", "squeezenet1_1", "mobilenet_v2", "alexnet5", "resnet18", "alexnet"]
TOGETHER = ["mlp", "lenet5", "smallcnn", "lstm"]


class Cohort(Program):
    """Steps of one plan, as the command line trains them."""

    def __init__(self, options, folder, whole):
        super().__init__(options.cohort, options.threads, whole)
        self.options, self.folder = options, folder

    def plan(self, network, count, share):
        """The plan that `cohort plan` ranks first, and what it predicts; one profile serves every count."""
        profile = self.folder / f"{network}.trace.json.gz"
        if not profile.exists():
            self.call("profile", network, "--train", self.options.optimizer, "--minibatch", self.options.minibatch, "-o", profile,
                      seconds=max(1, 0.7 * share.left()))
        plan = self.folder / f"{network}-{count}.plan.json"
        ranked = json.loads(self.call("plan", profile, "-n", count, "-f", "--json", "-o", plan))
        return plan, ranked["ranked"][0]

    def times(self, plan):
        """Medians of a step in ns, of the plan and of its members one after another."""
        answer = json.loads(self.call("run", plan, "-f", "--json", "--blocks", self.options.blocks, "--block-ms",
                                      self.options.block_ms, "--iterations", 1, "-o", self.folder / "measured.json.gz"))
        return answer["plan"]["median_ns"], answer["baseline"]["median_ns"]


def torch_ways(network, count, options, modes):
    """By name: a step and how to wait for it."""
    ways = {}
    for mode in modes:
        case = argparse.Namespace(network=network, count=count, minibatch=options.minibatch, mode=mode, train=options.optimizer)
        members, x = pytorch.make_members(case, torch.device("cpu"))
        ways[f"PyTorch {mode}"] = (TrainingCase(options.optimizer, network, members, x).way(mode), lambda _losses: None)
    return ways


def jax_ways(network, count, options):
    import jax

    import jax_training
    import jax_vmap

    case = argparse.Namespace(network=network, count=count, minibatch=options.minibatch)
    call, members, x = jax_vmap.make_members(case)
    return {"JAX vmap": (jax_training.TrainingCase(options.optimizer, call, members, x).way("vmap"), jax.block_until_ready)}


def in_turn(cohort, plan, ways, options, share):
    """Times in ns, one a round, of "cohort", "one by one", and every way."""
    times = {name: [] for name in ("cohort", "one by one", *ways)}
    once = argparse.Namespace(warmup=2, blocks=options.blocks, block_ms=options.block_ms)
    for step, wait in ways.values():
        wait(step())  # compiles what is compiled
    for done in range(options.rounds):
        begin = time.monotonic()
        try:
            step, one_by_one = cohort.times(plan)
        except OutOfTime:
            if times["cohort"]:
                break  # the rounds before are worth having
            raise
        times["cohort"].append(step)
        times["one by one"].append(one_by_one)
        for name, (step, wait) in ways.items():
            times[name].append(statistics.median(timed(step, wait, once)[0]))
        if done > 0 and share.left() < time.monotonic() - begin:
            break
    shortest = min(len(each) for each in times.values())
    return {name: each[:shortest] for name, each in times.items()}


def compared(network, count, cohort, options, share):
    modes = ["eager", "compile"] if count == 1 else ["eager", "vmap", "compile_vmap"]
    modes = [mode for mode in modes if options.compile or not mode.startswith("compile")]
    plan, top = cohort.plan(network, count, share)
    ways = torch_ways(network, count, options, modes)
    if count > 1 and not options.without_jax:
        ways |= jax_ways(network, count, options)
    times = in_turn(cohort, plan, ways, options, share)
    ratios = sorted(ours / theirs for ours, theirs in zip(times["cohort"], times["PyTorch eager"]))
    return {"network": network, "count": count, "plan": top["name"], "predicted": top["predicted_speedup"],
            "low": top["speedup_80_low"], "high": top["speedup_80_high"], "rounds": len(ratios),
            "ns": {name: statistics.median(each) for name, each in times.items()},
            "ratio": statistics.median(ratios), "least": ratios[0], "most": ratios[-1]}


def fastest_peer(row):
    """Its name, of those that train all members, and its time."""
    return min(((name, ns) for name, ns in row["ns"].items() if name not in ("cohort", "one by one")), key=lambda pair: pair[1])


def single_table(rows):
    if not rows:
        return []
    worst = max(rows, key=lambda row: row["ratio"])
    compiled = any("PyTorch compile" in row["ns"] for row in rows)
    out = ["## Single training steps", "",
           "The ratio is the median over the rounds of Cohort's time by PyTorch eager's (smallest to largest): below 1 Cohort is faster.",
           "", f"Geometric mean of the ratio **{geometric_mean(rows):.2f}**, worst {worst['ratio']:.2f} ({worst['network']}).", "",
           f"| network | Cohort | PyTorch eager | {'torch.compile | ' if compiled else ''}ratio | rounds |",
           f"|---|--:|--:|{'--:|' if compiled else ''}--:|--:|"]
    for row in rows:
        more = f"{shown(row['ns']['PyTorch compile'])} | " if compiled else ""
        out.append(f"| {row['network']} | {shown(row['ns']['cohort'])} | {shown(row['ns']['PyTorch eager'])} | {more}"
                   f"{row['ratio']:.2f} ({row['least']:.2f} to {row['most']:.2f}) | {row['rounds']} |")
    return [*out, ""]


def together_table(rows):
    if not rows:
        return []
    gaining = [row for row in rows if row["predicted"] > 1]
    won = sum(row["ns"]["cohort"] < fastest_peer(row)[1] for row in gaining)
    names = list(dict.fromkeys(name for row in rows for name in row["ns"] if name not in ("cohort", "one by one")))
    out = ["## Model batches", "",
           "`predicted` and `measured` are the speedup of Cohort's plan over its members one after another, with where 8 of 10 measured",
           "ones are expected to lie. `over fastest` is the time of the fastest peer by that of Cohort's plan: above 1 Cohort is faster.",
           "", f"Cohort is faster than the fastest peer in {won} of {len(gaining)} rows in which it predicts to gain.", "",
           f"| network | N | chosen plan | Cohort | one by one | {' | '.join(names)} | predicted | measured | over fastest | rounds |",
           f"|---|--:|---|--:|--:|{'--:|' * len(names)}--:|--:|--:|--:|"]
    for row in rows:
        ns = row["ns"]
        name, best = fastest_peer(row)
        peers = " | ".join(shown(ns[each]) if each in ns else "" for each in names)
        plan = row["plan"] if len(row["plan"]) < 60 else row["plan"][:57] + "..."
        out.append(f"| {row['network']} | {row['count']} | {plan} | {shown(ns['cohort'])} | {shown(ns['one by one'])} | {peers} | "
                   f"{row['predicted']:.2f}x ({row['low']:.2f} to {row['high']:.2f}) | {ns['one by one'] / ns['cohort']:.2f}x | "
                   f"{best / ns['cohort']:.2f} ({name}) | {row['rounds']} |")
    return [*out, ""]


def table(rows, failures, options, made):
    out = ["# Training steps, Cohort beside PyTorch and JAX", "",
           f"`bench/peers/training.py {' '.join(sys.argv[1:])}`, {made}.", "",
           f"Minibatch {options.minibatch}, optimizer {options.optimizer}, float32; load of the machine at the start {options.load:.1f}.",
           ""]
    out += single_table([row for row in rows if row["count"] == 1])
    out += together_table([row for row in rows if row["count"] > 1])
    if failures:
        out += ["Not compared:", "", *(f"- {name}: {reason}" for name, reason in failures), ""]
    return "\n".join(out)


def versions(options):
    if options.without_jax:
        return f"PyTorch {torch.__version__}"
    try:
        import jax
    except ImportError as error:
        print(f"JAX is missing: {error}; --without-jax does without", file=sys.stderr)
        sys.exit(4)
    return f"PyTorch {torch.__version__}, JAX {jax.__version__}"


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cohort", default=ROOT / "build/release/bin/cohort")
    parser.add_argument("--networks", nargs="*", default=SINGLE, choices=sorted(pytorch.NETWORKS), help="of single steps")
    parser.add_argument("--together", nargs="*", default=TOGETHER, choices=TOGETHER, help="networks of model batches")
    parser.add_argument("--counts", nargs="+", type=int, default=[16, 64], help="members of model batches")
    parser.add_argument("--minibatch", type=int, default=16)
    parser.add_argument("--optimizer", choices=OPTIMIZERS, default="momentum")
    parser.add_argument("--compile", action="store_true", help="torch.compile, too, which takes long to start")
    parser.add_argument("--without-jax", action="store_true")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--blocks", type=int, default=3, help="blocks of each side in a round")
    parser.add_argument("--block-ms", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=10, help="for all rows together")
    parser.add_argument("--keep", type=pathlib.Path, help="keep profiles and plans here, and take profiles that are there")
    parser.add_argument("--output", type=pathlib.Path, help="Markdown file; standard output unless given")
    return parser.parse_args()


def told(row):
    times = ", ".join(f"{name} {shown(ns)}" for name, ns in row["ns"].items())
    predicted = f", predicted {row['predicted']:.2f}x" if row["count"] > 1 else f", ratio {row['ratio']:.2f}"
    print(f"{row['network']} N={row['count']}: {times}{predicted}, {row['rounds']} rounds", file=sys.stderr, flush=True)


def main():
    options = parsed()
    torch.set_num_threads(options.threads)
    options.load = os.getloadavg()[0]
    made = f"{machine(options)}, {versions(options)}"
    rows, failures = [], []
    cases = [(network, 1) for network in options.networks]
    cases += [(network, count) for network in options.together for count in options.counts]
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.keep or pathlib.Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        whole = Share(60 * options.minutes)
        cohort = Cohort(options, folder, whole)
        for i, (network, count) in enumerate(cases):
            reason = None
            try:
                rows.append(compared(network, count, cohort, options, whole.part(len(cases) - i)))
                told(rows[-1])
            except subprocess.TimeoutExpired:
                reason = "profiling it takes longer than its share of --minutes"
            except (Failed, OutOfTime, RuntimeError) as error:
                reason = str(error).strip().replace("\n", " ")
            if reason:
                failures.append((f"{network} N={count}", reason))
                print(f"{network} N={count}: {reason}", file=sys.stderr, flush=True)
            if options.output:
                write(options.output, table(rows, failures, options, made))
    if not options.output:
        print(table(rows, failures, options, made))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
