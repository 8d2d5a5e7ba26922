#!/usr/bin/env python3
"""Checks the whiteboard answers: short, and nothing of ours in them. 'scripts/mutate reduce/sum/whiteboard.cu'
says whether the checks notice mistakes in one."""
import re
import unittest

from helpers import Case, ladder

LINES = range(10, 26)
MORE_LINES = {"batch_norm_whiteboard": 31,  # a sum over the block, used twice
              "gemm_bf16_whiteboard": 36,  # tiles in shared memory on both sides of the fragments
              "layer_norm_grad_whiteboard": 38,  # two kernels
              "moe_route_whiteboard": 38,  # two kernels: the choice, and the places
              "nms_whiteboard": 37,  # two kernels, and what an overlap is
              "sort_whiteboard": 48}  # three kernels, eight passes
END = "// The answer ends here"


def answer(step):
    """The text of an answer, without its includes and what registers it."""
    text = step.path.read_text()
    if text.count(END) != 1:
        raise ValueError(f"{step.path}: one line '{END}' is needed")
    return re.sub(r"\A(#include .*\n|\n)*", "", text[:text.index(END)]).rstrip("\n")


def code_lines(text):
    return [line for line in text.splitlines() if line.strip() and not line.strip().startswith("//")]


class Answers(Case):
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


if __name__ == "__main__":
    unittest.main()
