#!/usr/bin/env python3
"""Single models side by side with ONNX Runtime's CPU provider.

For every network and minibatch: exports the network to ONNX, profiles and plans it alone (N = 1), checks that both
sides compute the same from the same input, then times them in turn: a short `cohort run` of the plan, a block of ONNX
Runtime's session, and so on. A row's ratio is the median over the rounds of Cohort's time by ONNX Runtime's, so that
what else the machine does meets both alike; times are medians of all blocks.

It ends within --minutes: every row has an equal share of what is left. A network whose profile would take more than
half of its share runs with the device's first choices of algorithm, as with --unplanned, and the table says so; rounds
end with the share, and whatever program still runs when the minutes are over is stopped. What fails, or has no time
left, is listed below the table and loses no other row; --output is written after every row.

Both sides use as many threads as --threads says, float32, their defaults otherwise. Input and output lie in memory
that either side chose itself (ONNX Runtime with IO binding), so that neither pays for the other's layout.

Needs numpy and onnxruntime (PyPI), best in a virtual environment; without them it says so and ends with 77, which
test runners read as skipped.

  bench/peers/onnx_runtime.py                                   all networks, minibatch 1 and 16, in 10 minutes
  bench/peers/onnx_runtime.py --minutes 30 --output FILE        more of them profiled, more rounds
  bench/peers/onnx_runtime.py --networks resnet50 --minibatch 1
  bench/peers/onnx_runtime.py --unplanned                       the same without profiling, a third of the time
  bench/peers/onnx_runtime.py --check --networks lenet5 mlp     compare outputs, time nothing
  bench/peers/onnx_runtime.py --ops resnet50                    where ONNX Runtime spends its time, op by op
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from beside import OutOfTime, Program, ROOT, Share, geometric_mean, machine, shown, write
from onnx_session import TOLERANCE, VERSION, Peer, block, difference, outputs_of_plan

CONVOLUTIONAL = ["alexnet", "alexnet5", "densenet121", "inception_v3", "mobilenet_v2", "resnet18", "resnet50", "smallcnn",
                 "squeezenet1_1"]
TOLD_APART = ["lenet5", "mlp"]
OTHERS = ["encoder", "gru", "lstm", "randwire"]


class Cohort(Program):
    def __init__(self, program, folder, threads, whole):
        super().__init__(program, threads, whole)
        self.folder = folder
        self.slow = set()  # networks that take too long to profile

    def export(self, network, minibatch):
        file = self.folder / f"{network}-{minibatch}.onnx"
        self.call("models", network, "--minibatch", minibatch, "--export", file, "-f")
        return file

    def plan(self, network, minibatch, share):
        """Nothing where a profile would take too long."""
        profile = self.folder / f"{network}-{minibatch}.trace.json.gz"
        plan = self.folder / f"{network}-{minibatch}.plan.json"
        if not profile.exists():
            if network in self.slow:
                return None
            try:
                self.call("profile", network, "--minibatch", minibatch, "--no-fused", "-o", profile,
                          seconds=max(share.left() / 2, 1))
            except subprocess.TimeoutExpired:
                self.slow.add(network)  # nor with a larger minibatch
                profile.unlink(missing_ok=True)
                return None
        self.call("plan", profile, "-n", 1, "-f", "-o", plan)
        return plan

    def unplanned(self, network, minibatch):
        """A plan of the device's first choices, which needs no profile."""
        plan = self.folder / f"{network}-{minibatch}.unplanned.json"
        member = {"name": network, "model": network, "minibatch": minibatch, "seed": 0}
        plan.write_text(json.dumps({
            "format": "cohort.plan", "version": 1, "device": "cpu:0", "members": [member], "streams": 1, "layout": "nhwc",
            "launch": "graph", "groups": [{"name": "all", "members": "0", "strategy": "serial"}],
            "input": {"source": "generated", "sharing": "shared", "decode_workers": 1, "buffers": 2, "seed": 0,
                      "bad_images": "skip"}}))
        return plan

    def time(self, plan, options):
        """Median of a step in ns: the plan's, and in the same run the best single-model plan's, which is the same work."""
        answer = json.loads(self.call("run", plan, "-f", "--json", "--blocks", options.blocks, "--block-ms", options.block_ms,
                                      "--iterations", 1, "-o", self.folder / "measured.json.gz"))
        return answer["plan"]["median_ns"]

