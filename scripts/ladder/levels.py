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

    def shortfall(self, sums):
        """What is missing for the level; empty if nothing is."""
        measure, words = MEASURES[self.name]
        if measure(sums) <= self.limit:
            return ""
        return f"{words(measure(sums))}; {figures.name_in_text(self.step)} has {words(self.value)}"


def of_ladder(references):
    """The levels of a kernel, from its traced steps."""
    sums = [(entry["step"][len(entry["kernel"]) + 1:], traces.Sums(entry)) for entry in references]
    uses_shared = any(one.total("requests", "shared_load", "shared_store") for _, one in sums)
    found = []
    for name, (measure, _) in MEASURES.items() if sums else []:
        values = [(step, measure(one)) for step, one in sums]
        limit = NEAR_BEST * min(value for _, value in values)
        step, value = next((step, value) for step, value in values if value <= limit)
        if (name == COALESCED or (name == NO_CONFLICTS and uses_shared)
                or max(value for _, value in values) > limit):
            found.append(Level(name, limit, step, value))
    return found


def lanes(sums):
    """Active, of an access to global memory."""
    return sums.total("lanes", "global_load", "global_store") / sums.requests if sums.requests else 32


def blocks(entry):
    """Of the largest launch."""
    return max((x * y * z for x, y, z in (launch["grid"] for launch in entry["launches"])), default=1)


def why_serial(own, references):
    """Why a submission is too serial for the levels above robust; empty if it is not."""
    seen, least = lanes(traces.Sums(own)), min(lanes(traces.Sums(entry)) for entry in references)
    reasons = [f"{seen:.0f} lane{'s' * (round(seen) != 1)} of 32"] if seen < least / 2 else []
    if blocks(own) < 2 <= min(map(blocks, references)):
        reasons.append("1 block")
    return ", ".join(reasons)


def shortfall_in_time(cold_us, timed):
    """What is missing for the level fast; empty if nothing is. `timed`: the ladder's steps, in the submission's run."""
    times = {step["step"]: step["cold_us"] for step in timed if not step["step"].startswith("00")}
    if not times or cold_us <= NEAR_BEST * min(times.values()):
        return ""
    first = next(step for step in sorted(times) if times[step] <= NEAR_BEST * min(times.values()))
    return f"{cold_us:.2f} us; {figures.name_in_text(first)} takes {times[first]:.2f}"


def standing(own, references, is_robust, ideas, speed):
    """(a submission's level, the next one, what is missing for it and whose idea reaches it). `own`: its traced run, or
    None; `ideas`: {step's id: text}; `speed`: what is missing for the level fast, empty if nothing is."""
    if not is_robust:
        return RIGHT, ROBUST, "see the remarks"
    levels = of_ladder(references) if own else []
    serial = why_serial(own, references) if levels else ""
    if serial:
        return ROBUST, levels[0].name, f"the work is done by {serial}: give each thread an element"
    reached = ROBUST
    for level in levels:
        missing, idea = level.shortfall(traces.Sums(own)), ideas.get(level.step, "")
        if missing:
            return reached, level.name, missing + f": {idea}" * bool(idea)
        reached = level.name
    return (reached, FAST, speed) if speed else (FAST, "", "")
