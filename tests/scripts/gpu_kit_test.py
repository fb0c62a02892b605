"""Rehearses what scripts/gpu-check measures in its time, on a clock of its own, and what it makes of NVIDIA's tools."""

import argparse
import contextlib
import gzip
import io
import json
import os
import pathlib
import tempfile
import unittest

from rehearsal import Rehearsal, by_status, lines_of  # noqa: E402 - first: it says where gpukit is

import measured  # noqa: E402
from gpukit.main import Folders, environment_for  # noqa: E402
from gpukit.results import Results  # noqa: E402
from gpukit.runner import PATIENCE, Runner, Stage, Unit, figures_in  # noqa: E402
from gpukit.score import kendalls_tau, noise, ranking  # noqa: E402
from gpukit.stages import NETWORKS, PART_SECONDS, Tools, all_stages, nothing_tested  # noqa: E402
from gpukit.tool_steps import function_name, objects_in, sizes  # noqa: E402


class AllTools(Tools):
    """As if all of NVIDIA's tools and all peers were here."""

    program = module = staticmethod(lambda name: None)


class OnAClock(Runner):
    """Runs commands of the stand-in, and counts the seconds that a GPU's would have taken; of peers it counts them alone."""

    PYTHON, PEER_START, PEER_CASE = 0.2, 4.0, 0.6

    def __init__(self, folder, environment):
        self.time, self.clock = 0.0, folder / "clock"
        super().__init__(folder, "program", {**environment, "FAKE_CLOCK": str(self.clock)}, lambda line: None,
                         now=lambda: self.time)

    def execute(self, command, limit):
        words = [str(word) for word in command]
        self.clock.write_text("")
        if any("bench/peers" in word for word in words):
            cases = [len(words[words.index(option) + 1].split(",")) for option in ("--minibatch", "--count")]
            spent, result = self.PEER_START + cases[0] * cases[1] * self.PEER_CASE, {"status": "ok", "result": {}}
        else:
            begin = self.time
            result = super().execute(command, 600)
            self.time = begin
            spent = self.PYTHON + sum(map(float, self.clock.read_text().split()))
        if spent > limit:
            spent, result = limit + PATIENCE[0][1], {"status": "timeout", "reason": "took longer"}
        self.time += spent
        return result


