#!/usr/bin/env python3
"""Tests the way of made-up figures from scripts/bench into results/, tables and heads: which code they belong to,
stale figures, other cards, random shapes. scripts/tables --check and scripts/plot --check test the form of tables and
charts, on the pages."""
import itertools
import unittest
from pathlib import Path
from unittest import mock

from helpers import ROOT, Case, entry, figures, known, ladder, outcome, steps
from ladder import run_ladders

bench, tables = (ladder.load_script(name) for name in ("bench", "tables"))
STEP, SHAPES, SUMS = "gemv/gemv/gemv_07_by_shape.cu", "gemv/gemv/gemv_shapes.hpp", "common/block_reduce.cuh"
PROBLEM, BASE, RUNNER = "gemv/gemv/gemv.cuh", "gemv/matrix_vector.cuh", "common/problem.hpp"


class Digest(Case):
    def digest(self, file="", old="", new=""):
        """Returns the digest of a step after a change of one file."""
        def read_text(path, **options):
            text = read(path, **options)
            if path != ROOT / file:
                return text
            self.assertIn(old, text)
            return text.replace(old, new, 1)

        read = Path.read_text
        with mock.patch.object(Path, "read_text", read_text):
            return figures.digest(ROOT / STEP)

    def test_what_counts(self):
        """Comments and layout do not count, nor does the problem's and runner's code without launches."""
        same = ((STEP, "// Problem:", "/* Another\n head. */ // Problem:"), (STEP, "int left) {", "int  left)\n{"),
                (STEP, "<<<", " < << "), (STEP, "#include", "#pragma once\n#include"), (STEP, "<utility>", "<array>"),
                (STEP, '"block_', '"../../common/block_'), (SUMS, "// kBlock: threads", "// Another"),
                *((file, "#pragma once\n", "int changed;\n") for file in (PROBLEM, BASE, RUNNER)))
        other = ((STEP, "kMinBlock = 256", "kMinBlock = 9"), (STEP, "int left", "long left"), (STEP, "<<<", "<<<1+"),
                 (STEP, "#pragma unroll\n", ""), (SHAPES, "{4, 1, 4, 1}", "{4, 1, 4, 2}"), (SUMS, "= 16", "= 8"),
                 *((file, "#pragma once\n", code) for file in (PROBLEM, BASE, RUNNER)
                   for code in ("__device__ int changed;\n", "void run() { changed<<<1, 32>>>(); }\n")))
        for change in (*same, *other):
            self.assertEqual(self.digest(*change) == self.digest(), change in same, change)
        texts = {self.digest(STEP, "constexpr", f'char text[] = "// {word}"; constexpr') for word in ("one", "two")}
        self.assertEqual(len(texts), 2, "a comment's sign in a text begins none")


class Results(Case):
    def test_names_of_cards(self):
        for gpu, card, short in (("NVIDIA GeForce RTX 4090", "geforce-rtx-4090", "RTX 4090"),
                                 ("NVIDIA A100-SXM4-40GB", "a100-sxm4-40gb", "A100"),
                                 ("Tesla T4", "tesla-t4", "T4"), ("NVIDIA H100 PCIe", "h100-pcie", "H100 PCIE")):
            self.assertEqual((figures.card_name(gpu), figures.short_name(card)), (card, short))

    def test_new_entries_take_the_place_of_old_ones(self):
        """A step's figures are replaced at all sizes, counters for the same run; steps that are gone are dropped."""
        kept = [entry("00_cub", 8, 1), entry("01_atomic", 64, 1)]
        old = [entry("02_global_tree", 8, 1), entry("02_global_tree", 64, 1), entry("02_gone", 8, 1)]
        new = entry("02_global_tree", 8, 7)
        self.assertEqual(figures.merged([*kept, *old], [new]), [*kept, new])
        first, *others = (entry(step, n, 1, misaligned=misaligned) for step, n, misaligned in (
            ("00_cub", 8, False), ("00_cub", 8, True), ("00_cub", 9, False), ("01_atomic", 8, False)))
        new = {**first, "registers": 2}
        self.assertEqual(figures.merged([first, *others], [new]), [new, *others])

    def test_files_are_as_they_would_be_written(self):
        for path, contents in figures.read_all().items():
            self.assertEqual(figures.to_text(contents), path.read_text(), path)
            self.assertEqual(figures.card_name(contents["gpu"]), path.stem)


SIZE, OLD = (("n", 1 << 28),), {"commit": "abc1234", "code": "before"}


def ladder_of(*changes):
    """Returns entries of steps 00, 01 and 02. `changes` are their differing fields."""
    entries = [entry(step, 1 << 28, us, vs_vendor=100 / us)
               for step, us in (("00_cub", 100), ("01_atomic", 5000), ("02_tree", 400))]
    return [{**one, **change} for one, change in itertools.zip_longest(entries, changes, fillvalue={})]


def page(data, text="a\n<!-- table sum 2^28 -->\nold\n<!-- end -->\nb\n"):
    return tables.filled(data, ROOT / "reduce" / "sum" / "README.md", text)


