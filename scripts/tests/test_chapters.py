#!/usr/bin/env python3
"""Checks that the guide and the chapters link to everything, and that their length is limited. The guide links to
every chapter, a family's chapter to its kernels, a kernel's chapter to its steps, planted bugs and charts, outside of
generated tables. A kernel's chapter also has its tables and questions."""
import collections
import re
import unittest

from helpers import Case, figures, ladder
from ladder import document

GUIDE = ladder.ROOT / "README.md"
LONG = {"sgemm", "gemm_bf16", "attention", "attention_bf16"}


def written(path):
    """Returns a page's text without generated blocks."""
    return figures.BLOCK.sub("", path.read_text())


def words(text):
    return sum(any(sign.isalnum() for sign in word) for word in text.split())


class Chapters(Case):
    def setUp(self):
        self.folders = collections.defaultdict(list)  # {kernel's folder: its steps with figures}
        known = figures.Figures(figures.read_all(), lambda _: True)
        for step in (step for kernel in known.kernels for step in known.measured(kernel)):
            self.folders[step.folder].append(step)

    def test_what_they_lead_to(self):
        expected = collections.defaultdict(set)
        for step in ladder.steps():
            expected[GUIDE] |= {step.folder / "README.md", step.folder.parent / "README.md"}
        for folder, steps in self.folders.items():
            chapter, family = folder / "README.md", folder.parent / "README.md"
            expected[family].add(chapter)
            names = {step.kernel for step in steps}
            expected[chapter] |= {*folder.glob("bugs/*.cu")} | {
                chart for name in names for chart in folder.glob(f"results/{name}.svg")}
            if len(names) == 1:  # for kernels that share a chapter, the generated table is enough
                expected[chapter] |= {step.path for step in steps if not step.is_vendor}
        for path, targets in expected.items():
            with self.subTest(path):
                links = document.Document(path, written(path)).links()
                self.assertEqual(targets - {target for _, _, target, _ in links}, set())

    def test_form(self):
        for folder, steps in self.folders.items():
            with self.subTest(folder.name):
                text, names = (folder / "README.md").read_text(), {step.kernel for step in steps}
                self.assertLessEqual(words(written(folder / "README.md")), 3000 if names & LONG else 1500,
                                     "read in ten minutes; move what was tried to NOTES.md")
                self.assertLessEqual(names, set(re.findall(r"<!-- table (\w+)", text)))
                self.assertRegex(text, r"(?m)^## Questions\n+[^#\n]")
        for path, lines in {GUIDE: 750, **{folder.parent / "README.md": 110 for folder in self.folders}}.items():
            self.assertLessEqual(len(path.read_text().splitlines()), lines, path)
        self.assertLessEqual(words(written(GUIDE)), 7500)


if __name__ == "__main__":
    unittest.main()
