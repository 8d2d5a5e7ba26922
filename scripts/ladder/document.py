"""A document of Markdown, README.md or a chapter, in pieces with their line numbers; its links and its code blocks."""
import itertools
import re
import urllib.parse
from typing import NamedTuple, Optional

import ladder

# <!-- table ... --> up to <!-- end -->: written by scripts/tables, which checks it too
GENERATED = re.compile(r"(?:table|map|counters|compared|random)\b")

FENCE = re.compile(r"^( *)(`{3,}|~{3,})\s*([^`]*)$")
HEADING = re.compile(r"^(#{1,6}) +(.*?)(?: +#+)?$")
LIST_ITEM = re.compile(r"^( *)([-*+]|\d+[.)])( +)")
CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.*?[^`])\1(?!`)", re.DOTALL)
COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]"
                  r"\(\s*<?([^\s()<>]*(?:\([^\s()]*\)[^\s()<>]*)*)>?(?:\s+\"[^\"]*\")?\s*\)")
LINK_DEFINITION = re.compile(r"^ {0,3}\[[^\]^]+\]: +(\S+)", re.MULTILINE)
HTML_TARGET = re.compile(r"<(?:a|img|source)\b[^>]*?\b(?:href|src|srcset)=\"([^\"]*)\"")
HTML_ANCHOR = re.compile(r"<\w+\b[^>]*?\b(?:id|name)=\"([^\"]+)\"")
OWN_FOLDER = re.compile(r"(?<![\w./~-])/(?:home|root|Users)/")


class Error(NamedTuple):
    page: str
    line: int
    text: str

    def __str__(self):
        return f"{self.page}:{self.line}: {self.text}"


class Piece(NamedTuple):
    """A heading, a paragraph, an item of a list, a table, a code block or a comment."""
    kind: str  # heading, text, table, code, comment
    line: int  # of the file, counted from 1; of a code block that of its first line of code
    lines: list  # of a code block without the fences
    language: str  # of a code block
    marks: tuple  # the texts of the comments before it
    section: tuple  # the headings above it: ("## sum", "### 01 atomic")
    generated: bool  # between <!-- table --> and <!-- end -->

    @property
    def text(self):
        return "\n".join(self.lines)

    def mark(self, name):
        """What follows `name:` or `name` in a comment before this piece; None if there is no such comment."""
        for text in self.marks:
            found = re.fullmatch(rf"{name}(?::\s*(.*))?", text, re.DOTALL)
            if found:
                return (found[1] or "").strip()
        return None

    def line_at(self, offset):
        """The line of the file where `text[offset]` stands."""
        return self.line + self.text.count("\n", 0, offset)


def blanked(text, pattern):
    """The text with what matches replaced by blanks, so that places stay."""
    return pattern.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


