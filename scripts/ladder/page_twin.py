"""A page in another language, README.zh-CN.md: does it hold what README.md holds, section by section?

What the words say cannot be compared. What must not differ is the code, the names in `backticks`, the links, the
anchors and questions, the shape of the tables, and the numbers with their units. So what the checks of README.md find
of a session or a figure holds for both pages."""
import re
from collections import Counter
from itertools import zip_longest

from ladder import document as pages

NAME = re.compile(r"(\w+)\.[a-z]{2}-[A-Z]{2}\.md")
TAG = re.compile(r"<[^>]*>")
TARGET = re.compile(r"\]\([^)]*\)")
UNIT = r"%|(?<=\d)x(?![A-Za-z])|(?:[KMGT]?B|[KMGT]?FLOP)(?:/s|/B)?(?![A-Za-z])|[num]?s(?![A-Za-z])|[GM]Hz"
NUMBER = re.compile(rf"(?<![A-Za-z0-9_.])(\d+(?:,\d{{3}})*(?:\.\d+)?(?:\^\d+)?)(?:st|nd|rd|th)?(?:\s*({UNIT}))?")


def original_of(path):
    """README.md for README.zh-CN.md; None for a page that translates none."""
    found = NAME.fullmatch(path.name)
    return path.with_name(f"{found[1]}.md") if found else None


class Section:
    """A heading with what follows it up to the next one."""

    def __init__(self, page, heading):
        self.page = page
        self.heading = heading  # None before the first one
        self.pieces = []

    def __str__(self):
        return f"'{self.heading.text}'" if self.heading else "what stands before the first heading"

    @property
    def line(self):
        return self.heading.line if self.heading else 1

    @property
    def level(self):
        return self.heading.text.split(" ")[0] if self.heading else ""

    def of_kind(self, kind):
        return [piece for piece in self.pieces if piece.kind == kind]

    @property
    def text(self):
        """Its words, without code and comments."""
        pieces = [self.heading] * bool(self.heading) + [piece for piece in self.pieces if piece.kind != "code"]
        return pages.COMMENT.sub("", "\n\n".join(piece.text for piece in pieces))

    def code(self):
        return [(piece.language, piece.marks, piece.lines) for piece in self.of_kind("code")]

    def tags(self):
        """Its HTML, such as <details> and <a id="warp">."""
        return TAG.findall(pages.blanked(self.text, pages.CODE_SPAN))


def sections(page):
    found = [Section(page, None)]
    for piece in page.pieces:
        if piece.kind == "heading":
            found.append(Section(page, piece))
        else:
            found[-1].pieces.append(piece)
    return found


# ---- what a text holds in any language

def numbers(text):
    """Those that are no part of a name or link, with their units: '1.98 GHz', '2^28', '1.26 x'."""
    for pattern in (pages.CODE_SPAN, TARGET, TAG):
        text = pages.blanked(text, pattern)
    return [f"{number} {unit}".strip() for number, unit in NUMBER.findall(text)]


def names(text):
    return [f"`{name}`" for _, name in pages.CODE_SPAN.findall(text)]


def targets(section, all_sections):
    """Where its links lead, but for those from one language to the other. '#...' of a heading is that heading's place
    on the page, as each page's anchors are in its own language."""
    places = {f"#{pages.anchor(one.heading.text.lstrip('# '))}": f"section {place}"
              for place, one in enumerate(all_sections) if one.heading}
    text = pages.blanked(section.text, pages.CODE_SPAN)
    found = [one[1] for pattern in (pages.LINK, pages.HTML_TARGET) for one in pattern.finditer(text)]
    return [places.get(target, target) for target in found if "/" in target or not target.endswith(".md")]


# ---- comparing

def check(page, original):
    """Reports on the page where it differs from the one that it translates."""
    own, other = sections(page), sections(original)
    if [one.level for one in own] != [one.level for one in other]:
        check_headings(page, original, own, other)
        return
    for mine, its in zip(own, other):
        check_code(page, original, mine, its)
        check_tables(page, original, mine, its)
        compare(page, original, mine, its, "numbers", Counter(numbers(mine.text)), Counter(numbers(its.text)))
        compare(page, original, mine, its, "names", Counter(names(mine.text)), Counter(names(its.text)))
        compare(page, original, mine, its, "links", Counter(targets(mine, own)), Counter(targets(its, other)))
        compare(page, original, mine, its, "HTML", Counter(mine.tags()), Counter(its.tags()))
        if Counter(mine.tags()) == Counter(its.tags()) and mine.tags() != its.tags():
            page.problem(mine.line, f"{mine}: its HTML is that of {its} of {original.name} in another order")


def check_headings(page, original, own, other):
    """The first section of one page that cannot be that of the other: of another level, or with other code."""
    for mine, its in zip_longest(own, other):
        if mine is None:
            page.problem(len(page.lines), f"nothing here for {its}, {original.name}:{its.line}")
        elif its is None:
            page.problem(mine.line, f"{mine}: {original.name} has no such section")
        elif (mine.level, mine.code()) != (its.level, its.code()):
            page.problem(mine.line, f"here stands {mine}, on {original.name}:{its.line} {its}: at or before this place "
                                    "one of the pages lacks a section")
        else:
            continue
        return


def check_code(page, original, mine, its):
    """The code blocks, their languages, and the comments that say how they are checked."""
    for own, other in zip_longest(mine.of_kind("code"), its.of_kind("code")):
        if own is None:
            page.problem(mine.line, f"{mine}: no block like that on {original.name}:{other.line}")
        elif other is None:
            page.problem(own.line, f"{original.name} has no such block in {its}")
        elif (own.language, own.marks) != (other.language, other.marks):
            page.problem(own.line, f"the block's language and comments are not those on {original.name}:{other.line}")
        elif own.lines != other.lines:
            place = next(number for number, (one, two) in enumerate(zip_longest(own.lines, other.lines)) if one != two)
            page.problem(own.line + place, f"not as on {original.name}:{other.line + place}")


def check_tables(page, original, mine, its):
    """Rows, columns and each row's numbers; generated ones are the same."""
    for own, other in zip_longest(mine.of_kind("table"), its.of_kind("table")):
        if own is None or other is None:
            page.problem(mine.line, f"{mine}: a table here and on {original.name}:{its.line} has no counterpart")
            return
        if own.generated or other.generated:
            if (own.generated, own.lines) != (other.generated, other.lines):
                page.problem(own.line, f"not the generated table of {original.name}:{other.line}")
            continue
        shape, wanted = ([cells(line) for line in table.lines] for table in (own, other))
        if shape != wanted or own.lines[1] != other.lines[1]:
            page.problem(own.line, f"rows and columns are not those of {original.name}:{other.line}")
            continue
        for number, (one, two) in enumerate(zip(own.lines, other.lines)):
            if sorted(numbers(pages.COMMENT.sub("", one))) != sorted(numbers(pages.COMMENT.sub("", two))):
                page.problem(own.line + number, f"the row's numbers are not those of {original.name}:"
                                                f"{other.line + number}")


def cells(line):
    return pages.blanked(line, pages.CODE_SPAN).count("|")


def compare(page, original, mine, its, what, own, other):
    missing, more = other - own, own - other
    if missing or more:
        told = "; ".join(f"it {word} {', '.join(sorted(found))}"
                         for word, found in (("lacks", missing), ("has also", more)) if found)
        page.problem(mine.line, f"{mine}: of the {what} of {its}, {original.name}:{its.line}, {told}")
