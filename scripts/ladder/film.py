"""Films: what scripts/explain --play shows of a small run, event by event. The traced build keeps the events
(--trace --json --events); here they are put in order, cut to size and written into a page, which film.js plays. The
format is in scripts/README.md."""
import json
import os

import ladder
from ladder import candidates, checked_run, diagnosis, figures, report, traces

SMALL = {1: [500], 2: [64, 64], 3: [32, 32, 64]}  # lengths where the command line gives none, by their number
SMALLEST = 8  # where there are more dimensions
MOST_BYTES = 2_400_000  # of a page's events
POLLS = 4  # of a thread that spins
MOST_RACES = 3  # that are named
BEFORE = 12  # events that are played before what is wrong
CHECK_S, HANGS_S = 5, 10  # CPU seconds: of sizes tried on what is not right, and of a thread that does not end
FIELDS = ["launch", "block", "warp", "line", "lanes", "units", "ideal", "array", "at", "words", "executed", "passes"]
DOES = {"load": "loads", "store": "stores", "atomic": "makes an atomic operation"}
LINE = ["file", "line", "kind", "what", "space", "op", "width", "async"]
BYTES_OF = {"float16": 2, "bfloat16": 2, "int64": 8, "int8": 1, "uint8": 1}


# ---- running

def failing_run(program):
    """The options of the smallest run that fails, in the order of threads that it fails in; [] if none does."""
    outcome = checked_run.run(program, ["--check", "--smallest-first", f"--seconds={CHECK_S}"], 8 * CHECK_S)
    facts = outcome.facts
    if outcome.passed or "options" not in facts:
        return []
    ladder.say(f"{program.name} fails at {diagnosis.how(facts)}: this is the run to see")
    os.environ.setdefault("CUDA_EMU_ORDER", facts.get("order") or "forward")
    return [*facts["options"], f"--data={facts['data']}", *["--misaligned"] * bool(facts["offsets"])]


def run(step, options):
    """The traced run of a step with its events, as scripts/explain --json has it. Without options it is small; of a
    planted bug, or of a page that is wrong, the smallest that fails."""
    os.environ.setdefault("CUDA_EMU_TIMEOUT", str(HANGS_S))
    ladder.configure(traces.PRESET)
    left_out = ladder.skipped(traces.PRESET)
    if step.name in left_out:
        ladder.fail(f"{step.name}: needs {left_out[step.name]}", 2)
    program = candidates.program_of(traces.PRESET, step)
    if not options and step.kind in ("bug", "submission"):
        options = failing_run(program)
    if not options:
        dims = ladder.dims(program)
        lengths = SMALL.get(len(dims), [SMALLEST] * len(dims))
        options = [f"--{name}={min(length, most)}" for (name, most), length in zip(dims.items(), lengths)]
    reported = [f"--record={os.devnull}"]  # or the backend's reports are not kept
    return traces.complete(traces.run(program, ["--events", *reported, *options])[0], [step])


# ---- the order

def parts(event):
    """An event of several lanes as events of one each."""
    lanes = [lane for lane in range(32) if event["lanes"] >> lane & 1]
    for number, lane in enumerate(lanes):
        one = {**event, "lanes": 1 << lane, "units": 1, "ideal": 1}
        one.update({key: [event[key][number]] for key in ("executed", "words", "addresses") if key in event})
        one.pop("passes", None)
        yield one


def thread(event, block_shape, index):
    """Is this event, of one lane, of the thread with this index?"""
    number = index[0] + block_shape[0] * (index[1] + block_shape[1] * index[2])
    return event["warp"] * 32 + event["lanes"].bit_length() - 1 == number


def why_executed(entry, order):
    """Why the warps of this run cannot be played in lockstep; empty if they can."""
    if any(launch["races"] for launch in entry["launches"]):
        return ("Accesses race, so what a lane reads depends on who came first. The film plays the order in which the "
                f"CPU backend executed the lanes, one after another ({order} order); a GPU may have another.")
    if any(report_["kind"] == "error" for report_ in entry.get("reports", ())):
        return ("The launch failed. The film plays the order in which the CPU backend executed the lanes, one after "
                "another, up to there.")
    return ""


def without_polls(events):
    """Leaves out what a thread that spins does over and over: the same accesses, that give the same values."""
    seen = {}
    for event in events:
        mine = seen.setdefault((event["launch"], event["block"], event["warp"], event["lanes"]), {})
        deed = repr([event.get(key) for key in ("kind", "line", "op", "addresses", "words")])
        if deed not in mine:
            mine.clear()
        mine[deed] = mine.get(deed, 0) + 1
        if mine[deed] <= POLLS:
            yield event


