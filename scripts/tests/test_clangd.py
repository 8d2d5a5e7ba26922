#!/usr/bin/env python3
"""Checks that clangd with .clangd finds no error in fresh submissions, in one file of each kind, and in the files that
use most names of CUDA. The exit status is 77 if clangd is missing."""
import concurrent.futures
import re
import shutil
import subprocess
import sys
import unittest

from helpers import ROOT, Case, ladder
from ladder import bug_lab, problems

NAME = re.compile(r"#include <[^>]*>|\b(?:cuda|cublas|cudnn|CU|__)\w+|\b(?:cg|cub|thrust|wmma)::\w+|\basm\b|<<<")
MOST = 16  # files of the project
TOPS = sorted({path.relative_to(ROOT).parts[0] for path in ROOT.glob("*/*.cuh")} - {"practice"})


def errors(path):
    """Returns clangd's errors in a file; an empty list if there are none."""
    done = subprocess.run(["clangd", f"--check={path}", "--check-lines=1-2"], cwd=ROOT, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = [line for line in done.stdout.splitlines() if re.match(r"E\[|.*config (warning|error)", line)]
    return lines or ([done.stdout[-500:]] if done.returncode else [])


class Clangd(Case):
    def test_no_errors(self):
        folder = self.folder()  # like the project's folder, with submissions as scripts/practice writes them
        for name in [".clangd", *TOPS]:
            (folder / name).symlink_to(ROOT / name)
        (folder / "practice").mkdir()
        texts = {"fresh.cu": problems.template(problems.named("sum")), "bug.cu": bug_lab.disguised(ladder.bugs()[0])}
        # one file for each suffix and kind of folder, then those with most names
        files = (path for top in TOPS if top != "common" for path in sorted(ROOT.glob(f"{top}/*/**/*.*"))
                 if path.suffix in (".cu", ".cuh", ".hpp"))
        by_names = sorted(files, key=lambda path: len(set(NAME.findall(path.read_text()))), reverse=True)
        one_of_each = {(path.suffix, path.parent.name == "bugs"): path for path in by_names}
        paths = list(dict.fromkeys([*one_of_each.values(), *by_names]))[:MOST]
        self.assertEqual(len(paths), MOST)
        for name, text in texts.items():
            paths.append(folder / "practice" / name)
            paths[-1].write_text(text)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for path, found in zip(paths, pool.map(errors, paths)):
                with self.subTest(path):
                    self.assertEqual(found, [])


if __name__ == "__main__":
    if not shutil.which("clangd"):
        print("skipped: needs clangd")
        sys.exit(ladder.NO_DEVICE)
    unittest.main()
