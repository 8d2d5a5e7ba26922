#!/usr/bin/env python3
"""Tests of scripts/tables and of what scripts/bench keeps, on figures made up."""
import unittest

from helpers import ROOT, Case, entry, figures, known, ladder, steps

tables, bench = ladder.load_script("tables"), ladder.load_script("bench")

HEAD = "// Problem:  p.\n// Idea:     i.\n// Expect:   1 to 2x step 01,\n//           with a reason.\n// Next:     n?\n"
CODE = '#include "sum.cuh"\n// Measured: not in the head\n'
SIZE = (("n", 1 << 28),)


def ladder_of(scale=1.0, size=1 << 28, stale=(), **more):
    """`stale`: the places of entries that are of other code."""
    entries = [entry("00_cub", size, 100 * scale, vs_vendor=1.0, **more),
               entry("01_atomic", size, 5000 * scale, vs_vendor=0.02, **more),
               entry("02_tree", size, 400 * scale, vs_vendor=0.25, **more)]
    return [{**one, "code": "before"} if place in stale else one for place, one in enumerate(entries)]


def page(data, path=ROOT / "reduce" / "sum" / "README.md", text="a\n<!-- table sum 2^28 -->\nold\n<!-- end -->\nb\n"):
    return tables.document(data, path, text)


class Tables(Case):
    def test_a_chapter_shows_both_cards_the_one_with_more_figures_first(self):
        data = known(h100=ladder_of(2)[:2], h200=ladder_of())
        text = page(data)
        self.assertEqual(text.count("| [01_atomic](sum_01_atomic.cu) |"), 2)
        self.assertLess(text.index("| H200, GB/s (vs CUB) | 2^28 |"), text.index("| H100, GB/s (vs CUB) | 2^28 |"))
        self.assertTrue(text.startswith("a\n<!-- table sum 2^28 -->\n") and text.endswith("<!-- end -->\nb\n"))
        self.assertNotIn("old", text)
        self.assertEqual(page(data, text=text), text)
        tie = page(known(h100=ladder_of(2), h200=ladder_of()))
        self.assertLess(tie.index("H200"), tie.index("H100"), "both complete: the newer one")

    def test_ones_own_card_comes_after_the_reference_cards(self):
        data = known(geforce_rtx_4090=ladder_of(3) + ladder_of(3, size=64),
                     **{card.replace("-", "_"): ladder_of()[:2] for card in figures.REFERENCE})
        text = page(data)
        heads = [text.index(f"| {name}, GB/s (vs CUB) | 2^28 |") for name in ("H200", "H100", "RTX 4090")]
        self.assertEqual(heads, sorted(heads))
        self.assertRegex(tables.measured(data, data.kernels["sum"][1], SIZE), r"H200(?!.*RTX).*H100")

    def test_stale_figures_are_listed_and_shown_only_as_of_a_known_commit(self):
        data = known(h100_80gb_hbm3=ladder_of(stale=(0, 1, 2)), h200=ladder_of()[:1])
        self.assertNotRegex(page(data), "H100|02_tree")
        self.assertEqual(list(data.stale["h100-80gb-hbm3"]), ["sum_00_cub", "sum_01_atomic", "sum_02_tree"])
        data = known(h100_80gb_hbm3=ladder_of(stale=(0, 1, 2), commit="abc1234"), h200=ladder_of(commit="abc1234"))
        h200, _, h100 = page(data).partition("H100")
        self.assertIn("| [02_tree](sum_02_tree.cu) at abc1234 | ", h100)
        self.assertNotIn("abc1234", h200)
        self.assertIn("sum_02_tree", data.stale["h100-80gb-hbm3"])
        self.assertIn("0.25x CUB at 2^28 (H200); 12.5x, 0.25x (H100 at abc1234).",
                      tables.measured(data, data.kernels["sum"][2], SIZE))

    def test_sizes(self):
        for text, wanted in ((" 2^20 2^28 head=2^20", (None, ["2^20", "2^28"], "2^20", [])), ("", (None, [], None, [])),
                             (" head=offset=1 chart=a,b", (None, [], "offset=1", ["a", "b"]))):
            self.assertEqual(figures.wanted(None, text), wanted)
        sizes = [(("m", n), ("n", n)) for n in (1024, 2048, 4095, 4096, 8192)]
        for given, telling in ((sizes, sizes[3]), (sizes[:1], sizes[0]), ([(("n", 3),), (("n", 5),)], (("n", 5),))):
            self.assertEqual(figures.telling(given), telling)
        for wrong in ("sum 2^99", "nothing"):
            self.assert_ends(1, page, known(h200=ladder_of()), text=f"<!-- table {wrong} -->\n<!-- end -->\n")


