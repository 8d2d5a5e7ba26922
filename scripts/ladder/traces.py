"""Runs the traced build, in which the CPU backend counts a step's accesses, and interprets the counts."""
import collections
import math
import re
import subprocess
import sys

import ladder
from ladder import candidates

PRESET = "cpu-trace"
KINDS = [f"{space}_{op}" for space in ("global", "shared") for op in ("load", "store", "atomic")]


# ---- building and running

def chosen_steps(names):
    """Returns the steps that the names stand for, submissions included, without step 00."""
    return [step for step in ladder.resolve(names, submissions=True) if not step.is_vendor]


def run(step, program, options):
    """Returns the traced runs of a step, or [] if it does not take the size. Ends the script if the run fails."""
    done = subprocess.run([program, "--trace", "--json", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True)
    runs = ladder.entries(done.stdout.replace(f"{ladder.ROOT}/", ""))  # paths become relative to the top folder
    skipped = re.findall(r"(?m)^\w+: skipped, .*", done.stderr)
    if not runs and not skipped:
        ladder.fail(done.stderr.strip() or f"{program.name} {ladder.describe_exit(done.returncode)}",
                    2 if done.returncode == 2 else 1)
    for text in skipped + [done.stderr.strip()] * (done.returncode < 0 or done.returncode == ladder.TIMED_OUT):
        ladder.say(text)
    head = {"step": step.name, "family": step.family, "kernel": step.kernel, "file": ladder.shown(step.path)}
    return [{**entry, **head} for entry in runs]


def later_steps(step):
    """Returns the steps after this one in its ladder, in order; all of them if it is no step of the ladder."""
    return [other for other in ladder.kernels([step.kernel]).get(step.kernel, [])
            if not other.is_vendor and not other.is_any_shape and other.number > step.number]


def explained(steps, options, alone=False):
    """Returns the runs of the steps, and of the later steps of their ladders unless `alone`, with findings."""
    ladder.configure(PRESET)
    left_out = ladder.skipped(PRESET)
    later = {step: [] if alone else later_steps(step) for step in steps}
    for name in left_out.keys() & {step.name for step in steps}:
        ladder.say(f"{name}: skipped, needs {left_out[name]}")
    needed = [step for step in {*steps}.union(*later.values()) if step.name not in left_out]
    ladder.build(PRESET, [step.target for step in needed if step.kind != "submission"])
    runs = {}
    for step in sorted(needed):
        program = candidates.program_of(PRESET, step) if step.kind == "submission" else step.program(PRESET)
        runs.update((step, entry) for entry in run(step, program, options))
    for step in later.keys() & runs.keys():
        better = [Sums(runs[other]) for other in later[step] if other in runs and runs[other]["right"]]
        runs[step]["findings"] = findings(runs[step], better)
    return [runs[step] for step in steps if step in runs] or sys.exit(2)


# ---- what the figures mean

class Sums:
    """A step's counts, summed over its launches. `conflicts`: wavefronts lost to bank conflicts, with neighbouring
    loads joined as nvcc joins them. `lanes`: active lanes, of 32. `atomics`: counted by lane. `blocks`: of
    each launch."""

    def __init__(self, entry):
        self.entry = entry
        self.totals = {kind: collections.Counter() for kind in KINDS}
        for launch in entry["launches"]:
            for kind in KINDS:
                self.totals[kind].update(launch["totals"].get(kind, {}))  # adds the counts
        self.warp_steps, lane_steps, self.branches, self.divergent = (
            sum(launch.get(key, 0) for launch in entry["launches"])
            for key in ("warp_steps", "lane_steps", "branches", "divergent_branches"))
        self.races = sum(len(launch.get("races", ())) for launch in entry["launches"])
        self.sectors, self.requests = (self.total(key, "global_load", "global_store") for key in ("units", "requests"))
        loads, others = ("shared_load",), ("shared_store", "shared_atomic")
        self.conflicts = (self.total("merged_units", *loads) - self.total("merged_ideal", *loads)
                          + self.total("units", *others) - self.total("ideal", *others))
        self.lanes = lane_steps / self.warp_steps if self.warp_steps else 32
        self.blocks = [math.prod(launch["grid"]) for launch in entry["launches"]]
        self.atomics = self.total("lanes", "global_atomic", "shared_atomic")

    def total(self, key, *kinds):
        return sum(self.totals[kind][key] for kind in kinds)

    def per_request(self, kind, key="units"):
        totals = self.totals[kind]
        return totals[key] / totals["requests"] if totals["requests"] else None


# {kind of finding: whether step b is so much better than step a that it fixes the finding}
FIXES = {
    "sectors": lambda a, b: b.sectors <= 0.7 * a.sectors,
    "bank conflicts": lambda a, b: b.conflicts <= 0.5 * a.conflicts,
    "divergence": lambda a, b: b.divergent <= 0.5 * a.divergent,
    "idle lanes": lambda a, b: 32 - b.lanes <= 0.5 * (32 - a.lanes),
    "atomics": lambda a, b: b.atomics <= 0.5 * a.atomics,
    "narrow": lambda a, b: b.requests <= 0.5 * a.requests,
    "race": lambda a, b: b.races == 0,
}
SUMMED = ["requests", "lanes", "units", "ideal", "bytes_requested", "bytes_moved", "merged_units", "merged_ideal"]
FEW = 0.05  # a smaller share of the whole is not reported


def merged_accesses(entry):
    """Returns the accesses of all launches, merged by line, space, operation and width."""
    groups = {}
    for access in (access for launch in entry["launches"] for access in launch["accesses"]):
        key = tuple(access[name] for name in ("file", "line", "space", "op", "width", "async"))
        groups.setdefault(key, []).append(access)
    return [{**same[0], **{name: sum(one[name] for one in same) for name in SUMMED if name in same[0]},
             "worst_sample": max(same, key=lambda one: one["worst"]).get("worst_sample"),
             "same_address": max(one["same_address"] for one in same)} for same in groups.values()]


def conflicts(access):
    """Returns the wavefronts lost to bank conflicts, after joining neighbouring loads as nvcc does."""
    joined = "merged_" if "merged_units" in access else ""
    return access[f"{joined}units"] - access[f"{joined}ideal"]


def is_costly(access):
    return access["units"] > (1.3 if access["space"] == "global" else 1.1) * access["ideal"]


def per_request(access, key="units"):
    return access[key] / access["requests"]


def access_findings(entry, sums):
    """Yields findings on single lines."""
    accesses = merged_accesses(entry)
    requests = sum(access["requests"] for access in accesses)
    for access in accesses:
        space, number, excess = access["space"], access["requests"], access["units"] - access["ideal"]
        seen, best, lanes = (per_request(access, key) for key in ("units", "ideal", "lanes"))
        what = ("an asynchronous " if access["async"] else "a ") + f"{space} {access['op']}"
        if access["op"] == "atomic" and number > FEW * requests:
            together = access["same_address"]
            meet = f", up to {together} lanes of a request on one address, one after another" * (together > 1)
            yield "atomics", access, access["lanes"], f"{access['lanes']:,} atomic operations in {space} memory{meet}"
        elif space == "global" and is_costly(access) and excess > FEW * sums.sectors:
            useful = access["bytes_requested"] / access["bytes_moved"]
            used = f"; {32 * useful:.0f} of each sector's 32 bytes are used" * (useful < 1)
            yield "sectors", access, excess, (f"{what} touches {seen:.1f} sectors per request; "
                                              f"{best:.1f} would hold its bytes{used}")
        elif space == "shared" and is_costly(access) and conflicts(access) > 0.1 * access["ideal"]:
            yield "bank conflicts", access, conflicts(access), (
                f"{what} takes {seen:.1f} wavefronts per request; {best:.1f} would do: lanes want "
                "different words of one bank")
        elif space == "constant" and seen > 1.5:
            yield "constants", access, excess, f"{what} takes {seen:.1f} words per request, one after another"
        elif space == "global" and access["width"] <= 4 and number > 0.2 * requests:
            yield "narrow", access, 0, f"{what} moves {access['width']} bytes per lane, a request can move 16"
        if lanes <= 20 and number > 2 * FEW * requests:
            cost = number * (32 - lanes) / 32
            yield "idle lanes", access, cost, f"{what} is made with {lanes:.1f} of 32 lanes active"


def branch_findings(entry, sums):
    """Yields findings on lines where the lanes of a warp diverge."""
    counts = collections.Counter()
    for at in (at for launch in entry["launches"] for at in launch["branches_at"]):
        counts.update({(at["file"], at["line"], key): at[key] for key in ("branches", "divergent")})
    for file, line in {(file, line): 0 for file, line, _ in counts}:
        executed, number = (counts[file, line, key] for key in ("branches", "divergent"))
        if number > 0.2 * executed and number > 0.01 * sums.warp_steps:
            yield "divergence", {"file": file, "line": line}, number, (
                f"lanes of one warp go different ways in {number / executed:.0%} of the branches here, and both ways "
                "take their turn")


def coordinates(index):
    return "({},{},{})".format(*index)


def race_text(race):
    """Describes a race: the two accesses and where they are."""
    missing = "barrier" if race["scope"] == "block" else "fence and atomic"
    first, second = (f"{side['file']}:{side['line']}, thread {coordinates(side['thread'])} of block "
                     f"{coordinates(side['block'])}" for side in (race["first"], race["second"]))
    return f"race, {race['kind']} in {race['space']} memory with no {missing} between: {first}, and {second}"


def race_findings(entry):
    """Yields findings on pairs of lines. The threads are those of the first race of the pair."""
    pairs, counts = {}, collections.Counter()
    for race in (race for launch in entry["launches"] for race in launch["races"]):
        key = (race["kind"], race["scope"], race["space"],
               *(race[side][name] for side in ("first", "second") for name in ("file", "line")))
        pairs.setdefault(key, race)
        counts[key] += race["count"]
    for key, race in pairs.items():
        yield "race", race["second"], 0, f"{race_text(race)}, {counts[key]:,} times"


def findings(entry, later):
    """Returns a step's findings, worst first. `later` has the sums of the ladder's later steps."""
    sums = Sums(entry)
    found = []
    for kind, at, cost, text in [*race_findings(entry), *access_findings(entry, sums), *branch_findings(entry, sums)]:
        fixed = next((other for other in later if FIXES.get(kind, lambda a, b: False)(sums, other)), None)
        if kind == "narrow" and fixed is None:
            continue  # no step of this ladder gains from it
        found.append({"kind": kind, "file": at["file"], "line": at["line"], "cost": cost, "text": text,
                      "fixed_by": fixed.entry["step"] if fixed else None})
    order = {"race": 0, "narrow": 2}
    return sorted(found, key=lambda finding: (order.get(finding["kind"], 1), -finding["cost"]))
