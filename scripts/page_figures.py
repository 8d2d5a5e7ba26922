"""Figures in the text of a page: is each one in results/, for a kernel, step, size and card that its words name?

A figure is a number with a unit of time or rate, a percentage, a speed ratio (1.26x, 1.9 times step 03), or a bare
fraction such as 0.94. It is looked for, at the precision shown, among the times, rates and shares of the steps in
question, and the ratios and differences of two of them at one size on one card:
  kernels  named in the sentence in `backticks`, else in the heading; else all of the family
  steps    of the bold words or heading that open the passage ('**05 tuned.**'), those named as 'step 04' or
           '`max` 05' in the passage, the one before, and the library; all of them where none is named
  cards    named next to the figure, else both
  sizes    named in the sentence, else in the passage; else all
"""
import re
from typing import NamedTuple

import figures
import ladder
import page as pages

# What is not measured here: from the data sheets of the cards, and what README.md and the chapters compute of them.
CONSTANTS = {
    "rate": {3.35e3: "the H100's bandwidth in GB/s", 4.8e3: "the H200's", 320: "a T4's", 66.9e3: "peak FP32, GFLOP/s"},
    "ratio": {1.43: "the H200's bandwidth over the H100's"},
}
# Words by which a sentence says that its figures are not those of results/.
ELSEWHERE = re.compile(r"\btried\b|\banother program\b|\bscratch program\b|\bdata sheet\b|\bcomputed\b|\bPyTorch\b|"
                       r"\bcommit [0-9a-f]{7,}\b|\bsweep\b|\b(?:V100|A100|T4|A10|L4|RTX)\b", re.IGNORECASE)
PREDICTED = re.compile(r"\b(expect(?:ed|s)?|predict(?:ed|s|ion)?|would|hoped)\b", re.IGNORECASE)
HAPPENED = re.compile(r"\b(measured|it is|it was|came|is now|but)\b", re.IGNORECASE)
YARDSTICK = re.compile(r"\b(?:copy|copies|reads|reading kernel)\b")  # the kernel that of_ceiling compares with
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
NOT_OURS = re.compile(r"(?:CMake|CUDA|cuDNN|Python|nvcc|Catch2|section|Ubuntu|version|driver|PTX|g\+\+|steps?)\s+$|[\w)] x $")
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
    start: int  # in the text of the piece
    shown: str
    value: float  # in GB/s or GFLOP/s, us, per cent, or as a ratio
    half: float  # half of the last digit shown, in the same unit
    kinds: tuple


# ---- reading the text

def sentences(text):
    """[(start, end)]"""
    ends = [found.end() for found in SENTENCE_END.finditer(text)] + [len(text)]
    return list(zip([0, *ends], ends))


def find(text):
    """The figures of a sentence, whose spans of code and comments are blanks."""
    rows = []
    for found in NUMBER.finditer(text):
        before = text[:found.start()]
        unit = (found["unit"] or "").strip()
        if (found["word"] and not unit) or NOT_OURS.search(before) or COUNTED.match(text, found.end()):
            continue
        rows.append([found, unit, False])
    for number in range(len(rows) - 2, -1, -1):  # 115, 92 and 90 us
        found, unit, _ = rows[number]
        if not unit and rows[number + 1][1] and SIZES_BETWEEN.fullmatch(text[found.end():rows[number + 1][0].start()]):
            rows[number][1:] = rows[number + 1][1], True
    figures_found, units = [], []  # the units so far, the last one first
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
        for unit_of_it in dict.fromkeys(kinds):
            kind, scale = UNITS[unit_of_it]
            half = digits * scale / 2
            if ABOUT.search(text[:found.start()]):
                half = max(half, 0.05 * value * scale)
            figures_found.append((found.start(), found[0].strip(), value * scale, half, kind))
    merged = {}
    for start, shown, value, half, kind in figures_found:
        merged.setdefault(start, []).append((shown, value, half, kind))
    return [(start, several) for start, several in merged.items()]


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


# ---- what results/ holds

class Known:
    def __init__(self, results=None):
        self.entries = {}  # {kernel: [(card, step number, size, entry)]}
        self.family = {}
        read = figures.read_all() if results is None else results
        for one in read:
            for entry in one.entries:
                size = tuple(entry["size"].items())
                self.entries.setdefault(entry["kernel"], []).append(
                    (figures.short_name(one.card), int(entry["step"][:2]), size, entry))
                self.family[entry["kernel"]] = one.family
        self.cards = {card for rows in self.entries.values() for card, *_ in rows}
        shown = figures.Figures(read, lambda entry: True, {})
        asked = figures.wanted_by_kernel()
        self.head = {kernel: figures.head_size(shown, kernel, asked.get(kernel)) for kernel in self.entries}

    def kernels(self, family):
        return {kernel for kernel, of in self.family.items() if family in (None, of)}