class Page:
    def __init__(self, path, text=None):
        self.path = path
        self.name = path.relative_to(ladder.ROOT).as_posix()
        self.lines = (path.read_text() if text is None else text).splitlines()
        self.errors = []
        self.pieces = []
        self.read()

    def error(self, line, text):
        self.errors.append(Error(self.name, line, text))

    def of_kind(self, *kinds):
        return [piece for piece in self.pieces if piece.kind in kinds]

    # ---- reading

    def read(self):
        self.marks, self.section, self.generated = [], [], False
        self.list_indent: Optional[int] = None  # of the text of the list item that this line may belong to
        number = 0
        while number < len(self.lines):
            line = self.lines[number]
            indent = len(line) - len(line.lstrip(" "))
            if not line.strip():
                number += 1
                continue
            if LIST_ITEM.match(line) is None and (self.list_indent is None or indent < self.list_indent):
                self.list_indent = None
            if FENCE.match(line) and (indent < 4 or self.list_indent is not None):
                number = self.read_code(number)
            elif line.lstrip().startswith("<!--"):
                number = self.read_comment(number)
            elif indent >= 4 + (self.list_indent or 0):
                number = self.read_indented_code(number)
            elif HEADING.match(line):
                self.read_heading(number)
                number += 1
            else:
                number = self.read_text(number)
        if self.generated:
            self.error(len(self.lines), "no <!-- end --> after the last <!-- table -->")

    def add(self, kind, number, lines, language=""):
        self.pieces.append(Piece(kind, number + 1, lines, language, tuple(self.marks), tuple(self.section),
                                 self.generated))
        self.marks = []

    def read_code(self, start):
        indent, fence, language = FENCE.match(self.lines[start]).groups()
        end = start + 1
        closing = re.compile(rf" *{re.escape(fence[0])}{{{len(fence)},}}\s*$")
        while end < len(self.lines) and not closing.match(self.lines[end]):
            end += 1
        if end == len(self.lines):
            self.error(start + 1, "this code block has no end")
        lines = [re.sub(rf"^ {{0,{len(indent)}}}", "", line) for line in self.lines[start + 1:end]]
        self.add("code", start + 1, lines, language.strip())
        return end + 1

    def read_comment(self, start):
        end = start
        while end < len(self.lines) and "-->" not in self.lines[end]:
            end += 1
        if end == len(self.lines):
            self.error(start + 1, "this comment has no end")
            return end
        text, rest = "\n".join(self.lines[start:end + 1]).split("-->", 1)
        if rest.strip():
            self.error(end + 1, "text after a comment that starts a line is no Markdown: give it a line of its own")
        text = text.strip()[len("<!--"):].strip()
        if text == "end":
            if not self.generated:
                self.error(start + 1, "<!-- end --> without a <!-- table --> before it")
            self.generated = False
        elif GENERATED.match(text):
            if self.generated:
                self.error(start + 1, "no <!-- end --> before the next <!-- table -->")
            self.generated = True
        else:
            self.marks.append(text)
        return end + 1

    def read_indented_code(self, start):
        end = start
        while end < len(self.lines) and re.match(r" {4}|\s*$", self.lines[end]):
            end += 1
        self.error(start + 1, "an indented code block: write it between ``` fences, with a language")
        return end

    def read_heading(self, number):
        marks, title = HEADING.match(self.lines[number]).groups()
        self.section = [one for one in self.section if len(one.split(" ")[0]) < len(marks)] + [f"{marks} {title}"]
        self.list_indent = None
        self.add("heading", number, [self.lines[number]])

    def read_text(self, start):
        """A paragraph, each item of a list, or a table. What follows without an empty line has the same marks."""
        kind = "table" if self.lines[start].lstrip().startswith("|") else "text"
        marks = self.marks
        first = end = start
        while end < len(self.lines):
            line = self.lines[end]
            item = LIST_ITEM.match(line)
            if not line.strip() or HEADING.match(line) or FENCE.match(line):
                break
            if line.lstrip().startswith("<!--") and end > start:
                if kind == "text":
                    self.error(end + 1, "a comment within a paragraph; give it a line before the paragraph")
                break
            if (line.lstrip().startswith("|") != (kind == "table")) and end > start:
                break
            if item:
                self.list_indent = len(item[0])
                if end > first:
                    self.marks = marks
                    self.add(kind, first, self.lines[first:end])
                first = end
            end += 1
        self.marks = marks
        self.add(kind, first, self.lines[first:end])
        return end

    # ---- links

    def anchors(self):
        """What #... may name on this page, by GitHub's rules."""
        found, count = set(), {}
        for piece in self.of_kind("heading", "text", "table"):
            found.update(HTML_ANCHOR.findall(piece.text))
            if piece.kind == "heading":
                name = anchor(HEADING.match(piece.lines[0])[2])
                found.add(f"{name}-{count[name]}" if name in count else name)
                count[name] = count.get(name, 0) + 1
        return found

    def links(self):
        """Where links lead: [(line, target)]."""
        found = []
        for piece in self.of_kind("heading", "text", "table"):
            text = blanked(blanked(piece.text, COMMENT), CODE_SPAN)
            for pattern in (LINK, LINK_DEFINITION, HTML_TARGET):
                found += [(piece.line_at(one.start()), one[1]) for one in pattern.finditer(text)]
        return found


