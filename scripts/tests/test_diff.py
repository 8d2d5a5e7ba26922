#!/usr/bin/env python3
"""Checks scripts/diff: which steps it compares, the lines it shows and counts, and the rates above them."""
import re
import subprocess
import sys
import unittest
from unittest import mock

from helpers import ROOT, Case, entry, known, ladder

diff = ladder.load_script("diff")

HEAD = "// Problem:  p.\n// Idea:     two words,\n//           and more.\n// Next:     n?\n"


def run(*arguments):
    return subprocess.run([ROOT / "scripts/diff", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True)


class Choice(Case):
    def names(self, *names):
        return [step.name for step in diff.chosen(names)]

    def test_a_step_and_the_one_before(self):
        wanted = ["sum_07_unrolled_last_warp", "sum_08_warp_shuffle"]
        for names in (["sum_08_warp_shuffle"], ["reduce/sum/sum_08_warp_shuffle.cu"], ["sum", "8"],
                      ["reduce/sum", "08"], ["sum", "7", "8"]):
            self.assertEqual(self.names(*names), wanted, names)
        self.assertEqual(self.names("softmax/softmax", "2"), ["softmax_01_three_kernels", "softmax_02_online"])

    def test_a_page_and_a_step(self):
        submission = self.folder() / "try.cu"
        submission.write_text('#include "../reduce/sum/sum.cuh"\nint mine;\n')
        last = ladder.kernels()["sum"][-1].name
        for names, wanted in (([submission], ["sum_try", last]),
                              ([submission, "8"], ["sum_try", "sum_08_warp_shuffle"]),
                              (["sum_01_atomic", submission], ["sum_01_atomic", "sum_try"])):
            self.assertEqual(self.names(*map(str, names)), wanted)
        lines = run(submission, "sum_01_atomic").stdout.splitlines()
        self.assertEqual(lines[0], str(submission.with_suffix("")))
        self.assertIn("-int mine;", lines)
        submission.write_text("int main() {}\n")
        self.assert_ends(2, diff.chosen, [str(submission)])

    def test_bad_names(self):
        for names, said in ((["sun", "7"], r"'sun'.*\bsum\b"), (["sum", "77"], r"\b77\b.*\b00 to \d\d"),
                            (["reduce", "7"], "'reduce'"), (["relu", "1"], "relu_01_scalar"),
                            (["sum_early_return"], "sum_early_return"), (["sum"], "'sum'"), ([], "step"),
                            (["sum_01_atomic", "sum_05_sequential", "sum_13_tile_per_block"], "two")):
            with self.subTest(names), mock.patch.object(sys, "argv", ["diff", *names]):
                self.assertRegex(self.assert_ends(2, diff.main), said)


class Lines(Case):
    def step(self, number, code, head=HEAD):
        path = self.folder() / f"sum_{number}_x.cu"
        path.write_text(head + "#include <a>\n" + "".join(f"{line}\n" for line in code))
        return ladder.Step("reduce", "sum", number, path.stem, path)

    def test_counts(self):
        one = self.step("01", "abcd")
        for code, wanted in (("abcd", (0, 0)), ("abxcd", (1, 0)), ("axcd", (1, 1)), ("ab", (0, 2)), ("xyz", (3, 4)),
                             (["a", "", "b", "c", "  ", "d"], (0, 0)), (["++ a", "b", "c", "d", "-- e"], (2, 1))):
            self.assertEqual(diff.changes(one, self.step("02", code)), wanted, code)

    def check_hunks(self, before, after):
        """Every line shown stands in its file, where the hunk's head says."""
        old, new = (step.path.read_text().splitlines() for step in (before, after))
        shown = diff.diff(before, after)[2:]
        starts = [i for i, line in enumerate(shown) if line.startswith("@@")] + [len(shown)]
        for start, end in zip(starts, starts[1:]):
            places = re.fullmatch(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@", shown[start])
            old_start, old_count, new_start, new_count = map(int, places.groups())
            lines = shown[start + 1:end]
            self.assertEqual([line[1:] for line in lines if line[0] in " -"], old[old_start - 1:][:old_count])
            self.assertEqual([line[1:] for line in lines if line[0] in " +"], new[new_start - 1:][:new_count])

    def test_hunks(self):
        code = [f"line {i}" for i in range(40)]
        self.check_hunks(self.step("01", code), self.step("02", ["new", *code[:9], *code[11:30], "x", "y", *code[31:]]))
        self.check_hunks(*diff.chosen(["sum_08_warp_shuffle"]))


class Rates(Case):
    OLD, NEW = "07_unrolled_last_warp", "08_warp_shuffle"

    def rates(self, **entries_of_card):
        members = [ladder.resolve_one(f"sum_{name}") for name in (self.OLD, self.NEW)]
        return [table.split() for table in diff.rates(known(members=members, **entries_of_card), *members)]

    def test_a_table_for_each_card(self):
        h100 = [entry(self.OLD, 1 << 20, 100), entry(self.NEW, 1 << 20, 2000)]
        h200 = [entry(step, n, us) for step, us in ((self.OLD, 100), (self.NEW, 80)) for n in (1 << 20, 1 << 21)]
        self.assertEqual(self.rates(h100_80gb_hbm3=h100, h200=h200),
                         ["GB/s, H200 2^20 2^21 step 07 42 84 step 08 52 105 1.25x 1.25x".split(),
                          "GB/s, H100 2^20 step 07 42 step 08 2.1 0.05x".split()])
        stale = [entry(self.OLD, 1 << 20, 100), entry(self.NEW, 1 << 20, 100, code="before")]
        self.assertEqual(self.rates(h200=stale), [])


if __name__ == "__main__":
    unittest.main()
