#!/usr/bin/env python3
"""Tests of scripts/ladder/figures.py: what changes the digest of a step's code, and what does not."""
import unittest

from helpers import Case, entry, figures

PROBLEM = """\
#pragma once
#include "ladder.cuh"
#include "tile.cuh"
#include "run.cuh"
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
    FILES = {"family/problem.cuh": PROBLEM, "family/k_01_naive.cu": STEP, "family/values.cuh": "int checks_only();\n",
             "family/shapes.hpp": "#pragma once\nconstexpr int kLongest = 4;\n",
             "family/tile.cuh": "#pragma once\n__device__ inline int tile() { return 1; }\n",
             "family/run.cuh": "inline void run(float* x) { kernel<<<1, 32>>>(x); }\n",
             "common/ladder.cuh": "__host__ __device__ inline int ceil_div();\n"}

    def digest(self, changed=None, old="", new="", more=()):
        root = self.folder()
        for name, text in {**self.FILES, **dict(more)}.items():
            self.assertIn(old if name == changed else "", text)
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_text(text.replace(old, new) if name == changed else text)
        return figures.digest(root / "family/k_01_naive.cu", root)

    def test_what_counts(self):
        """No comments, layout, includes, and of the problem and the runner what is no device code and no launch."""
        step, tile = "family/k_01_naive.cu", "family/tile.cuh"
        same = ((step, "// A head.", "// Another.\n/* And\n more. */"), (step, "  // a comment", ""),
                (step, "(float* x, int n) {", "(float* x,\n        int n)\n{"), (step, "\n", "\n\n"),
                (step, "k<<<1, 32>>>", "k <<< 1,32 >>>"), (step, "// A head.", "#pragma once\n// A head."),
                (step, '#include "problem.cuh"', '#include "problem.cuh"\n#include <algorithm>'),
                ("family/problem.cuh", "};", "int changed; };"), ("family/values.cuh", "()", "(int changed)"),
                ("common/ladder.cuh", "()", "(int changed)"), (tile, "#", "// A comment.\n#"),
                ("family/problem.cuh", "tile.cuh", "block.cuh", {"common/block.cuh": self.FILES[tile]}))
        other = ((step, "1.0f", "2.0f"), (step, "int n", "unsigned n"), (step, "<<<1, 32", "<<<2, 32"),
                 (step, "no // comment", "none"), (step, "  if", "#pragma unroll\n  if"),
                 (tile, "return 1", "return 2"), ("family/shapes.hpp", "= 4", "= 8"), ("family/run.cuh", "32", "64"))
        for change in (*same, *other):
            self.assertEqual(self.digest(*change) == self.digest(), change in same, change)


class Results(Case):
    def test_names_of_cards(self):
        self.assertEqual(figures.card_name("NVIDIA H100 80GB HBM3"), "h100-80gb-hbm3")
        self.assertEqual(figures.card_name("NVIDIA H200"), "h200")
        short = {"h100-80gb-hbm3": "H100", "h100-pcie": "H100 PCIE", "h200": "H200", "geforce-rtx-4090": "RTX 4090",
                 "tesla-t4": "T4", "a100-sxm4-40gb": "A100", "rtx-a6000": "RTX A6000"}
        self.assertEqual({card: figures.short_name(card) for card in short}, short)

    def test_new_entries_take_the_place_of_old_ones(self):
        """A step's figures at all sizes; counters of the same run alone. What is of a step that is no more goes."""
        kept = [entry("00_cub", 8, 1), entry("01_atomic", 64, 1)]
        old = [entry("02_global_tree", 8, 1), entry("02_global_tree", 64, 1), entry("02_gone", 8, 1)]
        new = entry("02_global_tree", 8, 7)
        self.assertEqual(figures.merged([*kept, *old], [new]), [*kept, new])
        first, other_size, misaligned, other_step = (
            {"kernel": "sum", "step": step, "size": {"n": n}, "misaligned": is_misaligned, "registers": 1}
            for step, n, is_misaligned in (("00_cub", 8, False), ("00_cub", 9, False), ("00_cub", 8, True),
                                           ("01_atomic", 8, False)))
        new = {**first, "registers": 2}
        self.assertEqual(figures.merged([first, other_size, misaligned, other_step], [new]),
                         [new, misaligned, other_size, other_step])

    def test_files_are_as_they_would_be_written(self):
        for path, contents in figures.read_all().items():
            self.assertEqual(figures.to_text(contents), path.read_text(), path)
            self.assertEqual(figures.card_name(contents["gpu"]), path.stem)


if __name__ == "__main__":
    unittest.main()
