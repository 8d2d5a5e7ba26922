"""How far a submission that passes has come: levels, which the ladder's own steps define.

A measure is a level where it tells the ladder's steps apart: some are worse than the best by more than a third.
Coalesced is one in every ladder, and bank conflicts are wherever a step uses shared memory. The first step that comes
near the best is the one whose idea reaches the level."""
import math
from operator import attrgetter

from ladder import figures, traces

RIGHT, ROBUST, COALESCED, NO_CONFLICTS, FAST = "right", "robust", "coalesced", "no bank conflicts", "fast"
NEAR_BEST = 1.3  # times the best reaches a level


def sector_ratio(sums):
    """Sectors over the fewest that would hold the bytes of each request."""
    ideal = sums.total("ideal", "global_load", "global_store")
    return sums.sectors / ideal if ideal else 1.0


# name: (measure of a step's sums, as text)
MEASURES = {
    COALESCED: (sector_ratio, "{:.2f} times the fewest sectors per request"),
    NO_CONFLICTS: (attrgetter("conflicts"), "{:,} wavefronts lost to bank conflicts"),
    "few atomics": (attrgetter("atomics"), "{:,} atomic operations"),
    "least traffic": (attrgetter("sectors"), "{:,} sectors in all"),
}


def first_near_best(values):
    """(the limit of what comes near the best, the first step within it), of {step: value}."""
    limit = NEAR_BEST * min(values.values())
    return limit, next(step for step, value in values.items() if value <= limit)


def of_ladder(references):
    """The levels of a kernel, from the sums of its traced steps, {step: Sums}: [(name, limit, its first step)]."""
    found = []
    uses_shared = any(sums.total("requests", "shared_load", "shared_store") for sums in references.values())
    for name, (measure, _) in MEASURES.items() if references else []:
        values = {step: measure(sums) for step, sums in references.items()}
        limit, step = first_near_best(values)
        if name == COALESCED or (name == NO_CONFLICTS and uses_shared) or max(values.values()) > limit:
            found.append((name, limit, step))
    return found


def lanes_and_blocks(sums):
    """(active lanes of an access to global memory, blocks of the largest launch)"""
    return (sums.total("lanes", "global_load", "global_store") / sums.requests if sums.requests else 32,
            max((math.prod(launch["grid"]) for launch in sums.entry["launches"]), default=1))


def why_serial(own, references):
    """Why a submission is too serial for the levels above robust; empty if it is not."""
    lanes, blocks = lanes_and_blocks(own)
    least_lanes, least_blocks = map(min, zip(*map(lanes_and_blocks, references)))
    reasons = [f"{lanes:.0f} lane{'s' * (round(lanes) != 1)} of 32"] * (lanes < least_lanes / 2)
    return ", ".join(reasons + ["1 block"] * (blocks < 2 <= least_blocks))


def shortfall_in_time(cold_us, timed):
    """What is missing for the level fast; empty if nothing is. `timed`: the ladder's steps, in the submission's run."""
    times = {step["step"]: step["cold_us"] for step in timed if not step["step"].startswith("00")}
    limit, first = first_near_best(times) if times else (cold_us, None)
    return f"{cold_us:.2f} us; {figures.name_in_text(first)} takes {times[first]:.2f}" if cold_us > limit else ""


def standing(own, references, is_robust, ideas, speed):
    """(a submission's level; the next one, what is missing for it and whose idea reaches it). `own`: its traced run, or
    None; `ideas`: {step's id: text}; `speed`: what is missing for the level fast, empty if nothing is."""
    if not is_robust:
        return RIGHT, f"{ROBUST}: see the remarks"
    own = own and traces.Sums(own)
    references = {entry["step"][len(entry["kernel"]) + 1:]: traces.Sums(entry) for entry in references if own}
    levels = of_ladder(references)
    serial = why_serial(own, references.values()) if levels else ""
    if serial:
        return ROBUST, f"{levels[0][0]}: the work is done by {serial}: give each thread an element"
    reached = ROBUST
    for name, limit, step in levels:
        measure, words = MEASURES[name]
        if measure(own) > limit:
            best = words.format(measure(references[step]))
            following = f"{name}: {words.format(measure(own))}; {figures.name_in_text(step)} has {best}"
            return reached, ": ".join(filter(None, [following, ideas.get(step)]))
        reached = name
    return (reached, f"{FAST}: {speed}") if speed else (FAST, "")
