"""Measured numbers in sentences: each is a link to what it is in results/, such as
[1.19x](results/h200.json#sum_07,2^20,vs_00), and no other stands there; see scripts/tables --help. sum_any is the
program for any shape. What a link leads to may be of code that has changed since."""
import re

import ladder
from ladder import document, figures

LINK = re.compile(r"\[([^\[\]]*)\]\((\S*?results/[\w-]+\.json)#([^\s()]*)\)")
TARGET = re.compile(r"(\w+)_(\d\d|any),(\S+),(vs_\d\d|share|rate|time)")


class Wrong(Exception):
    """What is wrong with a link."""


def value(known, path, target):
    """The text of a link to a results file, of the figures known."""
    found = TARGET.fullmatch(target)
    if not found:
        raise Wrong("not STEP,SIZE,VALUE, such as sum_07,2^20,vs_00")
    kernel, number, label, name = found.groups()
    if kernel not in known.kernels or path.parent != known.kernels[kernel][0].folder / "results":
        raise Wrong(f"no results of {kernel}")
    entries = {step.partition("_")[0]: entry for (step, size), entry in known.of(kernel, path.stem).items()
               if known.labels[kernel][size] == label}
    entry, other = entries.get(number), entries.get(name[len("vs_"):])
    if not entry or (name.startswith("vs_") and not other and name != "vs_00"):
        raise Wrong(f"no such figures at {label}; there are sizes {', '.join(known.labels[kernel].values())}")
    if name == "rate":
        return f"{figures.rate_text(entry)} {figures.unit(kernel)}"
    if name == "time":
        return figures.time_text(entry["cold_us"])
    if name == "share" and "of_ceiling" in entry:
        return f"{entry['of_ceiling']:.2f}"
    if name == "vs_00" and "vs_vendor" in entry:
        return figures.ratio(entry["vs_vendor"])
    if not other:
        raise Wrong(f"{kernel}_{number} has no {name}")
    return figures.ratio(other["cold_us"] / entry["cold_us"])


def updated(known, path, text, errors):
    """The text of a page with the links' texts up to date. Those that lead nowhere stay; what is wrong with them is
    added to `errors`."""
    hidden = document.blanked(text, document.CODE)

    def written(found):
        if hidden[found.start()] != "[":
            return found[0]
        try:
            return f"[{value(known, (path.parent / found[2]).resolve(), found[3])}]({found[2]}#{found[3]})"
        except Wrong as error:
            errors.append(f"{ladder.shown(path)}:{text.count(chr(10), 0, found.start()) + 1}: {found[0]}: {error}")
            return found[0]

    return LINK.sub(written, text)