def size_names(size):
    """How a text may call a size: 2^24, 4096, 65536 x 128, 64 x 2^20."""
    def number(value):
        power = value.bit_length() - 1
        return {str(value)} | ({f"2^{power}"} if value >= 1024 and value == 1 << power else set())

    values = [value for _, value in size]
    names = {""}
    prefixes = set()
    for place, value in enumerate(values):
        names = {f"{name} x {one}" if place else one for name in names for one in number(value)}
        prefixes |= names if place else set()
    equal = [value for value in values if value == values[0]]
    if len(equal) > 1:
        prefixes |= {name + ("²" if len(equal) == 2 else "³") for name in number(values[0])}
    names |= prefixes | {f"{key}={value}" for key, value in size[1:]}
    return names | {one for value in values if value >= 32 for one in number(value)}


class Scope:
    """What a figure may be about."""

    def __init__(self, known, kernels, subjects, partners, cards, sizes, sentence, passage):
        self.known, self.kernels, self.cards, (self.sizes, self.strict) = known, kernels, cards, sizes
        self.size_names = set()
        self.warm = bool(re.search(r"\bwarm\b|back to back", sentence))
        self.names_a_card = bool(re.search(r"\bcards?\b|\bH[12]00\b", passage))
        self.yardstick = bool(YARDSTICK.search(sentence))
        self.subjects, self.partners = subjects, partners  # {(kernel, step number)}

    def rows(self, steps, cards):
        """The entries of these steps, or of all if there are none, on these cards and at the sizes in question."""
        for kernel in sorted({kernel for kernel, _ in steps} if steps else self.kernels):
            for card, step, size, entry in self.known.entries.get(kernel, ()):
                if (not steps or (kernel, step) in steps) and card in cards and (
                        self.sizes & size_names(size) or not self.strict and size == self.known.head.get(kernel)):
                    yield kernel, card, step, size, entry

    def values(self, kind):
        """[(value, what it is, what it compares with: "ceiling", "library", the number of a step, or "")]"""
        found = [(value, what, "") for value, what in CONSTANTS.get(kind, {}).items()]
        rows = list(self.rows(self.subjects, self.cards))
        for kernel, card, step, size, entry in rows:
            what = f"{kernel} {step:02} at {'x'.join(str(value) for _, value in size)} ({card})"
            own = entry["figures"].items() if isinstance(entry.get("figures"), dict) else ()
            share = entry.get("of_ceiling") if self.yardstick else None
            if kind == "time":
                found += [(entry[key], f"{key} of {what}", "") for key in ("cold_us", "warm_us") if key in entry]
                found += [(value, f"{name} of {what}", "") for name, value in own if name.endswith("_us")]
                found += [(entry["cold_us"] * share, f"the copy or read beside {what}", "")] if share else []
            elif kind == "rate":
                found += [(entry["gbps"], what, "")] if "gbps" in entry else []
                found += [(entry["tflops"] * 1e3, what, "")] if "tflops" in entry else []
                found += [(value, f"{name} of {what}", "") for name, value in own if name.endswith("_gbps")]
                found += [(entry["gbps"] / share, f"the copy or read beside {what}", "")] if share else []
            else:
                for key, of in (("of_ceiling", "ceiling"), ("vs_vendor", "library")):
                    if key in entry:
                        found += as_kind(kind, entry[key], f"{key} of {what}", of)
        return found + (self.of_pairs(kind, rows) if self.subjects else [])

    def of_pairs(self, kind, rows):
        """Ratios and differences of a subject to another step at one size on one card, and to itself on the other."""
        others = {}
        cards = self.known.cards if self.names_a_card else self.cards
        for kernel, card, step, size, entry in self.rows(self.subjects | self.partners, cards):
            others.setdefault(size, []).append((kernel, card, step, entry))
        found = []
        for kernel, card, step, size, entry in rows:
            for other_kernel, other_card, other_step, other in others.get(size, ()):
                if ((kernel, step) == (other_kernel, other_step)) == (card == other_card):
                    continue
                if card != other_card and not self.names_a_card:
                    continue
                what = f"{kernel} {step:02} to {other_kernel} {other_step:02} at " \
                       f"{'x'.join(str(value) for _, value in size)} ({card})"
                for key in ["cold_us"] + ["warm_us"] * self.warm:
                    if key in entry and key in other:
                        if kind == "time" and card == other_card:
                            found.append((abs(other[key] - entry[key]), f"{key}, difference, {what}", other_step))
                        elif kind != "time":
                            found += as_kind(kind, other[key] / entry[key], f"{key}, {what}", other_step)
        return found


def as_kind(kind, value, what, of):
    """A share or a speed ratio as such, or in per cent: 0.94 is 94 %, or as a speed 6 % less."""
    is_speed = of != "ceiling"
    if kind == "ratio":
        return [(value, what, of)] + ([(1 / value, f"one over {what}", of)] if is_speed and value < 0.5 else [])
    share, gain = (100 * value, what, of), (abs(100 * value - 100), f"{what}, less 1", of)
    return {"percent": [share] + [gain] * is_speed, "share": [share], "gain": [gain] * is_speed}.get(kind, [])


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


