#!/usr/bin/env python3
"""How well `cohort simulate` replays traces that it changes nothing of.

For each trace: the step that is taken, how long it took, how long its replay takes, and by how much that is off; or why
the trace is refused. Then what four members gain on one stream and from one thread, over four steps in turn: nothing, but
for gaps of one that the work of another fills. Needs nothing beyond Python's library; writes a Markdown table.

  bench/replay_errors.py FOLDER ... --output bench/results/replay.md
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

from speedup_table import ROOT, provenance

ENDINGS = (".json", ".json.gz", ".sqlite", ".nsys-rep", ".db")


def traces(paths):
    for path in paths:
        found = sorted(path.rglob("*")) if path.is_dir() else [path]
        yield from ((file, file.relative_to(path) if path.is_dir() else file.name) for file in found if file.name.endswith(ENDINGS))


def simulate(cohort, file, seconds, *options):
    try:
        result = subprocess.run([str(cohort), "simulate", str(file), "--json", "-q", *options], capture_output=True, text=True,
                                timeout=seconds)
    except subprocess.TimeoutExpired:
        return {"refused": f"not done in {seconds} s"}
    if not result.stdout.strip():
        said = result.stderr.strip().splitlines() or [f"exit code {result.returncode}"]
        return {"refused": said[-1].replace(str(file), file.name).removeprefix("cohort: ")}
    return json.loads(result.stdout)


def replay(cohort, file, seconds):
    found = simulate(cohort, file, seconds)
    if "refused" not in found:
        with tempfile.TemporaryDirectory() as folder:
            together = simulate(cohort, file, seconds, "--models", "4", "--streams", "1", "-o", f"{folder}/predicted.json")
        found["one_stream_speedup"] = together.get("predicted_speedup")
    return found


def row(name, found):
    if "refused" in found:
        return f"| {name} | | | | | | refused: {found['refused'].replace('|', '/')} |"
    error = found["relative_error"]
    remarks = [f"confidence {found['confidence']}"] if found.get("confidence") else []
    if found.get("device_span_ns"):
        remarks.append("the host runs ahead")
    gain = found["one_stream_speedup"]
    return (f"| {name} | {found['step'].replace('|', '/')} | {found['device_ops']:,} | {found['traced_ns'] / 1e6:.3f} | {100 * error:+.3f}% | "
            f"{f'{gain:.2f}x' if gain else ''} | "
            f"{', '.join(remarks)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=pathlib.Path, metavar="TRACE|FOLDER")
    parser.add_argument("--cohort", type=pathlib.Path, default=ROOT / "build/release/bin/cohort")
    parser.add_argument("--seconds", type=int, default=120, help="for one trace")
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    results = [(name, replay(options.cohort, file, options.seconds)) for file, name in traces(options.paths)]
    if not results:
        sys.exit("no trace is there")
    errors = [abs(found["relative_error"]) for _, found in results if "refused" not in found]
    refused = len(results) - len(errors)
    gains = [found["one_stream_speedup"] for _, found in results if found.get("one_stream_speedup")]
    text = "\n".join([
        "# Replays of traces that nothing is changed of", "",
        f"`bench/replay_errors.py`, {provenance()}.", "",
        f"{len(results)} files: {len(errors)} replayed, {sum(error > 0.02 for error in errors)} of them more than 2% off, {refused} refused. "
        "A replay keeps every gap", "that was recorded, so a small error shows that the dependencies are consistent, and no more.", "",
        f"Four members on one stream and from one thread: {sum(abs(gain - 1) <= 0.01 for gain in gains)} of {len(gains)} agree with four "
        f"steps in turn to 1%, {sum(abs(gain - 1) <= 0.05 for gain in gains)} to 5%.", "",
        "| trace | step | device ops | ms | error | four on one stream | |", "|---|---|--:|--:|--:|--:|---|",
        *(row(name, found) for name, found in results)]) + "\n"
    if options.output:
        options.output.write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
