"""A page in another language: does it hold what the original holds, section by section?

README.zh-CN.md translates README.md, docs/zh-CN/X.md docs/X.md. Its words cannot be compared. Headings' levels, code
blocks, links' targets and numbers with their units must be the same; so a session that holds for one holds for both."""
import re
import urllib.parse
from collections import Counter
from itertools import zip_longest

from ladder import document

LANGUAGE = re.compile(r"[a-z]{2}-[A-Z]{2}")
TAG = re.compile(r"<[^>]*>")
TARGET = re.compile(r"\]\([^)]*\)")
UNIT = r"%|(?<=\d)x(?![A-Za-z])|(?:[KMGT]?B|[KMGT]?FLOP)(?:/s|/B)?(?![A-Za-z])|[num]?s(?![A-Za-z])|[GM]Hz"
NUMBER = re.compile(rf"(?<![A-Za-z0-9_.])(\d+(?:,\d{{3}})*(?:\.\d+)?(?:\^\d+)?)(?:st|nd|rd|th)?(?:\s*({UNIT}))?")


def original_of(path):
    """README.md for README.zh-CN.md, docs/X.md for docs/zh-CN/X.md; None for a page that translates none."""
    stem, _, language = path.stem.partition(".")
    if LANGUAGE.fullmatch(language):
        return path.with_name(f"{stem}{path.suffix}")
    return path.parent.parent / path.name if LANGUAGE.fullmatch(path.parent.name) else None


def sections(page):
    """[[heading, piece, ...]]; the first has no heading."""
    found = [[None]]
    for piece in page.pieces:
        if piece.kind == "heading":
            found.append([piece])
        else:
            found[-1].append(piece)
    return found


def level(section):
    return section[0].text.split(" ")[0] if section[0] else ""


def text_of(section):
    """Its words, without code and comments."""
    text = "\n\n".join(piece.text for piece in section if piece and piece.kind != "code")
    return document.blanked(document.COMMENT.sub("", text), document.CODE_SPAN)


def numbers(text):
    """Those that are no part of a name or link, with their units: '1.98 GHz', '2^28', '1.26 x'."""
    for pattern in (document.CODE_SPAN, TARGET, TAG):
        text = document.blanked(text, pattern)
    return [f"{number} {unit}".strip() for number, unit in NUMBER.findall(text)]


def targets(page, text):
    """Where its links lead, a translation's to the original. A heading's name is in the page's language, and left
    out; that of a figure in results/ is not."""
    found = []
    for target in (one[1] for pattern in (document.LINK, document.HTML_TARGET) for one in pattern.finditer(text)):
        name, _, part = urllib.parse.unquote(target).partition("#")
        path = (page.path.parent / name).resolve() if name else page.path
        web = re.match(r"[a-z]+:", target)
        found.append(target if web else f"{original_of(path) or path}{f'#{part}' * name.endswith('.json')}")
    return found


def blocks(section):
    return [(piece.language, piece.marks, piece.lines) for piece in section if piece and piece.kind == "code"]


def check(page, original):
    """Reports on the page where it differs from the one that it translates."""
    own, other = sections(page), sections(original)
    same = list(map(level, own)) == list(map(level, other))
    for mine, its in zip_longest(own, other, fillvalue=[None]):
        line = mine[0].line if mine[0] else 1 if mine is own[0] else len(page.lines)
        where = f"{original.name}:{its[0].line if its[0] else 1}"
        if not same and (level(mine), blocks(mine)) != (level(its), blocks(its)):
            page.error(line, f"a section is missing, or is of another level: at or before this place and {where}")
            return
        if blocks(mine) != blocks(its):
            page.error(line, f"the code blocks of this section are not those of {where}")
        texts = text_of(mine), text_of(its)
        for what, found, expected in (("numbers", *map(numbers, texts)),
                                      ("links", targets(page, texts[0]), targets(original, texts[1]))):
            lacks, more = Counter(expected) - Counter(found), Counter(found) - Counter(expected)
            if same and (lacks or more):
                page.error(line, f"{what}: this section lacks {sorted(lacks)} of {where}, has also {sorted(more)}")
