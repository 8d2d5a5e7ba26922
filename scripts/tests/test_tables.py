#!/usr/bin/env python3
"""Tests of scripts/tables and of what scripts/bench keeps, on figures made up."""
import sys
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SCRIPTS))
import ladder
from ladder import figures

tables, bench = ladder.load_script("tables"), ladder.load_script("bench")

HEAD = "// Problem:  p.\n// Idea:     i.\n// Expect:   1 to 2x step 01,\n//           with a reason.\n// Next:     n?\n"
CODE = '#include "sum.cuh"\n// Measured: not in the head\n'


def steps(*ids):
    folder = ladder.ROOT / "reduce" / "sum"
    return [ladder.Step("reduce", "sum", one[:2], f"sum_{one}", folder / f"sum_{one}.cu") for one in ids]


def entry(step, n, cold_us, **more):
    return {"family": "reduce", "kernel": "sum", "step": step, "size": {"n": n}, "gbps": 4e-3 * n / cold_us,
            "cold_us": cold_us, "code": "now", "of_ceiling": 0.5, **more}


def known(h100, h200=(), ids=("00_cub", "01_atomic", "02_tree")):
    results = [figures.Results("reduce/sum", card, {}, list(entries))
               for card, entries in (("h100-80gb-hbm3", h100), ("h200", h200))]
    return figures.Figures(results, lambda one: one["code"] == "now", {"sum": steps(*ids)})


def ladder_of(scale=1.0, size=1 << 28, **more):
    return [entry("00_cub", size, 100 * scale, vs_vendor=1.0, **more),
            entry("01_atomic", size, 5000 * scale, vs_vendor=0.02, **more),
            entry("02_tree", size, 400 * scale, vs_vendor=0.25, **more)]


class Tables(unittest.TestCase):
    README = "before\n<!-- table sum 2^28 -->\nold\n<!-- end -->\nafter\n"

    def page(self, data, path=ladder.ROOT / "reduce" / "sum" / "README.md", text=README):
        return tables.document(data, path, text)

    def test_a_chapter_shows_both_cards_the_one_with_more_figures_first(self):
        text = self.page(known(ladder_of(2)[:2], ladder_of()))
        self.assertEqual(text.count("| [01_atomic](sum_01_atomic.cu) |"), 2)
        self.assertLess(text.index("| H200, GB/s (vs CUB) | 2^28 |"), text.index("| H100, GB/s (vs CUB) | 2^28 |"))
        self.assertTrue(text.startswith("before\n<!-- table sum 2^28 -->\n") and text.endswith("<!-- end -->\nafter\n"))
        self.assertNotIn("old", text)
        tie = self.page(known(ladder_of(2), ladder_of()))
        self.assertLess(tie.index("H200"), tie.index("H100"), "both complete: the newer one")
        self.assertEqual(self.page(known(ladder_of(2)[:2], ladder_of()), text=text), text)

    def test_ones_own_card_comes_after_the_reference_cards(self):
        own = figures.Results("reduce/sum", "geforce-rtx-4090", {}, ladder_of(3) + ladder_of(3, size=64))
        reference = [figures.Results("reduce/sum", card, {}, ladder_of()[:2]) for card in figures.REFERENCE]
        kernels = {"sum": steps("00_cub", "01_atomic")}
        data = figures.Figures([own, *reference], lambda one: one["code"] == "now", kernels)
        text = self.page(data)
        heads = [text.index(f"| {name}, GB/s (vs CUB) | 2^28 |") for name in ("H200", "H100", "RTX 4090")]
        self.assertEqual(heads, sorted(heads))
        self.assertNotIn("RTX", self.page(data, figures.GUIDE))
        line = tables.measured(data, data.kernels["sum"][1], (("n", 1 << 28),))
        self.assertTrue("H200" in line and "H100" in line and "RTX" not in line, line)

    def test_the_guide_shows_one(self):
        for guide in (figures.GUIDE, ladder.ROOT / "README.zh-CN.md"):
            text = self.page(known(ladder_of(2)[:2], ladder_of()), guide)
            self.assertIn("| [01_atomic](reduce/sum/sum_01_atomic.cu) | 215 (0.020x) |", text)
            self.assertNotIn("H100", text)

    def test_stale_figures_are_left_out_and_listed(self):
        data = known(ladder_of(code="before"), ladder_of()[:1])
        text = self.page(data)
        self.assertNotIn("H100", text)
        self.assertNotIn("02_tree", text)
        self.assertEqual(list(data.stale["h100-80gb-hbm3"]), ["sum_00_cub", "sum_01_atomic", "sum_02_tree"])
        self.assertNotIn("01_atomic", self.page(known(ladder_of(code="before"))))

    def test_stale_figures_of_a_known_commit_are_shown_as_of_it(self):
        data = known(ladder_of(code="before", commit="abc1234"), ladder_of(commit="abc1234"))
        text = self.page(data)
        self.assertIn("| [02_tree](sum_02_tree.cu) at abc1234 | ", text[text.index("H100"):])
        self.assertNotIn("abc1234", text[:text.index("H100")])
        self.assertIn("sum_02_tree", data.stale["h100-80gb-hbm3"])
        line = tables.measured(data, data.kernels["sum"][2], (("n", 1 << 28),))
        self.assertIn("0.25x CUB at 2^28 (H200); 12.5x, 0.25x (H100 at abc1234).", line)

    def test_sizes(self):
        self.assertEqual(figures.wanted(None, " 2^20 2^28 head=2^20"), (None, ["2^20", "2^28"], "2^20", []))
        self.assertEqual(figures.wanted(None, " head=offset=1 chart=a,b"), (None, [], "offset=1", ["a", "b"]))
        self.assertEqual(figures.wanted(None, ""), (None, [], None, []))
        sizes = [(("m", n), ("n", n)) for n in (1024, 2048, 4095, 4096, 8192)]
        self.assertEqual(figures.telling(sizes), (("m", 4096), ("n", 4096)))
        self.assertEqual(figures.telling(sizes[:1]), sizes[0])
        self.assertEqual(figures.telling([(("n", 3),), (("n", 5),)]), (("n", 5),))
        with self.assertRaises(SystemExit):
            self.page(known(ladder_of()), text="<!-- table sum 2^99 -->\n<!-- end -->\n")
        with self.assertRaises(SystemExit):
            self.page(known(ladder_of()), text="<!-- table nothing -->\n<!-- end -->\n")


