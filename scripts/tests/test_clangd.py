#!/usr/bin/env python3
"""Checks that clangd, with .clangd as it is, finds no error in our files and in submissions to practise on.

It reads as few files as have all names of CUDA's that our files use and are of every kind; with --all, all of them.
Exit status 77 where clangd is missing.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from helpers import ROOT, ladder
from ladder import bug_lab, problems

SKIPPED = 77
NAME = re.compile(r"#include <[^>]*>|\b(?:cuda|cublas|cudnn|CU|__)\w+|\b(?:cg|cub|thrust|wmma)::\w+|\basm\b|<<<")


def tops():
    """The folders with sources."""
    return sorted({path.relative_to(ROOT).parts[0] for path in ROOT.glob("*/*.cuh")} - {"practice"})


def ours():
    return [path for top in tops() for path in sorted((ROOT / top).rglob("*"))
            if path.suffix in (".cu", ".cuh", ".hpp")]


def covered(path):
    """What a file shows to be understood: CUDA's names in it, its ending and its place."""
    place = path.relative_to(ROOT).parts
    return {*NAME.findall(path.read_text()), (path.suffix, len(place), "bugs" in place, path.stem == "whiteboard")}


def sample(paths):
    chosen, seen = [], set()
    for path, names in sorted(((path, covered(path)) for path in paths), key=lambda pair: -len(pair[1])):
        if names - seen:
            chosen.append(path)
            seen |= names
    return chosen


def write_submissions(folder):
    """Submissions as scripts/practice writes them, in a folder that looks like ours."""
    for name in [".clangd", *tops()]:
        (folder / name).symlink_to(ROOT / name)
    (folder / "practice").mkdir()
    submissions = {"fresh.cu": problems.template(problems.named("sum")), "bug.cu": bug_lab.disguised(ladder.bugs()[0])}
    for name, text in submissions.items():
        (folder / "practice" / name).write_text(text)
    return [folder / "practice" / name for name in submissions]


def errors(path):
    """What clangd says of a file; nothing if it finds no error."""
    done = subprocess.run(["clangd", f"--check={path}", "--check-lines=1-2"], cwd=ROOT, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = [line for line in done.stdout.splitlines() if re.match(r"E\[|.*config (warning|error)", line)]
    return lines or ([done.stdout[-500:]] if done.returncode else [])


def main():
    if not shutil.which("clangd"):
        print("skipped: needs clangd")
        return SKIPPED
    paths = ours() if "--all" in sys.argv else sample(ours())
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        paths += write_submissions(Path(folder).resolve())
        found = dict(zip(paths, pool.map(errors, paths)))
    for path, lines in found.items():
        if lines:
            print("\n  ".join([os.path.relpath(path, ROOT), *lines]))
    wrong = sum(map(bool, found.values()))
    print(f"{len(found)} files, {wrong} with errors")
    return 1 if wrong or len(found) < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
