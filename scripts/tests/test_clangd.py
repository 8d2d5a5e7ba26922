#!/usr/bin/env python3
"""Checks that clangd, with .clangd as it is, finds no error in our files: those that it reads with the CPU backend's
headers, and with --toolkit those for which it needs the CUDA toolkit. Exit status 77 where clangd or the toolkit is
missing."""
import concurrent.futures
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import ladder  # noqa: E402

SKIPPED = 77
TOOLKIT = Path("/usr/local/cuda/include")  # as .clangd has it
LIBRARIES = {"cudnn": "cudnn.h", "cublas": "cublas_v2.h"}  # by the lines "// links:" of steps
NEEDS_CLANGD_15 = {"row_softmax_09_by_shape"}  # clang 14 knows no __ldcs in code that it reads for the host


def needs(step):
    return re.findall(r"^// needs: (.*)", step.path.read_text(), re.MULTILINE)


def with_toolkit():
    """A step for each thing that needs the toolkit's headers, and what .clangd matches besides; by .clangd's pattern."""
    pattern = re.findall(r"PathMatch: '(.*)'", (ROOT / ".clangd").read_text())[0]
    return [step for step in ladder.steps() if re.fullmatch(pattern, str(step.path))]


def by_emulator():
    """The last such step of each kernel, whatever needs a GPU and is not among the others, and files of other kinds."""
    toolkit = set(with_toolkit())
    rest = [step for step in ladder.steps() if step not in toolkit]
    last = {step.family: step for step in rest if not needs(step)}
    steps = list(last.values()) + [step for step in rest if needs(step)]
    others = [ladder.bugs()[0].path, *sorted(ROOT.glob("reduce/*.cuh"))[:1]]
    others += [ROOT / name for name in ("reduce/sum/sum_07_warp_shuffle.cu", "reduce/sum/sum_09_cooperative_groups.cu",
                                        "elementwise/add_half2/add_half2_02_half2.cu", "sgemm/sgemm/sgemm_12_cp_async.cu",
                                        "common/runner/main.cu", "common/block_reduce.cuh")]
    return list(dict.fromkeys([step.path for step in steps] + others))


def distinct(steps):
    """One step of each idea: cub, cublas, cluster, ..."""
    return list({step.id[len("00_"):]: step for step in steps}.values())


def lacks(step):
    libraries = re.findall(r"^// links: (\w+)", step.path.read_text(), re.MULTILINE)
    return [name for name in libraries if not any((folder / LIBRARIES[name]).exists()
                                                  for folder in (TOOLKIT, Path("/usr/include")))]


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
    paths = by_emulator()
    if "--toolkit" in sys.argv:
        if not TOOLKIT.is_dir():
            print(f"skipped: needs {TOOLKIT}")
            return SKIPPED
        version = subprocess.run(["clangd", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
        old = int(re.search(r"version (\d+)", version)[1]) < 15
        paths = []
        for step in distinct(with_toolkit()):
            missing = lacks(step) + ["clangd 15"] * (old and step.name in NEEDS_CLANGD_15)
            if missing:
                print(f"{step.name}: skipped, needs {missing[0]}")
            else:
                paths.append(step.path)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = dict(zip(paths, pool.map(errors, paths)))
    for path, lines in found.items():
        print(f"{path.relative_to(ROOT)}: {'FAIL' if lines else 'ok'}")
        for line in lines:
            print(f"  {line}")
    return 1 if not found or any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
