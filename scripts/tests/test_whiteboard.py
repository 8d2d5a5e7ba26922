#!/usr/bin/env python3
"""Checks the whiteboard answers: short, nothing of ours in them, shown on a page, and no mistake in them passes.

usage: test_whiteboard.py [--build FOLDER] [unittest options]

With --build, a folder built for the CPU backend, it also plants mistakes in the answers, builds and checks them.
"""
import concurrent.futures
import os
import re
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import ladder
from ladder import figures, outside

mutate = ladder.load_script("mutate")

BUILD = None  # the folder of --build
LINES = range(10, 26)
MORE_LINES = {"gemm_bf16_whiteboard": 36}  # tiles in shared memory on both sides of the fragments
END = "// The answer ends here"
SECONDS = 60  # for the check of a mistake; that of an answer takes up to 10

# What people write instead: in each answer, text, and what stands there by mistake.
MISTAKES = {
    "add_whiteboard": [
        ("for (size_t i = 4 * n4 + first; i < n; i += stride) c[i] = a[i] + b[i];", ""),  # no tail
        ("aligned ? n / 4 : 0", "n / 4"),
        (" | uintptr_t(c)", ""),
        ("(n + 4 * block - 1) / (4 * block)", "n / (4 * block)"),
        ("if (n == 0) return cudaSuccess;", ""),
    ],
    "histogram_whiteboard": [
        ("for (unsigned b = threadIdx.x; b < 256; b += blockDim.x) copy[b] = 0;", ""),
        ("  __syncthreads();\n  for (unsigned b", "  for (unsigned b"),  # before the merge
        ("if (cudaError_t error = cudaMemsetAsync(counts, 0, 256 * sizeof(int))) return error;", ""),
        ("atomicAdd(&counts[b], copy[b])", "counts[b] = copy[b]"),
        ("(n + block - 1) / block", "n / block"),
    ],
    "scan_whiteboard": [
        ("threadIdx.x % 32 >= offset", "true"),
        ("lane == 31", "lane == 0"),
        ("__syncthreads();  // all have read warp_sums", ""),
        ("before : carry", "before : 0.0f"),
        ("x[i - exclusive]", "x[i]"),
        (", warp - 1)", ", warp)"),
    ],
    "lock_whiteboard": [
        ("  atomicExch(&locks[r], 0u);", ""),
        ("record[2] ^= v;", "record[2] |= v;"),
        ("if (i >= n) return;", ""),
        ("unsigned(v) % m", "v % m"),
        ("v > record[3] ? v : record[3]", "v"),
        ("if (n == 0) return cudaSuccess;", ""),
    ],
    "sum_whiteboard": [
        ("if (cudaError_t error = cudaMemsetAsync(out, 0, sizeof(float))) return error;", ""),
        ("  float v = 0.0f;", "  if (first >= n) return;\n  float v = 0.0f;"),  # before a barrier
        ("__syncthreads();", ""),
        ("lane < warps ? warp_sums[lane] : 0.0f", "warp_sums[lane]"),
        ("offset = 16", "offset = 8"),
    ],
    "transpose_whiteboard": [
        ("__syncthreads();", ""),
        ("col0 + r < cols && row0 + tx < rows", "row0 + r < rows && col0 + tx < cols"),
        ("tile[tx][r];", "tile[r][tx];"),
    ],
    "attention_whiteboard": [
        ("sum * rescale", "sum"),
        ("o[c] * rescale", "o[c]"),
        ("i + keys - queries + 1", "i + 1"),  # the mask's other corner
        ("fmaxf(max, s)", "s"),  # a score, not the maximum
        ("sum == 0.0f ? 0.0f : ", ""),
    ],
    "row_softmax_whiteboard": [
        ("max = -INFINITY", "max = 0.0f"),
        ("sum += expf(x[j] - max)", "sum += expf(x[j])"),
        ("__shfl_xor_sync(0xffffffff, max", "__shfl_down_sync(0xffffffff, max"),  # the maximum in lane 0 only
        ("row >= rows", "row > rows"),
    ],
    "layer_norm_whiteboard": [
        ("__shfl_xor_sync(0xffffffff, sum", "__shfl_down_sync(0xffffffff, sum"),  # the mean in lane 0 only
        ("(x[c] - mean) * (x[c] - mean)", "x[c] * x[c]"),
        ("squares / cols + epsilon", "squares / (cols - 1) + epsilon"),
        ("row >= rows", "row > rows"),
    ],
    "row_softmax_whiteboard_cpu": [
        ("max = -INFINITY", "max = 0.0f"),
        ("std::exp(x[j] - max)", "std::exp(x[j])"),
        (", x += cols, y += cols", ""),
    ],
    "gemv_whiteboard": [
        ("beta == 0.0f ? 0.0f : beta * y[row]", "beta * y[row]"),
        ("alpha == 0.0f ? 0 : k", "k"),
        ("row * lda", "row * k"),
        ("offset = 16", "offset = 8"),
    ],
    "gemm_bf16_whiteboard": [
        ("__syncwarp();  // the tiles are complete", ""),
        ("A[(row0 + r) * lda + k0 + c]", "A[(row0 + r) * k + k0 + c]"),
        ("row0 + r < m && k0 + c < k ?", "row0 + r < m ?"),
        ("matrix_b, 16, 16, 16, bf16, wmma::row_major", "matrix_b, 16, 16, 16, bf16, wmma::col_major"),
        ("beta == 0.0f ? 0.0f : beta * float(to)", "beta * float(to)"),
    ],
    "sgemm_whiteboard": [
        ("__syncthreads();  // the tiles are complete", ""),
        ("__syncthreads();  // and all have read them", ""),
        ("row < m && k0 + tx < k ?", "row < m ?"),
        ("  float acc = 0.0f;", "  if (row >= m || col >= n) return;\n  float acc = 0.0f;"),  # before a barrier
        ("beta == 0.0f ? 0.0f : beta * C[row * ldc + col]", "beta * C[row * ldc + col]"),
    ],
}


