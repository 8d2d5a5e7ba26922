"""scripts/bench --random: runs the programs at random shapes, and sums up what they print."""
import collections
import itertools
import math
import subprocess
from typing import NamedTuple

import ladder
from ladder import figures

COUNTS_FROM_US = 20


# ---- one shape

class Shape(NamedTuple):
    """What a program printed of one shape: an entry per step, the top step's first."""
    number: int
    entries: list

    @property
    def top(self):
        return self.entries[0] if "cold_us" in self.entries[0] else None

    @property
    def library(self):
        return next((entry for entry in self.entries if entry["step"].startswith("00_") and "cold_us" in entry), None)

    @property
    def earlier(self):
        """The fastest step but the top one, or None if all are far slower."""
        timed = [entry for entry in self.entries[1:] if "cold_us" in entry and not entry["step"].startswith("00_")]
        return min(timed, key=lambda entry: entry["cold_us"], default=None)

    @property
    def counts(self):
        return self.top is not None and self.top["cold_us"] >= COUNTS_FROM_US

    def ratio_to(self, other):
        """The top step's speed over another entry's."""
        return other["cold_us"] / self.top["cold_us"]


def line(shape, library, ceiling):
    """What is printed of a shape."""
    size = figures.size_text(shape.entries[0]["size"])
    text = f"{shape.number:4} {size:44}"
    wrong = figures.wrong(shape.entries)
    text += " FAIL: " * bool(wrong) + ", ".join(wrong)
    top = shape.top
    if top:
        text += f" {top['bytes'] / 1e6:7.0f} MB {top['cold_us']:10.1f} us {figures.rate_text(top):>6}"
        text += f" {figures.unit(top['kernel']):7} {top['of_ceiling']:5.2f} of {ceiling}"
        if shape.library:
            text += f" {shape.ratio_to(shape.library):6.3f}x {library}"
        if shape.earlier:
            text += f" {shape.ratio_to(shape.earlier):6.3f}x {shape.earlier['step']}"
        if top.get("compared", 1) < 1:
            text += f", {top['compared']:.2g} of the results checked"
        if not shape.counts:
            text += f" (below {COUNTS_FROM_US} us)"
    return text + "".join(f"\n     left out: {one['step']}, {one['left_out']}" for one in shape.entries
                          if "left_out" in one)


# ---- a kernel

def worst(ratios):
    """Of [(ratio, where it was)]."""
    value, place = min(ratios, key=lambda one: one[0])
    return {"ratio": round(value, 4), **place}


def mean(ratios):
    return round(math.exp(sum(math.log(value) for value, _ in ratios) / len(ratios)), 4)


def summary(kernel, seed, shapes, code):
    """What goes into the results file. Ratios are absent where there is nothing to compare with."""
    counted = [shape for shape in shapes if shape.counts]
    found = {"kernel": kernel, "seed": seed, "shapes": len(shapes), "counted": len(counted)}
    to_library = [(one.ratio_to(one.library), {"size": one.top["size"]}) for one in counted if one.library]
    if to_library:
        won = sum(value >= 1 for value, _ in to_library) / len(to_library)
        found["vs_vendor"] = {"mean": mean(to_library), "worst": worst(to_library), "won": round(won, 4)}
    to_earlier = [(one.ratio_to(one.earlier), {"size": one.top["size"], "step": one.earlier["step"]})
                  for one in counted if one.earlier]
    if to_earlier:
        found["vs_earlier"] = {"worst": worst(to_earlier)}
    if counted and kernel not in figures.IN_TFLOPS:
        of_ceiling = [(one.top["of_ceiling"], {"size": one.top["size"]}) for one in counted]
        found["of_ceiling"] = {"mean": mean(of_ceiling), "worst": worst(of_ceiling)}
    chosen = [shape.top["choices"] for shape in counted if "choices" in shape.top]
    if chosen:
        found["candidates"] = dict(collections.Counter(names[0] for names in chosen).most_common())
        found["same_choice"] = round(sum(len(set(names)) == 1 for names in chosen) / len(chosen), 4)
    refused = sum(shape.top is None for shape in shapes)
    return {**found, **({"left_out": refused} if refused else {}), "code": code}


# ---- running

def grouped(lines):
    """The shapes of a program's output, each as soon as the next one begins; the last at the end of the output."""
    entries = filter(None, map(ladder.parse_entry, lines))
    for number, of_shape in itertools.groupby(entries, key=lambda entry: entry["shape"]):
        yield Shape(number, list(of_shape))


def measure(program, count, seed, show):
    """All shapes of a kernel, and what went wrong, or None. Calls show(shape) for each."""
    shapes = []
    command = [program, "--json", f"--random={count}", f"--seed={seed}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for shape in grouped(process.stdout):
            shapes.append(shape)
            show(shape)
    error = figures.error_of([entry for shape in shapes for entry in shape.entries], process.returncode)
    if not error and len(shapes) < count:
        error = f"printed {len(shapes)} of {count} shapes"
    return shapes, error
