#!/usr/bin/env python3
"""Checks the form of step files: a head that teaches, limited length, and a small change from the step before. Checks
where files are, and the form of whiteboard answers."""
import re
import unittest

from helpers import ROOT, Case, ladder
from ladder import cuda_source

diff = ladder.load_script("diff")

# Limits for a step's lines, and for the lines that it adds or changes: usual, number of exceptions, most. Never raise
# the last two.
LINES, LONG_STEPS, MOST_LINES = 150, 13, 200
NEW_LINES, LARGE_STEPS, MOST_NEW_LINES = 40, 86, 160


class StepFiles(Case):
    def test_heads(self):
        for step in ladder.steps():
            head = cuda_source.head(step.path)
            with self.subTest(step.name):
                self.assertTrue(head.startswith("// "))
                self.assertNotRegex(head, r"(?m)^// \w+: *$")
                if head.startswith("// Problem:"):
                    found = re.findall(r"(?m)^// (\w+):  +\S.*((?:\n// {11}\S.*)*)", head)
                    self.assertEqual([label for label, _ in found if label not in ("Measured", "Why")],
                                     ["Problem", "Idea", "Expect", "Next"])
                    self.assertLessEqual(max(more.count("\n") for _, more in found), 1, "at most two lines each")
                elif not step.is_vendor and not step.is_any_shape:
                    self.assertRegex(head, r"(?ms)^// Expect: .*^// Next( question)?: ")

    def test_numbers_are_consecutive(self):
        for kernel, steps in ladder.kernels().items():
            numbers = [int(step.number) for step in steps if not step.is_any_shape]
            self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))), kernel)
            self.assertIn(numbers[0], (0, 1), kernel)

    def test_length_and_what_a_step_adds(self):
        lines = {step: len(step.path.read_text().splitlines()) for step in ladder.steps()}
        added = {after: sum(line[0] == "+" and line[1:].strip() != "" for line in list(diff.diff(before, after))[2:])
                 for before, after in zip(ladder.steps(), ladder.steps()[1:])
                 if before.kernel == after.kernel and not before.is_vendor and not after.is_any_shape}
        self.assertLessEqual(max(lines.pop(step) for step in ladder.steps() if step.is_any_shape), 600)
        for sizes, usual, exceptions, most in ((lines, LINES, LONG_STEPS, MOST_LINES),
                                               (added, NEW_LINES, LARGE_STEPS, MOST_NEW_LINES)):
            large = {step.name: size for step, size in sizes.items() if size > usual}
            self.assertLessEqual(len(large), exceptions, f"{large}: split a step, or make one of these smaller")
            self.assertLessEqual(max(sizes.values()), most, large)

    def test_kernel_names_are_unique(self):
        places = {}
        for step in ladder.steps():
            for name in set(cuda_source.kernel_names(step.path)):
                self.assertNotIn(name, places, f"{step.name} and {places.get(name)} both have a kernel {name}")
                places[name] = step.name


class Layout(Case):
    """A folder has the files that only its kernel or family uses, and common/ the rest."""

    def test_layout(self):
        folders = {step.folder for step in ladder.steps()}
        users = {}  # {header: kernels' folders whose sources include it, directly or indirectly}
        for step in ladder.steps() + ladder.bugs() + ladder.answers():
            for header in cuda_source.included(step.path)[1:]:
                users.setdefault(header.resolve(), set()).add(step.folder)
        for header, found in users.items():
            with self.subTest(str(header.relative_to(ROOT))):
                home = header.parent.parent if header.parent.name == "any_shape" else header.parent
                if home in folders:
                    self.assertEqual(found, {home})
                elif header.parent.parent == ROOT and header.parent.name != "common":
                    self.assertGreater(len(found), 1)
                    self.assertEqual({folder.parent for folder in found}, {header.parent})
        for family in {folder.parent for folder in folders}:
            allowed = {"README.md", f"test_{family.name}.cpp", f"trace_{family.name}.cpp", "__pycache__"}
            for path in set(family.iterdir()) - folders - users.keys():
                if path.name not in allowed and not re.fullmatch(r"export_\w+\.inc", path.name):
                    self.assertTrue(path.is_dir() and not any(path.iterdir()), path)  # not tracked by git
        for folder in folders:
            self.assertTrue((folder / "README.md").is_file(), folder)


LONG_ANSWERS = {"batch_norm_whiteboard": 31,  # a sum over the block, used twice
                "gemm_bf16_whiteboard": 36,  # tiles in shared memory on both sides of the fragments
                "layer_norm_grad_whiteboard": 38,  # two kernels
                "moe_route_whiteboard": 38,  # two kernels: the choice, and the positions
                "nms_whiteboard": 37,  # two kernels, and the overlap
                "sort_whiteboard": 48}  # three kernels, eight passes


class Answers(Case):
    def test_whiteboard_answers(self):
        """Answers are short, use nothing of the project, and their launch returns its error. A header included after
        the answer cannot be used in it, except on the CPU backend through the precompiled header. 'scripts/mutate
        reduce/sum/whiteboard.cu' reports whether the checks detect mistakes in an answer."""
        self.assertTrue(ladder.answers())
        for step in ladder.answers():
            with self.subTest(step.name):
                answer, = step.path.read_text().split("// The answer ends here")[:-1]
                code = re.sub(r"\A(#include .*\n|\n)*", "", answer).splitlines()
                lines = sum(bool(line.strip()) and not line.strip().startswith("//") for line in code)
                self.assertTrue(10 <= lines <= 25 or lines == LONG_ANSWERS.get(step.name), lines)
                self.assertNotRegex(
                    answer, r'#include "|CUDA_CHECK|ceil_div|aligned_for|DeviceBuffer|scratch|(?i:ladder)')
                if "<<<" in answer:
                    self.assertRegex(answer, r"<<<[^;]*;\s*return cudaGetLastError\(\)")


if __name__ == "__main__":
    unittest.main()