def answer(step):
    """The text of an answer, without its includes and what registers it."""
    text = step.path.read_text()
    if text.count(END) != 1:
        raise ValueError(f"{step.path}: one line '{END}' is needed")
    return re.sub(r"\A(#include .*\n|\n)*", "", text[:text.index(END)]).rstrip("\n")


def code_lines(text):
    return [line for line in text.splitlines() if line.strip() and not line.strip().startswith("//")]


class Answers(unittest.TestCase):
    def setUp(self):
        self.answers = ladder.answers()
        self.assertTrue(self.answers)

    def test_length(self):
        for step in self.answers:
            with self.subTest(step.name):
                lines = len(code_lines(answer(step)))
                self.assertTrue(lines in LINES or lines == MORE_LINES.get(step.name), lines)

    def test_nothing_of_ours(self):
        """What is included after the answer cannot be used in it, except on the CPU backend: from the precompiled
        header."""
        for step in self.answers:
            with self.subTest(step.name):
                head = step.path.read_text().partition(END)[0]
                self.assertEqual(re.findall(r'#include "', head), [])
                self.assertNotRegex(head, r"CUDA_CHECK|ceil_div|aligned_for|DeviceBuffer|scratch|(?i:ladder)")

    def test_a_launch_returns_its_error(self):
        for step in self.answers:
            if "<<<" in answer(step):
                self.assertRegex(answer(step), r"<<<[^;]*;\s*return cudaGetLastError\(\)", step.name)

    def test_a_page_shows_each(self):
        """README.md, or the chapter."""
        pages = "".join(page.read_text() for page in [ROOT / "README.md", *figures.chapters()])
        shown = re.findall(r"<!-- source: (\S+/whiteboard\S*) -->\n```cpp\n(.*?)\n```", pages, re.DOTALL)
        self.assertEqual(sorted(path for path, _ in shown),
                         sorted(step.path.relative_to(ROOT).as_posix() for step in self.answers))
        texts = dict(shown)
        for step in self.answers:
            self.assertEqual(texts[step.path.relative_to(ROOT).as_posix()], answer(step))

    def test_all_have_mistakes(self):
        self.assertEqual(sorted(MISTAKES), sorted(step.name for step in self.answers))

    def test_mistakes_can_be_made(self):
        for step in self.answers:
            for right, _ in MISTAKES[step.name]:
                self.assertEqual(answer(step).count(right), 1, f"{step.name}: '{right}'")


class Mistakes(unittest.TestCase):
    def setUp(self):
        if not BUILD:
            self.skipTest("no --build")

    def check(self, builder, folder, step, right, wrong):
        """What notices that the answer is wrong, or nothing."""
        folder = Path(tempfile.mkdtemp(dir=folder))
        copy, compiled, program = folder / step.path.name, folder / "answer.o", folder / "answer"
        copy.write_text(step.path.read_text().replace(right, wrong))
        try:
            builder.compile(copy, compiled, includes=[step.folder], options=["-g0"])
            builder.link(step.kernel, [compiled], program)
            return mutate.check(program, SECONDS)
        except outside.CompileError as error:
            return f"does not compile: {error}"
        finally:
            shutil.rmtree(folder)

    def test_each_is_noticed(self):
        with tempfile.TemporaryDirectory(prefix="mistakes-") as folder:
            builder = outside.Builder(BUILD)
            runs = [(step, *mistake) for step in ladder.answers() for mistake in [("", ""), *MISTAKES[step.name]]]
            with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
                found = list(pool.map(lambda run: self.check(builder, folder, *run), runs))
        for (step, right, wrong), how in zip(runs, found):
            if right:
                print(f"{step.name}: '{right}' -> '{wrong}': {how or 'NOT NOTICED'}")
            with self.subTest(step.name, right=right, wrong=wrong):
                if right:
                    self.assertIn(how, ("wrong result", "crash", "error", "deadlock"))
                else:
                    self.assertEqual(how, "", "fails unchanged")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--build"]:
        BUILD = Path(sys.argv.pop(2)).resolve()
        sys.argv.pop(1)
    unittest.main()
