"""Figures in the text of a page: is each one in results/, for a kernel, step, size and card that its words name?

A figure is a number with a unit of time or rate, a percentage, a speed ratio (1.26x, 1.9 times step 03), or a bare
fraction such as 0.94. It is looked for, at the precision shown, among the times, rates and shares of the steps in
question, and the ratios and differences of two of them at one size on one card:
  kernels  named in the sentence in `backticks`, else in the heading; else all of the page's folder
  steps    of the bold words or heading that open the passage ('**05 tuned.**'), those named as 'step 04' or
           '`max` 05' in the passage, the one before, and the library; all of them where none is named
  cards    named next to the figure, else both
  sizes    named in the sentence, else in the passage; else all
After *Counted,* up to the next such label, it may also be a counter of these kernels, or a ratio or change of two.
"""
import re
from typing import NamedTuple, Optional

import ladder
from ladder import counters
from ladder import document as pages
from ladder.figures import step_number
from ladder.known_figures import Known, Scope, size_names

# Words by which a sentence says that its figures are not those of results/.
ELSEWHERE = re.compile(r"\btried\b|\banother program\b|\bscratch program\b|\bdata sheet\b|\bcomputed\b|\bPyTorch\b|"
                       r"\bcommit [0-9a-f]{7,}\b|\bsweep\b|\b(?:V100|A100|T4|A10|L4|RTX)\b", re.IGNORECASE)
LOOKED_UP = re.compile(r"results/(?!.*\b(?:commit|not kept|computed|rate)\b)")  # a comment that does not exempt
COUNTER_TEXT = re.compile(r"\*Counted\b[^*]*\*.*?(?=\*[A-Z][\w ]*[:.,]?\*|\*\*|$)")
# Words that say which counters a percentage may be of; where a sentence has none of them, any.
COUNTERS_OF = {
    r"\bDRAM\b": ("dram_",), r"\bL1\b": ("l1_",), r"\bL2\b": ("l2_",), r"\bhits?\b": ("l1_hit", "l2_hit"),
    r"\bissue\b|\bslots\b": ("issue_",), r"\bpipe\b": ("l1_", "fma_"), r"\btensor\b": ("tensor_",),
    r"\b(?:instructions?|loads?)\b": ("instructions", "global_load_instructions", "stall_long"),
    r"\b(?:FMA|FFMA|arithmetic)\b": ("fma_", "stall_math"), r"\bwarps\b|\bplaces\b": ("warps_",),
    r"\bwait|\bbarriers?\b|\bfor data\b": ("stall_",), r"\bSMs?\b": ("sm_", "warps_", "l2_read"),
    r"\bbytes\b|\bfills?\b": ("load_bytes_", "store_bytes_")}
PREDICTED = re.compile(r"\b(expect(?:ed|s)?|predict(?:ed|s|ion)?|would|hoped)\b", re.IGNORECASE)
HAPPENED = re.compile(r"\b(measured|it is|it was|came|is now|but)\b", re.IGNORECASE)
ABOUT = re.compile(r"\b(about|some|nearly|almost|roughly|around)\s+$", re.IGNORECASE)
BOUND = re.compile(r"\b(within|up to|at most|at least|more than|less than|below|above|beyond|under)\s+$",
                   re.IGNORECASE)

UNITS = {"GB/s": ("rate", 1.0), "TB/s": ("rate", 1e3), "GFLOP/s": ("rate", 1.0), "TFLOP/s": ("rate", 1e3),
         "ns": ("time", 1e-3), "us": ("time", 1.0), "ms": ("time", 1e3), "%": ("percent", 1.0), "x": ("ratio", 1.0),
         "times": ("ratio", 1.0)}
UNIT = (r"(?P<unit>\s*(?:[GT]B/s|[GT]FLOP/s|[unm]s\b|%)|x(?![\w^])|"
        r"\s+times(?=\s+(?:step|as|CUB|cu|the speed|faster|slower|`)))")
NUMBER = re.compile(rf"(?<![\w.^=/+])(?<!\d,)(?P<number>\d{{1,3}}(?:,\d{{3}})+|\d+)(?P<fraction>\.\d+)?(?![\d^]|\.\d)"
                    rf"{UNIT}?(?P<word>[\w/-]*)")
NOT_OURS = re.compile(r"(?:CMake|CUDA|cuDNN|Python|nvcc|Catch2|section|Ubuntu|version|driver|PTX|g\+\+|steps?)\s+$|"
                      r"[\w)] x $|= $")
