"""A document of Markdown, README.md or a chapter, in pieces with their line numbers; its links and its code blocks."""
import re
import urllib.parse
from typing import NamedTuple

import ladder

# <!-- table ... --> up to <!-- end -->: written by scripts/tables, which checks it too
GENERATED = re.compile(r"(?:table|counters|random)\b")

# A comment on lines of its own, or a piece; a paragraph ends where something else begins.
PIECE = re.compile(r"""
    ^(?:\ *<!--(?P<comment>.*?)-->(?P<rest>[^\n]*)
    |(?P<indent>\ *)(?P<fence>`{3,}|~{3,})(?P<language>[^`\n]*)\n(?P<code>.*?)^\ *(?P=fence)[`~]*[ \t]*$
    |(?P<heading>\#{1,6}\ [^\n]*)
    |(?P<table>(?:\ *\|[^\n]*\n)+)
    |(?P<text>[ \t]*[^\s][^\n]*\n(?:(?![ \t]*\n|\ *(?:<!--|```|~~~|\|)|\#{1,6}\ )[^\n]+\n)*))
    """, re.DOTALL | re.MULTILINE | re.VERBOSE)
COMMENT_LINE = re.compile(" *<!--")
HEADING = re.compile(r"^(#{1,6}) +(.*?)(?: +#+)?$")
CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.*?[^`])\1(?!`)", re.DOTALL)
COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]"
                  r"\(\s*<?([^\s()<>]*(?:\([^\s()]*\)[^\s()<>]*)*)>?(?:\s+\"[^\"]*\")?\s*\)")
LINK_DEFINITION = re.compile(r"^ {0,3}\[[^\]^]+\]: +(\S+)", re.MULTILINE)
HTML_TARGET = re.compile(r"<(?:a|img|source)\b[^>]*?\b(?:href|src|srcset)=\"([^\"]*)\"")
HTML_ANCHOR = re.compile(r"<\w+\b[^>]*?\b(?:id|name)=\"([^\"]+)\"")
OWN_FOLDER = re.compile(r"(?<![\w./~-])/(?:home|root|Users)/")


class Piece(NamedTuple):
    """A heading, a paragraph or list, a table, a code block."""
    kind: str  # heading, text, table, code
    line: int  # of the file, counted from 1; of a code block that of its first line of code
    lines: list  # of a code block without the fences
    language: str  # of a code block
    marks: tuple  # the texts of the comments before it

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


class Document:
    def __init__(self, path, text=None):
        self.path = path
        self.name = path.relative_to(ladder.ROOT).as_posix()
        self.lines = (path.read_text() if text is None else text).splitlines()
        self.errors = []  # [(line, text)]
        self.pieces = []
        self.read()

    def error(self, line, text):
        self.errors.append((line, text))

    def of_kind(self, *kinds):
        return [piece for piece in self.pieces if piece.kind in kinds]

    # ---- reading

    def read(self):
        marks, generated, whole = [], False, "".join(f"{line}\n" for line in self.lines)
        for found in PIECE.finditer(whole):
            kind, line = found.lastgroup, 1 + whole.count("\n", 0, found.start())
            if kind == "rest":
                text = found["comment"].strip()
                if found["rest"].strip():
                    self.error(line, "text after a comment that starts a line is no Markdown: give it its own line")
                if text == "end" or GENERATED.match(text):
                    if generated != (text == "end"):
                        self.error(line, "<!-- table --> and <!-- end --> come in pairs")
                    generated = text != "end"
                else:
                    marks.append(text)
                continue
            lines = found[kind].splitlines()
            if kind == "code":
                line += 1
                lines = [re.sub(rf"^ {{0,{len(found['indent'])}}}", "", one) for one in lines]
            elif re.match(" *(<!--|```|~~~)", lines[0]):
                self.error(line, "this comment or code block has no end")
            elif kind == "text" and COMMENT_LINE.match(whole, found.end()):
                self.error(line + len(lines), "a comment within a paragraph; give it a line before the paragraph")
            self.pieces.append(Piece(kind, line, lines, (found["language"] or "").strip(), tuple(marks)))
            marks = []
        if generated:
            self.error(len(self.lines), "no <!-- end --> after the last <!-- table -->")

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
        name, _, part = urllib.parse.unquote(target).partition("#")
        path = (page.path.parent / name).resolve() if name else page.path
        if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:", target):
            if not re.match(r"https?://[^/?#]*\.", target):
                page.error(line, f"'{target}' is no address of the web")
        elif target.startswith("/"):
            page.error(line, f"'{target}' starts at the root of a machine; links are relative to the page")
        elif not path.exists():
            page.error(line, f"the link leads to '{target}', which is not there")
        elif part and path.suffix != ".json" and (path not in pages or part not in pages[path].anchors()):
            page.error(line, f"'{target}': {path.name} has no such heading")  # of .json figure_links checks it
    for number, line in enumerate(page.lines, 1):
        if OWN_FOLDER.search(line):
            page.error(number, "an absolute path of somebody's machine")


# ---- code blocks

LANGUAGES = ("cpp", "console", "sh", "text")  # scripts/readme --help says how each is checked


def check_blocks(page):
    """Languages, and that cpp blocks are what the sources hold."""
    for block in page.of_kind("code"):
        if block.language not in LANGUAGES:
            page.error(block.line - 1, f"a code block of language '{block.language}', not {', '.join(LANGUAGES)}")
        elif block.language == "text" and not block.mark("not a session"):
            page.error(block.line - 1, "a text block without <!-- not a session: why --> before it; what a command "
                                       "prints is a console block")
        elif block.language == "cpp":
            check_source(page, block)


def check_source(page, block):
    """The lines between '// ...' stand in the source, one after another; indentation does not count."""
    name = block.mark("source")
    path = ladder.ROOT / (name or "")
    if not path.is_file():
        page.error(block.line - 1, f"the source '{name}' is not there" if name else
                   "a cpp block without <!-- source: path --> before it")
        return
    rest, chunk = whole_lines(path.read_text().splitlines()), []
    for place, line in enumerate([*block.lines, "// ..."]):
        if line.strip() != "// ...":
            chunk.append(line)
            continue
        good = max(count for count in range(len(chunk) + 1) if whole_lines(chunk[:count]) in rest)
        if good < len(chunk):
            page.error(block.line + place - len(chunk) + good, f"not in {name}, or not at this place: '{chunk[good]}'")
            return
        rest = "\n" + rest.partition(whole_lines(chunk))[2] if chunk else rest
        chunk = []


def whole_lines(lines):
    """A text in which whole lines can be looked for."""
    return "".join(f"\n{line.strip()}" for line in lines) + "\n"
