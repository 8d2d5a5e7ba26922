#!/usr/bin/env python3
"""Compiles the files that need sm_90a with nvcc, with warnings as errors, and reads ptxas' messages. Where a wgmma's
registers may be touched too early, ptxas serialises the wgmmas and says so. For a step it must say nothing. For a
planted bug it must say the text in the line '// caught by: ptxas | <text>'."""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import unittest

from helpers import ROOT, ladder

NVCC = ["nvcc", "-O3", "-std=c++17", "-gencode=arch=compute_90a,code=sm_90a", f"-I{ROOT / 'common'}",
        "-Werror=all-warnings", "-Xcompiler=-Wall,-Wextra,-Werror", "-o", "/dev/null", "-c"]


class Ptxas(unittest.TestCase):
    def test_what_ptxas_says(self):
        files = [file.path for file in ladder.steps() + ladder.bugs() if ladder.needs(file) == "sm_90a"]
        named = 0
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            runs = pool.map(lambda path: subprocess.run([*NVCC, path], stdout=subprocess.PIPE,
                                                        stderr=subprocess.STDOUT, text=True), files)
            for path, done in zip(files, runs):
                texts = re.findall(r"^// caught by: ptxas \| (.*)", path.read_text(), re.MULTILINE)
                named += len(texts)
                with self.subTest(path.name):
                    self.assertEqual(done.returncode, 0, done.stdout)
                    for text in texts:
                        self.assertIn(text, done.stdout)
                    if not texts:
                        self.assertNotIn("serialized", done.stdout)
        self.assertTrue(0 < named < len(files))


if __name__ == "__main__":
    if not shutil.which("nvcc"):
        print("skipped: no nvcc")
        sys.exit(ladder.NO_DEVICE)
    unittest.main()
