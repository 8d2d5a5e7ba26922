"""How far a submission that passes has come: levels, which the ladder's own steps define.

A measure is a level where it tells the ladder's steps apart: some are worse than the best by more than a third.
Coalesced is one in every ladder, and bank conflicts are wherever a step uses shared memory. The first step that comes
near the best is the one whose idea reaches the level."""
from typing import NamedTuple

from ladder import figures, traces

RIGHT, ROBUST, COALESCED, NO_CONFLICTS, FAST = "right", "robust", "coalesced", "no bank conflicts", "fast"
NEAR_BEST = 1.3  # times the best reaches a level


def sector_ratio(sums):
    """Sectors over the fewest that would hold the bytes of each request."""
    ideal = sums.total("ideal", "global_load", "global_store")
    return sums.sectors / ideal if ideal else 1.0


# name: (measure of a step's sums, as text)
MEASURES = {
    COALESCED: (sector_ratio, lambda value: f"{value:.2f} times the fewest sectors per request"),
    NO_CONFLICTS: (lambda sums: sums.conflicts, lambda value: f"{value:,} wavefronts lost to bank conflicts"),
    "few atomics": (lambda sums: sums.atomics, lambda value: f"{value:,} atomic operations"),
    "least traffic": (lambda sums: sums.sectors, lambda value: f"{value:,} sectors in all"),
}
NAMES = [RIGHT, ROBUST, *MEASURES, FAST]


class Level(NamedTuple):
    """A measure's level for one kernel."""
    name: str
    limit: float
    step: str  # the first within the limit
    value: float  # which has this

    def reached(self, sums):
        measure, _ = MEASURES[self.name]
        return measure(sums) <= self.limit

    def shortfall(self, sums):
        measure, words = MEASURES[self.name]
        return f"{words(measure(sums))}; {figures.name_in_text(self.step)} has {words(self.value)}"


def of_ladder(references):
    """The levels of a kernel, from its traced steps."""
    sums = [(entry["step"][len(entry["kernel"]) + 1:], traces.Sums(entry)) for entry in references]
    found = []
    for name, (measure, _) in MEASURES.items():
        values = [(step, measure(one)) for step, one in sums]
        if not values:
            continue
        best, worst = min(value for _, value in values), max(value for _, value in values)
        limit = best * NEAR_BEST
        step, value = next((step, value) for step, value in values if value <= limit)
        uses_shared = any(one.total("requests", "shared_load", "shared_store") for _, one in sums)
        always = name == COALESCED or (name == NO_CONFLICTS and uses_shared)
        if always or worst > limit:
            found.append(Level(name, limit, step, value))
    return found


def lanes(sums):
    """Active, of an access to global memory."""
    requests = sums.requests
    return sums.total("lanes", "global_load", "global_store") / requests if requests else 32


def blocks(entry):
    """Of the largest launch."""
    return max((x * y * z for x, y, z in (launch["grid"] for launch in entry["launches"])), default=1)


def why_serial(own, references):
    """Why a submission is too serial for the levels above robust; empty if it is not."""
    if not references:
        return ""
    seen, least = lanes(traces.Sums(own)), min(lanes(traces.Sums(entry)) for entry in references)
    own_blocks, fewest = blocks(own), min(map(blocks, references))
    reasons = []
    if seen < least / 2:
        reasons.append(f"{seen:.0f} lane{'s' * (round(seen) != 1)} of 32")
    if own_blocks < 2 <= fewest:
        reasons.append("1 block")
    return ", ".join(reasons)


def shortfall_in_time(cold_us, timed):
    """What is missing for the level fast; empty if nothing is. `timed`: the ladder's steps, in the submission's run."""
    times = {step["step"]: step["cold_us"] for step in timed if not step["step"].startswith("00")}
    if not times or cold_us <= NEAR_BEST * min(times.values()):
        return ""
    first = next(step for step in sorted(times) if times[step] <= NEAR_BEST * min(times.values()))
    return f"{cold_us:.2f} us; {figures.name_in_text(first)} takes {times[first]:.2f}"


class Standing(NamedTuple):
    reached: str
    following: str  # the next level; empty if there is none
    text: str  # what is missing for it, and whose idea reaches it


def standing(own, references, is_robust, ideas, speed):
    """A submission's level. `own`: its traced run, or None; `ideas`: {step's id: text}; `speed`: what is missing for
    the level fast, empty if nothing is."""
    if not is_robust:
        return Standing(RIGHT, ROBUST, "see the remarks")
    levels = of_ladder(references) if own else []
    serial = why_serial(own, references) if own else ""
    if serial and levels:
        return Standing(ROBUST, levels[0].name, f"the work is done by {serial}: give each thread an element")
    reached = ROBUST
    sums = traces.Sums(own) if own else None
    for level in levels:
        if not level.reached(sums):
            idea = ideas.get(level.step, "")
            return Standing(reached, level.name, level.shortfall(sums) + f": {idea}" * bool(idea))
        reached = level.name
    return Standing(reached, FAST, speed) if speed else Standing(FAST, "", "")
