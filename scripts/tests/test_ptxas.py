#!/usr/bin/env python3
"""Compiles what needs sm_90a with nvcc and reads what ptxas says: where a wgmma's registers may be touched too early,
it lets the wgmmas run one after the other and says so. Of a step it must say nothing; of a planted bug, what the
source's line '// caught by: ptxas | <text>' says."""
import re
import shutil
import subprocess
import sys
import unittest

from helpers import ROOT, Case, ladder


def said_by_ptxas(path):
    result = subprocess.run(
        ["nvcc", "-O3", "-std=c++17", "-gencode=arch=compute_90a,code=sm_90a", f"-I{ROOT / 'common'}", "-cubin",
         str(path), "-o", "/dev/null"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if result.returncode:
        raise AssertionError(f"{path} does not compile:\n{result.stdout}")
    return result.stdout


@unittest.skipUnless(shutil.which("nvcc"), "no nvcc")
class Ptxas(Case):
    def test_steps_are_not_serialized(self):
        steps = [step for step in ladder.steps() if ladder.needs(step) == "sm_90a"]
        self.assertTrue(steps)
        for step in steps:
            with self.subTest(step.name):
                self.assertNotIn("serialized", said_by_ptxas(step.path))

    def test_bugs_that_ptxas_names(self):
        found = 0
        for bug in ladder.bugs():
            for text in re.findall(r"^// caught by: ptxas \| (.*)", bug.path.read_text(), re.MULTILINE):
                found += 1
                with self.subTest(bug.name):
                    self.assertIn(text, said_by_ptxas(bug.path))
        self.assertTrue(found)


if __name__ == "__main__":
    if not shutil.which("nvcc"):
        print("skipped: no nvcc")
        sys.exit(ladder.NO_DEVICE)
    unittest.main()