class Budgets(Rehearsal):
    def rehearse(self, part, names=None):
        """The part's stages, or some of them, with a start of 4 s for every process that uses the GPU."""
        folders = Folders(self.results, "cuda:0", self.folder)
        for folder in (folders.work, folders.traces):
            folder.mkdir(parents=True)
        for name in [f"{network}-b{minibatch}.trace.json.gz" for network in NETWORKS for minibatch in (1, 16) if part != "A"]:
            (folders.traces / name).write_bytes(gzip.compress(b'{"traceEvents": []}'))  # part A leaves them
            (folders.traces / (name + ".of")).write_text("")
        environment = {**environment_for(folders, self.program), **self.surroundings(FAKE_KINDS="1")}
        runner = OnAClock(self.results, environment)
        stages = [stage for stage in all_stages(AllTools(self.program), folders, NETWORKS) if stage.part == part]
        runner.run(part, [stage for stage in stages if names is None or stage.name in names], [], PART_SECONDS)
        return runner

    def survived(self, beginning):
        return [unit for unit in self.units("ok") if unit.startswith(beginning)]

    def test_of_part_a_all_but_members_alone_fits_with_four_seconds_a_start(self):
        tests = self.program.parent / "cuda_gpu_test"
        tests.write_text('#!/bin/sh\necho 15 >>$FAKE_CLOCK; echo "[  PASSED  ] 41 tests."\n')
        tests.chmod(0o755)
        runner = self.rehearse("A", ["provenance and equality", "calibration", "op table", "wall times"])
        self.assertLess(runner.time, PART_SECONDS)
        self.assertEqual(by_status(lines_of(self.results))["failed"], 0)
        self.assertEqual(self.survived("tests on the GPU"), ["tests on the GPU"])
        self.assertEqual(len(self.survived("equality")), 3)
        self.assertEqual(self.survived("calibrate"), ["calibrate"])
        self.assertEqual(len(self.survived("optable")), 14)
        for count in (16, 4):
            for minibatch in (1, 16):
                for network in NETWORKS:
                    self.assertIn(f"wall {network} --minibatch {minibatch} --count {count} --most 5", self.survived("wall"))

        alone = [unit for unit in self.survived("wall") if unit.endswith("--count 1 --most 5")]
        self.assertIn("wall mlp --minibatch 1 --count 1 --most 5", alone)
        self.assertLess(len(alone), 14, "what is left out is what says least")

    def test_of_part_b_each_size_and_each_network_is_reached(self):
        self.bring("compute-sanitizer", "fake_sanitizer")
        runner = self.rehearse("B")
        self.assertLess(runner.time, PART_SECONDS)
        walls = [line["result"] for line in lines_of(self.results) if line["stage"] == "more wall times" and line["status"] == "ok"
                 and line["unit"].startswith("wall")]
        sizes = {(wall["minibatch"], wall["members"]) for wall in walls}
        self.assertEqual(sizes, {(1, 8), (64, 16), (1, 32), (16, 8), (1, 2), (64, 4), (16, 32), (16, 2), (16, 16)})
        self.assertIn("wall resnet18 --minibatch 16 --count 16 --most 2 --layout nhwc", self.units("ok"))
        self.assertEqual({wall["network"] for wall in walls}, set(NETWORKS))
        precisions = {unit.rsplit(" ", 1)[-1] for unit in self.units("ok") if "--precision" in unit}
        self.assertEqual(precisions, {"tf32", "bfloat16", "float16"})
        self.assertEqual(len([unit for unit in self.units("ok") if "--input jpeg" in unit]), 6)
        self.assertEqual(self.survived("sanitizer"), [f"sanitizer mlp --check {check}" for check in ("memcheck", "racecheck")])
        self.assertEqual(len(self.survived("trace")), 7)
        for unit in ("multiprocessors mlp --count 16", "buffers smallcnn --minibatch 16", "crash alexnet5 --minibatch 16"):
            self.assertIn(unit, self.units("ok"))

    def test_of_part_c_every_network_is_held_against_pytorch_and_all_kinds_are_repeated(self):
        runner = self.rehearse("C")
        self.assertLess(runner.time, PART_SECONDS)
        self.assertGreaterEqual(len(self.survived("pytorch")), 19 + 6)
        for mode in ("eager", "vmap", "graphs"):
            for network in ("mlp", "lenet5", "smallcnn", "alexnet5", "resnet18"):
                self.assertIn(f"pytorch {mode} {network} b1,16 n16,4,1", self.units("ok"))
        again = [unit for unit in self.units("ok") if unit.endswith(" (again)")]
        for kind in ("wall", "optable", "pytorch eager", "mixed", "beside", "overhead", "jax_vmap", "pytorch compile"):
            self.assertTrue([unit for unit in again if unit.startswith(kind)], kind)
        self.assertEqual(len(self.survived("ONNX cases")), 4)

    def test_of_part_d_every_network_trains_alone_and_together(self):
        runner = self.rehearse("D")
        self.assertLess(runner.time, PART_SECONDS)
        self.assertEqual(by_status(lines_of(self.results))["failed"], 0)
        for network in ("mlp", "lenet5", "smallcnn", "resnet18"):
            for count in (16, 4, 1):
                self.assertIn(f"wall {network} --minibatch 16 --count {count} --most 4 --train momentum", self.units("ok"))
            self.assertIn(f"pytorch vmap {network} b1,16 n16,4,1 train momentum", self.units("ok"))
        self.assertIn("jax_vmap vmap mlp b16 n16,4 train momentum", self.units("ok"))

    def test_a_part_whose_units_all_overrun_ends_in_its_time_and_one_patience(self):
        """Each is ended as late as it can be: after its limit and both patiences."""
        class Overrun(OnAClock):
            def execute(self, command, limit):
                self.time += limit + sum(patience for _, patience in PATIENCE)
                return {"status": "timeout", "reason": "took longer"}

        for part in "ABCD":
            runner = Overrun(self.folder / part, {})
            folders = Folders(self.results, "cuda:0")
            stages = [stage for stage in all_stages(AllTools(self.program), folders, NETWORKS) if stage.part == part]
            runner.run(part, stages, [], PART_SECONDS)
            self.assertLessEqual(runner.time, PART_SECONDS + sum(patience for _, patience in PATIENCE))
            self.assertGreater(by_status(lines_of(self.folder / part))["dropped"], 0)

    def test_stages_that_cannot_run_leave_their_time_but_no_more_than_there_is(self):
        class Overrun(OnAClock):
            def execute(self, command, limit):
                self.time += limit
                return {"status": "timeout", "reason": "took longer"}

        stages = [Stage("a", "A", 80, list, lambda: "no tool"), Stage("b", "A", 100, lambda: [Unit("u", ["x"], 600)])]
        for seconds, spent in ((150, 150), (300, 180)):
            runner = Overrun(self.folder / str(seconds), {})
            runner.run("A", stages, [], seconds)
            self.assertEqual(runner.time, spent)


