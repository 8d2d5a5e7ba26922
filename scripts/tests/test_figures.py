#!/usr/bin/env python3
"""Tests of scripts/ladder/figures.py: what changes the digest of a step's code, and what does not."""
import tempfile
import unittest
from pathlib import Path

from helpers import Case, figures, ladder

PROBLEM = """\
#pragma once
#include "ladder.cuh"
#include "tile.cuh"
#include "values.cuh"
class Problem { const char* kernel() const override; };
"""
STEP = """\
// A head.
#include "problem.cuh"
#include "shapes.hpp"

__global__ void k(float* x, int n) {  // a comment
  const char* s = "no // comment";
  if (threadIdx.x < n) x[threadIdx.x] = 1.0f;
}

static void launch(float* x, int n) { k<<<1, 32>>>(x, n); }
"""


class Digest(Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.write("family/problem.cuh", PROBLEM)
        self.write("family/values.cuh", "int checks_only();\n")
        self.write("family/shapes.hpp", "#pragma once\nconstexpr int kLongest = 4;\n")
        self.write("family/tile.cuh", "#pragma once\n__device__ inline int tile() { return 1; }\n")
        self.write("common/ladder.cuh", "__host__ __device__ inline int ceil_div();\n")
        self.before = self.digest(STEP)

    def write(self, path, text):
        path = self.root / path
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    def digest(self, step):
        return figures.digest(self.write("family/k_01_naive.cu", step), self.root)

    def test_comments_and_layout_do_not_count(self):
        for text in (STEP.replace("// A head.", "// Another.\n/* And\n more. */"), STEP.replace("  // a comment", ""),
                     STEP.replace("(float* x, int n) {", "(float* x,\n        int n)\n{"), STEP.replace("\n", "\n\n"),
                     STEP.replace("k<<<1, 32>>>", "k <<< 1,32 >>>"), "#pragma once\n" + STEP,
                     STEP.replace('#include "problem.cuh"', '#include "problem.cuh"\n#include <algorithm>')):
            self.assertEqual(self.digest(text), self.before, text)

    def test_code_counts(self):
        for old, new in (("1.0f", "2.0f"), ("int n", "unsigned n"), ("<<<1, 32", "<<<2, 32"), ("no // comment", "none"),
                         ("  if", "#pragma unroll\n  if")):
            self.assertIn(old, STEP)
            self.assertNotEqual(self.digest(STEP.replace(old, new)), self.before, new)

    def test_headers(self):
        self.write("family/problem.cuh", PROBLEM.replace("};", "int changed; };"))
        self.write("family/values.cuh", "int checks_only(int changed);\n")
        self.write("common/ladder.cuh", "__host__ __device__ inline int ceil_div(int changed);\n")
        self.assertEqual(self.digest(STEP), self.before, "the problem and the runner, without device code or a launch")
        self.write("family/tile.cuh", "// A comment.\n__device__ inline int tile() { return 1; }\n")
        self.assertEqual(self.digest(STEP), self.before, "a comment")
        self.write("family/tile.cuh", "__device__ inline int tile() { return 2; }\n")
        self.assertNotEqual(self.digest(STEP), self.before, "device code, included by the problem")

    def test_headers_of_the_step_without_device_code(self):
        self.write("family/shapes.hpp", "#pragma once\nconstexpr int kLongest = 8;\n")
        self.assertNotEqual(self.digest(STEP), self.before)

    def test_a_launch_in_a_header_of_the_problem(self):
        self.write("family/values.cuh", "inline void run(float* x) { kernel<<<1, 32>>>(x); }\n")
        before = self.digest(STEP)
        self.write("family/values.cuh", "inline void run(float* x) { kernel<<<1, 64>>>(x); }\n")
        self.assertNotEqual(self.digest(STEP), before)

    def test_names_of_headers_do_not_count(self):
        self.write("common/block.cuh", (self.root / "family/tile.cuh").read_text())
        self.write("family/problem.cuh", PROBLEM.replace("tile.cuh", "block.cuh"))
        self.assertEqual(self.digest(STEP), self.before)

    def test_of_the_steps(self):
        digests = figures.Digests()
        for step in ladder.steps():
            self.assertRegex(digests.of(step.name), "^[0-9a-f]{12}$")
        self.assertIsNone(digests.of("no_01_such_step"))
        self.assertFalse(digests.current({"kernel": "no", "step": "01_such_step", "code": None}))


class Results(Case):
    def test_names_of_cards(self):
        self.assertEqual(figures.card_name("NVIDIA H100 80GB HBM3"), "h100-80gb-hbm3")
        self.assertEqual(figures.card_name("NVIDIA H200"), "h200")
        short = {"h100-80gb-hbm3": "H100", "h100-pcie": "H100 PCIE", "h200": "H200", "geforce-rtx-4090": "RTX 4090",
                 "tesla-t4": "T4", "a100-sxm4-40gb": "A100", "rtx-a6000": "RTX A6000"}
        self.assertEqual({card: figures.short_name(card) for card in short}, short)

    def test_files_are_as_they_would_be_written(self):
        results = figures.read_all()
        self.assertTrue(results)
        for one in results:
            self.assertEqual(figures.to_text(one), one.path.read_text(), one.path)
            if one.card != figures.TRACE:  # counts of the CPU backend
                self.assertEqual(figures.card_name(one.head["gpu"]), one.card)


class Labels(Case):
    def labels(self, *sizes):
        return list(figures.labels([{"size": size} for size in sizes]).values())

    def test_what_varies(self):
        self.assertEqual(self.labels({"n": 1 << 24}, {"n": 1000}), ["1000", "2^24"])
        self.assertEqual(self.labels({"m": 4096, "n": 4096, "k": 4096}, {"m": 8, "n": 16, "k": 4}), ["8x16x4", "4096"])
        self.assertEqual(self.labels({"n": 64, "offset": 1}, {"n": 64, "offset": 2}), ["offset=1", "offset=2"])

    def test_a_dimension_that_some_lack_is_named(self):
        plain, masked = {"heads": 64, "queries": 9, "keys": 9}, {"heads": 64, "queries": 9, "keys": 9, "causal": 1}
        self.assertEqual(self.labels(plain, {**plain, "keys": 10}, masked, {**masked, "d": 128}),
                         ["9", "9/causal=1", "9/causal=1/d=128", "10"])


if __name__ == "__main__":
    unittest.main()
