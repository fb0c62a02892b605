"""Rehearses scripts/gpu-check on a program that stands in for cohort: injected failures, a kill, a cut, a resumption."""

import gzip
import json
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile
import time
import unittest

from rehearsal import Rehearsal, by_status, lines_of  # noqa: E402 - first: it says where gpukit is

from gpukit.main import Folders  # noqa: E402
from gpukit.naive import share_of_device  # noqa: E402
from gpukit.results import Results, pack  # noqa: E402
from gpukit.runner import Runner, Stage, Unit, choose  # noqa: E402
from gpukit.stages import NETWORKS, PART_SECONDS, Tools, all_stages  # noqa: E402


class Rehearsing(Rehearsal):
    def test_part_a_leaves_results_in_few_files_and_is_not_repeated(self):
        ran = self.check("--part", "A")
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertEqual(by_status(lines_of(self.results))["failed"], 0)
        measured = self.units("ok")
        self.assertIn("calibrate", measured)
        self.assertIn("wall mlp --minibatch 16 --count 16 --most 5", measured)
        wall = next(line for line in lines_of(self.results) if line.get("unit", "").startswith("wall"))
        self.assertEqual([plan["plan"] for plan in wall["result"]["plans"]], ["fused", "spread", "one by one"])
        self.assertEqual(wall["result"]["plans"][0]["measured"]["plan"]["samples_ns"], [100, 110])
        self.assertTrue(all(plan["plan_file"]["fitted"] for plan in wall["result"]["plans"]), "planned with the calibration")
        table = next(line["result"] for line in lines_of(self.results) if line.get("unit", "").startswith("optable"))
        self.assertEqual(table["left_out"], {"fc1 by lt:2: cublasLtMatmul failed": 1})
        self.assertEqual(table["ops"], [{"op": "fc1", "signature": "Gemm", "strategy": "serial", "width": 1, "algorithm": "lt:1",
                                         "warm_ns": 2500, "flushed_ns": 7500, "first_ns": 840250}])
        self.assertLess(len(list(self.results.glob("*"))), 4)
        score = self.score()
        self.assertEqual(score["tuned"]["rows"], 12)
        self.assertAlmostEqual(score["tuned"]["worst"], 0.1)
        self.assertAlmostEqual(score["published_figures"]["worst"], 0.5)
        self.assertIsNone(score["held_out"])
        self.assertEqual(score["choices"], {"good": 4, "of": 4})
        self.assertAlmostEqual(score["undisturbed_streams"]["worst"], 1.0, msg="four streams gave 2x, one gave 2x")
        # 30 of 40 us fill a tenth of 100 SMs with 8 blocks each, 10 us all of them: 13 / 40 of the room.
        spread = next(row for row in score["rows"] if row["plan"] == "spread")
        self.assertAlmostEqual(spread["by_capacity"], 40 / 13)
        self.assertIsNone(next(row for row in score["rows"] if row["plan"] == "fused")["by_capacity"])
        self.assertAlmostEqual(score["capacity_over_work"]["worst"], (40 / 13 - 2) / 2)
        self.assertIsNone(score["noise"], "nothing was measured twice yet")
        again = self.check("--part", "A")
        self.assertEqual(again.returncode, 0)
        self.assertEqual(self.units("ok"), measured, "nothing is measured twice")

    def test_every_stage_runs_and_a_tenth_is_measured_twice(self):
        for part in "ABCD":
            ran = self.check("--part", part, "--onnx", str(self.folder))
            self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        lines = lines_of(self.results)
        self.assertEqual(by_status(lines)["failed"], 0)
        seen = {line["stage"] for line in lines if line["status"] in ("ok", "unavailable")}
        stages = {stage.name for stage in all_stages(Tools(self.program), Folders(self.results, "cuda:0"), ["mlp"])}
        self.assertEqual(stages, seen - {"begin"})
        measured = self.units("ok")
        threads = next(line["result"]["threads"] for line in lines if line.get("unit") == "launchers mlp --count 16")
        self.assertEqual([row["launch_threads"] for row in threads], [1, 2, 4])
        for unit in ("wall mlp --minibatch 16 --count 4 --most 2 --precision float16", "trace mlp --count 16 --most 2",
                     "beside mlp --minibatch 16", "ONNX cases s-z"):
            self.assertIn(unit, measured)
        layers = next(line["result"] for line in lines if line.get("unit") == "layers mlp --width 1000 --minibatch 64 --count 64 --most 1")
        self.assertEqual([(row["way"], "predicted_speedup" in row) for row in layers["ways"]],
                         [("streams", True), ("streams of a graph", True), ("one batch", True)])
        streams = layers["ways"][0]["plan_file"]
        self.assertEqual((streams["streams"], streams["launch"], streams["input"]["sharing"]), (32, "single", "separate"))
        self.assertIsInstance(self.result_of("provenance")["commit"], str)
        score = self.score()
        self.assertEqual(score["noise"]["worst"], 0.0)
        self.assertGreater(score["noise"]["rows"], 0)
        widths = {(row["width"], row["minibatch"]) for row in score["modelbatch"]["layers"]}
        self.assertTrue({(1000, 1), (1000, 2048), (4000, 64)} <= widths)
        self.assertEqual([(row["members"], row["share"]) for row in score["modelbatch"]["preprocessing"]], [])
        self.assertEqual(score["tracing"], [{"network": "mlp", "members": 4, "in_process": 123 / 105 - 1, "injected": 0.0}])
        text = self.score_text()
        self.assertIn("1000x1000 b64    x64 one batch: 4.00x measured, 3.00x predicted", text)
        self.assertIn("1000x1000 b1     x64 one batch: 4.00x measured, not predicted", text)
        self.assertIn("no case that both measured", text, "no peer is here")

    def test_budgets_are_those_of_four_parts_of_nine_and_a_half_minutes(self):
        stages = all_stages(Tools(self.program), Folders(self.results, "cuda:0"), NETWORKS)
        for part in "ABCD":
            self.assertLessEqual(sum(stage.seconds for stage in stages if stage.part == part), PART_SECONDS)

    def test_what_an_older_build_cannot_do_is_unavailable(self):
        self.check("--part", "B", "--budget", "420", FAKE_OLD="1")
        reasons = {line["stage"]: line["reason"] for line in lines_of(self.results) if line["status"] == "unavailable"}
        self.assertIn("--precision", reasons["precisions"])
        self.assertIn("--beside", reasons["kernels of networks beside themselves and in pairs"])

    def test_what_takes_too_long_leaves_the_rest_to_be_dropped_and_told(self):
        ran = self.check("--part", "A", "--scale", "0.01", "--networks", "mlp,lenet5,smallcnn", seconds={"run": 1.2})
        lines = lines_of(self.results)
        self.assertEqual(ran.returncode, 1, "a measurement that hangs is not all that could be measured")
        self.assertGreater(by_status(lines)["timeout"], 0)
        self.assertGreater(by_status(lines)["dropped"], 0)
        self.assertIn("calibrate", self.units("ok"), "an equality that took too long stops nothing")

    def test_a_cut_leaves_what_was_measured_usable_and_nothing_running(self):
        packed = self.folder / "out" / "results.tar.gz"
        seconds = {"run": 0.05, " -n 4 ": 1.5}
        gpu_check = subprocess.Popen(self.command("--part", "A", "--pack", str(packed)),
                                     env=self.surroundings(seconds=seconds), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not [unit for unit in self.units("ok") if "--count 16 --most" in unit] and time.monotonic() < deadline:
            time.sleep(0.05)
        gpu_check.kill()
        gpu_check.wait()
        self.assertEqual(self.score()["tuned"]["rows"] % 3, 0)
        with tarfile.open(packed) as archive:
            names = archive.getnames()
        self.assertIn("results/part-A.jsonl", names)
        self.assertFalse([name for name in names if "/work" in name])
        time.sleep(0.3)
        running = [path for path in pathlib.Path("/proc").glob("[0-9]*/cmdline")
                   if str(self.program).encode() in self.content(path)]
        self.assertEqual(running, [])
        before = self.units("ok")
        rest = self.check("--part", "A")
        self.assertEqual(rest.returncode, 0, rest.stdout + rest.stderr)
        self.assertLess(set(before), set(self.units("ok")))
        self.assertEqual(len(self.units("ok")), len(set(self.units("ok"))))

    def test_results_are_packed_into_few_files_of_a_size_that_can_be_fetched(self):
        folder = self.folder / "results"
        (folder / "traces").mkdir(parents=True)
        (folder / "work").mkdir()
        (folder / "work" / "scratch").write_bytes(b"x" * 900)
        (folder / "part-A.jsonl").write_text("{}\n")
        for place, size in enumerate((300, 500, 200, 400, 2000, 900, 950, 960)):
            (folder / "traces" / f"{place}.gz").write_bytes(os.urandom(size))
        left_out = pack(folder, self.folder / "out" / "r.tar.gz", most=1000)
        self.assertEqual(left_out, ["traces/7.gz", "traces/4.gz"])
        names = []
        for archive in ("r.tar.gz", "r-2.tar.gz", "r-3.tar.gz", "r-4.tar.gz"):
            with tarfile.open(self.folder / "out" / archive) as opened:
                names.append(sorted(opened.getnames()))
        self.assertEqual(names[0], ["results/NOT-PACKED", "results/part-A.jsonl", "results/traces/0.gz", "results/traces/2.gz",
                                    "results/traces/3.gz"])
        self.assertEqual(names[1:], [["results/traces/1.gz"], ["results/traces/5.gz"], ["results/traces/6.gz"]])
        self.assertEqual(len(list((self.folder / "out").iterdir())), 4)

    def test_an_archive_of_another_name_is_refused(self):
        ran = self.check("--part", "A", "--pack", str(self.folder / "results.zip"))
        self.assertEqual(ran.returncode, 2)
        self.assertIn("ends in .tar.gz", ran.stdout)

    def test_a_folder_of_onnx_cases_that_is_not_there_is_refused(self):
        ran = self.check("--part", "C", "--onnx", str(self.folder / "nowhere"))
        self.assertEqual(ran.returncode, 2)
        self.assertIn("nowhere: no such folder", ran.stdout)

    def test_stages_without_their_tool_say_so(self):
        self.check("--part", "C")
        reasons = {line["stage"]: line["reason"] for line in lines_of(self.results) if line["status"] == "unavailable"}
        self.assertIn("torch", reasons.get("PyTorch", "torch"))
        self.assertIn("JAX", reasons)

    def test_a_wrong_result_stops_everything_after_it(self):
        ran = self.check("--part", "A", faults={"run": "wrong"})
        self.assertEqual(ran.returncode, 1)
        failed = [line for line in lines_of(self.results) if line["status"] == "failed"]
        self.assertEqual([line["unit"] for line in failed], ["equality mlp --count 4"])
        self.assertIn("not equal to serial", failed[0]["reason"])
        dropped = {line["stage"] for line in lines_of(self.results) if line["status"] == "dropped"}
        self.assertEqual(dropped, {"calibration", "op table", "counters", "wall times", "every way to run an op"})

    def test_a_wrong_result_is_passed_over_where_that_is_asked_for(self):
        ran = self.check("--part", "A", "--budget", "170", "--keep-going", faults={"run": "wrong"})
        self.assertEqual(ran.returncode, 1)
        self.assertIn("calibrate", self.units("ok"))

    def test_the_tests_for_a_gpu_come_first_where_they_are_built(self):
        tests = self.program.parent / "cuda_gpu_test"
        tests.write_text('#!/bin/sh\necho "[  PASSED  ] 9 tests."\n'
                         'for word; do case $word in *EveryWay*/gpu) exit 0;; *=*/gpu:-*) exit 1;; esac; done\n')
        tests.chmod(0o755)
        ran = self.check("--part", "A")
        self.assertEqual(ran.returncode, 1)
        self.assertEqual(self.units("failed"), ["tests on the GPU"])

    def test_one_failure_does_not_stop_the_others(self):
        ran = self.check("--part", "A", faults={"plan": "ok", "calibrate --device cuda:0 --seconds 25": "fail"})
        self.assertEqual(ran.returncode, 1)
        self.assertEqual(self.units("failed"), ["calibrate"])
        self.assertEqual(len([unit for unit in self.units("ok") if unit.startswith("wall")]), 6)

    def test_what_the_device_lacks_is_unavailable_and_no_failure(self):
        ran = self.check("--part", "A", faults={"calibrate --device cuda:0 --seconds 25": "missing"})
        self.assertEqual(ran.returncode, 0, ran.stdout)
        self.assertEqual(self.units("unavailable"), ["calibrate"])

    def test_after_a_kill_the_rest_is_measured_and_nothing_twice(self):
        killed = self.check("--part", "A", faults={"profile mlp --minibatch 16": "kill"})
        self.assertEqual(killed.returncode, -9)
        before = self.units("ok")
        self.assertIn("calibrate", before)
        with open(self.results / "part-A.jsonl", "a", encoding="utf-8") as torn:
            torn.write('{"unit": "wall mlp", "sta')
        rest = self.check("--part", "A")
        self.assertEqual(rest.returncode, 0, rest.stdout + rest.stderr)
        after = self.units("ok")
        self.assertEqual(len(after), len(set(after)))
        self.assertLess(set(before), set(after))
        self.assertIn("optable mlp --minibatch 16", after)

    def test_a_budget_leaves_out_the_least_valuable_and_says_so(self):
        ran = self.check("--budget", "170")
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        stages = {line["stage"] for line in lines_of(self.results) if line["status"] == "ok"}
        self.assertEqual(stages, {"provenance and equality", "calibration"})
        dropped = {line["stage"] for line in lines_of(self.results) if line["status"] == "dropped"}
        self.assertIn("wall times", dropped)
        self.assertIn("traces", dropped)

    def test_another_program_is_measured_anew(self):
        self.check("--part", "A", "--budget", "170")
        first = self.units("ok")
        self.program.write_text(self.program.read_text() + "\n")
        self.check("--part", "A", "--budget", "170")
        self.assertEqual(len(self.units("ok")), 2 * len(first))

    def test_without_a_gpu_is_exit_code_4_with_the_reason(self):
        ran = self.check(FAKE_NO_GPU="1")
        self.assertEqual(ran.returncode, 4)
        self.assertIn("no driver", ran.stdout)
        self.assertFalse(self.results.exists())


class Naive(unittest.TestCase):
    def test_guesses_nothing_of_a_device_that_does_not_say_what_it_holds(self):
        kernel = {"ph": "X", "cat": "kernel", "name": "k", "ts": 0, "dur": 10, "pid": 1, "tid": 1,
                  "args": {"grid": [10, 1, 1], "block": [256, 1, 1]}}
        track = {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "kernels of the model"}}
        facts = {"multiprocessors": "10", "maxThreadsPerMultiprocessor": "2048", "regsPerMultiprocessor": "65536",
                 "sharedMemPerMultiprocessor": "233472"}
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "trace.json.gz"
            for settings, share in ((facts, 1 / 8), ({"multiprocessors": "10"}, None), ({}, None)):
                with gzip.open(file, "wt") as out:
                    json.dump({"traceEvents": [track, kernel], "cohort": {"device": {"settings": settings}}}, out)
                self.assertEqual(share_of_device(file), share)