LIBRARY = re.compile(r"\b(?:cuBLAS|CUB|cuDNN|thrust|cudaMemcpy) (?:has|reaches|takes)\b")
COUNTED = re.compile(r"-\w|\s+(?:FLOP|GHz|MHz|[KMGT]B\b|bytes?\b|W\b|ulp|sectors?|words?|wavefronts?|waves?|clocks?|"
                     r"instructions?|units?|rounds?|loads?|bits?)|\s+SM clocks")
SIZES_BETWEEN = re.compile(r"\s*(?:,|and|or|to|against|instead of|beside)\s*$|\s*,\s*(?:and|or)\s*$")
SENTENCE_END = re.compile(r"[.?!][\"*)]*\s+(?=[A-Z*\"'(`\[<\d])")
STEP_HEAD = re.compile(r"(?:\*\*\[?|^#+ \[?)(\d\d)\b(?: (?:to|and) (\d\d))?[^*\n]*?(?:\]\((\w+)\.cu\)|\*\*|$)",
                       re.MULTILINE)
NAMED_STEPS = re.compile(r"(?:\bsteps?|\bbest of|`(\w+)`)\s+(\d\d(?:(?:,| to| and|, and| or| /)\s+\d\d)*)\b")
FIGURE_CELL = re.compile(r"(?:(?:about|some) )?\d[\d.,]*(?: to [\d.,]+)?(?P<unit>\s*(?:[GT]B/s|[GT]FLOP/s|[unm]s|x|%))?"
                         r"(?: ?\([^()]*\))?")
MEASURED_HEAD = re.compile(r"[GT]B/s|[GT]FLOP/s|\b[um]s\b|\bH[12]00\b|of copy|of read|\bspeed\b")


class Figure(NamedTuple):
    """One reading of a number; '1.2' after '0.9 us' may be a time or a ratio."""
    kind: str  # rate, time, percent or ratio
    value: float  # in GB/s or GFLOP/s, us, per cent, or as a ratio
    half: float  # half of the last digit shown, in the same unit


# ---- reading the text

def sentences(text):
    """[(start, end)]"""
    ends = [found.end() for found in SENTENCE_END.finditer(text)] + [len(text)]
    return list(zip([0, *ends], ends))


def find(text):
    """The figures of a sentence, whose spans of code and comments are blanks: [(place, text, readings)]."""
    rows = []
    for found in NUMBER.finditer(text):
        before = text[:found.start()]
        unit = (found["unit"] or "").strip()
        is_step = re.fullmatch(r"0\d", found[0].strip())
        if is_step or (found["word"] and not unit) or NOT_OURS.search(before) or COUNTED.match(text, found.end()):
            continue
        rows.append([found, unit, False])
    for number in range(len(rows) - 2, -1, -1):  # 115, 92 and 90 us
        found, unit, _ = rows[number]
        if not unit and rows[number + 1][1] and SIZES_BETWEEN.fullmatch(text[found.end():rows[number + 1][0].start()]):
            rows[number][1:] = rows[number + 1][1], True
    figures, units = [], []  # the units so far, the last one first
    for found, unit, inherited in rows:
        fraction = found["fraction"] or ""
        kinds = []
        if unit:
            kinds = [unit] + (units if inherited else [])
            units = units if inherited else list(dict.fromkeys([unit, *units]))
        else:
            after = text[found.end():]
            by_card = re.match(r"\s*\((?:on )?H[12]00|\s+on the H[12]00", after)
            if fraction or by_card:
                kinds += units
            if len(fraction) > 2 and "x" not in kinds:
                kinds.append("x")
        value = float(found["number"].replace(",", "") + fraction)
        digits = 10.0 ** -max(0, len(fraction) - 1)
        about = 0.05 * value if ABOUT.search(text[:found.start()]) else 0
        readings = [Figure(kind, value * scale, max(digits / 2, about) * scale)
                    for kind, scale in (UNITS[unit] for unit in dict.fromkeys(kinds))]
        if readings:
            figures.append((found.start(), found[0].strip(), readings))
    return figures


def is_prediction(sentence, at):
    """Does a word before the figure, in its part of the sentence, say that it was expected, not measured?"""
    begin = max(sentence.rfind(";", 0, at), sentence.rfind(":", 0, at)) + 1
    end = min([place for place in (sentence.find(sign, at) for sign in (";", ",")) if place >= 0] or [len(sentence)])
    part = sentence[begin:at]
    told = [found.end() for found in PREDICTED.finditer(part)]
    if told:
        return not HAPPENED.search(part[told[-1]:])
    told = PREDICTED.search(sentence[at:end])
    return bool(told) and not HAPPENED.search(sentence[at:at + told.start()])


