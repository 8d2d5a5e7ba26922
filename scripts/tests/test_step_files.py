#!/usr/bin/env python3
"""Checks what every step file must have: a header that teaches, a page's length, and a small step from the one
before."""
import re
import unittest

from helpers import ROOT, Case, ladder
from ladder import cuda_source

diff = ladder.load_script("diff")

# Of a step: lines, and lines that it adds or changes. Some steps need more; they may not become more, nor longer.
LINES, LONG_STEPS, MOST_LINES = 150, 13, 200
NEW_LINES, LARGE_STEPS, MOST_NEW_LINES = 40, 86, 160
MOST_LINES_ANY_SHAPE = 600


class StepFiles(Case):
    def setUp(self):
        self.steps = ladder.steps()

    def test_heads(self):
        for step in self.steps:
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

    def assert_small(self, sizes, usual, exceptions, most):
        """`sizes`: {step's name: lines}"""
        large = {name: size for name, size in sizes.items() if size > usual}
        self.assertLessEqual(len(large), exceptions, f"{large}: split a step, or make one of these smaller")
        self.assertLessEqual(max(sizes.values()), most, large)

    def test_length(self):
        lines = {step.name: len(step.path.read_text().splitlines()) for step in self.steps}
        any_shape = {step.name for step in self.steps if step.is_any_shape}
        self.assert_small({name: lines[name] for name in lines.keys() - any_shape}, LINES, LONG_STEPS, MOST_LINES)
        self.assertLessEqual(max(lines[name] for name in any_shape), MOST_LINES_ANY_SHAPE)

    def test_a_step_is_small(self):
        self.assert_small({after.name: diff.changes(before, after)[0] for before, after in diff.neighbours(self.steps)},
                          NEW_LINES, LARGE_STEPS, MOST_NEW_LINES)

    def test_kernel_names_are_unique(self):
        places = {}
        for step in self.steps:
            for name in set(cuda_source.kernel_names(step.path)):
                self.assertNotIn(name, places, f"{step.name} and {places.get(name)} both have a kernel {name}")
                places[name] = step.name


class Layout(Case):
    """A kernel's folder has what it alone uses, a family's what several of its kernels share, common/ the rest."""

    def setUp(self):
        self.folders = {step.folder for step in ladder.steps()}
        self.users = {}  # {header: the kernels' folders whose sources include it, directly or not}
        for step in ladder.steps() + ladder.bugs() + ladder.answers():
            for header in cuda_source.included(step.path)[1:]:
                self.users.setdefault(header.resolve(), set()).add(step.folder)

    def test_a_header_is_where_its_users_are(self):
        for header, users in self.users.items():
            with self.subTest(str(header.relative_to(ROOT))):
                home = header.parent.parent if header.parent.name == "any_shape" else header.parent
                if home in self.folders:
                    self.assertEqual(users, {home})
                elif header.parent.parent == ROOT and header.parent.name != "common":
                    self.assertGreater(len(users), 1)
                    self.assertEqual({folder.parent for folder in users}, {header.parent})

    def test_a_family_has_kernels_tests_and_shared_headers(self):
        for family in {folder.parent for folder in self.folders}:
            for path in family.iterdir():
                if path.name == "__pycache__" or (path.is_dir() and not any(path.iterdir())):
                    continue  # not git's
                with self.subTest(str(path.relative_to(ROOT))):
                    self.assertTrue(path in self.folders or path.resolve() in self.users or path.name in (
                        "README.md", f"test_{family.name}.cpp", f"trace_{family.name}.cpp")
                        or re.fullmatch(r"export_\w+\.inc", path.name))

    def test_every_kernel_has_a_chapter(self):
        for folder in self.folders:
            self.assertTrue((folder / "README.md").is_file(), folder)


if __name__ == "__main__":
    unittest.main()
