#!/usr/bin/env python3
"""Tests of scripts/bench --random on timings made up: the summary, and the table in a chapter."""
import sys
import unittest

from helpers import ROOT, Case, executable, figures, ladder
from ladder import random_shapes

bench, tables = ladder.load_script("bench"), ladder.load_script("tables")


def entry(step, us, number=0, size=None, kernel="gemv", **more):
    size = size or {"m": 1000 + number, "k": 501}
    return {"family": "gemv", "kernel": kernel, "step": step, "backend": "cuda", "size": size, "shape": number,
            "bytes": 400_000_000, "cold_us": us, "cold_spread": 0.0, "gbps": 4e5 / us, "of_ceiling": 0.9,
            "verified": True, **more}


def shape(top, library=None, earlier=(), number=0, **more):
    """A shape where the top step takes `top` us, the library and earlier steps so much."""
    entries = [entry("07_by_shape", top, number, **more)]
    entries += [entry("00_cublas", library, number, **more)] if library else []
    return random_shapes.Shape(number, entries + [entry(f"0{k}_earlier", us, number, **more)
                                                  for k, us in enumerate(earlier, 1)])


def summary(*shapes, kernel="gemv"):
    return random_shapes.summary(kernel, 5, list(shapes), "code")


class Summary(Case):
    def test_the_mean_is_geometric(self):
        short = shape(19, 5, [1], 3)  # a short one does not count
        found = summary(shape(100, 400, [98]), shape(100, 90, number=1), shape(100, 90, [97, 400], number=2), short)
        self.assertAlmostEqual(found["vs_vendor"]["mean"], (4 * 0.9 * 0.9) ** (1 / 3), 4)
        self.assertEqual(found["vs_vendor"]["worst"], {"ratio": 0.9, "size": {"m": 1001, "k": 501}})
        self.assertEqual(found["vs_earlier"]["worst"]["ratio"], 0.97)
        self.assertEqual((found["shapes"], found["counted"]), (4, 3))

    def test_a_shape_that_was_left_out(self):
        refused = random_shapes.Shape(1, [{**entry("07_by_shape", 1, 1), "left_out": "no"}])
        del refused.entries[0]["cold_us"]
        self.assertEqual(summary(shape(100, 120), refused)["left_out"], 1)


PROGRAM = """\
#!{python}
import json, sys
assert sys.argv[1:] == ["--json", "--random=6", "--seed=5"]
for number in range({count}):
    for step, us in (("07_by_shape", 100 + number), ("00_cublas", 120)):
        print(json.dumps({{"kernel": "gemv", "step": step, "size": {{"m": number, "k": 3}}, "shape": number,
                          "bytes": 1e9, "cold_us": us, "of_ceiling": 0.9, "gbps": 5, "verified": number != {wrong}}}))
print("a line that is no entry")
sys.exit({status})
"""


class Measure(Case):
    def test_shapes_and_errors(self):
        for count, wrong, status, error in ((6, -1, 0, None), (6, -1, 1, "ended with exit status 1"),
                                            (3, -1, 0, "printed 3 of 6 shapes"),
                                            (6, 2, 1, "a check failed: gemv_00_cublas, gemv_07_by_shape")):
            program = executable(self.folder() / "gemv", PROGRAM.format(python=sys.executable, count=count, wrong=wrong,
                                                                        status=status))
            shown = []
            shapes, said = random_shapes.measure(program, 6, 5, shown.append)
            self.assertEqual((said, shown), (error, shapes))
            self.assertEqual([(one.number, len(one.entries)) for one in shapes], [(at, 2) for at in range(count)])

    def test_whole_ladders_alone(self):
        self.patch(ladder, "require_gpu")
        for names in ([], ["gemv_03_float4"]):
            self.patch(sys, "argv", ["bench", "--random", "5", *names])
            self.assertIn("whole ladders", self.assert_ends(2, bench.main))


class Table(Case):
    TEXT = "before\n<!-- random gemv gemv_t -->\nold\n<!-- end -->\nafter\n"

    def known(self, *found, code="code"):
        results = {ROOT / "gemv/gemv/results/h200.json": {"entries": [entry("07_by_shape", 1, code=code)],
                                                          "random": found}}
        return figures.Figures(results, lambda one: one["code"] == code)

    def page(self, known, text=TEXT):
        return tables.document(known, ROOT / "gemv" / "gemv" / "README.md", text)

    def test_not_measured_or_of_other_code(self):
        self.assertIn("Not measured yet.", self.page(self.known()))
        stale = self.known(summary(shape(100, 121)), code="other")
        self.assertIn("Not measured yet.", self.page(stale))
        self.assertEqual([*stale.stale["h200"]], ["gemv"])
        older = self.known({**summary(shape(100, 121)), "commit": "abc1234"}, code="other")
        self.assertIn("| `gemv` | H200 at abc1234 | ", self.page(older))


if __name__ == "__main__":
    unittest.main()
