"""Figures and summaries that the scripts below bench/ make of what they measured, and a count in the documents."""

import pathlib
import re
import sys
import unittest
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "bench"))

import model_table  # noqa: E402
import shared_images  # noqa: E402
import sweeps  # noqa: E402


def row(count):
    """Shared input costs 10 once, separate input for each; computing 1 each."""
    speeds = {shared_images.SEPARATE: count / (11 * count), shared_images.SHARED: count / (10 + count),
              shared_images.CHOSEN: count / (10 + count / 2)}
    shares = {way: 10 / (10 + count) for way in shared_images.WAYS}
    return {"count": count, "plan": "p", "measured": speeds, "predicted": speeds, "share": shares, "predicted_share": shares}


class Figures(unittest.TestCase):
    def test_a_figure_is_xml_with_a_line_for_what_was_measured_and_one_for_what_was_predicted(self):
        drawing = xml.etree.ElementTree.fromstring(shared_images.figure_of([row(count) for count in (1, 2, 4, 16)]))
        lines = [each for each in drawing if each.tag.endswith("polyline")]
        dashed = [each for each in lines if each.get("stroke-dasharray")]
        self.assertEqual((len(lines), len(dashed)), (10, 5))
        self.assertEqual({len(line.get("points").split()) for line in lines}, {4})

    def test_lines_stay_inside_and_larger_values_lie_higher(self):
        drawing = xml.etree.ElementTree.fromstring(sweeps.figure([("t", "u", [1, 2, 4], {"a": ([1, 5, 9.7], False)})]))
        points = [each for each in drawing if each.tag.endswith("polyline")][0].get("points").split()
        heights = [float(point.split(",")[1]) for point in points]
        self.assertEqual(heights, sorted(heights, reverse=True))
        self.assertTrue(all(sweeps.TOP <= y <= sweeps.TOP + sweeps.HEIGHT for y in heights))

    def test_ticks_are_round_and_reach_the_largest_value(self):
        for largest, ticks in ((7, [0, 1, 2, 3, 4, 5, 6, 7]), (0.9, [0, 0.2, 0.4, 0.6, 0.8, 1.0]), (1234, [0, 200, 400, 600, 800, 1000, 1200, 1400])):
            found = sweeps.ticks_to(largest)
            self.assertEqual([round(tick, 9) for tick in found], ticks)


class Documents(unittest.TestCase):
    def test_count_the_op_types_that_the_importer_knows(self):
        root = pathlib.Path(__file__).resolve().parent.parent.parent
        importer = root / "models" / "onnx"
        known = len(set(re.findall(r'^    \{"(\w+)",', (importer / "op_table.cpp").read_text(), re.MULTILINE))) + len(["If", "Loop", "Scan"])
        known += len(re.findall(r'^      SequenceOp\{"', (importer / "sequences.cpp").read_text(), re.MULTILINE))
        for document in ("README.md", "docs/models.md"):
            self.assertIn(f"{known} op types", (root / document).read_text(), document)


class Tables(unittest.TestCase):
    def test_errors_count_whatever_their_sign(self):
        self.assertEqual(model_table.spread([-0.3, 0.1, 0.2]), "median 20.0%, 90th percentile 30.0%, worst 30.0% (3 rows)")
        self.assertEqual(model_table.spread([]), "no rows")

    def test_held_out_networks_are_told_apart(self):
        rows = [{"name": name, "count": 4, "plan": "fused", "predicted": predicted, "measured": 2.0, "low": 1.9, "high": 2.1,
                 "baseline": 100, "predicted_baseline": 100, "predicted_step": 50, "step": 50, "regret": 0.0, "of": 3, "profile_s": 1.0,
                 "trips": (50, trip)}
                for name, predicted, trip in (("mlp", 2.0, 99), ("resnet50", 3.0, 100))]
        text = model_table.table(rows, [], "Title", "made")
        self.assertIn("rules were made: median 0.0%", text)
        self.assertIn("Others: median 50.0%", text)
        self.assertIn("10% or more, error: median 50.0%, 90th percentile 100.0%, worst 100.0% (2 rows)", text)
        self.assertIn('"no gain", error of the speedup: median 50.0%', text)
        self.assertIn("as far apart as when profiled: median 0.0%, 90th percentile 0.0%, worst 0.0% (1 rows)", text)

    def test_the_error_of_a_gain_is_told_where_there_was_one(self):
        self.assertAlmostEqual(model_table.gain_error({"predicted": 1.5, "measured": 2.0}), -0.5)
        self.assertIsNone(model_table.gain_error({"predicted": 1.5, "measured": 1.09}))

    def test_cores_that_are_not_known_were_not_moved(self):
        self.assertEqual([model_table.cores_moved({"trips": trips}) for trips in ((0, 60), (60, 0), (60, 119), (120, 60), (60, 300))],
                         [False, False, False, True, True])


if __name__ == "__main__":
    unittest.main()