def failures(entry, events):
    """An event for each error that the backend reports, where it stopped: the thread that it names, and its line."""
    for report_ in entry.get("reports", ()):
        if report_["kind"] != "error" or not events or "thread" not in report_:
            continue
        launch = events[-1]["launch"]
        (x, y, _), (width, height, _) = entry["launches"][launch]["grid"], entry["launches"][launch]["block"]
        one, block = report_["thread"], report_["block"]
        number = one[0] + width * (one[1] + height * one[2])
        file, _, line = report_.get("at", "").rpartition(":")
        place = {"file": file, "line": int(line)} if file else {"line": 0}
        yield {"launch": launch, "block": block[0] + x * (block[1] + y * block[2]), "warp": number // 32,
               "lanes": 1 << number % 32, "kind": "failure", "what": report_["problem"].partition(": ")[0],
               "executed": [max(events[-1]["executed"]) + 1], **place}


def in_order(entry, executed):
    """The events of all launches as they are played; and whether a thread that spins is left out."""
    events = [{**event, "launch": number} for number, launch in enumerate(entry["launches"])
              for event in launch.get("events", ())]
    if executed:
        events = [one for event in events for one in (parts(event) if event["lanes"] else [event])]
        events.sort(key=lambda event: event["executed"][0])
        shown = list(without_polls(events))
        return [*shown, *failures(entry, shown)], len(shown) < len(events)
    return events, False


# ---- where memory is

