#!/usr/bin/env python3
"""Checks that the chapters have one form: the same sections in order, and in them every kernel, step and planted bug."""
import re
import sys
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SCRIPTS))
import ladder  # noqa: E402
from ladder import figures  # noqa: E402
from ladder.page import anchor  # noqa: E402

SECTIONS = ["The problem", "The floor", "The ladders", "Traps", "Questions", "How results are judged"]
LONGEST_LINE = 120  # tables, pictures and addresses apart
COUNTER = re.compile(r"\*Count(?:er|ed)\b|\b[Ww]hich\s+counter\b")  # what was counted, or what would show the point
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def split(text, level):
    """The parts under the headings of a level, {heading: text}; what stands before the first is under ''."""
    parts = re.split(rf"(?m)^{'#' * level} (.*)$", text)
    return dict(zip(["", *parts[1::2]], parts[0::2]))


def in_heading(heading, kernels):
    """The kernels that a heading such as `relu`, `gelu` names."""
    return [name for name in re.findall(r"`(\w+)`", heading) if name in kernels]


class Chapter:
    def __init__(self, family, all_steps, text=None):
        self.family = family
        self.path = ladder.ROOT / family / "README.md"
        self.text = self.path.read_text() if text is None else text
        self.sections = split(self.text, 2)
        self.kernels = {}  # {kernel: [Step]}
        for step in all_steps:
            if step.family == family:
                self.kernels.setdefault(step.kernel, []).append(step)
        self.ladders = {}  # {kernel: (heading, text)}
        for heading, text in split(self.sections.get("The ladders", ""), 3).items():
            for kernel in in_heading(heading, self.kernels):
                self.ladders[kernel] = heading, text

    def without(self, text):
        return Chapter(self.family, [step for steps in self.kernels.values() for step in steps],
                       self.text.replace(text, ""))


def sections(chapter):
    headings = [name for name in re.findall(r"(?m)^## (.*)$", FENCE.sub("", chapter.text))]
    if not re.match(rf"# {chapter.family}: \w", chapter.text):
        yield f"begins otherwise than '# {chapter.family}: ...'"
    if [name for name in headings if name in SECTIONS] != SECTIONS:
        yield f"has the sections {headings}, and must have {SECTIONS}, others between The floor and Traps"
    elif headings[:2] != SECTIONS[:2] or headings[-3:] != SECTIONS[-3:]:
        yield f"has a section before {SECTIONS[1]} or after {SECTIONS[-3]}"


def problem(chapter):
    text = chapter.sections.get("The problem", "")
    commands = "\n".join(re.findall(r"(?ms)^```sh\n(.*?)^```$", text))
    for what in ("scripts/run ", f"scripts/diff {chapter.family}/"):
        if what not in commands:
            yield f"The problem: no command {what}"
    if "\n**Where it is asked.** " not in text:
        yield "The problem: does not say where it is asked"
    for kernel, (heading, _) in chapter.ladders.items():
        if not re.search(rf"\n\| \[[^\]]*`{kernel}`[^\]]*\]\(#{anchor(heading)}\)", text):
            yield f"The problem: no row of {kernel} with a link to its ladder"


def tables_and_charts(chapter):
    for kernel in chapter.kernels:
        _, text = chapter.ladders.get(kernel, ("", ""))
        chart = rf"<!-- end -->\n\n!\[{kernel}: [^\]]+\]\(results/{kernel}\.svg\)\n"
        if not re.search(rf"(?s)<!-- table {kernel}[ >](?:(?!<!-- end).)*{chart}", text):
            yield f"The ladders: no heading with `{kernel}`, or under it no table with its chart and a text for it"


