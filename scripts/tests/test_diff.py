#!/usr/bin/env python3
"""Checks scripts/diff: which steps it compares, the lines it shows and counts, and the rates above them."""
import re
import sys
import unittest
from unittest import mock

from helpers import Case, entry, known, ladder, outcome

diff = ladder.load_script("diff")


class Diff(Case):
    def run_main(self, *names):
        with mock.patch.object(sys, "argv", ["diff", *map(str, names)]):
            return outcome(diff.main)

    def test_which_steps(self):
        page = self.folder() / "try.cu"
        page.write_text('#include "../reduce/sum/sum.cuh"\nint mine;\n')
        wanted = ["sum_07_unrolled_last_warp", "sum_08_warp_shuffle"]
        last = ladder.kernels()["sum"][-1].name
        for names, found in (*((names, wanted) for names in (
                ["sum_08_warp_shuffle"], ["reduce/sum/sum_08_warp_shuffle.cu"], ["sum", "8"], ["reduce/sum", "08"],
                ["sum", "7", "8"])),
                (["softmax/softmax", "2"], ["softmax_01_three_kernels", "softmax_02_online"]),
                ([page], ["sum_try", last]), ([page, "8"], ["sum_try", wanted[1]]),
                (["sum_01_atomic", page], ["sum_01_atomic", "sum_try"])):
            self.assertEqual([step.name for step in diff.chosen([str(name) for name in names])], found)
        lines = self.run_main(page, "sum_01_atomic")[0].splitlines()
        self.assertEqual(lines[0], str(page.with_suffix("")))
        self.assertIn("-int mine;", lines)

    def test_bad_names(self):
        other = self.folder() / "other.cu"
        other.write_text("int main() {}\n")
        for names, said in ((["sun", "7"], r"'sun'.*\bsum\b"), (["sum", "77"], r"\b77\b.*\b00 to \d\d"),
                            (["reduce", "7"], "'reduce'"), (["relu", "1"], "relu_01_scalar"),
                            (["sum_early_return"], "sum_early_return"), (["sum"], "'sum'"), ([], "NAME"),
                            (["sum_01_atomic", "sum_05_sequential", "sum_13_tile_per_block"], "two"),
                            ([other], "which kernel")):
            found, status = self.run_main(*names)
            self.assertEqual(status, 2, names)
            self.assertRegex(found, said)

    def test_lines(self):
        """Every line shown is in its file, at the line that the hunk's head says. Blank lines do not count."""
        def step(number, code):
            path = self.folder() / f"sum_{number}_x.cu"
            path.write_text("// Idea: two words,\n//       and more.\n" * int(number) + "#include <a>\n"
                            + "".join(f"{line}\n" for line in code))
            return ladder.Step("reduce", "sum", number, path.stem, path)

        long = [f"line {i}" for i in range(40)]
        for code, other, counts in (
                ("abcd", "abcd", (0, 0)), ("abcd", "abxcd", (1, 0)), ("abcd", "axcd", (1, 1)), ("abcd", "ab", (0, 2)),
                ("abcd", ["a", "", "b", "c", "  ", "d"], (0, 0)), ("abcd", ["++ a", "b", "c", "d", "-- e"], (2, 1)),
                (long, ["new", *long[:9], *long[11:30], "x", "y", *long[31:]], (3, 3))):
            before, after = step("01", code), step("02", other)
            self.assertIn("\n\n{} lines added or changed, {} removed".format(*counts),
                          diff.text_of(known(), before, after))
            old, new = (one.path.read_text().splitlines() for one in (before, after))
            for hunk in "\n".join(diff.diff(before, after)).split("\n@@ ")[1:]:
                head, *lines = hunk.split("\n")
                for signs, file, begin in zip((" -", " +"), (old, new), re.findall(r"[-+](\d+)", head)):
                    own = [line[1:] for line in lines if line[0] in signs]
                    self.assertEqual(own, file[int(begin) - 1:][:len(own)])

    def test_a_table_for_each_card(self):
        old, new = "07_unrolled_last_warp", "08_warp_shuffle"
        h100 = [entry(old, 1 << 20, 100), entry(new, 1 << 20, 2000)]
        h200 = [entry(step, n, us) for step, us in ((old, 100), (new, 80)) for n in (1 << 20, 1 << 21)]
        stale = [entry(old, 1 << 20, 100), entry(new, 1 << 20, 100, code="before")]
        members = [ladder.resolve_one(f"sum_{name}") for name in (old, new)]
        for cards, tables in (({"h100_80gb_hbm3": h100, "h200": h200},
                               ["GB/s, H200 2^20 2^21 step 07 42 84 step 08 52 105 1.25x 1.25x".split(),
                                "GB/s, H100 2^20 step 07 42 step 08 2.1 0.05x".split()]), ({"h200": stale}, [])):
            found = diff.rates(known(members=members, **cards), *members)
            self.assertEqual([table.split() for table in found], tables)


if __name__ == "__main__":
    unittest.main()