class Memory:
    """Names the arrays that addresses belong to, in the order of their use; `arrays` is for the film."""

    def __init__(self, entry):
        self.entry = entry
        self.arrays, self.numbers = [], {}
        shared = [address for launch in entry["launches"] for event in launch.get("events", ())
                  if event.get("space") == "shared" for address in event["addresses"]]
        self.shared = min(shared, default=0) // 128 * 128  # where the first row begins

    def find(self, launch, space, address):
        """(number of the array, offset in bytes); the offset of what lies outside may be negative, or too large."""
        if space != "global":
            return self.known(space, {"name": space, "type": None}, self.shared if space == "shared" else 0, address)
        begin, end = next((one["begin"], one["begin"] + one["bytes"])
                          for one in self.entry["launches"][launch]["allocations"]
                          if one["begin"] <= address < one["begin"] + one["bytes"])
        for array in self.entry["arrays"]:  # each has an allocation of its own, perhaps with guard bands
            if begin <= array["begin"] < end:
                return self.known(array["begin"], array, array["begin"], address)
        others = sum(array["name"].startswith("scratch") for array in self.arrays)
        return self.known(begin, {"name": f"scratch {others + 1}", "type": None}, begin, address)

    def known(self, key, array, begin, address):
        if key not in self.numbers:
            self.numbers[key] = len(self.arrays)
            self.arrays.append({"name": array["name"], "type": array["type"], "phase": begin % 128,
                                "count": array.get("bytes", 0) // BYTES_OF.get(array["type"], 4)})
        return self.numbers[key], address - begin


# ---- what is wrong, and when

def overlaps(event, address, width):
    return "addresses" in event and any(begin < address + width and address < begin + event["width"]
                                        for begin in event["addresses"])


def moment_of_race(entry, events, race):
    """When the second of two lanes comes to the word, and what happens there."""
    at = next((number for number, event in enumerate(events) if event["executed"][0] == race["executed"]), None)
    if at is None:
        return None
    second, first = events[at], race["first"]
    shape = entry["launches"][second["launch"]]["block"]
    before = next((number for number in range(at - 1, -1, -1)
                   if overlaps(events[number], second["addresses"][0], second["width"])
                   and events[number]["line"] == first["line"] and events[number]["op"] == first["op"]
                   and thread(events[number], shape, first["thread"])), None)
    same_warp = before is not None and events[before]["warp"] == second["warp"]
    missing = "fence and atomic" if race["scope"] != "block" else "__syncwarp or barrier" if same_warp else "barrier"
    if first["thread"] == race["second"]["thread"] and race["scope"] == "block":
        missing = "wait for the copy"
    said = [f"thread {traces.coordinates(side['thread'])}"
            + f" of block {traces.coordinates(side['block'])}" * (first["block"] != race["second"]["block"])
            + f" {DOES[side['op']]} in line {side['line']}" for side in (first, race["second"])]
    return {"event": at, "first": before, "text": f"Race at one word of {race['space']} memory, {race['kind']}: "
            f"{said[0]}, then {said[1]}, with no {missing} between."}


def moment_of_value(entry, events):
    """When the element that is wrong was written last."""
    failure = entry.get("failure", {})
    array = next((one for one in entry["arrays"] if one["name"] == failure.get("buffer")), None)
    if array is None or "seen" not in failure:
        return None
    width = BYTES_OF.get(array["type"], 4)
    address = array["begin"] + failure["index"] * width
    writes = [number for number, event in enumerate(events)
              if event.get("space") == "global" and event["op"] != "load" and overlaps(event, address, width)]
    last = max(writes, key=lambda number: max(events[number]["executed"]), default=len(events) - 1)
    who = "It is written last here." if writes else "No thread wrote it."
    return {"event": last, "first": None, "text": f"{failure['seen']}. {who}"}


def moment_key(moment):
    return moment["event"]


def moments_of(entry, events):
    """What is wrong, in order; of races the first ones."""
    races = [race for launch in entry["launches"] for race in launch["races"]]
    found = sorted(filter(None, (moment_of_race(entry, events, race) for race in races)), key=moment_key)[:MOST_RACES]
    ends = [number for number, event in enumerate(events) if event["kind"] == "failure"]
    told = [diagnosis.told(one).replace("\n", "; ").replace(f"{ladder.ROOT}/", "") for one in entry.get("reports", ())
            if one["kind"] == "error" and "thread" in one]
    found += [{"event": end, "first": None, "text": text} for end, text in zip(ends, told)]
    return sorted(filter(None, [*found, moment_of_value(entry, events)]), key=moment_key)


# ---- the film

def packed(numbers):
    """ "8+4" for 8, 12, 16 and so on; other numbers as they are."""
    steps = {b - a for a, b in zip(numbers, numbers[1:])}
    return f"{numbers[0]}+{steps.pop()}" if len(numbers) > 2 and len(steps) == 1 else numbers


def words_of(event):
    """What each lane loaded or stored, all lanes' in a row; of atomic operations what was there after, and before."""
    words = event.get("words", [])
    if event["kind"] == "access" and event["async"] and event["op"] == "store":
        return []  # it has not landed
    if event.get("op") == "atomic" and event["width"] <= 4:
        words = [[after, before] for after, _, before, _ in words]
    return [word for one in words for word in one]


def encoded(event, lines, memory):
    """An event as the film has it."""
    line = {key: event[key] for key in LINE if key in event}
    number = lines.setdefault(json.dumps(line), len(lines))
    places = [memory.find(event["launch"], event["space"], address) for address in event.get("addresses", ())]
    passes = event.get("passes", []) if event.get("units", 1) > event.get("ideal", 1) else []
    return [event["launch"], event["block"], event["warp"], number, event["lanes"], event.get("units", 1),
            event.get("ideal", 1), places[0][0] if places else None, packed([offset for _, offset in places]),
            packed(words_of(event)), packed(event["executed"]), packed(passes)]


def chosen(events, sizes, focus, budget):
    """The numbers of the events that fit: those of the block of event `focus`, of which the first are left out if that
    one would not fit, then the other blocks', in order."""
    blocks = {}
    for number, event in enumerate(events):
        blocks.setdefault((event["launch"], event["block"]), []).append(number)
    own = blocks.pop((events[focus]["launch"], events[focus]["block"]))
    while len(own) > 1 and sum(sizes[number] for number in own if number <= focus) > budget:
        own = own[len(own) // 16 + 1:]
    kept, used = [], 0
    for number in [*own, *(number for block in blocks.values() for number in block)]:
        used += sizes[number]
        if used > budget:
            break
        kept.append(number)
    return sorted(kept)


def wrong(entry):
    """What is wrong, in a sentence; empty if nothing is."""
    if entry["right"]:
        return ""
    seen = entry.get("failure", {}).get("seen", "see below").replace(f"{ladder.ROOT}/", "")
    failed = any(one["kind"] == "error" for one in entry.get("reports", ()))
    return seen if failed else f"The result is wrong: {seen}"


def of(entry, budget=MOST_BYTES):
    """The film of a run."""
    why = why_executed(entry, os.environ.get("CUDA_EMU_ORDER", "forward"))
    events, spins = in_order(entry, why != "")
    why += " What a thread that spins does over and over is left out." * spins
    if not events:
        ladder.fail(f"{entry['step']}: no kernel ran at {figures.size_text(entry['size'])}, so there is nothing to see")
    moments = moments_of(entry, events)
    lines, memory = {}, Memory(entry)
    all_encoded = [encoded(event, lines, memory) for event in events]
    sizes = [len(json.dumps(one, separators=(",", ":"))) + 1 for one in all_encoded]
    kept = chosen(events, sizes, moments[0]["event"] if moments else 0, budget)
    place = {number: at for at, number in enumerate(kept)}
    moments = [{**moment, "event": place[moment["event"]], "first": place.get(moment["first"])}
               for moment in moments if moment["event"] in place]
    is_whole = all(launch.get("all_events", True) for launch in entry["launches"])
    some = "" if len(kept) == len(events) else f"{len(kept):,} of "
    cut = "" if is_whole and not some else (
        f"The film is cut: it has {some}the run's {'first ' * (not is_whole)}{len(events):,} events.")
    first = [number for moment in moments[:1] for number in (moment["event"], moment["first"]) if number is not None]
    files = dict.fromkeys([entry["file"], *(json.loads(line)["file"] for line in lines)])
    return {"version": 1, "step": entry["step"], "file": entry["file"], "size": figures.size_text(entry["size"]),
            "right": entry["right"], "wrong": wrong(entry),
            "order": "executed" if why else "lockstep", "why": why, "cut": cut,
            "sources": {file: text for file in files if (text := report.source_lines(file)) is not None},
            "launches": [{key: launch[key] for key in ("kernel", "grid", "block", "shared_bytes")}
                         for launch in entry["launches"]],
            "arrays": memory.arrays, "lines": [json.loads(line) for line in lines], "moments": moments,
            "start": max(0, min(first, default=0) - BEFORE),
            "fields": FIELDS, "events": [all_encoded[number] for number in kept]}


FRAMES, FRAME_S = 12, 1.5  # of the picture, and seconds of each


def svg_of(entry):
    """A picture that moves: the requests of one warp, the first ones, drawn as scripts/explain --svg does."""
    draw = {"global": report.draw_global, "shared": report.draw_banks, "constant": report.draw_constants}
    memory, frames, height = Memory(entry), [], 0
    accesses = [event for event in in_order(entry, False)[0] if event["kind"] == "access"]
    where = ("launch", "block", "warp")
    own = [event for event in accesses if all(event[key] == accesses[0][key] for key in where)]
    for event in own[:FRAMES]:
        lanes = [lane for lane in range(32) if event["lanes"] >> lane & 1]
        sample = {"offsets": [None] * 32, "passes": [None] * 32, "units": event["units"], "ideal": event["ideal"]}
        for lane, address, turn in zip(lanes, event["addresses"], event["passes"]):
            array, sample["offsets"][lane] = memory.find(event["launch"], event["space"], address)
            sample["passes"][lane] = turn
        parts, bottom, note = draw[event["space"]](event, sample)
        source = report.source_lines(event["file"])[event["line"] - 1].strip()
        name = f" of {memory.arrays[array]['name']}" * (event["space"] == "global")
        title = f"line {event['line']}, {event['space']} {event['op']}{name}: {source}"
        frames.append([report.text(8, 16, title, "title"), *parts, report.text(8, bottom + 13, note, "note")])
        height = max(height, bottom + 22)
    shown = 100 / len(frames)
    style = (f"<style>.frame {{ opacity: 0; animation: frame {len(frames) * FRAME_S}s step-end infinite; }} "
             f"@keyframes frame {{ 0% {{ opacity: 1; }} {shown:.3f}% {{ opacity: 0; }} }}</style>")
    parts = [style] + [f'<g class="frame" style="animation-delay: {number * FRAME_S}s">{"".join(frame)}</g>'
                       for number, frame in enumerate(frames)]
    drawn = report.svg(parts, report.width_of_all(), height, f"{entry['step']}, request by request", True)
    return report.drawn_by(f"scripts/explain --play --svg {entry['step']}", drawn)


def to_json(films):
    return json.dumps({"version": 1, "films": films}, separators=(",", ":"))


def html_of(films):
    """The page that plays them, side by side."""
    folder = ladder.ROOT / "scripts/ladder"
    page = (folder / "film.html").read_text()
    for mark, text in (("/*colours*/", report.COLOURS), ("/*script*/", (folder / "film.js").read_text()),
                       ("<!--title-->", " and ".join(film["step"] for film in films)),
                       ("<!--films-->", to_json(films).replace("</", "<\\/"))):
        page = page.replace(mark, text, 1)
    return page
