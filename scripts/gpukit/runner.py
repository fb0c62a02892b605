"""Runs stages under a budget of time. Knows nothing of GPUs."""

import dataclasses
import json
import math
import os
import signal
import subprocess
import time
from typing import Callable, Optional

from .children import die_with_parent
from .results import Results, content_hash

# Exit codes of cohort that mean "not here" rather than "wrong".
MISSING = 4
KEEP_SECONDS = 30
PATIENCE = ((signal.SIGTERM, 2.0), (signal.SIGKILL, 5.0))  # how a command is ended, and the seconds it is given


@dataclasses.dataclass
class Unit:
    """The smallest piece that is run and resumed: one command. It prints JSON, or text, which is kept."""

    name: str
    command: list
    seconds: float = 60  # more than it should ever take
    files: list = dataclasses.field(default_factory=list)  # whose content its result depends on, beside the program
    wrong: Callable[[str], Optional[str]] = lambda _: None  # of what it printed where its exit code says that all is well


@dataclasses.dataclass
class Stage:
    """Units that answer one question. `missing` says why it cannot be run here, or gives None."""

    name: str
    part: str
    seconds: float
    units: Callable[[], list]
    missing: Callable[[], Optional[str]] = lambda: None
    gate: bool = False  # where a unit of it fails, nothing after it can be trusted


def choose(stages, budget):
    """The stages that fit into `budget` seconds, the most valuable (the first) before others, and those that do not.
    What cannot be run here costs nothing: it is chosen, so that it says why."""
    chosen, dropped = [], []
    left = budget
    for stage in stages:
        cost = 0 if stage.missing() is not None else stage.seconds
        (chosen if cost <= left else dropped).append(stage)
        left -= cost if cost <= left else 0
    return chosen, dropped


class Interrupted(Exception):
    pass


def figures_in(text, torn=False):
    """What a command printed, where it is JSON: one object, or one a line, which are its cases. Where it was ended, the last
    line may be `torn`. None: something else was printed."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        lines = text.splitlines()[: -1 if torn and not text.endswith("\n") else None]
    try:
        cases = [json.loads(line) for line in lines]
    except json.JSONDecodeError:
        return None
    return {"cases": cases} if cases and all(isinstance(case, dict) for case in cases) else None


class Runner:
    def __init__(self, folder, identity, environment, say, scale=1.0, keep_going=False, now=time.monotonic):
        """`identity`: what all results depend on (program, device). `scale` shortens all times, for rehearsals;
        with `keep_going` a gate that fails stops nothing."""
        self.folder, self.identity, self.environment, self.say = folder, identity, environment, say
        self.scale, self.keep_going, self.now = scale, keep_going, now
        self.keep = lambda: None  # told after each stage, whatever came of it, and every KEEP_SECONDS
        self.kept = now()
        self.failed = False
        self.interrupted = False
        self.child = None

    def install_handlers(self):
        def handle(_number, _frame):
            self.interrupted = True
            self.end_child()

        signal.signal(signal.SIGINT, handle)
        signal.signal(signal.SIGTERM, handle)

    def run(self, part, stages, dropped, seconds=math.inf):
        """Runs the stages of a part in `seconds` and the patience for the last command. Raises Interrupted."""
        end = self.now() + seconds * self.scale
        results = Results(self.folder / f"part-{part}.jsonl")
        for stage in dropped:
            results.add({"stage": stage.name, "status": "dropped", "reason": "the budget does not reach so far"})
            self.say(f"  {stage.name}: left out, the budget does not reach so far")
        spare = 0.0
        for place, stage in enumerate(stages):
            begin = self.now()
            limit = stage.seconds * self.scale + spare
            try:
                wrong = self.run_stage(results, stage, min(begin + limit, end))
            finally:
                self.keep()
                self.kept = self.now()
            spare = max(0.0, limit - (self.now() - begin))
            if wrong and stage.gate and not self.keep_going:
                for later in stages[place + 1 :]:
                    results.add({"stage": later.name, "status": "dropped", "reason": f"{stage.name} failed"})
                self.say(f"  stopped: {stage.name} failed, so no later result could be trusted")
                return False
        return True

    def run_stage(self, results, stage, deadline):
        """True where a unit gave a wrong result. One that took too long says nothing of the others."""
        reason = stage.missing()
        if reason is not None:
            results.add({"stage": stage.name, "status": "unavailable", "reason": reason})
            self.say(f"  {stage.name}: unavailable, {reason}")
            return False
        counts = {}
        for unit in stage.units():
            status = self.run_unit(results, stage, unit, deadline)
            counts[status] = counts.get(status, 0) + 1
            if status == "failed" and stage.gate and not self.keep_going:
                break
        self.say(f"  {stage.name}: " + ", ".join(f"{count} {status}" for status, count in sorted(counts.items())))
        self.failed = self.failed or counts.get("failed", 0) + counts.get("timeout", 0) > 0
        return counts.get("failed", 0) > 0

    def run_unit(self, results, stage, unit, deadline):
        key = content_hash(self.identity, json.dumps([str(word) for word in unit.command]), *unit.files)
        if results.done(unit.name, key):
            return "done before"
        line = {"stage": stage.name, "unit": unit.name, "key": key, "command": [str(word) for word in unit.command]}
        left = deadline - self.now()
        if left <= 0:
            results.add({**line, "status": "dropped", "reason": "the stage's time was over"})
            return "dropped"
        limit = min(left, unit.seconds * self.scale)
        line.update(self.execute(unit.command, limit))
        wrong = unit.wrong(line.get("text", "")) if line["status"] == "ok" else None
        if wrong is not None:
            line.update({"status": "failed", "reason": wrong})
        results.add(line)
        if self.interrupted:
            raise Interrupted
        if self.now() - self.kept > KEEP_SECONDS:
            self.keep()
            self.kept = self.now()
        return line["status"]

    def execute(self, command, limit):
        """Runs a command in a process group of its own, so that nothing of it outlives its time."""
        begin = self.now()
        try:
            self.child = subprocess.Popen(
                [str(word) for word in command], env=self.environment, stdin=subprocess.DEVNULL, text=True, errors="replace",
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, preexec_fn=die_with_parent)
        except OSError as error:
            return {"status": "failed", "reason": f"{command[0]} does not start: {error.strerror}", "seconds": 0.0}
        timed_out = False
        try:
            out, err = self.child.communicate(timeout=max(limit, 0.001))
        except subprocess.TimeoutExpired:
            timed_out = True
            self.end_child()
            out, err = self.child.communicate()
        code, self.child = self.child.returncode, None
        result = {"seconds": round(self.now() - begin, 3), "exit_code": code}
        if self.interrupted:
            return {**result, "status": "interrupted"}
        figures = figures_in(out, torn=timed_out)
        result.update({"result": figures} if figures is not None else {})
        if timed_out:
            return {**result, "status": "timeout", "reason": f"took longer than {limit:.0f} s", "stderr": err[-2000:]}
        if code == MISSING:
            return {**result, "status": "unavailable", "reason": err.strip()[-2000:]}
        if code != 0:
            return {**result, "status": "failed", "reason": err.strip()[-2000:],
                    **({"stdout": out[-2000:]} if figures is None else {})}
        return {**result, "status": "ok", **({"text": out[-20000:]} if figures is None else {})}

    def end_child(self):
        """Asks the running command's group to end, then makes it."""
        child = self.child
        if child is None or child.poll() is not None:
            return
        for number, patience in PATIENCE:
            try:
                os.killpg(child.pid, number)
                child.wait(timeout=patience)
                return
            except ProcessLookupError:
                return
            except subprocess.TimeoutExpired:
                continue
