"""Draws the counts of scripts/explain: pictures of a warp's accesses (SVG)."""
import html
import itertools

import ladder
from ladder import traces

SECTOR, WORD, LINE = 32, 4, 128  # bytes
WORDS = LINE // WORD  # words of a line; there are as many banks
CELL, ROW, GAP, LEFT, TOP = 19, 17, 3, 66, 46  # pixels

# Colours of films and pictures, light and dark. Blue: requested data. Grey: data moved with it. Orange: what takes
# extra time. Numbers show the same.
COLOURS = """\
:root { --paper: #ffffff; --ink: #1b1f24; --soft: #5b6570; --edge: #c9d1d9; --used: #cfe3fb; --used-ink: #0b3d75;
  --waste: #e8eaed; --bad: #ffd7b0; --bad-ink: #7a3100; --band: #f4f6f8; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #15181c; --ink: #e4e8ec; --soft: #9aa5b1; --edge: #3d454e; --used: #16406f; --used-ink: #d6e8ff;
    --waste: #2d333a; --bad: #7a3d0c; --bad-ink: #ffe2c7; --band: #1d2126; }
}
"""
DRAWING = """\
.picture text { font: 10px ui-monospace, Menlo, Consolas, monospace; fill: var(--ink); }
.picture .title { font: 600 13px system-ui, sans-serif; }
.picture .note, .picture .head { fill: var(--soft); }
.picture rect { stroke: var(--edge); stroke-width: 0.6; fill: none; }
.picture .used { fill: var(--used); } .picture .waste { fill: var(--waste); } .picture .bad { fill: var(--bad); }
.picture .used-text { fill: var(--used-ink); text-anchor: middle; }
.picture .bad-text { fill: var(--bad-ink); text-anchor: middle; }
.picture .centre { text-anchor: middle; } .picture .end { text-anchor: end; }
.picture .empty { stroke-dasharray: 2 2; }
"""


# {memory space that a picture shows: (its rows and boxes, the unit of a request)}
DRAW = {"global": ("a row is 128 bytes, a box a sector of 32", "sector"),
        "shared": ("a row is a wavefront, a box a bank of 4 bytes", "wavefront")}


# ---- an access as a picture

def runs(numbers, trait=lambda number: None):
    """Returns lists of consecutive numbers with the same trait."""
    grouped = itertools.groupby(enumerate(sorted(numbers)), lambda pair: (pair[1] - pair[0], trait(pair[1])))
    return [[number for _, number in group] for _, group in grouped]


def text(x, y, words, kind=""):
    return f'<text x="{x:g}" y="{y:g}"' + (f' class="{kind}"' if kind else "") + f">{html.escape(str(words))}</text>"


def box(x, y, width, height, kind):
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" class="{kind}"/>'


def column(word):
    """Returns where a word of a row of 128 bytes begins. A gap separates sectors."""
    return LEFT + word * CELL + word // (SECTOR // WORD) * GAP


