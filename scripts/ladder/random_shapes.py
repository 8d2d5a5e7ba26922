"""scripts/bench --random: runs the programs at random shapes, and sums up what they print."""
import collections
import hashlib
import math
import subprocess
from typing import NamedTuple, Optional

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
    def wrong(self):
        """The steps whose check failed."""
        return [figures.step_name(entry) for entry in self.entries if not entry.get("verified", True)]

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
        return Ratio(other["cold_us"] / self.top["cold_us"], self.top["size"], other["step"])


class Ratio(NamedTuple):
    value: float
    size: dict
    step: Optional[str] = None

    def to_json(self):
        found = {"ratio": round(self.value, 4), "size": self.size}
        return {**found, "step": self.step} if self.step else found


def line(shape, library, ceiling):
    """What is printed of a shape."""
    size = figures.size_text(shape.entries[0]["size"])
    text = f"{shape.number:4} {size:44}"
    if shape.wrong:
        text += " FAIL: " + ", ".join(shape.wrong)
    top = shape.top
    if top:
        text += f" {top['bytes'] / 1e6:7.0f} MB {top['cold_us']:10.1f} us {figures.rate_text(top):>6}"
        text += f" {figures.unit(top['kernel']):7} {top['of_ceiling']:5.2f} of {ceiling}"
        if shape.library:
            text += f" {shape.ratio_to(shape.library).value:6.3f}x {library}"
        if shape.earlier:
            text += f" {shape.ratio_to(shape.earlier).value:6.3f}x {shape.earlier['step']}"
        if top.get("compared", 1) < 1:
            text += f", {top['compared']:.2g} of the results checked"
        if not shape.counts:
            text += f" (below {COUNTS_FROM_US} us)"
    return text + "".join(f"\n     left out: {one['step']}, {one['left_out']}" for one in shape.entries
                          if "left_out" in one)


# ---- a kernel

def code_digest(steps, digest_of):
    """Names the code of a whole ladder; digest_of(step name) is that of a step."""
    return hashlib.sha256(" ".join(digest_of(step.name) for step in steps).encode()).hexdigest()[:12]


def worst(ratios):
    return min(ratios, key=lambda ratio: ratio.value).to_json()


def mean(ratios):
    return round(math.exp(sum(math.log(ratio.value) for ratio in ratios) / len(ratios)), 4)


def summary(kernel, seed, shapes, code):
    """What goes into the results file. Ratios are absent where there is nothing to compare with."""
    counted = [shape for shape in shapes if shape.counts]
    found = {"kernel": kernel, "seed": seed, "shapes": len(shapes), "counted": len(counted)}
    to_library = [shape.ratio_to(shape.library)._replace(step=None) for shape in counted if shape.library]
    if to_library:
        won = sum(ratio.value >= 1 for ratio in to_library) / len(to_library)
        found["vs_vendor"] = {"mean": mean(to_library), "worst": worst(to_library), "won": round(won, 4)}
    to_earlier = [shape.ratio_to(shape.earlier) for shape in counted if shape.earlier]
    if to_earlier:
        found["vs_earlier"] = {"worst": worst(to_earlier)}
    if counted and kernel not in figures.IN_TFLOPS:
        of_ceiling = [Ratio(shape.top["of_ceiling"], shape.top["size"]) for shape in counted]
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
    entries = []
    for entry in filter(None, map(ladder.parse_entry, lines)):
        if entries and entry["shape"] != entries[0]["shape"]:
            yield Shape(entries[0]["shape"], entries)
            entries = []
        entries.append(entry)
    if entries:
        yield Shape(entries[0]["shape"], entries)


def measure(program, count, seed, show):
    """All shapes of a kernel, and what went wrong, or None. Calls show(shape) for each."""
    shapes = []
    command = [program, "--json", f"--random={count}", f"--seed={seed}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for shape in grouped(process.stdout):
            shapes.append(shape)
            show(shape)
    wrong = sorted({name for shape in shapes for name in shape.wrong})
    if wrong:
        return shapes, "a check failed: " + ", ".join(wrong)
    if process.returncode != 0:
        return shapes, ladder.describe_exit(process.returncode)
    if len(shapes) < count:
        return shapes, f"printed {len(shapes)} of {count} shapes"
    return shapes, None
