"""Measured numbers in sentences: each is a link to what it is in results/, such as
[1.19x](results/h200.json#sum_07,2^20,vs_00), and no other stands there; see scripts/tables --help. sum_any is the
program for any shape. What a link leads to may be of code that has changed since."""
import re

import ladder
from ladder import document, figures

LINK = re.compile(r"\[([^\[\]]*)\]\((\S*?results/[\w-]+\.json)#([^\s()]*)\)")
TARGET = re.compile(r"(\w+)_(\d\d|any),(\S+),(vs_\d\d|share|rate|time)")
CODE = re.compile(r"^( *```).*?^\1|(`+)[^`].*?\2(?!`)", re.MULTILINE | re.DOTALL)
MEASURED = re.compile(r"(?<![\w.^])(?:\d[\d,.]*\s?(?:[GT]B/s|[GT]FLOP/s|[mun]s)(?![A-Za-z])|\d+(?:\.\d+)?x(?![\w^]))")


class Wrong(Exception):
    """What is wrong with a link."""


def value(known, path, target):
    """The text of a link to a results file, of the figures known."""
    found = TARGET.fullmatch(target)
    if not path.is_file() or not found:
        raise Wrong("no results file" if found else "not STEP,SIZE,VALUE, such as sum_07,2^20,vs_00")
    kernel, number, label, name = found.groups()
    sizes = {text: size for size, text in known.labels.get(kernel, {}).items()}
    if label not in sizes:
        raise Wrong(f"no size {label} of {kernel}; there are {', '.join(sizes) or 'none'}")
    own_file = path.parent == known.kernels[kernel][0].folder / "results"

    def measured(number):
        for (step_id, size), entry in known.of(kernel, path.stem).items():
            if own_file and size == sizes[label] and step_id.partition("_")[0] == number:
                return entry
        raise Wrong(f"{kernel}_{number} has no figures there")

    entry = measured(number)
    if name == "rate":
        return f"{figures.rate_text(entry)} {figures.unit(kernel)}"
    if name == "time":
        return figures.time_text(entry["cold_us"])
    if name == "vs_00" and "vs_vendor" in entry:
        return figures.ratio(entry["vs_vendor"])
    if name == "share":
        if "of_ceiling" not in entry:
            raise Wrong(f"{kernel}_{number} has no ceiling")
        return f"{entry['of_ceiling']:.2f}"
    return figures.ratio(measured(name[len("vs_"):])["cold_us"] / entry["cold_us"])


def updated(known, path, text, errors):
    """The text of a page with the links' texts up to date. Those that lead nowhere stay; what is wrong with them is
    added to `errors`."""
    hidden = document.blanked(text, CODE)

    def written(found):
        if hidden[found.start()] != "[":
            return found[0]
        try:
            return f"[{value(known, (path.parent / found[2]).resolve(), found[3])}]({found[2]}#{found[3]})"
        except Wrong as error:
            errors.append(f"{ladder.shown(path)}:{text.count(chr(10), 0, found.start()) + 1}: {found[0]}: {error}")
            return found[0]

    return LINK.sub(written, text)


def check(page):
    """Reports measured numbers that are no links, and comments within a sentence. The links themselves are checked by
    scripts/tables --check, which readme calls."""
    for piece in page.of_kind("heading", "text", "table"):
        text = document.blanked(piece.text, document.CODE_SPAN)
        for found in document.COMMENT.finditer(text):
            page.error(piece.line_at(found.start()), "a comment within a sentence; give it a line before the block")
        if piece.kind == "text" and piece.mark("computed") is None and piece.mark("cited") is None:
            words = document.blanked(document.blanked(text, document.LINK), document.COMMENT)
            for found in MEASURED.finditer(words):
                shown = " ".join(found[0].split())
                page.error(piece.line_at(found.start()), f"'{shown}' in a sentence: link it to results/ as "
                           "[1.19x](results/h200.json#sum_07,2^20,vs_00), or write <!-- computed --> or "
                           "<!-- cited --> on the line before this paragraph or list")