def steps(chapter):
    """A paragraph, an item or a row begins with the step's number and its file. Kernels that share a heading share the
    text; there the generated table is enough."""
    for kernel, kernel_steps in chapter.kernels.items():
        heading, text = chapter.ladders.get(kernel, ("", ""))
        shared = len(in_heading(heading, chapter.kernels)) > 1
        prose = text if shared else figures.TABLE.sub("", text)
        for step in kernel_steps:
            link = rf"\[{step.number}\b[^\]]*\]\({step.path.name}\)"
            together = r"(?:\[[^\]]*\]\([^)]*\),\s)*"  # **[01](...), [02](...).**
            if not step.is_vendor and not re.search(rf"(\*\*{together}|^\| |\n\| ){link}" , prose) \
                    and not (shared and f"| [{step.id}]({step.path.name}) |" in prose):
                yield f"nothing begins with [{step.number} ...]({step.path.name})"


def counters(chapter):
    """The text of a step, or what stands before the first step, names the counter that shows the step's point. The
    interviewer's next question is in the head of the file; test_step_files.py asks for it."""
    for kernel, (heading, text) in chapter.ladders.items():
        before, *paragraphs = re.split(r"(?m)^(?=(?:- )?\*\*\[\d\d\b)", figures.TABLE.sub("", text))
        if len(in_heading(heading, chapter.kernels)) == 1 and not COUNTER.search(before):
            for paragraph in paragraphs:
                if not COUNTER.search(paragraph):
                    yield f"{kernel}: no counter for {paragraph.split(']')[0]}]"


def traps(chapter):
    for bug in ladder.bugs():
        if bug.family == chapter.family and f"](bugs/{bug.path.name})" not in chapter.sections.get("Traps", ""):
            yield f"Traps: no link to bugs/{bug.path.name}"


def links(chapter):
    """Both ways; that links lead somewhere, scripts/readme --check sees."""
    for path in sorted(chapter.path.parent.glob("whiteboard/*.c*")):
        if f"](whiteboard/{path.name})" not in chapter.sections.get("The problem", ""):
            yield f"The problem: no link to whiteboard/{path.name}"
    if "](../README.md#" not in chapter.text:
        yield "no link to the guide"
    guide = (ladder.ROOT / "README.md").read_text()
    if f"]({chapter.family}/README.md)" not in guide:
        yield "the guide does not link here"
    for heading, _ in chapter.ladders.values():
        if f"]({chapter.family}/README.md#{anchor(heading)})" not in guide:
            yield f"the guide's map does not link to #{anchor(heading)}"


def lines(chapter):
    for number, line in enumerate(chapter.text.splitlines(), 1):
        breakable = " " in re.sub(r"\[[^\]]*\]\([^)]*\)", "x", line)
        if not line.startswith(("|", "![")) and breakable and len(line) > LONGEST_LINE:
            yield f"line {number} has {len(line)} characters"


CHECKS = (sections, problem, tables_and_charts, steps, counters, traps, links, lines)


class Chapters(unittest.TestCase):
    def setUp(self):
        known = figures.Figures(figures.read_all(), lambda _: True, ladder.kernels())
        all_steps = [step for kernel in known.kernels for step in known.measured(kernel)]
        self.chapters = [Chapter(family, all_steps) for family in dict.fromkeys(step.family for step in all_steps)]

    def test_form(self):
        self.assertGreaterEqual(len(self.chapters), 7)
        for chapter in self.chapters:
            for check in CHECKS:
                with self.subTest(f"{chapter.family}: {check.__name__}"):
                    self.assertEqual(list(check(chapter)), [])

    def test_what_is_missing_is_found(self):
        """Every check complains of a chapter from which what it looks for was taken."""
        for check, taken in ((sections, "## The floor\n"), (problem, "**Where it is asked.** "),
                             (problem, "scripts/diff reduce/"), (problem, "| [`max`](#max) "),
                             (tables_and_charts, "](results/dot.svg)"), (tables_and_charts, "### `dot`\n"),
                             (steps, "](sum_04_sequential.cu)."), (counters, "*Counted"),
                             (traps, "](bugs/max_nan_lost.cu) |"), (links, "](whiteboard/sum.cu)")):
            with self.subTest(taken):
                chapter = next(one for one in self.chapters if one.family == "reduce")
                self.assertIn(taken, chapter.text)
                self.assertNotEqual(list(check(chapter.without(taken))), [])


if __name__ == "__main__":
    unittest.main()