class Heads(Case):
    def line(self, data, number=2):
        return tables.measured(data, data.kernels["sum"][number], SIZE)

    def test_lines(self):
        both = known(h100_80gb_hbm3=ladder_of(2), h200=ladder_of() + ladder_of(size=64))
        self.assertEqual(self.line(both),
                         "// Measured: 12.5x step 01, 0.25x CUB at 2^28 (H200); 12.5x, 0.25x (H100).\n")
        for stale, line in (((), "12.5x step 01, 0.25x CUB at 2^28 (H200)."), ((1,), "0.25x CUB at 2^28 (H200)."),
                            ((0, 1), ""), ((0, 1, 2), "")):
            self.assertEqual(self.line(known(h200=ladder_of(stale=stale))), f"// Measured: {line}\n" if line else "")

    def test_without_a_library_the_ceiling(self):
        path = ladder.resolve_one("sum_of_squares_02_one_block").path  # whose files say the ceiling's name
        members = [step._replace(path=path) for step in steps("01_atomic", "02_tree")]
        data = known(members=members, h200=[entry("01_atomic", 1 << 28, 500), entry("02_tree", 1 << 28, 400)])
        self.assertEqual(self.line(data, 1), "// Measured: 1.25x step 01, 0.50 of a read at 2^28 (H200).\n")

    def test_place_in_the_head(self):
        data = known(h200=ladder_of())
        step = data.kernels["sum"][2]
        once = HEAD.replace("// Next:", self.line(data) + "// Next:") + CODE
        old = HEAD.replace("// Next:", "// Measured: 1x step 00 at 7 (A);\n//           2x.\n// Next:") + CODE
        vendor = "// The library.\n" + CODE
        for figures_of, size, text, wanted in ((data, SIZE, HEAD + CODE, once), (data, SIZE, once, once),
                                               (data, SIZE, old, once), (known(), None, old, HEAD + CODE),
                                               (data, SIZE, vendor, vendor)):
            self.assertEqual(tables.head(figures_of, step, size, text), wanted)


class Bench(Case):
    def test_merged(self):
        names = {"sum_00_cub", "sum_01_atomic", "sum_02_tree"}
        old = [*ladder_of(), entry("03_gone", 1 << 28, 1), entry("02_tree", 64, 1)]
        new = bench.merged(old, [entry("02_tree", 1 << 20, 7)], names)
        self.assertEqual([(one["step"], one["size"]["n"]) for one in new],
                         [("00_cub", 1 << 28), ("01_atomic", 1 << 28), ("02_tree", 1 << 20)])
        self.assertEqual(len(bench.merged([], ladder_of(), names)), 3)

    def test_stale_steps(self):
        results = [figures.Results("reduce/sum", "h200", {}, [entry("00_cub", 1, 1), entry("01_atomic", 1, 1),
                                                          entry("01_atomic", 2, 1, code="before")]),
                   figures.Results("reduce/sum", "h100", {}, [entry("02_tree", 1, 1)])]
        digests = unittest.mock.Mock(current=lambda one: one["code"] == "now")
        found = bench.stale_steps(steps("00_cub", "01_atomic", "02_tree"), results, "h200", digests)
        self.assertEqual([step.id for step in found], ["01_atomic", "02_tree"])


if __name__ == "__main__":
    unittest.main()