def compare(cohort, network, minibatch, options, share):
    file = cohort.export(network, minibatch)
    plan = None if options.check or options.unplanned else cohort.plan(network, minibatch, share)
    planned = plan is not None
    plan = plan or cohort.unplanned(network, minibatch)
    peer = Peer(file, options.threads)
    error = difference(outputs_of_plan(cohort, plan, peer.inputs, cohort.folder / f"{network}-{minibatch}"), peer.outputs())
    row = {"network": network, "minibatch": minibatch, "difference": error, "planned": planned}
    if options.check:
        return row
    ours, theirs = [], []
    block([peer], options.block_ms / 1e3)
    for done in range(options.rounds):
        begin = time.monotonic()
        try:
            step = cohort.time(plan, options)
        except OutOfTime:
            if ours:
                break  # the rounds before are worth having
            raise
        ours.append(step)
        block([peer], 0.02)  # its threads were asleep
        theirs.append(statistics.median(block([peer], options.block_ms / 1e3) for _ in range(options.blocks)))
        if done > 0 and share.left() < time.monotonic() - begin:
            break
    ratios = sorted(a / b for a, b in zip(ours, theirs))
    return {**row, "cohort_ns": statistics.median(ours), "onnxruntime_ns": statistics.median(theirs),
            "ratio": statistics.median(ratios), "low": ratios[0], "high": ratios[-1], "rounds": len(ratios)}


def table(rows, failures, options, cases):
    out = ["# One model, Cohort beside ONNX Runtime", "",
           f"`bench/peers/onnx_runtime.py {' '.join(sys.argv[1:])}`, {machine(options)}, ONNX Runtime "
           f"{VERSION} (CPU provider).", "",
           "The ratio is the median over interleaved rounds of Cohort's time by ONNX Runtime's (smallest to largest): below 1",
           "Cohort is faster. `difference` is the largest of an output element, as part of the largest output. A `*` behind the",
           "rounds: Cohort ran with the device's first choices of algorithm, not with a plan from a profile.", ""]
    for title, names in (("Convolutional networks", CONVOLUTIONAL), ("Small networks", TOLD_APART), ("Others", None)):
        part = [row for row in rows if (row["network"] in names if names else row["network"] not in CONVOLUTIONAL + TOLD_APART)]
        if not part:
            continue
        out += [f"{title}: geometric mean of the ratio **{geometric_mean(part):.3f}**"
                + "".join(f", minibatch {b} {geometric_mean([row for row in part if row['minibatch'] == b]):.3f}"
                          for b in sorted({row["minibatch"] for row in part})), "",
                "| network | minibatch | Cohort | ONNX Runtime | ratio | rounds | difference |", "|---|--:|--:|--:|--:|--:|--:|"]
        out += [f"| {row['network']} | {row['minibatch']} | {shown(row['cohort_ns'])} | {shown(row['onnxruntime_ns'])} | "
                f"{row['ratio']:.2f} ({row['low']:.2f} to {row['high']:.2f}) | {row['rounds']}{'' if row['planned'] else '*'} | "
                f"{row['difference']:.1e} |" for row in part]
        out.append("")
    if len(rows) + len(failures) < cases:
        out += [f"{cases - len(rows) - len(failures)} of {cases} rows are still to come.", ""]
    if failures:
        out += ["Not compared:", "", *(f"- {name}: {reason}" for name, reason in failures), ""]
    return "\n".join(out)


