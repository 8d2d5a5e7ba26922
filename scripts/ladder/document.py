"""Reads one of the project's Markdown pages: its headings, paragraphs, tables, code blocks with their lines, and
links. It reads only the Markdown that the pages use: fences of three backticks at the beginning of a line, and links
[text](target)."""
import os
import re
import urllib.parse
from pathlib import Path
from typing import NamedTuple

import ladder

PIECE = re.compile(r"""
    ^(?:<!--(?P<comment>.*?)-->[^\n]*
    |```(?P<language>[^`\n]*)\n(?P<code>.*?)^```$
    |(?P<heading>\#{1,6}\ [^\n]*)
    |(?P<table>(?:\ *\|[^\n]*\n)+)
    |(?P<text>[^\n]*[^\s][^\n]*\n(?:(?![ \t]*\n|<!--|```|\ *\||\#{1,6}\ )[^\n]+\n)*))
    """, re.DOTALL | re.MULTILINE | re.VERBOSE)
HEADING = re.compile(r"^(#{1,6}) +(.*)$")
CODE = re.compile(r"^```.*?^```|`[^`]+`", re.MULTILINE | re.DOTALL)  # in a whole page: code spans and blocks
CODE_SPAN = re.compile(r"`([^`]+)`")
COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^\s()]*)\)")
ANCHOR = re.compile(r"<a id=\"([^\"]+)\"")


class Piece(NamedTuple):
    """A heading, a paragraph or list, a table, or a code block."""
    kind: str  # heading, text, table, code
    line: int  # in the file, counted from 1; for a code block, that of its first line of code
    text: str  # for a code block without the fences
    language: str  # of a code block, else empty
    marks: dict  # the comments before it: {"source": "FILE"} of <!-- source: FILE -->, {"computed": ""}

    def line_at(self, offset):
        """Returns the line of the file that contains `text[offset]`."""
        return self.line + self.text.count("\n", 0, offset)


def blanked(text, *patterns):
    """Returns the text with the matches replaced by blanks, so that offsets stay the same."""
    for pattern in patterns:
        text = pattern.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    return text


class Document:
    def __init__(self, path, text=None):
        self.path = path
        self.name = path.relative_to(ladder.ROOT).as_posix()
        self.lines = (path.read_text() if text is None else text).splitlines()
        self.errors = []  # [(line, text)]
        self.pieces = []
        marks, whole = {}, "".join(f"{line}\n" for line in self.lines)
        for found in PIECE.finditer(whole):
            kind, line = found.lastgroup, 1 + whole.count("\n", 0, found.start())
            if kind == "comment":
                name, _, value = found["comment"].partition(":")
                marks[name.strip()] = value.strip()
                continue
            self.pieces.append(Piece(kind, line + (kind == "code"), found[kind].rstrip("\n"), found["language"], marks))
            marks = {}

    def error(self, line, text):
        self.errors.append((line, text))

    def of_kind(self, *kinds):
        return [piece for piece in self.pieces if piece.kind in kinds]

    def anchors(self):
        """Returns the anchors of this page, as #... names them."""
        return {*ANCHOR.findall("\n".join(self.lines)),
                *(anchor(HEADING.match(piece.text)[2]) for piece in self.of_kind("heading"))}

    def links(self):
        """Returns the links: [(line, target, the file's path, the part after #)]."""
        found = []
        for piece in self.of_kind("heading", "text", "table"):
            for link in LINK.finditer(blanked(piece.text, COMMENT, CODE_SPAN)):
                name, _, part = urllib.parse.unquote(link[1]).partition("#")
                path = Path(os.path.normpath(self.path.parent / name)) if name else self.path
                found.append((piece.line_at(link.start()), link[1], path, part))
        return found


def anchor(title):
    """Returns GitHub's anchor for a heading: its text in lower case, without punctuation, with hyphens for blanks."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def first_difference(wanted, got):
    """Returns (index in wanted, index in got) of the first difference, or None; ... matches any lines."""
    places = {0}  # the possible numbers of lines of `got` read so far
    for place, line in enumerate(wanted):
        if line.strip() == "...":
            places = set(range(min(places), len(got) + 1))
            continue
        after = {at + 1 for at in places if at < len(got) and got[at] == line}
        if not after:
            return place, max(places)
        places = after
    return None if len(got) in places else (len(wanted), max(places))