class Gate(Rehearsal):
    def saying(self, text):
        program = self.program.parent / "cuda_gpu_test"
        program.write_text(f'#!/bin/sh\nprintf "%s\\n" "GPU required: $COHORT_REQUIRE_GPU" "{text}"\n')
        program.chmod(0o755)
        return self.check("--part", "A", "--budget", "170")

    def test_tests_that_were_all_skipped_stop_everything_after_them(self):
        ran = self.saying("[  PASSED  ] 0 tests.\n[  SKIPPED ] 41 tests, listed below:")
        self.assertEqual(ran.returncode, 1)
        self.assertEqual(self.result_of("tests on the GPU")["reason"], "no test ran: 41 were skipped")
        self.assertIn("calibration", [line["stage"] for line in lines_of(self.results) if line["status"] == "dropped"])

    def test_tests_that_passed_are_told_that_they_must_run(self):
        ran = self.saying("[  PASSED  ] 41 tests.")
        self.assertEqual(ran.returncode, 0, ran.stdout)
        self.assertIn("GPU required: 1", self.result_of("tests on the GPU")["text"])

    def test_what_tells_of_no_test_is_no_success(self):
        for text in ("", "[==========] 0 tests from 0 test suites ran.\n[  PASSED  ] 0 tests."):
            self.assertEqual(nothing_tested(text), "no test ran")
        self.assertIsNone(nothing_tested("[  PASSED  ] 1 test."))


class OurTracer(Rehearsal):
    def profiles_made(self, **surroundings):
        """Command lines of profiles after a look at the tracer, and what it found."""
        ran = self.check("--part", "A", "--only", "^(tracer|optable mlp --minibatch 1$)", FAKE_WORDS=str(self.folder / "words"), **surroundings)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        lines = (self.folder / "words").read_text().splitlines()
        return [line for line in lines if line.startswith("profile") and "--no-fused" not in line], self.result_of("tracer mlp")

    def test_that_works_is_used(self):
        made, found = self.profiles_made()
        self.assertEqual((found["works"], found["kernels"]), (True, 3))
        self.assertEqual([("--no-kernels" in line) for line in made], [False])

    def test_that_fails_is_left_out_of_every_profile_and_stops_nothing(self):
        made, found = self.profiles_made(faults={"--no-fused --device": "fail"})
        self.assertIs(found["works"], False)
        self.assertIn("injected: fail", found["reason"])
        self.assertEqual([("--no-kernels" in line) for line in made], [True])

    def test_that_does_not_come_back_is_left_out_as_well(self):
        ran = self.check("--part", "A", "--only", "^(tracer|optable mlp --minibatch 1$)", "--scale", "0.02",
                         FAKE_WORDS=str(self.folder / "words"), seconds={"--no-fused --device": 5})
        self.assertEqual(self.units("timeout"), ["tracer mlp"], ran.stdout)
        self.assertIn("--no-kernels", (self.folder / "words").read_text().splitlines()[-1])


