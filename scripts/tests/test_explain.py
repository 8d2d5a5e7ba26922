#!/usr/bin/env python3
"""Checks what scripts/explain says of steps, of a ladder, of a planted bug and of a file from elsewhere."""
import json
import re
import shutil
import subprocess
import sys
import unittest

from helpers import ROOT, Case
from ladder import report, traces


def explain(*arguments):
    return subprocess.run([sys.executable, ROOT / "scripts/explain", *map(str, arguments)], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def line_of(path, text):
    """The number of the line that holds the text."""
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
        # A picture that does not name its command is not compared.
        self.assertIn("transpose_05_padded.svg", seen)
        self.assertGreaterEqual(len(seen), 4)

    def test_the_access_is_the_costliest_or_the_one_asked_for(self):
        sample = {"offsets": [4 * lane for lane in range(32)], "passes": list(range(32)), "units": 32, "ideal": 1}
        accesses = [{"file": "k.cu", "line": line, "space": space, "op": op, "width": 4, "async": False, "units": units,
                     "requests": 1, "ideal": 1, "worst": units, "worst_sample": sample, "same_address": 0}
                    for line, space, op, units in ((20, "global", "load", 1), (27, "shared", "load", 32),
                                                   (27, "global", "store", 1))]
        step = {"step": "k_01", "file": "k.cu", "launches": [{"accesses": accesses}]}
        for kind, words in ((None, "27: shared load"), ("global-load", "20: global load"),
                            ("global-store", "27: global store")):
            self.assertIn(f">k_01, line {words}", report.step_picture(step, kind))
        self.assert_ends(2, report.step_picture, step, "global-atomic")


class Programs(Case):
    def test_what_is_printed(self):
        """The line with its figures and the step that mends it; the two lines of a race; a table of a ladder. No time
        is ever said."""
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

    def test_json_of_a_file_from_elsewhere(self):
        mine = self.folder() / "bank_conflict_mine.cu"
        shutil.copy(ROOT / "transpose/bank_conflict/bank_conflict_02_column_row.cu", mine)
        entry = json.loads(explain(mine, "--json", "--", "--rows=64").stdout)["steps"][0]
        self.assertEqual((entry["step"], entry["file"], entry["right"], entry["size"]),
                         ("bank_conflict_mine", str(mine), True, {"rows": 64}))
        stores = [access for access in entry["launches"][0]["accesses"]
                  if (access["space"], access["op"]) == ("shared", "store")]
        self.assertEqual(sum(access["units"] for access in stores), 32 * sum(access["requests"] for access in stores))
        sample = stores[0]["samples"][0]
        self.assertEqual(sorted(sample["passes"]), list(range(32)))
        self.assertEqual(len({offset // 4 % 32 for offset in sample["offsets"]}), 1)
        self.assertEqual([finding["kind"] for finding in entry["findings"]][0], "bank conflicts")

    def test_a_page_that_does_not_register_itself(self):
        """Of any name, with the kernel's header as older submissions include it; what its kernel prints is no
        figure."""
        submission = self.folder() / "try.cu"
        submission.write_text("""\
#include <cstdio>
#include "sum.cuh"
__global__ void k(const float* x, float* out, std::size_t n) {
  float v = 0;
  for (std::size_t i = 0; i < n; ++i) v += x[i];
  *out = v;
  printf("{\\"sum\\": %f}\\nand more", v);
}
void launch(const float* x, float* out, std::size_t n) { k<<<1, 1>>>(x, out, n); }
""")
        done = explain(submission, "--json", "--alone", "--", "--n=100")
        self.assertEqual(done.returncode, 0, done.stderr)
        [entry] = json.loads(done.stdout)["steps"]
        self.assertEqual((entry["step"], entry["kernel"], entry["right"]), ("sum_try", "sum", True))
        [load] = [access for access in entry["launches"][0]["accesses"] if access["op"] == "load"]
        self.assertEqual((load["file"], load["line"]), (str(submission), line_of(submission, "v += x[i]")))

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
