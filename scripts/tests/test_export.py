#!/usr/bin/env python3
"""Exports steps, compiles each flat file without this project's headers, and runs it: test_export.py [--all]

    --emulator DIR    on the CPU backend: the folder of the emulator's sources, with --library its libcuda_emu.a
    --nvcc NVCC       on a GPU

It exports the last step of one kernel of each family and a submission, or with --all every step. Steps that the
backend cannot run are skipped with a message.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from helpers import ROOT, ladder


def commands(step, flat, arguments):
    """Yields the commands that export a step, compile it for the backend and run it. For the CPU backend g++ compiles
    the translated file; the alignment checks are those of the cpu preset."""
    yield [sys.executable, ROOT / "scripts/export", step.path, "-o", flat]
    program = flat.with_suffix("")
    if arguments.nvcc:
        options = re.match(r"// nvcc (.*?) \S+\.cu -o \S+(.*) && ", flat.read_text())
        yield [arguments.nvcc, *options[1].split(), flat, "-o", program, *options[2].split()]
    else:
        translated = flat.with_suffix(".cpp")
        yield [sys.executable, arguments.emulator / "cu2cpp.py", flat, translated]
        yield [os.environ.get("CXX", "c++"), "-std=c++17", "-O0", "-w", "-fno-strict-aliasing", "-isystem",
               arguments.emulator / "include", translated, arguments.library, "-pthread", "-o", program]
    yield [program, "117", "65", "40"]  # sizes; a main reads as many as it takes


def try_step(step, arguments, folder):
    """Returns PASS if the export compiles and passes, else what went wrong."""
    for command in commands(step, folder / f"{step.name}.cu", arguments):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        if done.returncode != 0:
            break
    return "PASS" if done.returncode == 0 and "PASS" in done.stdout else f"FAIL\n{done.stdout}"


def submission_in(folder):
    """Returns a submission: a step's code without its registration, with the include path of practice/."""
    text = ladder.resolve_one("sum_09_float4_grid_stride").path.read_text()
    path = Path(folder) / "my_page.cu"
    path.write_text(text.replace('"sum.cuh"', '"../reduce/sum/sum.cuh"').replace("\nLADDER_STEP", "\n//"))
    return ladder.submission(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--emulator", type=Path)
    parser.add_argument("--library", type=Path)
    parser.add_argument("--nvcc")
    arguments = parser.parse_args()

    chosen = {}
    for steps in ladder.kernels().values():
        able = [step for step in steps if not step.is_any_shape
                and (arguments.nvcc or not re.search(r"^// (needs|links): ", step.path.read_text(), re.MULTILINE))]
        for step in able if arguments.all else able[-1:]:
            chosen.setdefault(step.name if arguments.all else step.family, step)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        chosen = [*chosen.values(), submission_in(folder)]
        said = list(pool.map(lambda step: try_step(step, arguments, Path(folder)), chosen))
    print("\n".join(f"{step.name}: {one}" for step, one in zip(chosen, said)))
    sys.exit(said != ["PASS"] * len(said))


if __name__ == "__main__":
    main()