class NvidiasTools(Rehearsal):
    def only(self, pattern, **surroundings):
        return self.check("--part", "A" if pattern == "counters" else "B", "--only", f"^{pattern}", **surroundings)

    def test_each_kernel_of_the_op_table_is_counted_once(self):
        self.bring("ncu", "fake_ncu")
        ran = self.only("counters")
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        result = self.result_of("counters mlp --minibatch 1 --most 12")
        self.assertEqual([kernel["name"] for kernel in result["kernels"]],
                         ["void lib::gemm<float, (int)2>(const float *, float *)", "relu(float *)",
                          "void <unnamed>::bias<(int)4>(float *)"], "the last has the first one's geometry")
        self.assertEqual(result["kernels"][0]["dram__bytes_read.sum"], 1048576)
        self.assertEqual(result["kernels"][0]["grid"], [80, 1, 1])
        self.assertIsNone(result["kernels"][0]["lts__t_bytes.sum"], "not counted")
        self.assertNotIn("sm__inst_executed_pipe_tensor.sum", result["kernels"][0], "the chip does not have it")
        self.assertEqual(result["units"]["gpu__time_duration.sum"], "ns")
        self.assertEqual((result["not_counted"], result["share_of_kernel_time"]), ([], 1.0))

    def test_counters_that_only_administrators_read_are_unavailable(self):
        self.bring("ncu", "fake_ncu")
        self.assertEqual(self.only("counters", FAKE_NCU="permission").returncode, 0)
        self.assertIn("ERR_NVGPUCTRPERM", self.result_of("counters mlp --minibatch 1 --most 12")["reason"])
        self.assertEqual(by_status(lines_of(self.results))["unavailable"], 2)

    def test_what_ncu_cannot_do_is_a_failure_with_its_words(self):
        self.bring("ncu", "fake_ncu")
        self.assertEqual(self.only("counters", FAKE_NCU="old").returncode, 1)
        self.assertIn("--filter-mode", self.result_of("counters mlp --minibatch 16 --most 12")["reason"])

    def test_every_kind_of_plan_is_checked_for_bad_accesses(self):
        self.bring("compute-sanitizer", "fake_sanitizer")
        ran = self.only("sanitizer")
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        result = self.result_of("sanitizer mlp --check racecheck")
        self.assertEqual(result["plans"], ["fused", "spread", "one by one"])
        self.assertEqual(result["summary"], "RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)")
        self.assertEqual(self.result_of("sanitizer mlp --check memcheck")["summary"], "ERROR SUMMARY: 0 errors")

    def test_a_bad_access_is_a_failure_and_a_device_that_cannot_be_checked_is_none(self):
        self.bring("compute-sanitizer", "fake_sanitizer")
        self.assertEqual(self.only("sanitizer", FAKE_SANITIZER="finds").returncode, 1)
        self.assertIn("Invalid __global__ write", self.result_of("sanitizer mlp --check memcheck")["reason"])
        self.assertEqual(self.only("sanitizer", FAKE_SANITIZER="silent").returncode, 1)
        self.assertIn("nothing was checked", self.result_of("sanitizer mlp --check memcheck")["reason"])
        self.assertEqual(self.only("sanitizer", FAKE_SANITIZER="unsupported").returncode, 0)

    def test_names_of_kernels_are_those_of_functions(self):
        for name, function in (("void a::gemm<int, b<(bool)1>>(float*)", "gemm"), ("sm90_xmma_fprop(int)", "sm90_xmma_fprop"),
                               ("void (anonymous namespace)::f(int)", "f"), ("void <unnamed>::f<2>(int)", "f"), ("plain", "plain")):
            self.assertEqual(function_name(name), function)
        self.assertEqual(sizes("(8, 1, 2)"), sizes([8, 1, 2]))


class VersionsOfAPlan(Rehearsal):
    """A field of one plan is changed; the versions run in turn."""

    def rows(self, unit, field, versions):
        ran = self.check("--part", "B", "--only", f"^{unit}$")
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        rows = self.result_of(unit)[versions]
        for row in rows:
            self.assertEqual((row["predicted_speedup"], row["predicted_step_ns"]), (3.0, 200))
            self.assertEqual(row["measured"]["measured_speedup"], 2.0)
            self.assertEqual(row["plan_file"]["resolved"], {"steps": []}, "with the algorithms that this version is to run with")
        return [(row[field], row["plan_file"]) for row in rows]

    def test_streams_are_launched_by_several_threads(self):
        for threads, plan in self.rows("launchers mlp --count 16", "launch_threads", "threads"):
            self.assertEqual((plan["launch"], plan["launch_threads"], plan["streams"]), ("single", threads, 4))

    def test_products_are_made_for_parts_of_the_multiprocessors(self):
        rows = self.rows("multiprocessors mlp --count 16", "multiprocessors", "versions")
        self.assertEqual([asked for asked, _ in rows], [0, 50, 25])
        for asked, plan in rows:
            self.assertEqual(plan["groups"], [{"strategy": "concurrent", "multiprocessors": asked}])

    def test_images_are_read_ahead_into_more_buffers(self):
        ran = self.check("--part", "B", "--only", "^buffers mlp")
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        rows = self.result_of("buffers mlp --minibatch 16")["buffers"]
        self.assertEqual([(row["buffers"], row["plan_file"]["input"]) for row in rows], [(n, {"buffers": n}) for n in (1, 2, 3)])

    def test_a_trace_of_a_crash_must_not_claim_to_be_complete(self):
        self.assertEqual(self.check("--part", "B", "--only", "^crash").returncode, 0)
        self.assertEqual((self.result_of("crash mlp --minibatch 16")["complete"], self.result_of("crash mlp --minibatch 16")["kernels"]), (False, 5))
        self.results = self.folder / "again"
        self.assertEqual(self.check("--part", "B", "--only", "^crash", FAKE_WHOLE="1").returncode, 1)
        line = lines_of(self.results)[-1]
        self.assertIn("claims to be complete", line["reason"])
        self.assertTrue(line["result"]["complete"])