def rows_of(access, sample):
    """Returns {row: {word: [lanes]}} of the active lanes; a row is 128 bytes of global memory, or a wavefront."""
    rows = {}
    for lane, offset in enumerate(sample["offsets"]):
        for word in range(offset // WORD, (offset + access["width"] - 1) // WORD + 1) if offset is not None else []:
            row = word // WORDS if access["space"] == "global" else sample["passes"][lane]
            rows.setdefault(row, {}).setdefault(word % WORDS, []).append(lane)
    return dict(sorted(rows.items()))


def frames(y, words, whole):
    """Yields the boxes behind a row: its sectors, moved or not, for global memory, and all banks for shared memory."""
    for first in range(0, WORDS, whole):
        moved = whole < WORDS and any(word // whole == first // whole for word in words)
        yield box(column(first), y, column(first + whole - 1) + CELL - column(first), ROW - 2,
                  "waste" if moved else "empty")


def filled(y, words, kind):
    """Yields the boxes of a row's words, with their lanes. Neighbouring words of the same lanes share a box, as in a
    16-byte access; no box crosses a sector."""
    for cells in runs(words, lambda word: (words[word], word // (SECTOR // WORD))):
        first, width = cells[0], len(cells) * CELL
        lanes = ",".join(f"{part[0]}-{part[-1]}" if len(part) > 1 else f"{part[0]}" for part in runs(words[first]))
        yield box(column(first), y, width, ROW - 2, kind)
        label = lanes if 6.1 * len(lanes) <= width + 2 else f"{len(words[first])}x"  # lanes only if they fit
        yield text(column(first) + width / 2, y + ROW - 5, label, f"{kind}-text")


def request(access, sample, title):
    """Returns the picture of one request of a warp: (its parts, its height)."""
    rows, is_global = rows_of(access, sample), access["space"] == "global"
    legend, unit = DRAW[access["space"]]
    note = f"{legend}: {sample['units']:,} {unit}{'s' * (sample['units'] != 1)}, {sample['ideal']} would do"
    parts = [text(8, 16, title, "title")]
    if is_global:
        parts += [text(column(word), TOP - 6, f"+{word * WORD} B", "head") for word in range(0, WORDS, SECTOR // WORD)]
        note += f"; {sum(map(len, rows.values())) * WORD} of {sample['units'] * SECTOR} bytes asked for"
    else:
        parts.append(text(LEFT - 6, TOP - 6, "bank", "head end"))
        parts += [text(column(bank) + CELL / 2, TOP - 6, bank, "head centre") for bank in range(WORDS)]
    for number, (row, words) in enumerate(rows.items()):
        y = TOP + number * ROW
        parts.append(text(LEFT - 6, y + ROW - 5, row * LINE if is_global else f"pass {number + 1}", "head end"))
        parts += frames(y, words, SECTOR // WORD if is_global else WORDS)
        parts += filled(y, words, "used" if is_global or number < sample["ideal"] else "bad")
    bottom = TOP + len(rows) * ROW
    return [*parts, text(8, bottom + 13, note, "note")], bottom + 22


def svg(parts, height, title, command):
    """Returns the text of an SVG file. It contains the command that draws it, so that a test can draw it again."""
    width = column(WORDS - 1) + CELL + 8
    style = f"<desc>scripts/explain {command}</desc><style>{COLOURS}{DRAWING}</style>"
    paper = f'<rect width="{width:g}" height="{height:g}" style="fill: var(--paper); stroke: none"/>'
    return (f'<svg xmlns="http://www.w3.org/2000/svg" class="picture" viewBox="0 0 {width:g} {height:g}" '
            f'width="{width:g}" height="{height:g}" role="img" aria-label="{html.escape(title, quote=True)}">'
            f"{style}{paper}" + "\n".join(parts) + "</svg>\n")


def step_picture(step, kind=None):
    """Returns an SVG file with the worst request of a step's costliest access. With `kind` it is the costliest of that
    kind in the step's own file. Ends the script if there is none."""
    found = [(f"{access['space']}-{access['op']}", access) for access in traces.merged_accesses(step)
             if access["requests"] and access["space"] in DRAW]
    fitting = [access for name, access in found if not kind or (name == kind and access["file"] == step["file"])]
    if not fitting:
        ladder.usage_error(f"{step['file']} has no such access; it has: {', '.join(sorted({*dict(found)})) or 'none'}")
    access = max(fitting, key=lambda access: (access["units"] - access["ideal"], access["units"], -access["line"]))
    how = ", asynchronous" if access["async"] else ""
    title = f"{step['step']}, line {access['line']}: {access['space']} {access['op']} of {access['width']} bytes{how}"
    parts, height = request(access, access["worst_sample"], title)
    return svg(parts, height, title, "--svg" + f" --access {kind}" * (kind is not None) + f" {step['step']}")


def source_lines(file):
    """Returns the lines of a file, or None if the file does not exist."""
    path = ladder.ROOT / file
    return path.read_text().splitlines() if path.is_file() else None
