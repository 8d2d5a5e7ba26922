"""What results/ holds that a figure in a text may be: times, rates and shares of steps, and their ratios."""
import re

from ladder import figures

# What is not measured here: from the data sheets of the cards, and what README.md and the chapters compute of them.
CONSTANTS = {
    "rate": {3.35e3: "the H100's bandwidth in GB/s", 4.8e3: "the H200's", 320: "a T4's", 66.9e3: "peak FP32, GFLOP/s"},
    "ratio": {1.43: "the H200's bandwidth over the H100's"},
}
YARDSTICK = re.compile(r"\b(?:copy|copies|reads|reading kernel)\b")  # the kernel that of_ceiling compares with


class Known:
    def __init__(self, results=None):
        self.entries = {}  # {kernel: [(card, step number, size, entry)]}
        self.folder = {}
        self.counters = {}  # {kernel: [entry]}
        read = figures.read_all() if results is None else results
        for one in read:
            for entry in one.counters:
                self.counters.setdefault(entry["kernel"], []).append(entry)
            for entry in one.entries:
                size = tuple(entry["size"].items())
                self.entries.setdefault(entry["kernel"], []).append(
                    (figures.short_name(one.card), figures.step_number(entry), size, entry))
                self.folder[entry["kernel"]] = one.folder
        self.cards = {card for rows in self.entries.values() for card, *_ in rows}
        shown = figures.Figures(read, lambda entry: True, {})
        asked = figures.wanted_by_kernel()
        self.head = {kernel: figures.head_size(shown, kernel, asked.get(kernel)) for kernel in self.entries}

    def kernels(self, folder):
        """Those of a kernel's or a family's folder, "reduce/sum" or "reduce"; all if there is none."""
        return {kernel for kernel, of in self.folder.items()
                if folder is None or of == folder or of.startswith(f"{folder}/")}


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
        self.between_sizes = bool(re.search(r"\bbetween\b.*\b(?:sizes|strides)\b|\bover offset\b", passage))
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
            if self.between_sizes:
                what = f"cold_us, between sizes, {kernel} {step:02} ({card})"
                for *of, other in [one for at, same in others.items() if at != size for one in same]:
                    if of == [kernel, card, step]:
                        found += as_kind(kind, other["cold_us"] / entry["cold_us"], what, "")
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
