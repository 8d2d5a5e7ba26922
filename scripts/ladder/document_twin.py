"""A page in another language: does it hold what the original holds?

README.zh-CN.md translates README.md, docs/zh-CN/X.md docs/X.md. Its words cannot be compared. Headings' levels, code
blocks, links' targets and numbers with their units must be the same; so a session that holds for one holds for both."""
import re
import urllib.parse
from collections import Counter

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


def held(page):
    """What a page and its translation must both have: {what: [text]}."""
    words = "\n\n".join(piece.text for piece in page.pieces if piece.kind != "code")
    words = document.blanked(document.COMMENT.sub("", words), document.CODE_SPAN)
    return {"headings": [piece.text.split(" ")[0] for piece in page.of_kind("heading")],
            "code blocks": [f"{piece.language} {piece.marks} {piece.text}" for piece in page.of_kind("code")],
            "numbers": numbers(words), "links": targets(page, words)}


def check(page, original):
    """Reports on the page what it lacks of the one that it translates, and what it has beside."""
    for (what, found), expected in zip(held(page).items(), held(original).values()):
        lacks, more = Counter(expected) - Counter(found), Counter(found) - Counter(expected)
        if lacks or more:
            page.error(1, f"{what}: the page lacks {sorted(lacks)} of {original.name}, has also {sorted(more)}")
