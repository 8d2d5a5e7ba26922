"""Draws what scripts/explain counted: pictures of a warp's accesses (SVG)."""
import html
from pathlib import Path

import ladder
from ladder import traces

SECTOR, WORD, LINE = 32, 4, 128  # bytes
WORDS = LINE // WORD  # of a line, and as many banks
CELL, ROW, GAP, LEFT, TOP = 19, 17, 3, 66, 46  # pixels

# One set of colours for films and pictures, light and dark. Blue is what was asked for, grey what came along, orange
# what takes extra time; numbers say the same.
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


# ---- an access as a picture

def ranges(numbers):
    """[0, 1, 2, 5] -> 0-2,5"""
    parts = []
    for number in sorted(numbers):
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in parts)


def lanes_of(sample):
    """[(lane, byte offset)] of the active lanes."""
    return [(lane, offset) for lane, offset in enumerate(sample["offsets"]) if offset is not None]


def words_of(offset, width):
    """The words that a lane's access touches: 0 is the first of the memory."""
    return range(offset // WORD, (offset + width - 1) // WORD + 1)


def some(number, word):
    """1 lane, 2 lanes"""
    return f"{number:,} {word}{'s' * (number != 1)}"


def text(x, y, words, kind=""):
    return f'<text x="{x:g}" y="{y:g}"' + (f' class="{kind}"' if kind else "") + f">{html.escape(str(words))}</text>"


def box(x, y, width, height, kind, tip=""):
    tip = f"<title>{html.escape(tip)}</title>" if tip else ""
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" class="{kind}">{tip}</rect>'


def column(word):
    """Where a word of its 128 bytes begins: a gap stands between sectors."""
    return LEFT + word * CELL + word // (SECTOR // WORD) * GAP


def groups(cells):
    """Neighbouring cells of the same lanes, as of a 16-byte access, are one box: [(first, last, lanes)]."""
    found = []
    for place in sorted(cells):
        if found and place == found[-1][1] + 1 and cells[place] == found[-1][2] and place % 8:
            found[-1][1] = place
        else:
            found.append([place, place, cells[place]])
    return found


def filled(y, cells, kind):
    """The boxes of a row's cells, with their lanes."""
    for begin, end, lanes in groups(cells):
        width, words = (end - begin + 1) * CELL, ranges(lanes)
        yield box(column(begin), y, width, ROW - 2, kind, f"lanes {words}")
        label = words if 6.1 * len(words) <= width + 2 else f"{len(lanes)}x"  # as far as they fit
        yield text(column(begin) + width / 2, y + ROW - 5, label, f"{kind}-text")


def draw_global(access, sample):
    """A row for each 128 bytes of which a sector was moved."""
    words = {}
    for lane, offset in lanes_of(sample):
        for word in words_of(offset, access["width"]):
            words.setdefault(word, []).append(lane)
    lines = sorted({word // WORDS for word in words})
    parts = [text(column(word), TOP - 6, f"+{word * WORD} B", "head") for word in range(0, WORDS, SECTOR // WORD)]
    y = TOP
    for line in lines:
        parts.append(text(LEFT - 6, y + ROW - 5, f"{line * LINE}", "head end"))
        used = {word - line * WORDS: lanes for word, lanes in words.items() if word // WORDS == line}
        for sector in range(LINE // SECTOR):
            first = sector * SECTOR // WORD
            inside = {word: lanes for word, lanes in used.items() if first <= word < first + SECTOR // WORD}
            whole = SECTOR // WORD * CELL
            parts.append(box(column(first), y, whole, ROW - 2, "waste" if inside else "empty",
                             "moved" if inside else "not touched"))
            parts += filled(y, inside, "used")
        y += ROW
    asked = len(words) * WORD
    note = (f"a row is 128 bytes, a box a sector of 32: {some(sample['units'], 'sector')}, {sample['ideal']} would do; "
            f"{asked} of {sample['units'] * SECTOR} bytes asked for")
    return parts, y, note


def draw_banks(access, sample):
    """A row for each wavefront, a column for each bank."""
    passes = {}
    for lane, offset in lanes_of(sample):
        cells = passes.setdefault(sample["passes"][lane], {})
        for word in words_of(offset, access["width"]):
            cells.setdefault(word % WORDS, []).append(lane)
    parts = [text(LEFT - 6, TOP - 6, "bank", "head end")]
    parts += [text(column(bank) + CELL / 2, TOP - 6, bank, "head centre") for bank in range(0, WORDS)]
    y = TOP
    for number, wavefront in enumerate(sorted(passes)):
        parts.append(text(LEFT - 6, y + ROW - 5, f"pass {number + 1}", "head end"))
        parts.append(box(LEFT, y, column(WORDS - 1) + CELL - LEFT, ROW - 2, "empty"))
        parts += filled(y, passes[wavefront], "used" if number < sample["ideal"] else "bad")
        y += ROW
    note = (f"a row is a wavefront, a box a bank of 4 bytes: {some(sample['units'], 'wavefront')}, "
            f"{sample['ideal']} would do")
    return parts, y, note


DRAW = {"global": draw_global, "shared": draw_banks}


def request(access, sample, title):
    """One request of a warp: (the parts of its picture, the height)."""
    parts, bottom, note = DRAW[access["space"]](access, sample)
    return [text(8, 16, title, "title"), *parts, text(8, bottom + 13, note, "note")], bottom + 22


def svg(parts, height, title, command):
    """A file with a picture. It names the command that draws it, for a test that draws it again."""
    width = column(WORDS - 1) + CELL + 8
    style = f"<desc>scripts/explain {command}</desc><style>{COLOURS}{DRAWING}</style>"
    paper = f'<rect width="{width:g}" height="{height:g}" style="fill: var(--paper); stroke: none"/>'
    return (f'<svg xmlns="http://www.w3.org/2000/svg" class="picture" viewBox="0 0 {width:g} {height:g}" '
            f'width="{width:g}" height="{height:g}" role="img" aria-label="{html.escape(title, quote=True)}">'
            f"{style}{paper}" + "\n".join(parts) + "</svg>\n")


# ---- a step's accesses

def chosen_access(step, kind):
    """The costliest access of a step, if `kind` is given of that kind in its own file. Ends the script if there is
    none."""
    found = {}
    for access in sorted(traces.merged_accesses(step), key=lambda access: (access["file"], access["line"])):
        if access["requests"] and access["space"] in DRAW:
            found.setdefault(f"{access['space']}-{access['op']}", []).append(access)
    fitting = [access for name, accesses in found.items() for access in accesses
               if not kind or (name == kind and access["file"] == step["file"])]
    if not fitting:
        ladder.usage_error(f"{step['file']} has no such access; it has: {', '.join(sorted(found)) or 'none'}")
    return max(fitting, key=lambda access: (access["units"] - access["ideal"], access["units"]))


def step_picture(step, kind=None):
    """A file with one picture: the worst request of the access chosen, or of the costliest."""
    access = chosen_access(step, kind)
    how = ", asynchronous" if access["async"] else ""
    title = f"{step['step']}, line {access['line']}: {access['space']} {access['op']} of {access['width']} bytes{how}"
    parts, height = request(access, access["worst_sample"], title)
    return svg(parts, height, title, "--svg" + f" --access {kind}" * (kind is not None) + f" {step['step']}")


def source_lines(file):
    """None where the file is not there."""
    path = Path(file) if Path(file).is_absolute() else ladder.ROOT / file
    return path.read_text().splitlines() if path.is_file() else None