class Checker:
    def __init__(self, known=None):
        self.known = known or Known()
        self.count = 0
        self.head = None, set()  # the section of the last passage that opens with a step, and that step

    def check(self, page):
        folder = page.path.parent
        family = None if folder == ladder.ROOT else folder.name
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
            if exempt or piece.generated or piece.mark("figures"):
                continue
            if piece.kind == "table":
                self.check_table(page, piece, family)
            elif piece.kind == "text":
                self.check_text(page, piece, family)

    def check_table(self, page, piece, family):
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
            self.check_text(page, piece._replace(line=piece.line + number, lines=[words]), family)

    def check_text(self, page, piece, family):
        raw = piece.text.replace("\n", " ")
        text = pages.blanked(pages.blanked(pages.blanked(raw, pages.COMMENT), pages.CODE_SPAN),
                             re.compile(r"\]\([^)]*\)"))
        exempt = [(mark.end(), next((end for _, end in sentences(text) if text[mark.end():end].strip()), len(text)))
                  for mark in re.finditer(r"<!--\s*figures:\s*\S.*?-->", raw)]
        for start, end in sentences(text):
            for at, several in find(text[start:end]):
                if any(begin <= start + at < stop for begin, stop in exempt):
                    continue
                self.check_figure(page, piece, family, raw, text, (start, end), at, several)

    def check_figure(self, page, piece, family, raw, text, span, at, several):
        start, end = span
        sentence, raw_sentence = text[start:end], raw[start:end]
        if ELSEWHERE.search(raw_sentence) or is_prediction(sentence, at) or BOUND.search(sentence[:at]):
            return
        self.count += 1
        scope = self.scope(piece, family, raw, text, span, at)
        after = re.sub(r"^[\d.,]*\d", "", sentence[at:])
        compared, nearest = compared_with(after), None
        for shown, value, half, kind in several:
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
        if several[0][0] in scope.size_names:
            return
        line = piece.line_at(start + at)
        hint = "" if nearest is None else f"; the nearest is {told(nearest[1], nearest[2])}, {nearest[3]}"
        page.problem(line, f"'{several[0][0]}' is not in results/{hint}")

    def scope(self, piece, family, raw, text, span, at):
        start, end = span
        of_family = self.known.kernels(family)
        words = set(re.findall(r"\w+", " ".join(piece.section[1:]).replace("`", " ")))
        own = {kernel for kernel in of_family if kernel in words} or of_family
        quoted = {name for name in re.findall(r"`(\w+)`", raw[start:end]) if name in self.known.entries}
        if family is None:  # README.md is about all kernels
            quoted = quoted or {name for name in re.findall(r"`(\w+)`", raw) if name in self.known.entries}
            own = of_family = quoted
        kernels = quoted | own if own != of_family or not quoted else quoted
        heads = list(STEP_HEAD.finditer(raw[:start + at])) or list(STEP_HEAD.finditer((piece.section or ("",))[-1]))
        in_text = bool(heads) and heads[-1].string is not (piece.section or ("",))[-1]
        focus = set()
        own_steps = own if own != of_family else kernels
        if heads:
            first, last, file = heads[-1].groups()
            linked = {kernel for kernel in of_family if file and re.fullmatch(rf"{kernel}_{first}_\w+", file)}
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
        in_range = re.match(r"[\d.,]+ to \d", text[start + at:]) or re.search(r"[\d.]+ to $", text[:start + at])
        if in_range and not here_sizes:
            sizes = names
        ranges = "|".join(rf"from {re.escape(size)} (?:to|on\b|up\b)" for size in sizes)
        if re.search(ranges or r"\b(?:every|any|all) sizes?\b", text[start:end]):
            sizes = names
        cards, sizes = cards_near(text[start:end], at, self.known.cards), (sizes, bool(here_sizes))
        found = Scope(self.known, kernels, subjects or before or self.named_steps(raw, own_steps), partners, cards, sizes,
                      text[start:end], " ".join([*piece.section, text]) if not focus else text[start:end])
        found.size_names = names
        return found


    def named_steps(self, text, kernels):
        """{(kernel, number)} of 'steps 03 and 04', of these kernels, of '`max` 05', and of `sum_07_warp_shuffle`."""
        by_name = {(kernel, int(found[2])) for found in re.finditer(r"[`(](\w+?)_(\d\d)_\w+(?:\.cu)?[`)]", text)
                   for kernel in self.known.entries if kernel == found[1]}
        if LIBRARY.search(text):
            by_name |= {(kernel, 0) for kernel in kernels}
        return by_name | {(kernel, number) for found in NAMED_STEPS.finditer(text) for number in step_numbers(found[2])
                          for kernel in ({found[1]} & set(self.known.entries) if found[1] else kernels)}


def told(kind, value):
    return {"time": f"{value:.4g} us", "rate": f"{value:.5g} GB/s", "ratio": f"{value:.4g}"}.get(kind, f"{value:.3g} %")
