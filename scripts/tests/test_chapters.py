#!/usr/bin/env python3
"""Checks that the chapters have one form: a family's lists its kernels, a kernel's has every step and planted bug."""
import re
import sys
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SCRIPTS))
import ladder
from ladder import figures

FAMILY_LINES = 110  # one or two pages
LONGEST_LINE = 120  # tables, pictures and addresses apart
COUNTER = re.compile(r"(?i)\bcount(er|ed)")  # what was counted, or what would show the point


class Family:
    def __init__(self, name, all_steps, text=None):
        self.name, self.all_steps = name, all_steps
        self.text = (ladder.ROOT / name / "README.md").read_text() if text is None else text
        self.folders = {step.folder for step in all_steps if step.family == name}

    def without(self, text):
        return Family(self.name, self.all_steps, self.text.replace(text, ""))


class Chapter:
    """Of a kernel's folder."""

    def __init__(self, folder, all_steps, text=None):
        self.folder, self.all_steps = folder, all_steps
        self.text = (folder / "README.md").read_text() if text is None else text
        self.kernels = {}  # {kernel: [Step]}
        for step in all_steps:
            if step.folder == folder:
                self.kernels.setdefault(step.kernel, []).append(step)

    @property
    def traps(self):
        found = re.search(r"(?ms)^## Traps\n(.*?)(?=^## |\Z)", self.text)
        return found[1] if found else ""

    def without(self, text):
        return Chapter(self.folder, self.all_steps, self.text.replace(text, ""))


# ---- a family's

def title(family):
    if not re.match(rf"# {family.name}\b", family.text):
        yield f"begins otherwise than '# {family.name}'"


def index(family):
    for folder in family.folders:
        if not re.search(rf"(?m)^\|.*\]\({folder.name}/README\.md\)", family.text):
            yield f"no row with a link to {folder.name}/README.md"
    if "\n## How results are judged\n" not in family.text:
        yield "does not say how results are judged"


def length(family):
    count = len(family.text.splitlines())
    if count > FAMILY_LINES:
        yield f"has {count} lines; {FAMILY_LINES} are two pages"


def guide(family):
    if "](../README.md#" not in family.text:
        yield "no link to the guide"
    text = (ladder.ROOT / "README.md").read_text()
    for path in [f"{family.name}/README.md", *(ladder.shown(folder / "README.md") for folder in family.folders)]:
        if f"]({path}" not in text:
            yield f"the guide does not link to {path}"


# ---- a kernel's

def names(chapter):
    first = chapter.text.split("\n", 1)[0]
    for kernel in chapter.kernels:
        if not first.startswith("# ") or f"`{kernel}`" not in first:
            yield f"the first line does not name `{kernel}`"


def links(chapter):
    if "](../README.md" not in chapter.text:
        yield "no link to the family's chapter"
    for path in sorted(chapter.folder.glob("whiteboard*.c*")):
        if f"]({path.name})" not in chapter.text:
            yield f"no link to {path.name}"


def tables_and_charts(chapter):
    for kernel in chapter.kernels:
        if not re.search(rf"<!-- table {kernel}[ >]", chapter.text):
            yield f"no table of {kernel}"
        if not re.search(rf"!\[[^\]]+\]\(results/{kernel}\.svg\)", chapter.text):
            yield f"no chart of {kernel} with a text for it"


def steps(chapter):
    """The text has a link to the step's file, by its number. Kernels that share a folder share the text; there the
    generated table is enough."""
    prose = chapter.text if len(chapter.kernels) > 1 else figures.TABLE.sub("", chapter.text)
    for step in [step for of_kernel in chapter.kernels.values() for step in of_kernel if not step.is_vendor]:
        name, file = step.number, step.path.name
        if step.is_any_shape:
            name, file = r"\w*any_shape", f"any_shape/{file}"
        if not re.search(rf"\[{name}[^\]]*\]\({file}\)", prose):
            yield f"nothing about [{name} ...]({file})"


def counters(chapter):
    """The text of a step, or what stands before the first step, names the counter that shows the step's point. The
    interviewer's next question is in the head of the file; test_step_files.py asks for it."""
    before, *paragraphs = re.split(r"(?m)^(?=(?:- )?\*\*\[\d\d\b)", figures.TABLE.sub("", chapter.text))
    if len(chapter.kernels) == 1 and not COUNTER.search(before):
        for paragraph in paragraphs:
            if not COUNTER.search(paragraph):
                yield f"no counter for {paragraph.split(']')[0]}]"


def traps(chapter):
    for path in sorted(chapter.folder.glob("bugs/*.cu")):
        if f"](bugs/{path.name})" not in chapter.traps:
            yield f"Traps: no link to bugs/{path.name}"


def lines(chapter):
    for number, line in enumerate(chapter.text.splitlines(), 1):
        breakable = " " in re.sub(r"\[[^\]]*\]\([^)]*\)", "x", line)
        if not line.startswith(("|", "![")) and breakable and len(line) > LONGEST_LINE:
            yield f"line {number} has {len(line)} characters"


OF_FAMILY = (title, index, length, guide, lines)
OF_KERNEL = (names, links, tables_and_charts, steps, counters, traps, lines)


class Chapters(unittest.TestCase):
    def setUp(self):
        known = figures.Figures(figures.read_all(), lambda _: True, ladder.kernels())
        all_steps = [step for kernel in known.kernels for step in known.measured(kernel)]
        self.families = [Family(name, all_steps) for name in dict.fromkeys(step.family for step in all_steps)]
        self.chapters = [Chapter(folder, all_steps) for folder in dict.fromkeys(step.folder for step in all_steps)]

    def test_form(self):
        self.assertGreaterEqual(len(self.families), 7)
        self.assertGreaterEqual(len(self.chapters), 50)
        for pages, checks in ((self.families, OF_FAMILY), (self.chapters, OF_KERNEL)):
            for page in pages:
                for check in checks:
                    with self.subTest(f"{getattr(page, 'name', None) or page.folder.name}: {check.__name__}"):
                        self.assertEqual(list(check(page)), [])

    def test_what_is_missing_is_found(self):
        """Every check complains of a chapter from which what it looks for was taken."""
        family = next(one for one in self.families if one.name == "reduce")
        of_sum = next(one for one in self.chapters if one.folder.name == "sum")
        for check, page, taken in ((title, family, "# reduce"), (index, family, "](max/README.md)"),
                                   (guide, family, "](../README.md#"), (names, of_sum, "`sum`"),
                                   (links, of_sum, "](whiteboard.cu)"), (links, of_sum, "](../README.md"),
                                   (tables_and_charts, of_sum, "](results/sum.svg)"),
                                   (steps, of_sum, "](sum_05_sequential.cu)"), (counters, of_sum, "ount"),
                                   (traps, of_sum, "](bugs/sum_early_return.cu)")):
            with self.subTest(taken):
                self.assertIn(taken, page.text)
                self.assertNotEqual(list(check(page.without(taken))), [])


if __name__ == "__main__":
    unittest.main()
