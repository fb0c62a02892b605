"""Runs steps of scripts/gpu-check with the real program, on this machine's CPU: COHORT names it. What it leaves is read by
scripts/gpu-score."""

import os
import pathlib
import subprocess
import sys
import unittest

from rehearsal import ROOT, Rehearsal, by_status, lines_of

CASE = "wall mlp --minibatch 1 --count 4 --most 5"


class OnThisMachine(Rehearsal):
    """One network, one size: profiles on a CPU take many seconds."""

    def command(self, *options):
        return [sys.executable, "-B", str(ROOT / "scripts" / "gpu-check"), "--cohort", os.environ["COHORT"], "--device", "cpu:0",
                "--networks", "mlp", "--results", str(self.results), *options]

    def setUp(self):
        super().setUp()
        self.program = pathlib.Path(os.environ["COHORT"])

    def test_what_it_leaves_is_read_by_gpu_score(self):
        # Four times as long as on a GPU: a machine that runs other tests as well is slow.
        ran = self.check("--part", "A", "--only", f"^(provenance|equality|optable mlp --minibatch 1$|{CASE})", "--scale", "4")
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertEqual(by_status(lines_of(self.results)), {"begin": 1, "ok": 4})
        self.assertIn("a GPU is needed", self.result_of("provenance")["properties_missing"])
        for plan in self.result_of("equality mlp --count 4")["plans"]:
            self.assertLess(plan["largest_difference"], 2e-4)
        self.assertEqual(self.result_of("optable mlp --minibatch 1")["trace"], "mlp-b1.trace.json.gz")
        ran = self.check("--part", "B", "--only", "^beside mlp --minibatch 1$", "--scale", "4")
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertGreater(self.result_of("beside mlp --minibatch 1")["records"], 0)
        self.assert_walls_are_whole(self.result_of(CASE))
        self.assert_score_reads_it(len(self.result_of(CASE)["plans"]))

    def assert_walls_are_whole(self, wall):
        self.assertGreater(len(wall["plans"]), 1, "more than one kind of plan")
        for plan in wall["plans"]:
            self.assertGreater(plan["measured"]["measured_speedup"], 0)
            self.assertGreaterEqual(len(plan["measured"]["plan"]["samples_ns"]), 1)
            self.assertTrue(plan["plan_file"]["resolved"]["steps"])
        self.assertIn("samples_ns", wall["plans"][0]["measured"]["baseline"])

    def assert_score_reads_it(self, plans):
        score = self.score()
        self.assertEqual((score["tuned"]["rows"], score["not_predicted"]), (plans, 0))
        self.assertTrue(all(row["algorithms_that_ran"] for row in score["rows"]))
        subset = self.folder / "subset"
        subprocess.run(self.command("--subset", str(subset)), check=True, capture_output=True)
        self.results = subset
        self.assertEqual(self.score()["tuned"]["rows"], plans)


if __name__ == "__main__":
    unittest.main()