class Map(unittest.TestCase):
    SIZE = (("n", 1 << 28),)

    def row(self, data):
        lines = tables.kernel_map(data, {"sum": self.SIZE}, ladder.ROOT).splitlines()
        self.assertEqual(len(lines), 3)
        self.assertEqual(len({line.count("|") for line in lines}), 1, "as many cells in every line")
        return [cell.strip() for cell in lines[2].split("|")[1:-1]]

    def test_both_cards(self):
        row = self.row(known(ladder_of(2), ladder_of()))
        self.assertEqual(row, ["[sum](reduce/sum/README.md)", "2^28", "215", "[02](reduce/sum/sum_02_tree.cu) 12.5x",
                               "[02](reduce/sum/sum_02_tree.cu) 2684, 0.25x CUB", "107",
                               "[02](reduce/sum/sum_02_tree.cu) 12.5x",
                               "[02](reduce/sum/sum_02_tree.cu) 1342, 0.25x CUB"])

    def test_a_gain_is_over_the_best_step_before(self):
        figures_of_steps = [*ladder_of(), entry("03_slow", 1 << 28, 9000, vs_vendor=0.01),
                            entry("04_last", 1 << 28, 500, vs_vendor=0.2)]
        row = self.row(known(figures_of_steps, ids=("00_cub", "01_atomic", "02_tree", "03_slow", "04_last")))
        self.assertEqual(row[3:], ["[02](reduce/sum/sum_02_tree.cu) 12.5x",
                                   "[02](reduce/sum/sum_02_tree.cu) 2684, 0.25x CUB"])

    def test_cells_that_depend_on_stale_figures_are_empty(self):
        def without(number):
            data = ladder_of()
            data[number]["code"] = "before"
            return self.row(known(data))[2:]

        self.assertEqual(without(1), ["", "", "[02](reduce/sum/sum_02_tree.cu) 2684, 0.25x CUB"])
        self.assertEqual(without(2), ["215", "", "[01](reduce/sum/sum_01_atomic.cu) 215, 0.02x CUB"])
        self.assertEqual(without(0)[2], "[02](reduce/sum/sum_02_tree.cu) 2684")

    def test_written_between_its_markers_only(self):
        data, text = known(ladder_of()), "a\n<!-- map -->\nold\n<!-- end -->\nb\n<!-- end -->\n"
        lines = tables.kernel_map(data, {"sum": self.SIZE}, ladder.ROOT)
        self.assertEqual(tables.document(data, figures.GUIDE, text, {"sum": self.SIZE}),
                         f"a\n<!-- map -->\n\n{lines}\n\n<!-- end -->\nb\n<!-- end -->\n")


