"""What rehearsals of scripts/gpu-check share: a folder with programs that stand in for cohort and NVIDIA's tools."""

import collections
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "bench" / "peers")]

from gpukit.results import Results, parts_in  # noqa: E402


def lines_of(folder):
    return [line for file in parts_in(folder) for line in Results(file).lines]


def by_status(lines):
    return collections.Counter(line["status"] for line in lines)


class Rehearsal(unittest.TestCase):
    """One folder a test, with results in it."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.program = self.folder / "bin" / "cohort"
        self.program.parent.mkdir()
        shutil.copy(ROOT / "tests" / "scripts" / "fake_cohort", self.program)
        self.results = self.folder / "results"

    def tearDown(self):
        shutil.rmtree(self.folder)

    def command(self, *options):
        return [sys.executable, str(ROOT / "scripts" / "gpu-check"), "--cohort", str(self.program), "--networks", "mlp",
                "--results", str(self.results), *options]

    def bring(self, tool, stand_in):
        """Puts a tool of NVIDIA's on the PATH."""
        (self.folder / "tools").mkdir(exist_ok=True)
        shutil.copy(ROOT / "tests" / "scripts" / stand_in, self.folder / "tools" / tool)

    def surroundings(self, faults=None, seconds=None, **environment):
        # Only what the rehearsal brings along: tools of this machine must not change its course.
        return {"PATH": f"{self.folder}/tools:/usr/bin:/bin", "FAKE_FAULTS": json.dumps(faults or {}), "FAKE_SECONDS": json.dumps(seconds or {}),
                **environment}

    def check(self, *options, **surroundings):
        return subprocess.run(self.command(*options), env=self.surroundings(**surroundings), capture_output=True, text=True,
                              check=False)

    def score_text(self, *options):
        ran = subprocess.run([sys.executable, str(ROOT / "scripts" / "gpu-score"), str(self.results), "--cohort", str(self.program),
                              *options], capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran.stdout

    def score(self):
        return json.loads(self.score_text("--json"))

    @staticmethod
    def content(path):
        try:
            return path.read_bytes()
        except OSError:
            return b""  # it ended meanwhile

    def result_of(self, unit):
        """What the last measurement of that name gave; its whole line where it gave none."""
        line = [line for line in lines_of(self.results) if line.get("unit") == unit][-1]
        return line.get("result", line)

    def units(self, status):
        return sorted(line["unit"] for line in lines_of(self.results) if line["status"] == status and "unit" in line)
