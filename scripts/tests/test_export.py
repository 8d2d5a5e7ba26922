#!/usr/bin/env python3
"""Exports steps, compiles each flat file with nothing of this project around it, and runs it: test_export.py [--all]

    --emulator DIR    on the CPU backend: the folder of the emulator's sources, with --library its libcuda_emu.a
    --nvcc NVCC       on a GPU

The last step of one kernel of each family, and a submission; or with --all every step. Steps that the backend cannot
run are skipped by name.
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

SIZES = ["117", "65", "40"]  # as many as a main takes
TIME_LIMIT = 300  # seconds, for compiling and for running


def run(command):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=TIME_LIMIT)


def needs(step):
    return re.findall(r"^// (?:needs|links): (\S+)", step.path.read_text(), re.MULTILINE)


def compile_for_cpu(flat, program, arguments):
    """g++ on the translated file; the alignment checks are those of the cpu preset."""
    translated = flat.with_suffix(".cpp")
    done = run([sys.executable, arguments.emulator / "cu2cpp.py", flat, translated])
    if done.returncode != 0:
        return done
    return run([os.environ.get("CXX", "c++"), "-std=c++17", "-O0", "-w", "-fno-strict-aliasing", "-isystem",
                arguments.emulator / "include", translated, arguments.library, "-pthread", "-o", program])


def compile_for_gpu(flat, program, arguments):
    command = re.match(r"// nvcc (.*?) \S+\.cu -o \S+(.*) && ", flat.read_text())
    return run([arguments.nvcc, *command[1].split(), flat, "-o", program, *command[2].split()])


def try_step(step, arguments, folder):
    """None if it compiles and passes, else what went wrong."""
    flat, program = folder / f"{step.name}.cu", folder / step.name
    done = run([sys.executable, ROOT / "scripts/export", step.path, "-o", flat])
    if done.returncode != 0:
        return done.stdout
    done = (compile_for_gpu if arguments.nvcc else compile_for_cpu)(flat, program, arguments)
    if done.returncode != 0:
        return done.stdout
    done = run([program, *SIZES])
    return None if done.returncode == 0 and "PASS" in done.stdout else done.stdout


def submission_in(folder):
    """A submission: a step's code, which includes its header as scripts/practice has it and does not register
    itself."""
    step = ladder.resolve_one("sum_09_float4_grid_stride")
    path = Path(folder) / "my_page.cu"
    text = step.path.read_text().replace('"sum.cuh"', '"../reduce/sum/sum.cuh"')
    path.write_text(re.sub(r"^LADDER_STEP.*\n", "", text, flags=re.MULTILINE))
    return ladder.submission(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--emulator", type=Path)
    parser.add_argument("--library", type=Path)
    parser.add_argument("--nvcc")
    arguments = parser.parse_args()

    chosen = []
    for steps in ladder.kernels().values():
        able = [step for step in steps
                if not step.is_any_shape and (arguments.nvcc or not needs(step))]
        if arguments.all:
            chosen += able
        elif able and able[0].family not in {step.family for step in chosen}:
            chosen.append(able[-1])
    failed = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        chosen.append(submission_in(folder))
        for step, error in zip(chosen, pool.map(lambda step: try_step(step, arguments, Path(folder)), chosen)):
            print(f"{step.name}: {'PASS' if error is None else 'FAIL'}", flush=True)
            if error is not None:
                failed += 1
                print(error)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    sys.exit(1 if failed or not chosen else 0)


if __name__ == "__main__":
    main()