def step_numbers(text):
    """02, 03 -> both; 02 to 05 -> four."""
    numbers = [int(one) for one in re.findall(r"\d\d", text)]
    if " to " in text and len(numbers) == 2:
        return list(range(numbers[0], numbers[1] + 1))
    return numbers


GAIN = re.compile(r" %(?: \(H[12]00\))? (?:slower|faster|more|less|below|above)\b")
# What the words after a figure say that it compares with.
COMPARED = re.compile(r"(?: %|x| times)?(?: \(H[12]00\))?(?: of)?(?: an?| the)? "
                      r"(?:(copy|copies|read|reading kernel|link)\b|(cuBLAS|CUB|cuDNN|[Tt]hrust)\b|step (\d\d)\b)")


def compared_with(text):
    """"ceiling", "library" or the number of a step, where the text after a figure's number says so; else None."""
    found = COMPARED.match(text)
    return None if not found else "ceiling" if found[1] else "library" if found[2] else int(found[3])


# ---- a page

def cards_near(sentence, at, all_cards):
    """The card that is named next to a figure, between two signs ; or : of its sentence; all cards if none is."""
    begin = max(sentence.rfind(sign, 0, at) for sign in ";:") + 1
    end = min([place for place in (sentence.find(sign, at) for sign in ";:") if place >= 0] or [len(sentence)])
    named = [(begin + found.start(), found[0]) for found in re.finditer(r"\bH[12]00\b", sentence[begin:end])]
    aside = re.match(r"[^();:]*\((H[12]00) \d", sentence[at:])
    if aside:  # 0.71 of the copy (H100 0.86)
        return all_cards - {aside[1]}
    if re.search(r"both cards|either card", sentence[begin:end]):
        return all_cards
    before, after = [card for place, card in named if place < at], [card for place, card in named if place > at]
    within = sentence.rfind("(", 0, at) > sentence.rfind(")", 0, at)
    if before and (within or not after):
        closed = ")" in sentence[max(place for place, _ in named if place < at):at]
        return {before[-1]} if within or len(set(before)) == 1 and not closed else all_cards
    return {after[0]} if after else all_cards


SIZE_STARTS, SIZE_ENDS = r"(?<![\w^.,x])(?<!\d x )", r"(?![\w^²³]|,\d|\.\d| x \d| %| us| GB| times)"


def sizes_in(text, names):
    return {name for name in names if re.search(rf"{SIZE_STARTS}{re.escape(name)}{SIZE_ENDS}", text)}


def counters_named(sentence, at):
    """How the names of the counters begin that the words around a percentage name: those between the same commas, or
    else the nearest before, or behind."""
    clauses = [found.span() for found in re.finditer(r"[^,;:()]+", sentence)]
    here = next((number for number, (_, end) in enumerate(clauses) if at < end), 0)
    for start, end in [*reversed(clauses[:here + 1]), *clauses[here + 1:]]:
        names = tuple(name for words, names in COUNTERS_OF.items() if re.search(words, sentence[start:end])
                      for name in names)
        if names:
            return names
    return ()


class Place(NamedTuple):
    """Where a figure stands."""
    piece: pages.Piece
    folder: Optional[str]  # None on README.md
    raw: str  # the piece's text in one line
    text: str  # the same, blanks for code, comments and the targets of links
    start: int  # of its sentence
    end: int
    at: int  # of its first digit
    hint: str  # what a comment <!-- figures: results/, HINT --> says, or nothing