class Running(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.time = 0.0

    def tearDown(self):
        shutil.rmtree(self.folder)

    def runner(self):
        return Runner(self.folder, "program", dict(os.environ), lambda line: None, now=lambda: self.time)

    def lines(self):
        return Results(self.folder / "part-A.jsonl").lines

    def test_what_a_stages_time_does_not_reach_is_recorded_as_dropped(self):
        def units():
            yield Unit("first", ["true"])
            self.time += 61
            yield Unit("second", ["true"])

        self.runner().run("A", [Stage("s", "A", 60, units)], [])
        self.assertEqual([(line["unit"], line["status"]) for line in self.lines()], [("first", "ok"), ("second", "dropped")])

    def test_time_that_a_stage_leaves_is_the_next_ones(self):
        def units():
            self.time += 100
            return [Unit("late", ["true"])]

        self.runner().run("A", [Stage("quick", "A", 60, list), Stage("slow", "A", 60, units)], [])
        self.assertEqual([line["status"] for line in self.lines()], ["ok"])

    def test_a_long_stage_is_kept_before_it_ends(self):
        kept = []

        def units():
            for name in ("first", "second", "third"):
                yield Unit(name, ["true"])
                self.time += 20

        runner = self.runner()
        runner.keep = lambda: kept.append(len(self.lines()))
        runner.run("A", [Stage("s", "A", 180, units)], [])
        self.assertEqual(kept, [3, 3], "after the third, 40 s in, and at the end")

    def test_a_command_that_hangs_is_ended_with_all_it_started(self):
        marker = self.folder / "child"
        hanging = Unit("hangs", ["sh", "-c", f"sleep 600 & echo $! > {marker}; wait"], 0.3)
        runner = Runner(self.folder, "program", dict(os.environ), lambda line: None)
        runner.run("A", [Stage("s", "A", 60, lambda: [hanging, Unit("next", ["true"])])], [])
        self.assertEqual([line["status"] for line in self.lines()], ["timeout", "ok"])
        child = pathlib.Path(f"/proc/{marker.read_text().strip()}/stat")
        self.assertTrue(not child.exists() or child.read_text().rsplit(")", 1)[1].split()[0] == "Z")

    def test_a_program_that_does_not_start_is_a_failure_of_its_own(self):
        self.runner().run("A", [Stage("s", "A", 60, lambda: [Unit("none", ["/no/such/program"])])], [])
        self.assertEqual(self.lines()[0]["status"], "failed")
        self.assertIn("/no/such/program", self.lines()[0]["reason"])

    def test_stages_that_cannot_run_cost_nothing_of_the_budget(self):
        stages = [Stage("a", "A", 60, list), Stage("b", "A", 60, list, lambda: "no tool"), Stage("c", "A", 60, list),
                  Stage("d", "A", 60, list)]
        chosen, dropped = choose(stages, 120)
        self.assertEqual([stage.name for stage in chosen], ["a", "b", "c"])
        self.assertEqual([stage.name for stage in dropped], ["d"])


if __name__ == "__main__":
    unittest.main()
