#!/usr/bin/env python3
"""Checks that clangd, with .clangd as it is, finds no error in our files and in submissions to practise on. With --all
it reads as few files as have all names of CUDA's that our files use and are of every kind, else the first MOST of them.
Exit status 77 where clangd is missing."""
import concurrent.futures
import re
import shutil
import subprocess
import sys
import unittest

from helpers import ROOT, Case, ladder
from ladder import bug_lab, problems

NAME = re.compile(r"#include <[^>]*>|\b(?:cuda|cublas|cudnn|CU|__)\w+|\b(?:cg|cub|thrust|wmma)::\w+|\basm\b|<<<")
ALL = "--all" in sys.argv
MOST = 16
TOPS = sorted({path.relative_to(ROOT).parts[0] for path in ROOT.glob("*/*.cuh")} - {"practice"})


def kind_of(path):
    return path.suffix, path.parent.name == "bugs", path.stem == "whiteboard"


def sample():
    """Our files, one of each kind and then those with most names, as far as each shows something that those before do
    not: a name, or an ending at a place."""
    shown = {}
    for path in [path for top in TOPS for path in sorted((ROOT / top).rglob("*"))]:
        if path.suffix in (".cu", ".cuh", ".hpp"):
            shown[path] = {*NAME.findall(path.read_text()), kind_of(path)}
    by_names = sorted(shown, key=lambda path: -len(shown[path]))
    one_of_each_kind = {kind_of(path): path for path in reversed(by_names)}.values()
    chosen, seen = [], set()
    for path in [*one_of_each_kind, *by_names]:
        if shown[path] - seen:
            chosen.append(path)
            seen |= shown[path]
    return chosen


def errors(path):
    """What clangd says of a file; nothing if it finds no error."""
    done = subprocess.run(["clangd", f"--check={path}", "--check-lines=1-2"], cwd=ROOT, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = [line for line in done.stdout.splitlines() if re.match(r"E\[|.*config (warning|error)", line)]
    return lines or ([done.stdout[-500:]] if done.returncode else [])


class Clangd(Case):
    def test_no_errors(self):
        folder = self.folder()  # looks like ours, with submissions as scripts/practice writes them
        for name in [".clangd", *TOPS]:
            (folder / name).symlink_to(ROOT / name)
        (folder / "practice").mkdir()
        texts = {"fresh.cu": problems.template(problems.named("sum")), "bug.cu": bug_lab.disguised(ladder.bugs()[0])}
        paths = sample() if ALL else sample()[:MOST]
        self.assertGreater(len(paths), 10)
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
    unittest.main(argv=[word for word in sys.argv if word != "--all"])
