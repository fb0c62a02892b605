#!/usr/bin/env python3
"""How long `cohort plan` takes, and how much memory, by the number of members.

  bench/planning_times.py PROFILE [TRACE ...] -n 16 64 1024 [--output FILE]

A profile, or a trace of a GPU. Times are of the whole command, medians of --repeat runs, each in a process of its own; memory is the
most that any of these held. For traces `cohort simulate --models N` is timed as well. Markdown on standard output, or in a file.
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

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "peers"))

from beside import ROOT, machine, write


def run_once(command):
    """Seconds and MiB of a command."""
    begin = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    error = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"planning_times: {' '.join(command)}: {error.strip()}")
    return time.monotonic() - begin, usage.ru_maxrss / 1024


def row(options, name, command):
    runs = [run_once(command) for _ in range(options.repeat)]
    seconds = statistics.median(seconds for seconds, _ in runs)
    return f"| {name} | {seconds:.2f} s | {max(memory for _, memory in runs):.0f} MiB |"


def is_profile(options, file):
    told = subprocess.run([options.cohort, "trace", "info", file, "--json"], capture_output=True, text=True)
    if told.returncode != 0:
        sys.exit(f"planning_times: {told.stderr.strip()}")
    return json.loads(told.stdout)["kind"] == "profile"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("-n", nargs="+", type=int, default=[16, 64], metavar="N", help="members")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--cohort", default=str(ROOT / "build/release/bin/cohort"))
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help=argparse.SUPPRESS)
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()

    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for file in options.files:
            name = pathlib.Path(file).name.removesuffix(".gz").removesuffix(".json").removesuffix(".trace")
            commands = {"plan": ["plan", file, "-f", "-o", f"{folder}/out.json", "-n"]}
            if not is_profile(options, file):
                commands = {"plan": ["plan", file, "-f", "-o", f"{folder}/out.json.gz", "-n"],
                            "simulate": ["simulate", file, "-f", "-o", f"{folder}/out.json.gz", "--models"]}
            for verb, command in commands.items():
                for count in options.n:
                    rows.append(row(options, f"{verb} {name}, {count} members", [options.cohort, *command, str(count)]))
                    print(rows[-1], file=sys.stderr, flush=True)
    text = "\n".join(["# How long planning takes", "", f"`bench/planning_times.py`, {machine(options)}; medians of {options.repeat}.", "",
                      "| what | time | memory |", "|---|--:|--:|", *rows]) + "\n"
    if options.output:
        write(options.output, text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
