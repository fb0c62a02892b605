"""What scripts/test-results says of the reports that ctest writes."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts/test-results"

# As ctest 3.25 writes it.
REPORT = """\
<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="(empty)" tests="4" failures="2" disabled="0" skipped="1" hostname="" time="2">
	<testcase name="Makespan.IsZeroForEmptySchedule" classname="c" time="0.05" status="run">
		<system-out>[       OK ]
</system-out>
	</testcase>
	<testcase name="Plan.ReadsWhatItWrote" classname="c" time="0.05" status="fail">
		<failure message="Timeout"/>
		<system-out>{output}</system-out>
	</testcase>
	<testcase name="Gpu.Runs" classname="c" time="0.05" status="notrun">
		<skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
	</testcase>
	<testcase name="Gpu.NotBuilt" classname="c" time="0" status="fail">
		<failure message="Unable to find executable"/>
		<system-out></system-out>
	</testcase>
</testsuite>
"""


class TestResults(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def report(self, preset, text):
        path = self.folder / preset / "tests.xml"
        path.parent.mkdir()
        path.write_text(text)
        return str(path)

    def run_on(self, *arguments):
        run = subprocess.run([sys.executable, "-B", SCRIPT, *arguments], capture_output=True, text=True)
        return run.returncode, run.stdout.splitlines()

    def test_tells_what_failed_with_its_last_lines_and_closes_with_totals(self):
        output = "\n".join(f"line {i}" for i in range(100))
        code, lines = self.run_on(self.report("tsan", REPORT.replace("{output}", output)))
        self.assertEqual(code, 1)
        self.assertEqual(lines[0], "FAILED in tsan: Plan.ReadsWhatItWrote (Timeout)")
        self.assertEqual(lines[1:31], [f"    line {i}" for i in range(70, 100)])
        self.assertEqual(lines[31:], ["FAILED in tsan: Gpu.NotBuilt (Unable to find executable)", "1 passed, 2 failed, 1 skipped"])

    def test_lists_skipped_tests_where_asked_to(self):
        _, lines = self.run_on("--skipped", self.report("tsan", REPORT))
        self.assertIn("skipped: Gpu.Runs", lines)

    def test_adds_up_presets_and_fails_where_one_has_no_results(self):
        well = REPORT.replace('status="fail"', 'status="run"').replace('<failure message="Timeout"/>', "").replace(
            '<failure message="Unable to find executable"/>', "")
        code, lines = self.run_on(self.report("tsan", well), self.report("release", well))
        self.assertEqual((code, lines), (0, ["6 passed, 0 failed, 2 skipped"]))
        code, lines = self.run_on(self.report("asan", well), str(self.folder / "dev/tests.xml"))
        self.assertEqual(code, 3)
        self.assertIn("no results of dev", lines[0])
        self.assertEqual(lines[-1], "3 passed, 0 failed, 1 skipped")
        code, lines = self.run_on(self.report("cut", well[:200]))
        self.assertEqual(code, 3)
        self.assertIn("no results of cut", lines[0])


if __name__ == "__main__":
    unittest.main()