def ops(cohort, network, minibatch, options):
    """Prints ONNX Runtime's own profile of a network: time a step by op type, then the slowest nodes."""
    peer = Peer(cohort.export(network, minibatch), options.threads, profile=True)
    for _ in range(30):
        peer.run()
    file = pathlib.Path(peer.session.end_profiling())
    nodes, types = {}, {}
    for event in json.loads(file.read_text()):
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            nodes.setdefault((event["args"]["op_name"], event["name"][:-len("_kernel_time")]), []).append(event["dur"])
    for (kind, name), times in nodes.items():
        types[kind] = types.get(kind, 0) + statistics.median(times)
    for kind, micros in sorted(types.items(), key=lambda item: -item[1]):
        print(f"{micros:10.0f} us  {kind}")
    for (kind, name), times in sorted(nodes.items(), key=lambda item: -statistics.median(item[1]))[:options.slowest]:
        print(f"{statistics.median(times):10.0f} us  {kind}  {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cohort", default=str(ROOT / "build/release/bin/cohort"))
    parser.add_argument("--networks", nargs="+", default=CONVOLUTIONAL + TOLD_APART + OTHERS)
    parser.add_argument("--minibatch", nargs="+", type=int, default=[1, 16])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--blocks", type=int, default=3, help="blocks of each side in a round")
    parser.add_argument("--block-ms", type=int, default=150)
    parser.add_argument("--minutes", type=float, default=9.5, help="for all rows together")
    parser.add_argument("--keep", type=pathlib.Path, help="keep models and profiles here, and take profiles that are there")
    parser.add_argument("--output", type=pathlib.Path, help="Markdown file; standard output unless given")
    parser.add_argument("--check", action="store_true", help="compare outputs only")
    parser.add_argument("--unplanned", action="store_true",
                        help="run with the device's first choices of algorithm instead of profiling and planning: quicker")
    parser.add_argument("--ops", metavar="NETWORK", help="ONNX Runtime's times by op")
    parser.add_argument("--slowest", type=int, default=20, help="nodes that --ops shows")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        whole = Share(options.minutes * 60)
        cohort = Cohort(options.cohort, folder.resolve(), options.threads, whole)
        if options.ops:
            return ops(cohort, options.ops, options.minibatch[0], options)
        rows, failures = [], []
        cases = [(network, minibatch) for minibatch in options.minibatch for network in options.networks]
        for i, (network, minibatch) in enumerate(cases):
            try:
                row = compare(cohort, network, minibatch, options, whole.part(len(cases) - i))
            except Exception as error:  # whatever it is, the other networks have their rows
                failures.append((f"{network} b{minibatch}", str(error).strip().replace("\n", " ")))
                print(f"{failures[-1][0]}: {failures[-1][1]}", file=sys.stderr, flush=True)
                continue
            rows.append(row)
            times = "" if options.check else (f"{shown(row['cohort_ns'])} by {shown(row['onnxruntime_ns'])}, ratio "
                                              f"{row['ratio']:.2f} ({row['low']:.2f} to {row['high']:.2f}), ")
            print(f"{network} b{minibatch}: {times}difference {row['difference']:.1e}", file=sys.stderr, flush=True)
            if options.output and not options.check:
                write(options.output, table(rows, failures, options, len(cases)))
    if not options.check:
        text = table(rows, failures, options, len(cases))
        for title, names in (("convolutional networks", CONVOLUTIONAL), ("lenet5 and mlp", TOLD_APART)):
            part = [row for row in rows if row["network"] in names]
            if part:
                print(f"{title}: geometric mean of the ratio {geometric_mean(part):.3f} over {len(part)} rows", file=sys.stderr)
        if options.output:
            write(options.output, text)
        else:
            print(text)
    wrong = [f"{row['network']} b{row['minibatch']}" for row in rows if not row["difference"] <= TOLERANCE]
    if wrong:
        sys.exit(f"outputs differ by more than {TOLERANCE}: {', '.join(wrong)}")
    if failures:
        sys.exit(f"not compared: {', '.join(name for name, _ in failures)}")


if __name__ == "__main__":
    main()
