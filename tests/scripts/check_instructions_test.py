"""What scripts/check-instructions counts of a callgrind profile, and what it then says."""

import importlib.machinery
import importlib.util
import pathlib
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts/check-instructions"
loader = importlib.machinery.SourceFileLoader("check_instructions", str(SCRIPT))
check = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
loader.exec_module(check)

# As callgrind 3.19 writes it: 7 + 20 instructions of the program's own; a call's line says what all it calls take.
PROFILE = """\
version: 1
events: Ir

ob=/program
fl=work.cpp
fn=work()
10 7
cob=/lib/libc.so.6
cfn=memcpy
calls=3 0
11 900
12 20

ob=/lib/libc.so.6
fl=memcpy.S
fn=memcpy
100 900

totals: 927
"""


class CheckInstructions(unittest.TestCase):
    def test_counts_what_the_program_itself_does(self):
        self.assertEqual(check.own_instructions(PROFILE, "/program"), 27)
        self.assertEqual(check.own_instructions(PROFILE, "/lib/libc.so.6"), 900)

    def test_fails_beyond_the_tolerance_only(self):
        lines, well = check.compared({"a": 1050, "b": 1000, "c": 500}, {"a": 1000, "b": 1000, "c": 1000})
        self.assertTrue(well, lines)
        self.assertIn("worth keeping", lines[2])
        lines, well = check.compared({"a": 1051}, {"a": 1000})
        self.assertFalse(well)
        self.assertIn("more than 5% more than 1,000", lines[0])

    def test_fails_for_work_without_a_figure(self):
        lines, well = check.compared({"a": 1}, {})
        self.assertFalse(well)
        self.assertIn("new", lines[0])


if __name__ == "__main__":
    unittest.main()
