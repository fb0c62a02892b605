"""What runs of Cohort beside other programs share: its program with a limit on the time, and how results are told."""

import datetime
import json
import math
import os
import pathlib
import platform
import statistics
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Failed(Exception):
    """A program ended with an error, or computed something else."""


class OutOfTime(Exception):
    """--minutes are over."""

    def __str__(self):
        return "no time left: give it more --minutes, or fewer --networks"


class Share:
    """A time that something may take: a row, or the whole run."""

    def __init__(self, seconds):
        self.end = time.monotonic() + seconds

    def left(self):
        return self.end - time.monotonic()

    def part(self, of):
        return Share(self.left() / of)


class Program:
    """Cohort's program, on so many of the cores that this process may run on."""

    def __init__(self, program, threads, whole):
        self.program, self.whole = str(program), whole
        usable = sorted(os.sched_getaffinity(0))
        # Nothing where it may use all: code between fork and exec is a risk where other libraries have threads.
        self.bind = (lambda: os.sched_setaffinity(0, usable[:threads])) if threads < len(usable) else None

    def call(self, *arguments, seconds=math.inf):
        """Standard output. Raises Failed, and subprocess.TimeoutExpired after `seconds` or when all time is over."""
        left = self.whole.left()
        if left <= 0:
            raise OutOfTime()
        try:
            result = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True,
                                    timeout=min(seconds, left), preexec_fn=self.bind)
        except subprocess.TimeoutExpired:
            if self.whole.left() <= 0:
                raise OutOfTime() from None
            raise
        if result.returncode != 0:
            raise Failed(f"cohort {' '.join(map(str, arguments))}: {result.stderr.strip()}")
        return result.stdout


def geometric_mean(rows):
    return math.exp(statistics.fmean(math.log(row["ratio"]) for row in rows)) if rows else None


def machine(options):
    """Where and of what something was measured."""
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    devices = json.loads(subprocess.run([options.cohort, "devices", "--json"], capture_output=True, text=True).stdout or "[]")
    library = next((device.get("settings", {}).get("library") for device in devices if device.get("id") == "cpu:0"), None)
    return (f"{datetime.date.today()}, commit {commit}; {cpu}, {options.threads} threads each; {library or 'oneDNN'}, "
            f"{platform.freedesktop_os_release()['PRETTY_NAME']}")


def shown(ns):
    return f"{ns / 1e6:.3g} ms" if ns >= 1e6 else f"{ns / 1e3:.3g} us"


def write(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def add_timing_options(parser):
    """What runs of Cohort beside sessions of ONNX Runtime, round by round, are told."""
    parser.add_argument("--cohort", default=str(ROOT / "build/release/bin/cohort"))
    parser.add_argument("--threads", type=int, default=2, help="cores")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--blocks", type=int, default=3, help="blocks of each side in a round")
    parser.add_argument("--block-ms", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=30, help="for all of them together")
    parser.add_argument("--output", type=pathlib.Path, help="Markdown file; standard output unless given")
