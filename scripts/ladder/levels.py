"""Compares a traced or a timed run of a submission with the steps of its ladder: races, memory access, and the level
that a passing submission has reached.

A measure is a level if it distinguishes the ladder's steps: some are worse than the best by more than 30 %. Coalesced
is a level in every ladder, and bank conflicts are one if a step uses shared memory. The level's idea is that of the
first step near the best."""
import json
import subprocess
from operator import attrgetter

import ladder
from ladder import diagnosis, figures, traces

SPACES = {"global_load": ("global loads", "sectors"), "global_store": ("global stores", "sectors"),
          "shared_load": ("shared loads", "wavefronts"), "shared_store": ("shared stores", "wavefronts")}
NEARLY = 1.05  # up to this ratio, counts are the same
LADDER_S = 300  # limit for a run of the ladder's steps
RIGHT, ROBUST, COALESCED, NO_CONFLICTS, FAST = "right", "robust", "coalesced", "no bank conflicts", "fast"
NEAR_BEST = 1.3  # up to this ratio to the best value, the level is reached


def first_race(step):
    """Returns the diagnosis of the first race of a traced step, or None."""
    found = ((launch["block"], race) for launch in step["launches"] for race in launch["races"])
    (width, height, _), race = next(found, ((0, 0, 0), None))
    if race is None:
        return None
    warps = {(x + width * (y + height * z)) // 32 for x, y, z in (race[side]["thread"] for side in ("first", "second"))}
    failure = diagnosis.WARP_RACE if race["scope"] == "block" and len(warps) == 1 else diagnosis.RACE
    return failure._replace(what=traces.race_text(race), at="{file}:{line}:1".format(**race["second"]))


def ladder_entries(problem, preset, options, say):
    """Returns the entries that the ladder's program prints with these options. They are kept in a file until the
    program changes. Returns [] if the program does not build or does not end."""
    say(f"running the ladder's steps to compare; building them in build/{preset} the first time takes a minute or two")
    if ladder.try_build(preset, [f"ladder_{problem.kernel}"], stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL).returncode != 0:
        return []
    program = problem.steps[0].ladder_program(preset)
    kept = ladder.ROOT / "build" / preset / "practice" / f"{problem.kernel}.json"
    if kept.is_file() and kept.stat().st_mtime > program.stat().st_mtime:
        return json.loads(kept.read_text())
    try:
        done = subprocess.run([program, *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              timeout=LADDER_S)
    except subprocess.TimeoutExpired:
        return []
    steps = [step for step in ladder.entries(done.stdout) if step["step"] != f"{step['kernel']}_any_shape"]
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(json.dumps(steps))
    return steps


def compared(own, references):
    """Returns one line for each kind of access: units per request, and the steps that have as many or fewer."""
    lines = []
    mine = traces.Sums(own)
    others = [(step["step"][len(step["kernel"]) + 1:][:2], traces.Sums(step)) for step in references]
    for name, (words, unit) in SPACES.items():
        if not mine.total("requests", name):
            continue
        units = mine.total("units", name)
        seen, best = mine.per_request(name), mine.per_request(name, "ideal")
        line = f"{words}: {seen:.1f} {unit} per request, {best:.1f} at best; {units} in all"
        counted = [(step, sums.per_request(name), sums.total("units", name)) for step, sums in others
                   if sums.total("requests", name)]
        same = [step for step, _, count in counted if abs(count - units) <= (NEARLY - 1) * units]
        better = [one for one in counted if one[2] * NEARLY < units]
        line += f", as step {same[0]}" if same else ""
        line += "; step {} has {:.1f} per request, {} in all".format(*better[0]) if better else ""
        lines.append(line)
    return "\n".join(lines + ["(the ladder's steps do not build or end here)"] * (not references))


# ---- levels

def sector_ratio(sums):
    """Returns the sectors over the fewest that would hold the bytes of each request."""
    ideal = sums.total("ideal", "global_load", "global_store")
    return sums.sectors / ideal if ideal else 1.0


# {name: (measure of a step's Sums, its text)}
MEASURES = {
    COALESCED: (sector_ratio, "{:.2f} times the fewest sectors per request"),
    NO_CONFLICTS: (attrgetter("conflicts"), "{:,} wavefronts lost to bank conflicts"),
    "few atomics": (lambda sums: max(0, sums.atomics - sum(sums.blocks)), "{:,} atomics beyond one per block"),
    "least traffic": (attrgetter("sectors"), "{:,} sectors in all"),
}


def first_near_best(values):
    """Returns, for {step: value}, (the limit for values near the best, the first step within it)."""
    limit = NEAR_BEST * min(values.values())
    return limit, next(step for step, value in values.items() if value <= limit)


def of_ladder(references):
    """Returns a kernel's levels from the sums of its traced steps {step: Sums}: [(name, limit, its first step)]. For
    bank conflicts that is a step with shared memory, if one has few enough."""
    found = []
    sharing = [step for step, sums in references.items() if sums.total("requests", "shared_load", "shared_store")]
    for name, (measure, _) in MEASURES.items() if references else []:
        values = {step: measure(sums) for step, sums in references.items()}
        limit, step = first_near_best(values)
        if name == NO_CONFLICTS:
            step = next((one for one in sharing if values[one] <= limit), step)
        if name == COALESCED or (name == NO_CONFLICTS and sharing) or max(values.values()) > limit:
            found.append((name, limit, step))
    return found


def lanes_and_blocks(sums):
    """Returns (active lanes per access to global memory, blocks of the largest launch)."""
    return (sums.total("lanes", "global_load", "global_store") / sums.requests if sums.requests else 32,
            max(sums.blocks, default=1))


def why_serial(own, references):
    """Returns why a submission is too serial for the levels above robust, or an empty text."""
    lanes, blocks = lanes_and_blocks(own)
    least_lanes, least_blocks = map(min, zip(*map(lanes_and_blocks, references)))
    reasons = [f"{lanes:.0f} lane{'s' * (round(lanes) != 1)} of 32"] * (lanes < least_lanes / 2)
    return ", ".join(reasons + ["1 block"] * (blocks < 2 <= least_blocks))


def speed(own, steps):
    """Returns (the time, the step of the ladder with the same cold time and the ratio to the library, as text; what is
    missing for the level fast, or an empty text). `steps` are the ladder's, timed on the same GPU."""
    cold, times = own["cold_us"], {step["step"]: step["cold_us"] for step in steps if not step["step"].startswith("00")}
    limit, first = first_near_best(times) if times else (cold, None)
    equal = min((step for step in times if times[step] >= cold / NEARLY), key=times.get, default=None)
    text = f"{cold:.2f} us" + ", slower than every step of the ladder" * bool(steps and not equal)
    text += f", as fast as step {equal} ({times[equal]:.2f} us)" if equal else ""
    text += f"; {own['vs_vendor']:.3f}x the library" if own.get("vs_vendor") else ""
    return text, f"{cold:.2f} us; {figures.name_in_text(first)} takes {times[first]:.2f}" if cold > limit else ""


def standing(own, references, is_robust, ideas, speed):
    """Returns (a submission's level; the next level, what is missing for it and whose idea reaches it). `own` is its
    traced run or None, `ideas` is {step's id: text}, and `speed` says what is missing for the level fast."""
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