class Checker:
    def __init__(self, known=None):
        self.known = known or Known()
        self.count = 0
        self.head = None, set()  # the section of the last passage that opens with a step, and that step

    def check(self, page):
        folder = page.path.parent.relative_to(ladder.ROOT).as_posix()
        folder = None if folder == "." else folder
        self.head = None, set()
        exempt = None  # the section whose figures a comment exempts
        for piece in page.pieces:
            if exempt and piece.section[:len(exempt)] != exempt:
                exempt = None
            if piece.kind == "heading":
                continue
            if piece.mark("figures") == "" or piece.mark("figures of this section") == "":
                page.problem(piece.line, "<!-- figures --> says where they come from: <!-- figures: computed -->")
            if piece.mark("figures of this section"):
                exempt = piece.section
            mark = piece.mark("figures")
            if exempt or piece.generated or (mark and not LOOKED_UP.match(mark)):
                continue
            if piece.kind == "table" and not mark:
                self.check_table(page, piece, folder)
            elif piece.kind == "text":
                self.check_text(page, piece, folder)

    def check_table(self, page, piece, folder):
        """A table of cells that are figures; cells of words are text."""
        head = [bool(MEASURED_HEAD.search(cell)) for cell in piece.lines[0].split("|")]
        for number, line in enumerate(piece.lines[2:], 2):
            cells = pages.blanked(line, pages.CODE_SPAN).split("|")
            for place, cell in enumerate(cells):
                found = FIGURE_CELL.fullmatch(cell.strip())
                if found and (found["unit"] or head[place:place + 1] == [True]):
                    page.problem(piece.line, "a table of figures kept by hand: let scripts/tables write it between "
                                             "<!-- table KERNEL --> and <!-- end -->, or say <!-- figures: why --> "
                                             "before it")
                    return
            words = "|".join(cell if re.search(r"[a-z]{3}", cell) else " " * len(cell) for cell in line.split("|"))
            self.check_text(page, piece._replace(line=piece.line + number, lines=[words]), folder)

    def check_text(self, page, piece, folder):
        raw = piece.text.replace("\n", " ")
        text = pages.blanked(pages.blanked(pages.blanked(raw, pages.COMMENT), pages.CODE_SPAN),
                             re.compile(r"\]\([^)]*\)"))
        marks = [(found.end(), found[1], next((end for _, end in sentences(text) if text[found.end():end].strip()), 0))
                 for found in re.finditer(r"<!--\s*figures:\s*(\S.*?)\s*-->", raw)]
        for start, end in sentences(text):
            for at, shown, readings in find(text[start:end]):
                why = next((why for begin, why, stop in marks if begin <= start + at < stop), piece.mark("figures"))
                hint = " ".join((why or "").split())
                if hint and not LOOKED_UP.match(hint):
                    continue
                if ELSEWHERE.search(raw[start:end]) or is_prediction(text[start:end], at) or BOUND.search(
                        text[start:start + at]):
                    continue
                self.check_figure(page, Place(piece, folder, raw, text, start, end, start + at, hint), shown, readings)

    def check_figure(self, page, place, shown, readings):
        self.count += 1
        scope = self.scope(place)
        after = re.sub(r"^[\d.,]*\d", "", place.text[place.at:place.end])
        compared, nearest = compared_with(after), None
        for kind, value, half in readings:
            if kind == "percent":
                kind = "share" if re.match(r" % of ", after) else "gain" if GAIN.match(after) else kind
            for other, what, of in scope.values(kind):
                if compared not in (None, of) and of != "":
                    continue
                if abs(other - value) <= half * (1 + 1e-6) + 1e-9:
                    return
                off = abs(other - value) / max(value, 1e-9)
                if nearest is None or off < nearest[0]:
                    nearest = off, kind, other, what
        if shown in scope.size_names or self.is_counter(place, scope, readings):
            return
        hint = "" if nearest is None else f"; the nearest is {told(nearest[1], nearest[2])}, {nearest[3]}"
        page.problem(place.piece.line_at(place.at), f"'{shown}' is not in results/{hint}")

    def is_counter(self, place, scope, readings):
        if not any(found.start() <= place.at < found.end() for found in COUNTER_TEXT.finditer(place.text)):
            return False
        steps = scope.subjects | scope.partners
        entries = [entry for kernel in scope.kernels for entry in self.known.counters.get(kernel, ())
                   if not steps or (kernel, step_number(entry)) in {*steps, (kernel, 0)}]
        named = counters_named(place.text[place.start:place.end], place.at - place.start)
        for kind, value, half in readings:
            counted = [pair for entry in entries
                       for pair in (counters.percentages if kind == "percent" else counters.ratios)(entry)]
            for other, what in counted + (counters.changes(entries) if kind == "percent" else []):
                if kind == "percent" and named and not what.startswith(named):
                    continue
                if abs(other - value) <= half * (1 + 1e-6) + 1e-9:
                    return True
        return False

    def scope(self, place):
        """What the words around a figure say that it is about."""
        piece, folder, raw, text, start, end, at, hint = place
        of_folder = self.known.kernels(folder)
        words = set(re.findall(r"\w+", " ".join(piece.section[1:]).replace("`", " ")))
        own = {kernel for kernel in of_folder if kernel in words} or of_folder
        quoted = {name for name in re.findall(r"`(\w+)`", raw[start:end]) if name in self.known.entries}
        if folder is None:  # README.md is about all kernels
            quoted = quoted or {name for name in re.findall(r"`(\w+)`", raw) if name in self.known.entries}
            own = of_folder = quoted
        of_kernel = folder is not None and "/" in folder  # the page of a kernel is about it, whatever else it names
        kernels = quoted | own if of_kernel or own != of_folder or not quoted else quoted
        heads = list(STEP_HEAD.finditer(raw[:at])) or list(STEP_HEAD.finditer((piece.section or ("",))[-1]))
        in_text = bool(heads) and heads[-1].string is not (piece.section or ("",))[-1]
        focus = set()
        own_steps = own if own != of_folder else kernels
        if heads:
            first, last, file = heads[-1].groups()
            linked = {kernel for kernel in of_folder if file and re.fullmatch(rf"{kernel}_{first}_\w+", file)}
            focus = {(kernel, number) for number in range(int(first), int(last or first) + 1)
                     for kernel in linked or own_steps}
        if not in_text and self.head[0] == piece.section:
            focus = self.head[1]  # of an earlier paragraph
        elif in_text:
            self.head = piece.section, focus
        passage = heads[-1].start() if in_text else 0
        here, before = self.named_steps(raw[start:end], own_steps), self.named_steps(raw[passage:start], own_steps)
        subjects = focus | here
        partners = before | {(kernel, number - 1) for kernel, number in focus}
        names = {name for kernel in kernels for _, _, size, _ in self.known.entries.get(kernel, ())
                 for name in size_names(size)}
        sizes = here_sizes = sizes_in(text[start:end], names)
        if not sizes:
            sizes = sizes_in(text[passage:start], names)
        in_range = re.match(r"[\d.,]+ to \d", text[at:]) or re.search(r"[\d.]+ to $", text[:at])
        if in_range and not here_sizes:
            sizes = names
        ranges = "|".join(rf"from {re.escape(size)} (?:to|on\b|up\b)" for size in sizes)
        if re.search(ranges or r"\b(?:every|any|all) sizes?\b", text[start:end]):
            sizes = names
        cards, sizes = cards_near(text[start:end], at - start, self.known.cards), (sizes, bool(here_sizes))
        subjects = subjects or before or self.named_steps(raw, own_steps)
        if hint:
            cards = self.known.cards if " over H" in hint else cards
            return self.hinted(hint, kernels, subjects, partners, names, own_steps, cards)
        found = Scope(self.known, kernels, subjects, partners, cards, sizes, text[start:end],
                      " ".join([*piece.section, text]) if not focus else text[start:end])
        found.size_names = names
        return found

    def hinted(self, hint, kernels, subjects, partners, names, own_steps, cards):
        """The same where a comment says how to look: steps ('over step 03', 'copy 01'), sizes ('8191x8193'), 'H200 over
        H100', 'between two sizes'. Sizes are any where it names none."""
        hint = re.sub(r"(?<=\d)x(?=\d)", " x ", hint)
        quoted = re.sub(rf"\b({'|'.join(self.known.entries)}) (?=\d\d\b)", r"`\1` ", hint)
        more = self.named_steps(quoted, own_steps)
        kernels = kernels | {kernel for kernel, _ in more}
        names = names | {name for kernel, _ in more for _, _, size, _ in self.known.entries[kernel]
                         for name in size_names(size)}
        sizes = sizes_in(hint, names) or names
        return Scope(self.known, kernels, subjects | more, partners, cards, (sizes, True), hint, hint)

    def named_steps(self, text, kernels):
        """{(kernel, number)} of 'steps 03 and 04', of these kernels, of '`max` 05', and of `sum_08_warp_shuffle`."""
        by_name = {(kernel, int(found[2])) for found in re.finditer(r"[`(](\w+?)_(\d\d)_\w+(?:\.cu)?[`)]", text)
                   for kernel in self.known.entries if kernel == found[1]}
        if LIBRARY.search(text):
            by_name |= {(kernel, 0) for kernel in kernels}
        return by_name | {(kernel, number) for found in NAMED_STEPS.finditer(text) for number in step_numbers(found[2])
                          for kernel in ({found[1]} & set(self.known.entries) if found[1] else kernels)}


def told(kind, value):
    return {"time": f"{value:.4g} us", "rate": f"{value:.5g} GB/s", "ratio": f"{value:.4g}"}.get(kind, f"{value:.3g} %")