def anchor(title):
    """GitHub's name for a heading: its text in lower case, without punctuation, with hyphens for blanks."""
    title = re.sub(r"!?\[((?:[^\[\]])*)\]\([^)]*\)", r"\1", title)
    title = re.sub(r"<[^>]+>", "", title) if "`" not in title else title
    title = re.sub(r"(?<!\w)[*_]{1,2}(\S.*?)[*_]{1,2}(?!\w)", r"\1", title)
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def check_links(page, pages):
    """`pages` holds the pages there are, by path."""
    for line, target in page.links():
        if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:", target):
            try:
                parts = urllib.parse.urlsplit(target)
                parts.port  # noqa: B018  (raises ValueError)
            except ValueError:
                parts = None
            if not parts or parts.scheme not in ("http", "https") or "." not in (parts.hostname or ""):
                page.error(line, f"'{target}' is no address of the web")
            continue
        if target.startswith("/"):
            page.error(line, f"'{target}' starts at the root of a machine; links are relative to the page")
            continue
        name, _, part = urllib.parse.unquote(target).partition("#")
        path = (page.path.parent / name).resolve() if name else page.path
        if not path.exists():
            page.error(line, f"the link leads to '{target}', which is not there")
        elif part and path.suffix == ".json":
            pass  # figure_links checks it
        elif part and (path not in pages or part not in pages[path].anchors()):
            page.error(line, f"'{target}': {path.name} has no such heading")
    for number, line in enumerate(page.lines):
        if OWN_FOLDER.search(line):
            page.error(number + 1, "an absolute path of somebody's machine")


# ---- code blocks

LANGUAGES = {
    "cpp": "text of a source that <!-- source: path --> names",
    "console": "a session: $ command, and what it prints",
    "sh": "commands",
    "text": "what no command prints, with <!-- not a session: why -->",
}
MARKS_OF = {"cpp": {"source"}, "console": {"seen on", "interactive", "in a copy"}, "sh": set(),
            "text": {"not a session"}}


def check_blocks(page):
    """Languages and marks, and that cpp blocks are what the sources hold."""
    for block in page.of_kind("code"):
        if block.language not in LANGUAGES:
            known = "; ".join(f"{name}: {what}" for name, what in LANGUAGES.items())
            page.error(block.line - 1, f"a code block of language '{block.language}'; there are {known}")
            continue
        for text in block.marks:
            name = text.split(":")[0].strip()
            if name not in MARKS_OF[block.language]:
                page.error(block.line - 1, f"<!-- {name} --> means nothing before a {block.language} block")
        if block.language == "text" and not block.mark("not a session"):
            page.error(block.line - 1, "a text block without <!-- not a session: why --> before it; what a command "
                                         "prints is a console block")
        if block.language == "cpp":
            check_source(page, block)


def check_source(page, block):
    name = block.mark("source")
    if not name:
        page.error(block.line - 1, "a cpp block without <!-- source: path --> before it")
        return
    path = ladder.ROOT / name
    if not path.is_file():
        page.error(block.line - 1, f"the source '{name}' is not there")
        return
    lines, source, start = [line.strip() for line in block.lines], path.read_text().splitlines(), 0
    source = [line.strip() for line in source]
    for chunk in split_at(lines, "// ..."):
        best = 0, start
        for at in range(start, len(source)):
            best = max(best, (same_lines(lines, chunk, source, at), -at))
        if best[0] < len(chunk):
            wrong = chunk[best[0]]
            page.error(block.line + wrong, f"not in {name}, or not at this place: '{lines[wrong]}'")
            return
        start = best[0] - best[1]


def split_at(lines, mark):
    """The places of the lines between those that are the mark."""
    found = [[]]
    for place, line in enumerate(lines):
        if line == mark:
            found.append([])
        else:
            found[-1].append(place)
    return [chunk for chunk in found if chunk]


def same_lines(lines, chunk, source, at):
    """How many lines of the chunk stand in the source from `at` on."""
    pairs = itertools.takewhile(lambda pair: lines[pair[0]] == pair[1], zip(chunk, source[at:]))
    return len(list(pairs))
