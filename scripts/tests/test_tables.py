#!/usr/bin/env python3
"""Tests of scripts/tables and of scripts/bench --stale, on figures made up: stale ones, other cards, heads. The
tables' form is that of the pages, which scripts/tables --check compares."""
import unittest

from helpers import ROOT, Case, entry, figures, known, ladder, steps

tables, bench = ladder.load_script("tables"), ladder.load_script("bench")
SIZE = (("n", 1 << 28),)


def ladder_of(scale=1.0, stale=(), **more):
    """`stale`: the places of entries that are of other code."""
    entries = [entry("00_cub", 1 << 28, 100 * scale, vs_vendor=1.0, **more),
               entry("01_atomic", 1 << 28, 5000 * scale, vs_vendor=0.02, **more),
               entry("02_tree", 1 << 28, 400 * scale, vs_vendor=0.25, **more)]
    return [{**one, "code": "before"} if place in stale else one for place, one in enumerate(entries)]


def page(data, text="a\n<!-- table sum 2^28 -->\nold\n<!-- end -->\nb\n"):
    return tables.document(data, ROOT / "reduce" / "sum" / "README.md", text)


class Tables(Case):
    def test_reference_cards_first_and_then_ones_own(self):
        data = known(geforce_rtx_4090=[*ladder_of(3), entry("02_tree", 64, 1)],
                     **{card.replace("-", "_"): ladder_of()[:2] for card in figures.REFERENCE})
        text = page(data)
        heads = [text.index(f"| {name}, GB/s (vs CUB) | 2^28 |") for name in ("H200", "H100", "RTX 4090")]
        self.assertEqual(heads, sorted(heads))
        self.assertEqual(page(data, text), text)
        self.assertRegex(tables.measured(data, data.kernels["sum"][1], SIZE), r"H200(?!.*RTX).*H100")

    def test_stale_figures_are_listed_and_shown_only_as_of_a_known_commit(self):
        data = known(h100_80gb_hbm3=ladder_of(stale=(0, 1, 2)), h200=ladder_of()[:1])
        self.assertNotRegex(page(data), "H100|02_tree")
        self.assertEqual(list(data.stale["h100-80gb-hbm3"]), ["sum_00_cub", "sum_01_atomic", "sum_02_tree"])
        data = known(h100_80gb_hbm3=ladder_of(stale=(0, 1, 2), commit="abc1234"), h200=ladder_of(commit="abc1234"))
        h200, _, h100 = page(data).partition("H100")
        self.assertIn("| [02_tree](sum_02_tree.cu) at abc1234 | ", h100)
        self.assertIn("\n*at* and a commit: ", h100)
        self.assertNotIn("abc1234", h200)
        self.assertIn("sum_02_tree", data.stale["h100-80gb-hbm3"])
        self.assertIn("0.25x CUB at 2^28 (H200); 12.5x, 0.25x (H100 at abc1234).",
                      tables.measured(data, data.kernels["sum"][2], SIZE))

    def test_a_size_or_kernel_that_is_not_there(self):
        for wrong in ("sum 2^99", "nothing"):
            self.assert_ends(1, page, known(h200=ladder_of()), f"<!-- table {wrong} -->\n<!-- end -->\n")


class Heads(Case):
    def test_figures_that_are_missing_are_left_out(self):
        for stale, line in (((), "12.5x step 01, 0.25x CUB at 2^28 (H200)."), ((1,), "0.25x CUB at 2^28 (H200)."),
                            ((0, 1), ""), ((0, 1, 2), "")):
            data = known(h200=ladder_of(stale=stale))
            self.assertEqual(tables.measured(data, data.kernels["sum"][2], SIZE),
                             f"// Measured: {line}\n" if line else "")

    def test_place_in_the_head(self):
        data, code = known(h200=ladder_of()), '#include "sum.cuh"\n// Measured: not in the head\n'
        text = "// Problem:  p.\n// Expect:   1 to 2x step 01,\n//           with a reason.\n// Next:     n?\n" + code
        step = data.kernels["sum"][2]
        once = text.replace("// Next:", tables.measured(data, step, SIZE) + "// Next:")
        old = text.replace("// Next:", "// Measured: 1x step 00 at 7 (A);\n//           2x.\n// Next:")
        for one, size, before, after in ((data, SIZE, text, once), (data, SIZE, once, once), (data, SIZE, old, once),
                                         (known(), None, old, text), (data, SIZE, code, code)):
            self.assertEqual(tables.head(one, step, size, before), after)


class Bench(Case):
    def test_stale_steps(self):
        results = {ROOT / "h200.json": {"entries": [entry("00_cub", 1, 1), entry("01_atomic", 1, 1),
                                                    entry("01_atomic", 2, 1, code="before")]},
                   ROOT / "h100.json": {"entries": [entry("02_tree", 1, 1)]}}
        found = bench.stale_steps(steps("00_cub", "01_atomic", "02_tree"), results, "h200",
                                  lambda one: one["code"] == "now")
        self.assertEqual([step.id for step in found], ["01_atomic", "02_tree"])


if __name__ == "__main__":
    unittest.main()
