"""What scripts/gpu-score finds in results beside predictions: peers, what tracing costs, ModelBatch's figures."""

import math
import unittest

import rehearsal  # noqa: F401 - it says where gpukit is

from gpukit import findings, steps  # noqa: E402


def wall(network, members, times, **more):
    """A unit of ours: by plan the nanoseconds of its step."""
    plans = [{"plan": plan, "predicted_speedup": 2.0, "measured": {"measured_speedup": 1000 / time, "plan": {"median_ns": time}}}
             for plan, time in times.items()]
    return {"unit": f"wall {network}", "result": {"network": network, "minibatch": 1, "members": members, "input": "on the device",
                                                   "precision": "float32", "set": [], "plans": plans, **more}}


def peer(network, members, mode, times, **more):
    return {"peer": "PyTorch 2", "mode": mode, "network": network, "minibatch": 1, "members": members, "tf32": False, "step_ns": times,
            **more}


class Provenance(unittest.TestCase):
    def test_says_what_kind_of_card_it_is_and_not_which_one(self):
        text = "    Product Name   : NVIDIA H200\n    Serial Number  : 1650\n    GPU UUID       : GPU-86\n    Temperature    : 34 C\n"
        self.assertEqual(steps.without_serial_numbers(text), "    Product Name   : NVIDIA H200\n    Temperature    : 34 C\n")
        self.assertIsNone(steps.without_serial_numbers(None), "no such program")


class Peers(unittest.TestCase):
    def test_our_fastest_plan_stands_against_the_fastest_of_them(self):
        lines = [wall("mlp", 4, {"streams": 200, "fused": 100}), wall("lenet5", 4, {"fused": 400}),
                 {"unit": "pytorch eager mlp", "result": {"cases": [peer("mlp", 4, "eager", [900, 1000, 1100]), peer("mlp", 16, "eager", [9])]}},
                 {"unit": "pytorch graphs mlp", "result": peer("mlp", 4, "graphs", [390, 400, 500])},
                 {"unit": "pytorch tf32", "result": peer("mlp", 4, "eager", [1], tf32=True)},
                 {"unit": "pytorch lenet5", "result": peer("lenet5", 4, "vmap", [200, 100, 300])}]
        found = findings.against_peers(lines)
        self.assertEqual([(row["network"], row["plan"], row["peer"], row["faster"]) for row in found["rows"]],
                         [("lenet5", "fused", "PyTorch 2 vmap", 0.5), ("mlp", "fused", "PyTorch 2 graphs", 4.0)])
        self.assertAlmostEqual(found["geometric_mean"], math.sqrt(2.0))

    def test_what_peers_do_not_have_is_not_held_against_them(self):
        for more in ({"precision": "tf32"}, {"input": "jpeg"}, {"set": ["layers=0"]}):
            lines = [wall("mlp", 4, {"fused": 1}, **more), {"unit": "p", "result": peer("mlp", 4, "eager", [5])}]
            self.assertIsNone(findings.against_peers(lines), more)

    def test_units_of_other_kinds_are_no_peers(self):
        for result in ({"step_ns": 10345, "records": 7}, {"cases": [{"name": "test_abs", "status": "passed"}]}, {"cases": 3 * ["x"]}, {}):
            self.assertEqual(findings.peer_cases(result), [])


class Tracing(unittest.TestCase):
    def test_costs_are_of_medians(self):
        run = {"plan": {"median_ns": 200}, "traced_samples_ns": [202, 204, 900]}
        lines = [{"unit": "overhead", "result": {"network": "mlp", "members": 4, "in_process": run,
                                                  "injected": {"run_untraced": {"plan": {"median_ns": 100}},
                                                               "run_traced": {"plan": {"median_ns": 103}}}}},
                 {"unit": "pytorch", "result": peer("mlp", 4, "eager", [100, 100], profiled_step_ns=[150, 150])}]
        ours, theirs = findings.tracer_overheads(lines)
        self.assertAlmostEqual(ours["in_process"], 0.02)
        self.assertAlmostEqual(ours["injected"], 0.03)
        self.assertAlmostEqual(theirs["profiled"], 0.5)

    def test_what_was_not_measured_is_told_so(self):
        lines = [{"unit": "overhead", "result": {"network": "mlp", "members": 4, "in_process": {"plan": {"median_ns": 200}}, "injected": {}}}]
        found = findings.tracer_overheads(lines)
        self.assertEqual((found[0]["in_process"], found[0]["injected"]), (None, None))
        self.assertIn("  mlp N 4: in the process not measured, injected not measured",
                      findings.text_of(None, found, findings.modelbatch([])))


class ModelBatch(unittest.TestCase):
    def test_models_that_share_images_are_told_from_those_with_input_on_the_device(self):
        lines = [{**wall("alexnet5", 16, {"fused": 100, "streams": 50}, input=source), "unit": f"wall alexnet5 --count 16 --input {source}"}
                 for source in ("jpeg", "device")]
        lines[0]["result"]["preprocessing"] = {"input_ns": 3, "tasks_ns": 1, "share": 0.75}
        found = findings.modelbatch(lines)
        self.assertEqual([(row["input"], row["plan"], row["measured"]) for row in found["models"]],
                         [("jpeg", "streams", 20.0), ("device", "streams", 20.0)])
        text = "\n".join(findings.text_of(None, [], found))
        self.assertIn("alexnet5 x16, input jpeg: 20.00x measured, 2.00x predicted, streams", text)
        self.assertIn("alexnet5 x16: 75.0%", text)


if __name__ == "__main__":
    unittest.main()
