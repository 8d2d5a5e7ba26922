"""What a traced run says of a submission, beside the steps of its ladder: races, and how memory is accessed."""
import json
import subprocess

import ladder
from ladder import diagnosis, traces

SPACES = {"global_load": ("global loads", "sectors"), "global_store": ("global stores", "sectors"),
          "shared_load": ("shared loads", "wavefronts"), "shared_store": ("shared stores", "wavefronts")}
NEARLY = 1.05  # times as many is still the same
LADDER_S = 300  # for a run of the ladder's steps


def first_race(step):
    """The diagnosis of the first race of a traced step, or None if it has none."""
    found = ((launch["block"], race) for launch in step["launches"] for race in launch["races"])
    (width, height, _), race = next(found, ((0, 0, 0), None))
    if race is None:
        return None
    warps = {(x + width * (y + height * z)) // 32 for x, y, z in (race[side]["thread"] for side in ("first", "second"))}
    failure = diagnosis.WARP_RACE if race["scope"] == "block" and len(warps) == 1 else diagnosis.RACE
    return failure._replace(what=traces.race_text(race), at="{file}:{line}:1".format(**race["second"]))


def of_ladder(problem, preset, options, say):
    """What the ladder's program prints with these options, kept in a file for as long as the program does not change;
    [] if it does not build or end."""
    say(f"the ladder's steps, to compare with; the first time they are built in build/{preset}, a minute or two")
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
    kept.write_text(json.dumps(steps))
    return steps


def compared(own, references):
    """One line for each kind of access: units per request, and the steps that have as many or fewer."""
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


def speed_text(own, steps):
    """Which step of the ladder a submission equals, by its cold time, and the ratio to the library."""
    times = {step["cold_us"]: step["step"] for step in steps if not step["step"].startswith("00")}
    slower = min((time for time in times if time >= own["cold_us"] / NEARLY), default=None)
    text = f"{own['cold_us']:.2f} us" + ", slower than every step of the ladder" * bool(steps and not slower)
    text += f", as fast as step {times[slower]} ({slower:.2f} us)" if slower else ""
    return text + (f"; {own['vs_vendor']:.3f}x the library" if own.get("vs_vendor") else "")