class Tables(Case):
    def test_reference_cards_first_and_then_ones_own(self):
        data = known(geforce_rtx_4090=[*ladder_of(), entry("02_tree", 64, 1)], h200=ladder_of()[:2],
                     h100_80gb_hbm3=ladder_of()[:2])
        self.assertRegex(page(data), r"(?s)\| H200, GB/s \(vs CUB\) \| 2\^28 \|.*\| H100, .*\| RTX 4090, ")
        self.assertEqual(page(data, page(data)), page(data))
        self.assertRegex(tables.measured(data, data.kernels["sum"][1], SIZE), r"H200(?!.*RTX).*H100")

    def test_stale_figures_are_listed_and_shown_only_as_of_a_known_commit(self):
        data = known(h100_80gb_hbm3=ladder_of(*[{"code": "before"}] * 3), h200=ladder_of()[:1])
        self.assertNotRegex(page(data), "H100|02_tree")
        self.assertEqual(list(data.stale["h100-80gb-hbm3"]), ["sum_00_cub", "sum_01_atomic", "sum_02_tree"])
        data = known(h100_80gb_hbm3=ladder_of(*[OLD] * 3), h200=ladder_of())
        self.assertRegex(page(data), r"(?s)^(?!.*abc1234.*H100).*\[02_tree\]\(sum_02_tree.cu\) at abc1234 .*\n\*at\*")
        self.assertIn("sum_02_tree", data.stale["h100-80gb-hbm3"])
        self.assertIn("0.25x CUB at 2^28 (H200); 12.5x, 0.25x (H100 at abc1234).",
                      tables.measured(data, data.kernels["sum"][2], SIZE))

    def test_a_size_or_kernel_that_is_not_there(self):
        for wrong in ("sum 2^99", "nothing"):
            self.assert_ends(1, page, known(h200=ladder_of()), f"<!-- table {wrong} -->\n<!-- end -->\n")

    def test_heads(self):
        """The line is after // Expect:, and nowhere else."""
        data, code = known(h200=ladder_of()), '#include "sum.cuh"\n// Measured: not in the head\n'
        text = "// Problem:  p.\n// Expect:   1 to 2x step 01,\n//           with a reason.\n// Next:     n?\n" + code
        step = data.kernels["sum"][2]
        once = text.replace("// Next:", tables.measured(data, step, SIZE) + "// Next:")
        old = text.replace("// Next:", "// Measured: 1x step 00 at 7 (A);\n//           2x.\n// Next:")
        for one, size, before, after in ((data, SIZE, text, once), (data, SIZE, once, once), (data, SIZE, old, once),
                                         (known(), None, old, text), (data, SIZE, code, code)):
            self.assertEqual(tables.head(one, step, size, before), after)


def shape(top, library=None, earlier=(), number=0):
    """Returns the entries of a shape, with the times in us of the last step, the library and earlier steps."""
    times = {"13_top": top, "00_cub": library, **{f"0{k}_old": us for k, us in enumerate(earlier, 1)}}
    return [{**entry(step, 1000 + number, us), "shape": number} for step, us in times.items() if us]


class Bench(Case):
    def test_the_mean_is_geometric_and_short_shapes_do_not_count(self):
        refused = [{"kernel": "sum", "step": "13_top", "size": {"n": 1}, "shape": 4, "left_out": "no"}]
        found = bench.summary("sum", 5, [shape(100, 400, [98]), shape(100, 90, number=1),
                                         shape(100, 90, [97, 400], number=2), shape(19, 5, [1], 3), refused])
        self.assertAlmostEqual(found["vs_vendor"]["mean"], (4 * 0.9 * 0.9) ** (1 / 3), 4)
        self.assertEqual(found["vs_vendor"]["worst"], {"ratio": 0.9, "size": {"n": 1001}, "step": "00_cub"})
        self.assertEqual(found["vs_earlier"]["worst"], {"ratio": 0.97, "size": {"n": 1002}, "step": "01_old"})
        self.assertEqual([found[name] for name in ("shapes", "counted", "left_out")], [5, 3, 1])

    def test_running(self):
        """Figures are kept only if everything ran and was right."""
        update = self.patch(figures, "update")
        for count, wrong, status, error in ((6, -1, 0, None), (6, -1, 1, "ended with exit status 1"),
                                            (3, -1, 0, "timed 3 of 6 shapes"), (0, -1, 0, "timed nothing"),
                                            (6, 2, 1, "a check failed: sum_00_cub, sum_13_top")):
            records = [{**one, "verified": number != wrong} for number in range(count)
                       for one in shape(100 + number, 120, number=number)]
            recorded = self.patch(run_ladders, "recorded", return_value=(status, [*records, {"skipped": "no size"}]))
            said, found = outcome(bench.measure, "sum", steps("13_top"), {"date": "today"}, 6, 5)
            self.assertEqual((found, '"shapes": 6' in said), (error, error is None))
            self.assertEqual(recorded.call_args[0][0][1:], ["--random=6", "--seed=5"])
        update.assert_called_once()

    def test_stale_steps(self):
        results = {ROOT / "h200.json": {"entries": [entry("00_cub", 1, 1), entry("01_atomic", 1, 1),
                                                    entry("01_atomic", 2, 1, code="before")]},
                   ROOT / "h100.json": {"entries": [entry("02_tree", 1, 1)]}}
        found = bench.stale_steps(steps("00_cub", "01_atomic", "02_tree"), results, "h200",
                                  lambda one: one["code"] == "now")
        self.assertEqual([step.id for step in found], ["01_atomic", "02_tree"])


if __name__ == "__main__":
    unittest.main()