class WhatIsKept(Rehearsal):
    def test_steps_of_a_traced_program_and_the_share_of_preprocessing_are_in_the_results(self):
        ran = self.check("--part", "B", "--networks", "lenet5,smallcnn", "--only", "^overhead|jpeg|^trace ")
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        injected = self.result_of("overhead lenet5")["injected"]
        for run in ("run_untraced", "run_traced"):
            self.assertEqual(injected[run]["plan"]["samples_ns"], [100, 110])
        sharing = self.result_of("wall smallcnn --minibatch 16 --count 16 --input jpeg --most 1")
        self.assertEqual(sharing["preprocessing"], {"input_ns": 150, "tasks_ns": 50, "share": 0.75})
        traced = self.result_of("trace lenet5 --count 16 --most 2")["traces"]
        self.assertEqual([(entry["plan"], entry["streams"]) for entry in traced], [("spread", 4), ("fused", 1)])

    def test_one_plan_that_fails_leaves_the_others_of_its_case(self):
        ran = self.check("--part", "A", "--only", "^wall mlp --minibatch 1 --count 4 ", faults={"02.plan.json": "fail"})
        self.assertEqual(ran.returncode, 1)
        self.assertIn("spread: ", self.result_of_failed()["reason"])
        self.assertEqual([plan["plan"] for plan in self.result_of_failed()["result"]["plans"]], ["fused", "one by one"])
        self.assertEqual(self.score()["tuned"]["rows"], 2)

    def result_of_failed(self):
        return next(line for line in lines_of(self.results) if line["status"] == "failed")

    def test_algorithms_that_ran_are_kept_and_predicted_with_where_the_profile_knows_them(self):
        self.check("--part", "A", "--only", "^wall mlp --minibatch 1 --count 4 ")
        plan = self.result_of("wall mlp --minibatch 1 --count 4 --most 5")["plans"][0]["plan_file"]
        self.assertEqual(plan["resolved"]["steps"], [{"task": "0-3/fc1", "algorithm": "lt:1", "threads": 1}])
        self.assertEqual([row["algorithms_that_ran"] for row in self.score()["rows"]], [True] * 3)
        os.environ["FAKE_LOST_ALGORITHMS"] = "1"
        try:
            rows = self.score()["rows"]
        finally:
            del os.environ["FAKE_LOST_ALGORITHMS"]
        self.assertEqual([(row["algorithms_that_ran"], row["predicted"] is None) for row in rows], [(False, False)] * 3)

    def test_a_subset_keeps_figures_calibration_and_the_profiles_that_serve_most(self):
        self.check("--part", "A")
        traces = self.results / "traces"
        long = {"traceEvents": [], "of no use": os.urandom(20000).hex()}
        (traces / "mlp-b16.trace.json.gz").write_bytes(gzip.compress(json.dumps(long).encode()))
        (traces / "extra.measured.json.gz").write_bytes(os.urandom(40000))
        subset = self.folder / "kept"
        ran = self.check("--subset", str(subset), "--subset-mb", "0.06")
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertLessEqual(sum(file.stat().st_size for file in subset.rglob("*") if file.is_file()), 60000)
        kept = {file.name for file in subset.rglob("*")}
        self.assertLessEqual({"part-A.jsonl.gz", "calibration.trace.json.gz", "cuda.json", "mlp-b1.trace.json.gz",
                              "mlp-b16.trace.json.gz"}, kept)
        self.assertEqual((subset / "LEFT-OUT").read_text(), "traces/extra.measured.json.gz\n")
        self.assertFalse((subset / "work").exists())
        self.results = subset
        self.assertEqual(self.score()["tuned"]["rows"], 12, "gpu-score reads it as it reads results")

    def test_a_subset_that_does_not_fit_or_is_there_is_refused(self):
        self.assertEqual(self.check("--subset", str(self.folder / "kept")).returncode, 3)
        self.check("--part", "A", "--only", "^wall mlp --minibatch 1 --count 4 ")
        self.assertEqual(self.check("--subset", str(self.folder / "kept"), "--subset-mb", "0.0001").returncode, 5)
        self.assertFalse((self.folder / "kept").exists())
        self.assertEqual(self.check("--subset", str(self.results)).returncode, 2)


