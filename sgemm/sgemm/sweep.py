#!/usr/bin/env python3
"""Times step 13 with other tiles: sweep.py [--build-only] [--out FOLDER] [options for the programs, after --]

Writes a copy of sgemm_13_cp_async.cu for each set of constants below, compiles them all into one program, beside cuBLAS
and with the project's own runner, and runs it: every variant is checked, and all take turns on the clock. Needs nvcc,
and a GPU to run. What it printed on an H100 is in results/.
"""
import argparse
import itertools
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

KERNEL = Path(__file__).resolve().parent
ROOT = KERNEL.parents[1]
COMMON = ROOT / "common"
STEP = KERNEL / "sgemm_13_cp_async.cu"

# Block's tile and thread's tile. A warp's lanes form 8 rows of 4, so its tile is 8 TM x 4 TN.
TILES = [
    ((128, 256), (8, 16)),
    ((256, 128), (16, 8)),
    ((128, 128), (8, 16)),
    ((192, 256), (12, 16)),
    ((64, 128), (8, 8)),
    ((128, 128), (8, 8)),
    ((128, 256), (8, 8)),
]
DEPTHS = (8, 16)
STAGES = (3, 4)


def variants():
    """Name and constants of each."""
    for (block, thread), depth, stages in itertools.product(TILES, DEPTHS, STAGES):
        name = f"{block[0]}x{block[1]}x{depth}_{thread[0]}x{thread[1]}_{stages}"
        yield name, dict(BM=block[0], BN=block[1], BK=depth, WM=8 * thread[0], WN=4 * thread[1],
                         TM=thread[0], TN=thread[1], kStages=stages)


def source_of(name, constants):
    """Step 13 with these constants, and a kernel of its own name: all are linked into one program."""
    text = STEP.read_text()
    for constant, value in constants.items():
        text, count = re.subn(rf"\b{constant} = \d+", f"{constant} = {value}", text)
        if count != 1:
            sys.exit(f"sweep.py: {STEP.name} does not define {constant} once, as a number")
    return text.replace("sgemm_cp_async", f"sgemm_variant_{name}")


def compile_object(nvcc, source):
    target = source.with_suffix(".o")
    command = [nvcc, "-O3", "-std=c++17", *os.environ.get("NVCCFLAGS", "-arch=native").split(), f"-I{COMMON}",
               f"-I{COMMON / 'runner'}", f"-I{KERNEL}", "-c", "-o", str(target), str(source)]
    subprocess.run(command, check=True)
    return target


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-only", action="store_true", help="compile, do not run")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "sweep", help="folder for all output")
    parser.add_argument("options", nargs="*", help="for the program, such as --m=8192 --n=8192 --k=8192 --json")
    arguments = parser.parse_args()
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if not nvcc:
        sys.exit("sweep.py: needs nvcc, of the CUDA toolkit")

    arguments.out.mkdir(parents=True, exist_ok=True)
    sources = [COMMON / "runner/main.cu", KERNEL / "sgemm_00_cublas.cu"]
    copies = [Path(shutil.copy(source, arguments.out)) for source in sources]
    for name, constants in variants():
        copies.append(arguments.out / f"sgemm_13_{name}.cu")
        copies[-1].write_text(source_of(name, constants))
    print(f"Compiling {len(copies) - 2} variants", flush=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(lambda source: compile_object(nvcc, source), copies))
    program = arguments.out / "sweep"
    subprocess.run([nvcc, "-o", str(program), *map(str, objects), "-lcublas"], check=True)
    if not arguments.build_only:
        sys.exit(subprocess.run([str(program), *arguments.options]).returncode)


if __name__ == "__main__":
    main()