class Heads(unittest.TestCase):
    SIZE = (("n", 1 << 28),)

    def line(self, data, number=2):
        return tables.measured(data, data.kernels["sum"][number], self.SIZE)

    def test_both_cards(self):
        self.assertEqual(self.line(known(ladder_of(2)[:3], ladder_of() + ladder_of(size=64))),
                         "// Measured: 12.5x step 01, 0.25x CUB at 2^28 (H200); 12.5x, 0.25x (H100).\n")
        self.assertEqual(self.line(known(ladder_of())), "// Measured: 12.5x step 01, 0.25x CUB at 2^28 (H100).\n")

    def test_what_is_not_current_is_not_compared_with(self):
        data = ladder_of()
        data[1]["code"] = "before"
        self.assertEqual(self.line(known(data)), "// Measured: 0.25x CUB at 2^28 (H100).\n")
        data[0]["code"] = "before"
        self.assertEqual(self.line(known(data)), "")
        data[2]["code"] = "before"
        self.assertEqual(self.line(known(data)), "")

    def test_without_a_library_the_ceiling(self):
        data = known([entry("01_atomic", 1 << 28, 500), entry("02_tree", 1 << 28, 400)], ids=("01_atomic", "02_tree"))
        step = [one for one in ladder.steps() if one.name == "sum_of_squares_02_one_block"][0]
        for kernel_step in (0, 1):  # the ceiling's name comes from the files there are
            data.kernels["sum"][kernel_step] = data.kernels["sum"][kernel_step]._replace(path=step.path)
        self.assertEqual(self.line(data, 1), "// Measured: 1.25x step 01, 0.50 of a read at 2^28 (H100).\n")

    def test_names_of_ceilings(self):
        names = {step.kernel: figures.ceiling_name(step) for step in ladder.steps()}
        self.assertEqual((names["memory"], names["overlap"], names["sum"], names["gemv"], names["copy"], names["blur"]),
                         ("link", "link", "read", "read", "copy", "copy"))
        self.assertEqual(names["streams"], "copy", "includes overlap's header, and its data are in device memory")
        self.assertEqual((names["scan"], names["compact"], names["top_k"]), ("copy", "copy", "read"),
                         "reduction.cuh, which scan.cuh includes, has a class that is bounded by a read")

    def test_place_in_the_head(self):
        data = known(ladder_of(2), ladder_of())
        step = data.kernels["sum"][2]
        line = self.line(data)
        once = tables.head(data, step, self.SIZE, HEAD + CODE)
        self.assertEqual(once, HEAD.replace("// Next:", line + "// Next:") + CODE)
        self.assertEqual(tables.head(data, step, self.SIZE, once), once)
        old = HEAD.replace("// Next:", "// Measured: 1x step 00 at 7 (A);\n//           2x.\n// Next:") + CODE
        self.assertEqual(tables.head(data, step, self.SIZE, old), once)
        self.assertEqual(tables.head(known([]), step, None, old), HEAD + CODE)
        self.assertEqual(tables.head(data, step, self.SIZE, "// The library.\n" + CODE), "// The library.\n" + CODE)


class Bench(unittest.TestCase):
    def test_merged(self):
        entries = [*ladder_of(), entry("03_gone", 1 << 28, 1), entry("02_tree", 64, 1)]
        old = figures.Results("reduce/sum", "h200", {}, entries)
        names = {"sum_00_cub", "sum_01_atomic", "sum_02_tree"}
        new = bench.merged(old, {}, [entry("02_tree", 1 << 20, 7)], names)
        self.assertEqual([(one["step"], one["size"]["n"]) for one in new],
                         [("00_cub", 1 << 28), ("01_atomic", 1 << 28), ("02_tree", 1 << 20)])
        self.assertEqual(len(bench.merged(None, {}, ladder_of(), names)), 3)

    def test_stale_steps(self):
        results = [figures.Results("reduce/sum", "h200", {}, [entry("00_cub", 1, 1), entry("01_atomic", 1, 1),
                                                          entry("01_atomic", 2, 1, code="before")]),
                   figures.Results("reduce/sum", "h100", {}, [entry("02_tree", 1, 1)])]

        class Digests:
            def current(self, one):
                return one["code"] == "now"

        found = bench.stale_steps(steps("00_cub", "01_atomic", "02_tree"), results, "h200", Digests())
        self.assertEqual([step.id for step in found], ["01_atomic", "02_tree"])


if __name__ == "__main__":
    unittest.main()
