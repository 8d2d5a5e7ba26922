#!/usr/bin/env python3
"""Checks what scripts/explain prints for steps, a ladder, a planted bug and a submission outside of practice/."""
import json
import re
import subprocess
import sys
import unittest

from helpers import ROOT, Case
from ladder import traces


def explain(*arguments):
    return subprocess.run([sys.executable, ROOT / "scripts/explain", *map(str, arguments)], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def line_of(path, text):
    """Returns the number of the line that contains the text."""
    return next(number for number, line in enumerate(path.read_text().splitlines(), 1) if text in line)


class Pictures(Case):
    def test_the_pictures_of_the_chapters_are_what_is_drawn_now(self):
        seen = []
        for path in sorted(ROOT.glob("*/*/results/*.svg")):
            command = re.search("<desc>scripts/explain (.*?)</desc>", path.read_text())
            if command:
                with self.subTest(picture=path.name):
                    self.assertEqual(explain(*command[1].split()).stdout, path.read_text())
                seen.append(path.name)
        # A picture without its command in it is not compared.
        self.assertIn("transpose_05_padded.svg", seen)
        self.assertGreaterEqual(len(seen), 4)


class Programs(Case):
    def test_what_is_printed(self):
        """The output has lines with figures, the fixing step, a race's two lines, a ladder's table, and no time."""
        bug = ROOT / "reduce/sum/bugs/sum_missing_loop_barrier.cu"
        line = line_of(bug, "tid < stride")
        for arguments, status, found in (
                (["bank_conflict_02_column_row", "--", "--rows=64"], 0,
                 [r"(?m)^! shared store .* 32\.00 ", r"Fixed\s+in\s+bank_conflict_03_padded: "]),
                ([bug, "--alone", "--", "--n=1025"], 1,
                 [rf"(?m)^! shared load .*\| +{line} .*\n! shared store ", rf"1\. {bug.name}:{line}: race, .*barrier"]),
                (["bank_conflict", "--", "--rows=64"], 0, [r"(?m)^bank_conflict_02\w+( +\S+){5} +1\.00 +32\.00 "])):
            done = explain(*arguments)
            self.assertEqual(done.returncode, status, done.stderr)
            for words in found:
                self.assertRegex(done.stdout, words)
            self.assertNotRegex(done.stdout, r"GB/s|\b\d+ (us|ms|s)\b")
        self.assertEqual(len(re.findall(r"(?m)^bank_conflict_0", done.stdout)), 5)

    def test_json_of_a_page_from_elsewhere(self):
        """The file does not register itself, and the output of its kernel is not taken for figures."""
        text = (ROOT / "transpose/bank_conflict/bank_conflict_02_column_row.cu").read_text()
        for old, new in (("static void launch", "void launch"), ("LADDER_STEP", "// "),
                         ('#include "', '#include <cstdio>\n#include "'),
                         ("__syncthreads();", '__syncthreads(); printf("{\\"sum\\": %d}\\nand more", tx);')):
            self.assertIn(old, text)
            text = text.replace(old, new, 1)
        page = self.folder() / "try.cu"
        page.write_text(text)
        done = explain(page, "--json", "--alone", "--", "--rows=64")
        [entry] = json.loads(done.stdout)["steps"]
        self.assertEqual((entry["step"], entry["file"], entry["right"], entry["size"]),
                         ("bank_conflict_try", str(page), True, {"rows": 64}))
        [store] = [access for access in entry["launches"][0]["accesses"]
                   if (access["space"], access["op"]) == ("shared", "store")]
        self.assertEqual((store["file"], store["line"]), (str(page), line_of(page, "tile[tx][ty] =")))
        self.assertEqual(store["units"], 32 * store["requests"])
        sample = store["samples"][0]
        self.assertEqual(sorted(sample["passes"]), list(range(32)))
        self.assertEqual(len({offset // 4 % 32 for offset in sample["offsets"]}), 1)
        self.assertEqual([finding["kind"] for finding in entry["findings"]][0], "bank conflicts")

    def test_bad_usage(self):
        other = self.folder() / "other.cu"  # of no kernel
        other.write_text("")
        for arguments in ([], ["no_such_step"], ["bank_conflict", "--rows=64"], ["bank_conflict", "--alone=1"],
                          [other], ["bank_conflict", "--play"], ["add_01_scalar", "--access", "shared-load"]):
            done = explain(*arguments)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), arguments)


class Sentences(Case):
    @staticmethod
    def entry(step="k_01", **changes):
        access = {"file": "k.cu", "line": 7, "space": "global", "op": "load", "width": 4, "async": False,
                  "requests": 10, "lanes": 320, "units": 40, "ideal": 40, "worst": 4, "samples": [], "same_address": 0,
                  "bytes_requested": 1280, "bytes_moved": 1280, **changes}
        return {"step": step, "launches": [{
            "grid": [1, 1, 1],
            "totals": {f"global_{access['op']}": {key: access[key] for key in ("requests", "lanes", "units", "ideal")}},
            "accesses": [access], "branches_at": [], "races": []}]}

    def test_findings(self):
        bad, better = self.entry(units=320, bytes_moved=10240), self.entry("k_03")
        wide = self.entry("k_02", requests=2, lanes=64, width=16)
        for entry, later, found in (
                (self.entry(), [], []), (bad, [], [("sectors", None)]), (bad, [bad, better], [("sectors", "k_03")]),
                (self.entry(), [wide], [("narrow", "k_02")]),  # only where a later step moves more
                (self.entry(lanes=80, bytes_requested=320), [], [("idle lanes", None)]),
                (self.entry(op="atomic", same_address=32), [], [("atomics", None)])):
            self.assertEqual([(finding["kind"], finding["fixed_by"])
                              for finding in traces.findings(entry, list(map(traces.Sums, later)))], found)
        self.assertRegex(traces.findings(bad, [])[0]["text"], r"\b4 of\b.*\b32 bytes")


if __name__ == "__main__":
    unittest.main()
