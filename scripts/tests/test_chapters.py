#!/usr/bin/env python3
"""Checks that the chapters have one form: a family's lists its kernels; a kernel's has every step and planted bug, its
tables, chart and questions, in few words."""
import re
import unittest

from helpers import Case, figures, ladder

FAMILY_LINES = 110  # one or two pages
GUIDE_LINES, GUIDE_WORDS = 750, 7500
WORDS = {"sgemm": 3000, "gemm_bf16": 3000, "attention": 3000, "attention_bf16": 3000}  # read in ten minutes: 1500
COUNTER = re.compile(r"(?i)\bcount(s|ed|ers?)?\b")  # what was counted, or what would show the point
GENERATED = re.compile(r"^<!-- (?:table|counters|random)\b.*?^<!-- end -->$", re.MULTILINE | re.DOTALL)


def words(text):
    return sum(any(sign.isalnum() for sign in word) for word in GENERATED.sub("", text).split())


def family(folder, text, folders):
    if not re.search(r"\]\(\.\./(?:README\.md|docs/)", text):
        yield "no link to the guide"
    for kernel in folders:
        if kernel.parent == folder and not re.search(rf"(?m)^\|.*\]\({kernel.name}/README\.md\)", text):
            yield f"no row with a link to {kernel.name}/README.md"
    if len(text.splitlines()) > FAMILY_LINES:
        yield f"more than {FAMILY_LINES} lines, two pages"


def kernels(folder, text, steps):
    """What is wrong with the chapter of a kernel, or of several that share a folder."""
    names = dict.fromkeys(step.kernel for step in steps)
    prose = GENERATED.sub("", text)
    allowed = max(WORDS.get(name, 1500) for name in names)
    if words(text) > allowed:
        yield f"{words(text)} words outside generated blocks; {allowed} are enough: move what was tried to NOTES.md"
    for name in names:
        if not re.search(rf"<!-- table {name}[ >]", text):
            yield f"no table of {name}"
        drawn = (folder / "results" / f"{name}.svg").is_file()  # what was never measured has none
        if drawn and not re.search(rf"!\[[^\]]+\]\(results/{name}\.svg\)", text):
            yield f"no chart of {name} with a text for it"
    for step in steps:  # where kernels share the text, the generated table is enough
        number, file = (r"\w*any_shape", f"any_shape/{step.path.name}") if step.is_any_shape else \
            (step.number, step.path.name)
        if not step.is_vendor and not re.search(rf"\[`?{number}[^\]]*\]\({file}\)", text if len(names) > 1 else prose):
            yield f"nothing about {file}"
    before, *paragraphs = re.split(r"(?m)^(?=(?:- )?\*\*\[\d\d\b)", prose)
    for paragraph in [] if len(names) > 1 or COUNTER.search(before) else paragraphs:
        if not COUNTER.search(paragraph):
            yield f"no counter for {paragraph.split(']')[0]}]"
    traps = re.search(r"(?ms)^## Traps\n(.*?)(?=^## |\Z)", text)
    for path in sorted(folder.glob("bugs/*.cu")):
        if f"](bugs/{path.name})" not in (traps[1] if traps else ""):
            yield f"Traps: no link to bugs/{path.name}"
    if not re.search(r"(?m)^## Questions\n+[^#\n]", text):
        yield "no '## Questions'"


class Chapters(Case):
    def test_form(self):
        known = figures.Figures(figures.read_all(), lambda _: True, ladder.kernels())
        folders = {}
        for step in (step for kernel in known.kernels for step in known.measured(kernel)):
            folders.setdefault(step.folder, []).append(step)
        for folder in {folder.parent for folder in folders}:
            with self.subTest(folder.name):
                self.assertEqual(list(family(folder, (folder / "README.md").read_text(), folders)), [])
        for folder, steps in folders.items():
            with self.subTest(folder.name):
                self.assertEqual(list(kernels(folder, (folder / "README.md").read_text(), steps)), [])

    def test_the_guide(self):
        text = (ladder.ROOT / "README.md").read_text()
        for path in figures.chapters():
            with self.subTest(path):
                self.assertIn(f"]({ladder.shown(path)}", text)
        self.assertLessEqual(len(text.splitlines()), GUIDE_LINES)
        self.assertLessEqual(words(text), GUIDE_WORDS)


if __name__ == "__main__":
    unittest.main()