class Figures(unittest.TestCase):
    def test_lines_of_json_are_cases_and_a_torn_one_is_left_out(self):
        self.assertEqual(figures_in('{"a": 1}\n'), {"a": 1})
        self.assertEqual(figures_in('{"a": 1}\n{"a": 2}\n'), {"cases": [{"a": 1}, {"a": 2}]})
        self.assertEqual(figures_in('{"a": 1}\n{"a": 2}\n{"a"', torn=True), {"cases": [{"a": 1}, {"a": 2}]})
        for text in ('{"a": 1}\nwarning\n', "", "done"):
            self.assertIsNone(figures_in(text))
        self.assertEqual(objects_in('{"a": 1}\n{\n "a": 2}\n'), [{"a": 1}, {"a": 2}])

    def test_a_rank_correlation_is_kendalls(self):
        self.assertEqual(kendalls_tau([(1, 1), (2, 2), (3, 3)]), 1)
        self.assertEqual(kendalls_tau([(1, 3), (2, 2), (3, 1)]), -1)
        self.assertAlmostEqual(kendalls_tau([(1, 1), (2, 3), (3, 2)]), 1 / 3)
        self.assertAlmostEqual(kendalls_tau([(1, 1), (1, 2), (2, 3)]), 2 / 6**0.5, msg="tau-b: ties count in one ranking only")
        self.assertIsNone(kendalls_tau([(1, 1), (1, 2)]))
        self.assertIsNone(kendalls_tau([(1, 1)]))

    def test_rankings_are_averaged_over_cases(self):
        rows = [{"case": case, "predicted": predicted, "measured": measured} for case, predicted, measured in
                (("a", 1, 1), ("a", 2, 2), ("b", 1, 2), ("b", 2, 1), ("b", None, 3), ("c", 1, 1))]
        self.assertEqual(ranking(rows), {"cases": 2, "mean_tau": 0.0})
        self.assertIsNone(ranking(rows[-1:]))

    def test_noise_is_told_of_plans_ops_and_peers_apart(self):
        def lines(unit, speedup, warm, step):
            op = {"op": "fc1", "strategy": "serial", "width": 1, "algorithm": "lt:1", "warm_ns": warm}
            peer = {"peer": "P", "minibatch": 1, "members": 4, "step_ns": [step, step, 9 * step]}
            return [{"unit": f"{name}{unit}", "status": "ok", "result": result} for name, result in
                    (("wall", {"plans": [{"measured": {"measured_speedup": speedup}}]}), ("table", {"ops": [op]}), ("peer", {"cases": [peer]}))]

        with tempfile.TemporaryDirectory() as folder:
            for line in [*lines("", 2.0, 100, 1000), *lines(" (again)", 2.2, 110, 1500)]:
                Results(pathlib.Path(folder) / "part-C.jsonl").add(line)
            found = noise(pathlib.Path(folder))
        for kind, apart in (("plans", 0.1), ("ops", 0.1), ("peers", 0.5)):
            self.assertAlmostEqual(found[kind]["worst"], apart)

    def test_a_peer_prints_every_case_and_goes_on_after_a_wrong_one(self):
        options = measured.parser_of("", ["mlp"], ["eager"], ["cpu"]).parse_args(
            ["--network", "mlp", "--minibatch", "1,16", "--count", "16,4"])

        def measure(case):
            self.assertIsInstance(case, argparse.Namespace)
            wrong = case.count == 16 and case.minibatch == 16
            return {"mode": case.mode, "members": case.count, "minibatch": case.minibatch, "tf32": False,
                    "largest_difference": 1.0 if wrong else 0.0}

        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as errors:
            self.assertEqual(measured.report(measure, options, "eager"), 1)
        cases = [json.loads(line) for line in out.getvalue().splitlines()]
        self.assertEqual([(case["members"], case["minibatch"]) for case in cases], [(16, 1), (4, 1), (4, 16)])
        self.assertIn("16 members at minibatch 16 differs from eager by 1.0", errors.getvalue())


if __name__ == "__main__":
    unittest.main()
