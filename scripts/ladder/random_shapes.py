"""scripts/bench --random: runs the programs at random shapes, and sums up what they print. A shape is the list of
what was printed of it: an entry per step, the top step's first."""
import itertools
import statistics
import subprocess

import ladder
from ladder import figures

COUNTS_FROM_US = 20


def measure(program, count, seed, show):
    """All shapes of a kernel, and what went wrong, or None. Calls show(shape) for each, as soon as the next begins."""
    shapes = []
    command = [program, "--json", f"--random={count}", f"--seed={seed}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        entries = filter(None, map(ladder.parse_entry, process.stdout))
        for _, shape in itertools.groupby(entries, key=lambda entry: entry["shape"]):
            shapes.append(list(shape))
            show(shapes[-1])
    error = figures.error_of([entry for shape in shapes for entry in shape], process.returncode)
    if not error and len(shapes) < count:
        error = f"printed {len(shapes)} of {count} shapes"
    return shapes, error


def rivals(shape):
    """What was timed beside the top step: (step 00, the fastest other step); None for what was not."""
    timed = [entry for entry in shape[1:] if "cold_us" in entry]
    earlier = [entry for entry in timed if not entry["step"].startswith("00_")]
    return (next((entry for entry in timed if entry not in earlier), None),
            min(earlier, key=lambda entry: entry["cold_us"], default=None))


def line(shape, ceiling):
    """What is printed of a shape."""
    top, wrong = shape[0], figures.wrong(shape)
    text = f"{top['shape']:4} {figures.size_text(top['size']):44}" + " FAIL: " * bool(wrong) + ", ".join(wrong)
    if "cold_us" in top:
        text += f" {top['bytes'] / 1e6:7.0f} MB {top['cold_us']:10.1f} us {figures.rate_text(top):>6}"
        text += f" {figures.unit(top['kernel']):7} {top['of_ceiling']:5.2f} of {ceiling}"
        text += "".join(f" {one['cold_us'] / top['cold_us']:6.3f}x {one['step']}" for one in rivals(shape) if one)
        text += f" (below {COUNTS_FROM_US} us)" * (top["cold_us"] < COUNTS_FROM_US)
    return text + "".join(f"\n     left out: {one['step']}, {one['left_out']}" for one in shape if "left_out" in one)


def compared(ratios):
    """Of [(ratio, where it was)]: the mean, the worst, and the share of shapes where it is 1 or more."""
    values, (worst, place) = [ratio for ratio, _ in ratios], min(ratios, key=lambda one: one[0])
    return {"mean": round(statistics.geometric_mean(values), 4), "worst": {"ratio": round(worst, 4), **place},
            "won": round(sum(value >= 1 for value in values) / len(values), 4)}


def summary(kernel, seed, shapes, code):
    """What goes into the results file. Ratios are absent where there is nothing to compare with."""
    counted = [shape for shape in shapes if shape[0].get("cold_us", 0) >= COUNTS_FROM_US]
    ratios = {"vs_vendor": [], "vs_earlier": [], "of_ceiling": []}
    for shape in counted:
        top, (library, earlier) = shape[0], rivals(shape)
        place = {"size": top["size"]}
        if library:
            ratios["vs_vendor"].append((library["cold_us"] / top["cold_us"], place))
        if earlier:
            ratios["vs_earlier"].append((earlier["cold_us"] / top["cold_us"], {**place, "step": earlier["step"]}))
        if kernel not in figures.IN_TFLOPS:
            ratios["of_ceiling"].append((top["of_ceiling"], place))
    return {"kernel": kernel, "seed": seed, "shapes": len(shapes), "counted": len(counted),
            **{name: compared(found) for name, found in ratios.items() if found},
            "left_out": sum("cold_us" not in shape[0] for shape in shapes), "code": code}
