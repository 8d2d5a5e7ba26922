#!/usr/bin/env python3
"""Checks that the chapters have one form: a family's lists its kernels, a kernel's has every step and planted bug."""
import re
import unittest

from helpers import Case, figures, ladder

LONGEST_LINE = 120  # tables, pictures and addresses apart
FAMILY_LINES = 110  # one or two pages
GUIDE_LINES, GUIDE_WORDS = 750, 7500
WORDS = {"sgemm": 3000, "gemm_bf16": 3000, "attention": 3000, "attention_bf16": 3000}  # read in ten minutes: 1500
COUNTER = re.compile(r"(?i)\bcount(s|ed|ers?)?\b")  # what was counted, or what would show the point
GENERATED = re.compile(r"^<!-- (?:table|counters|compared|random)\b.*?^<!-- end -->$", re.MULTILINE | re.DOTALL)


class Chapter:
    """Of a kernel's folder, or of a family's with the folders of its kernels."""

    def __init__(self, folder, all_steps):
        self.folder, self.name = folder, folder.name
        self.text = (folder / "README.md").read_text()
        self.prose = GENERATED.sub("", self.text)
        self.folders = sorted({step.folder for step in all_steps if step.folder.parent == folder})
        self.kernels = {}  # {kernel: [Step]}
        for step in all_steps:
            if step.folder == folder:
                self.kernels.setdefault(step.kernel, []).append(step)

    def section(self, title):
        found = re.search(rf"(?ms)^## {title}\n(.*?)(?=^## |\Z)", self.text)
        return found[1] if found else ""


def words(text):
    return sum(any(sign.isalnum() for sign in word) for word in text.split())


def lines(chapter):
    for number, line in enumerate(chapter.text.splitlines(), 1):
        breakable = " " in re.sub(r"\[[^\]]*\]\([^)]*\)", "x", line)
        if not line.startswith(("|", "![")) and breakable and len(line) > LONGEST_LINE:
            yield f"line {number} has {len(line)} characters"


# ---- a family's

def family(chapter):
    if not re.match(rf"# {chapter.name}\b", chapter.text):
        yield f"begins otherwise than '# {chapter.name}'"
    if not re.search(r"\]\(\.\./(?:README\.md|docs/)", chapter.text):
        yield "no link to the guide"
    for folder in chapter.folders:
        if not re.search(rf"(?m)^\|.*\]\({folder.name}/README\.md\)", chapter.text):
            yield f"no row with a link to {folder.name}/README.md"
    if len(chapter.text.splitlines()) > FAMILY_LINES:
        yield f"more than {FAMILY_LINES} lines, two pages"


# ---- a kernel's

def length(chapter):
    allowed = max(WORDS.get(kernel, 1500) for kernel in chapter.kernels)
    count = words(chapter.prose)
    if count > allowed:
        yield f"{count} words outside generated blocks; {allowed} are enough: move what was tried to NOTES.md"


def tables_and_charts(chapter):
    for kernel in chapter.kernels:
        if not re.search(rf"<!-- table {kernel}[ >]", chapter.text):
            yield f"no table of {kernel}"
        drawn = (chapter.folder / "results" / f"{kernel}.svg").is_file()  # what was never measured has none
        if drawn and not re.search(rf"!\[[^\]]+\]\(results/{kernel}\.svg\)", chapter.text):
            yield f"no chart of {kernel} with a text for it"


def steps(chapter):
    """The text has a link to the step's file, by its number. Kernels that share a folder share the text; there the
    generated table is enough."""
    prose = chapter.text if len(chapter.kernels) > 1 else chapter.prose
    for step in [step for of_kernel in chapter.kernels.values() for step in of_kernel if not step.is_vendor]:
        name, file = step.number, step.path.name
        if step.is_any_shape:
            name, file = r"\w*any_shape", f"any_shape/{file}"
        if not re.search(rf"\[`?{name}[^\]]*\]\({file}\)", prose):
            yield f"nothing about [{name} ...]({file})"


def counters(chapter):
    """The text of a step, or what stands before the first step, names the counter that shows the step's point."""
    before, *paragraphs = re.split(r"(?m)^(?=(?:- )?\*\*\[\d\d\b)", chapter.prose)
    if len(chapter.kernels) == 1 and not COUNTER.search(before):
        for paragraph in paragraphs:
            if not COUNTER.search(paragraph):
                yield f"no counter for {paragraph.split(']')[0]}]"


def traps_and_questions(chapter):
    for path in sorted(chapter.folder.glob("bugs/*.cu")):
        if f"](bugs/{path.name})" not in chapter.section("Traps"):
            yield f"Traps: no link to bugs/{path.name}"
    if not chapter.section("Questions").strip():
        yield "no '## Questions'"


OF_KERNEL = (length, tables_and_charts, steps, counters, traps_and_questions, lines)


def all_steps():
    known = figures.Figures(figures.read_all(), lambda _: True, ladder.kernels())
    return [step for kernel in known.kernels for step in known.measured(kernel)]


class Chapters(Case):
    def test_form(self):
        of_all = all_steps()
        folders = list(dict.fromkeys(step.folder for step in of_all))
        families = list(dict.fromkeys(folder.parent for folder in folders))
        self.assertGreaterEqual((len(families), len(folders)), (7, 50))
        for paths, checks in ((families, (family, lines)), (folders, OF_KERNEL)):
            for chapter in (Chapter(path, of_all) for path in paths):
                for check in checks:
                    with self.subTest(f"{chapter.name}: {check.__name__}"):
                        self.assertEqual(list(check(chapter)), [])

    def test_the_guide(self):
        text = figures.GUIDE.read_text()
        for path in figures.chapters():
            with self.subTest(path):
                self.assertIn(f"]({ladder.shown(path)}", text)
        self.assertLessEqual(len(text.splitlines()), GUIDE_LINES)
        self.assertLessEqual(words(GENERATED.sub("", text)), GUIDE_WORDS)


if __name__ == "__main__":
    unittest.main()
