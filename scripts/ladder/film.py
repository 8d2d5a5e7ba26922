"""Makes the films that scripts/explain --play shows of a small run, event by event. The traced build records the
events (--trace --json --events). This module orders them, cuts them to size, and writes them into a page, which
film.js plays. scripts/README.md describes the format."""
import collections
import itertools
import json
import math
import os
import re
import sys

import ladder
from ladder import candidates, checked_run, diagnosis, figures, report, traces

SMALL = {1: [500], 2: [64, 64], 3: [32, 32, 64]}  # {number of dimensions: default lengths}
SMALLEST = 8  # default length with more dimensions
LENGTHS = 1, 2, 5, 17, 33, 65, 129, 257  # tried in place of lengths that fail
MOST_BYTES = 2_400_000  # limit for the events of a page
POLLS = 4  # shown for a thread that spins
MOST_RACES = 3  # limit for the races that are named
BEFORE = 12  # events played before the error
CHECK_S, HANGS_S = 5, 10  # CPU seconds for trying sizes of a wrong program, and for a thread that does not end
FIELDS = ["launch", "block", "warp", "line", "lanes", "units", "ideal", "array", "at", "words", "executed", "passes"]
DOES = {"load": "loads it", "store": "stores it", "atomic": "changes it by an atomic operation"}
LINE = ["file", "line", "kind", "what", "type", "space", "op", "width", "async"]
BYTES_OF = {"float16": 2, "bfloat16": 2, "int64": 8, "int8": 1, "uint8": 1}  # other types: 4
TYPES = {r"float[234]?": "float32", r"u?int[234]?|unsigned int": "int32", r"__half2?": "float16",
         r"__nv_bfloat162?": "bfloat16", r"(unsigned )?long( long)?": "int64", r"signed char": "int8",
         r"unsigned char|bool": "uint8"}


# ---- running

def failing_run(program):
    """Returns the options of the smallest failing run, or [], and sets the order of threads in which it fails."""
    def check(options):
        limited = ["--check", "--smallest-first", f"--seconds={CHECK_S}", *options]
        outcome = checked_run.run(program, limited, 8 * CHECK_S)
        return outcome.facts if not outcome.passed and "options" in outcome.facts else {}

    facts = check([])
    if not facts:
        return []
    for name in ladder.dims(program):  # the tests have few sizes, and a length of 0 shows little
        given = next(one for one in facts["options"] if one.startswith(f"--{name}="))
        lengths = (one for one in LENGTHS if given.endswith("=0") or one < int(given.partition("=")[2]))
        sizes = ([f"--{name}={one}" if old == given else old for old in facts["options"]] for one in lengths)
        facts = next(filter(None, map(check, sizes)), facts)
    ladder.say(f"{program.name} fails at {diagnosis.how(facts)}: the film shows this run")
    os.environ.setdefault("CUDA_EMU_ORDER", facts.get("order") or "forward")
    return [*facts["options"], f"--data={facts['data']}", *["--misaligned"] * bool(facts["offsets"])]


def run(step, options):
    """Returns a step's traced run with its events, as scripts/explain --json prints it. Without options the run is
    small; for a planted bug or a wrong submission it is the smallest run that fails."""
    os.environ.setdefault("CUDA_EMU_TIMEOUT", str(HANGS_S))
    ladder.buildable(traces.PRESET, {step.kernel: [step]})
    program = candidates.program_of(traces.PRESET, step)
    if not options and step.kind in ("bug", "submission"):
        options = failing_run(program)
    if not options:
        dims = ladder.dims(program)
        lengths = SMALL.get(len(dims), [SMALLEST] * len(dims))
        options = [f"--{name}={min(length, most)}" for (name, most), length in zip(dims.items(), lengths)]
    reported = f"--record={os.devnull}"  # without it the backend keeps no reports
    return (traces.run(step, program, ["--events", reported, *options]) or sys.exit(2))[0]


# ---- the order

def lanes_of(mask):
    return [lane for lane in range(32) if mask >> lane & 1]


def lane_by_lane(event):
    """Splits an event of several lanes into events of one lane each."""
    for number, lane in enumerate(lanes_of(event["lanes"])):
        own = {key: [event[key][number]] for key in ("executed", "words", "addresses", "from") if key in event}
        yield {**event, **own, "lanes": 1 << lane, "units": 1, "ideal": 1}


def thread(event, lane=None):
    """Returns the thread of an event of one lane, or that of another lane of its warp."""
    return event["launch"], event["block"], event["warp"], event["lanes"].bit_length() - 1 if lane is None else lane


def errors(entry):
    return [one for one in entry.get("reports", ()) if one["kind"] == "error"]


def why_executed(entry):
    """Returns why the warps of this run cannot be played in lockstep, or an empty text if they can."""
    races, order = any(launch["races"] for launch in entry["launches"]), os.environ.get("CUDA_EMU_ORDER", "forward")
    why = "Accesses race, so what a lane reads depends on who came first." if races else "The launch failed."
    return (f"{why} The film plays the order in which the CPU backend executed the lanes, one after another ({order} "
            "order); a GPU may have another.") * bool(races or errors(entry))


def without_polls(events):
    """Leaves out the repeated events of a thread that spins on the same value."""
    last, times = {}, collections.Counter()
    for event in events:
        own, can_poll = thread(event), event["kind"] == "access" and event["op"] != "store"
        deed = can_poll and [event[key] for key in ("line", "addresses", "words")]
        times[own] = times[own] + 1 if deed and deed == last.get(own) else 1
        last[own] = deed
        if times[own] <= POLLS:
            yield event


def flat(index, extent):
    """Returns the linear number of a block or thread index; x varies fastest."""
    return index[0] + extent[0] * (index[1] + extent[1] * index[2])


def failures(entry, events):
    """Yields an event for each error that the backend reports, at the thread and line that it names."""
    for report_ in errors(entry) if entry["launches"] else ():
        if "thread" in report_:
            launch, number = entry["launches"][-1], flat(report_["thread"], entry["launches"][-1]["block"])
            file, _, line = report_.get("at", "").rpartition(":")
            what = re.sub(r" at \S+|, in thread .*", "", report_["problem"]) + diagnosis.with_element(report_)
            event = {"launch": len(entry["launches"]) - 1, "block": flat(report_["block"], launch["grid"]),
                     "warp": number // 32, "lanes": 1 << number % 32, "kind": "failure", "what": what,
                     "line": int(line or 0), "executed": [max(events[-1]["executed"]) + 1 if events else 1]}
            who = thread_text(event, launch, math.prod(launch["grid"]) > 1)
            said = [f"{who} fails in line {event['line']}: {what}", *diagnosis.told(report_).splitlines()[1:]]
            yield {**event, **({"file": file} if file else {}), "text": "; ".join(said)}


def in_order(entry, executed):
    """Returns the events of all launches in the order of the film, and whether events of a spinning thread are left
    out. An event's `turn` is its warp's progress: the number of barriers that the block has passed, and the warp's
    events since."""
    events = [{**event, "launch": number} for number, launch in enumerate(entry["launches"])
              for event in launch.get("events", ())]
    barriers, turns = collections.Counter(), collections.Counter()
    for event in events:
        if "from" in event:
            event["from"] = [lane + 32 * (not event["lanes"] >> lane & 1) for lane in event["from"]]
        block = event["launch"], event["block"]
        warp = *block, barriers[block], event["warp"]
        turns[warp] += 1
        event["turn"] = barriers[block], turns[warp]
        barriers[block] += event["kind"] == "barrier"
    if not executed:
        return events, False
    events = [one for event in events for one in (lane_by_lane(event) if event["lanes"] else [event])]
    shown = list(without_polls(sorted(events, key=lambda event: event["executed"][0])))
    return [*shown, *failures(entry, shown)], len(shown) < len(events)


# ---- where memory is

class Memory:
    """Names the arrays that addresses belong to, in the order of their use. `arrays` is the film's list of arrays."""

    def __init__(self, entry):
        self.entry = entry
        self.arrays, self.numbers, self.scratches = [], {}, {}

    def find(self, event):
        """Returns (number of the array, each lane's offset in bytes) for the array that the first lane accesses. An
        offset outside the array may be negative or too large."""
        array = self.array_of(event)
        key = event["space"], array["name"], array["begin"], *array["extents"]
        if key not in self.numbers:
            self.numbers[key] = len(self.arrays)
            self.arrays.append({**{key: array[key] for key in ("name", "type", "element", "extents")},
                                "space": event["space"], "phase": array["begin"] % 128})
        return self.numbers[key], [address - array["begin"] for address in event["addresses"]]

    def array_of(self, event):
        launch, address = self.entry["launches"][event["launch"]], event["addresses"][0]
        if event["space"] == "constant":
            return {"name": "constants", "begin": 0, "type": None, "element": None, "extents": []}
        if event["space"] == "shared":
            return shared_array(launch["shared_arrays"][event["array"]])
        begin, end = next((one["begin"], one["begin"] + one["bytes"]) for one in launch["allocations"]
                          if one["begin"] <= address < one["begin"] + one["bytes"])
        for array in self.entry["arrays"]:  # each has its own allocation, perhaps with guard bands
            if begin <= array["begin"] < end:
                element = BYTES_OF.get(array["type"], 4)
                return {**array, "element": element, "extents": [array["bytes"] // element]}
        if begin not in self.scratches:
            self.scratches[begin] = self.scratch(begin, end, event, launch)
        return self.scratches[begin]

    def scratch(self, begin, end, event, launch):
        """Returns an array for memory that does not belong to the problem's arrays. It is named after the variable in
        the line that uses it first, or by a number."""
        widths = {one["width"] for every in self.entry["launches"] for one in every.get("events", ())
                  if one.get("space") == "global" and begin <= one["addresses"][0] < end}
        element = widths.pop() if len(widths) == 1 else None
        source = (report.source_lines(event["file"]) or [""] * event["line"])[event["line"] - 1]
        names = {name for both in re.findall(r"(\w+)\[|\batomic\w+\(&?(\w+)", source) for name in both if name}
        others = *self.entry["arrays"], *launch["shared_arrays"], *self.scratches.values()
        names -= {array["name"] for array in others}
        return {"name": names.pop() if len(names) == 1 else f"scratch {len(self.scratches) + 1}", "begin": begin,
                "type": None, "element": element, "extents": [(end - begin) // element] if element else []}


def place_name(array, byte):
    """Returns the name of the element at a byte of an array: tile[3][5]."""
    if not array["element"]:
        return f"{array['name']} byte {byte}"
    index, places = byte // array["element"], ""
    for extent in reversed(array["extents"][1:]):
        index, place = divmod(index, extent)
        places = f"[{place}]{places}"
    return array["name"] + (f"[{index}]" if array["extents"] else "") + places


def shared_array(array):
    """Returns the film's entry for a __shared__ variable; an extern array's length follows from its bytes."""
    first, *others = array["extents"] or [1]
    size = array["element"] * math.prod(array["extents"])
    is_bytes = size != array["bytes"] and array["element"] == 1  # cast to another type
    kind = next((kind for names, kind in TYPES.items() if re.fullmatch(names, array["type"])), None)
    extents = array["extents"] if size == array["bytes"] else [array["bytes"] // size, *others]
    return {**array, "type": None if is_bytes else kind, "extents": extents}


# ---- what is wrong, and when

def is_copy(event):
    """Returns whether the event starts an asynchronous copy, which lands later."""
    return event["kind"] == "access" and event["async"] and event["op"] == "store"


def places_of(event):
    """Returns the words that an event of one lane accesses, even in part. Each block has its own shared memory."""
    own = (event["launch"], event["block"]) if event.get("space") == "shared" else None
    return [(own, event["addresses"][0] + at) for at in range(0, event["width"], 4)] if "addresses" in event else []


class Values:
    """The values in the accesses of a run. `last`: the number of the event that writes the wrong value, or None."""

    def __init__(self, events, last, arrays):
        self.events = events
        self.numbers = {event["executed"][0]: number for number, event in enumerate(events)}
        self.flowing = flowing(events, last)
        self.writer = None if last is None else thread(events[last])
        self.words = [dict(zip(places_of(event), event.get("words", [[]])[0])) for event in events]
        self.unstored = set()  # loads of shared or scratch memory that no thread has stored to
        self.changing = set()  # writes that change the value in memory
        self.writes = collections.defaultdict(list)  # {(thread, word): [events]}
        memory, stored = {}, set()
        for number, (event, words) in enumerate(zip(events, self.words)):
            lands = not is_copy(event)
            for place, word in words.items():
                if event["op"] != "load":
                    self.writes[thread(event), place].append(number)
                    stored.add(place)
                    self.changing.update([number] * (not lands or memory.get(place) != word))
                elif place not in stored and (place[0] or not any(
                        array["begin"] <= place[1] < array["begin"] + array["bytes"] for array in arrays)):
                    self.unstored.add(number)
            memory.update(words if lands else {})

    def harm(self, first, second):
        """Returns how harmful a race is, as three flags, and the numbers of the two events that meet. Flag 1: the lane
        that is further in the program comes first, and the other lane's write changes the value. Flag 2: the value can
        flow into the wrong result. Flag 3: its lane writes the wrong result. For a load that comes too early, the
        other event is the last store that it should have waited for."""
        ahead, behind = self.events[first], self.events[second]
        changes, user = first in self.changing, second
        if ahead["op"] == "load":
            place, user = places_of(behind)[0], first
            second = max((number for number in self.writes[thread(behind), place]
                          if number > first and self.events[number]["turn"] < ahead["turn"]), default=second)
            changes = self.words[first].get(place) != self.words[second].get(place)
        early = first in self.unstored or ahead["turn"] > self.events[second]["turn"] and changes
        return early, user in self.flowing, thread(self.events[user]) == self.writer, first, second


def flowing(events, last):
    """Returns the events whose values can flow into what event `last` wrote: everything that its thread had loaded or
    received, the last store to each loaded word, everything that the storing thread had loaded, and so on."""
    if last is None:
        return set()
    threads, places, found = {thread(events[last])}, set(), {last}
    for number in range(last, -1, -1):
        event, touched = events[number], places_of(events[number])
        own = thread(event)
        if touched and event["op"] != "load" and not places.isdisjoint(touched):
            threads.add(own)
            found.add(number)
            places.difference_update(touched if event["op"] == "store" else ())
        if touched and event["op"] != "store" and own in threads:
            places.update(touched)
            found.add(number)
        if event["kind"] == "collective" and own in threads and event["what"] != "__syncwarp":
            threads.update(thread(event, lane) for lane in event.get("from", range(32)))
    return found


def index_text(number, extent):
    """Returns an index with as many dimensions as the extent has: 5, (5,0)."""
    x, y, z = extent
    index = number % x, number // x % y, number // x // y
    return str(number) if y * z == 1 else "({})".format(",".join(map(str, index[:2 + (z > 1)])))


def thread_text(event, launch, with_block):
    number = event["warp"] * 32 + event["lanes"].bit_length() - 1
    block = f" of block {index_text(event['block'], launch['grid'])}" * with_block
    return f"thread {index_text(number, launch['block'])}{block}"


def moment_of_race(entry, race, values, memory):
    """Returns (how harmful the race is, the moment when the second of two lanes accesses the word). Of the most
    harmful pairs it takes the first. Returns None if the events contain none."""
    found = [values.harm(*(values.numbers[number] for number in both)) for both in race["executed"]
             if values.numbers.keys() >= set(both)]
    if not found:
        return None
    *harm, before, at = max(found, key=lambda one: (*one[:3], -one[4]))
    first, second = both = values.events[before], values.events[at]
    missing = ("fence and atomic" if race["scope"] != "block" else
               "wait for the copy" if thread(first) == thread(second) else
               "__syncwarp or barrier" if first["warp"] == second["warp"] else "barrier")
    said = ", then ".join(
        thread_text(event, entry["launches"][second["launch"]], first["block"] != second["block"])
        + f" {DOES[event['op']]} in line {event['line']}"
        + f" of {event['file'].rpartition('/')[2]}" * (event["file"] != entry["file"]) for event in both)
    array = memory.array_of(second)
    word = place_name(array, max(event["addresses"][0] for event in both) - array["begin"])
    early = f" The {first['op']} comes too early." * harm[0]
    return harm, {"event": at, "first": before, "text": f"Race at {word}, in {race['space']} memory, {race['kind']}: "
                  f"{said}, with no {missing} between.{early}"}


def is_whole(entry):
    return all(launch.get("all_events", True) for launch in entry["launches"])


def moment_of_value(entry, events):
    """Returns the moment when the wrong element was written last, or None if that is not known."""
    failure = entry.get("failure", {})
    array = next((one for one in entry["arrays"] if one["name"] == failure.get("buffer")), None)
    if array is None or "seen" not in failure or not is_whole(entry):
        return None
    width = BYTES_OF.get(array["type"], 4)
    element = array["begin"] + failure["index"] * width
    writes = [number for number, event in enumerate(events)
              if event.get("space") == "global" and event["op"] != "load"
              and any(begin < element + width and element < begin + event["width"] for begin in event["addresses"])]
    return {"event": max(writes, key=lambda number: max(events[number]["executed"]), default=0), "first": None,
            "text": f"{failure['seen']}. {'It is written last here.' if writes else 'No thread wrote it.'}"}


def moments_of(entry, events, memory):
    """Returns the moments of errors: races first, the most harmful ones first, then the others in order."""
    value = moment_of_value(entry, events)
    races = [race for launch in entry["launches"] for race in launch["races"]]
    values = Values(events, value and value["event"] or None, entry["arrays"]) if races else None
    found = list(filter(None, (moment_of_race(entry, race, values, memory) for race in races)))
    found.sort(key=lambda one: ([not harm for harm in one[0]], one[1]["event"]))
    others = [{"event": at, "first": None, "text": event["text"]} for at, event in enumerate(events) if "text" in event]
    others += [value] * bool(value)
    return [race for _, race in found[:MOST_RACES]] + sorted(others, key=lambda one: one["event"])


# ---- the film

def packed(numbers):
    """Returns "8+4" for 8, 12, 16 and so on, and other numbers unchanged."""
    steps = {b - a for a, b in zip(numbers, numbers[1:])}
    return f"{numbers[0]}+{steps.pop()}" if len(numbers) > 2 and len(steps) == 1 else numbers


def encoded(event, lines, memory):
    """Returns an event as the film stores it."""
    line = {key: event[key] for key in LINE if key in event}
    number = lines.setdefault((json.dumps(line), event.get("site")), len(lines))
    words = event.get("words", []) if not is_copy(event) else []
    if event.get("op") == "atomic" and event["width"] <= 4:
        words = [[after, before] for after, _, before, _ in words]
    array, at = memory.find(event) if "addresses" in event else (None, event.get("from", []))
    units, ideal = event.get("units", 1), event.get("ideal", 1)
    passes = event.get("passes", []) if units > ideal else []
    return [event["launch"], event["block"], event["warp"], number, event["lanes"], units, ideal, array,
            *map(packed, (at, list(itertools.chain(*words)), event["executed"], passes))]


def chosen(events, sizes, focus, shown, budget):
    """Returns the numbers of the events that fit the budget. Loads of threads that are not in `shown` are left out
    first, then the first events until event `focus` fits, then the last ones."""
    numbers = range(len(events))
    if shown and sum(sizes) > budget:
        numbers = [number for number in numbers if thread(events[number]) in shown
                   or events[number]["kind"] != "collective" and events[number].get("op") != "load"]
    while sum(sizes[number] for number in numbers if number <= focus) > budget:
        numbers = numbers[len(numbers) // 16 + 1:]
    used = itertools.accumulate(sizes[number] for number in numbers)
    return [number for number, total in zip(numbers, used) if total <= budget]


def warnings(entry):
    """Returns the backend's warnings, each with its lines."""
    places = {}
    for one in entry.get("reports", ()):
        if one["kind"] == "warning":
            places.setdefault(one["problem"], []).append(one["at"].rpartition(":")[2])
    return [f"Line {', '.join(lines)}: {text}." for text, lines in places.items()]


def of(entry, budget=MOST_BYTES):
    """Returns the film of a run."""
    why = why_executed(entry)
    events, spins = in_order(entry, why != "")
    if not events:
        ladder.fail(f"{entry['step']}: no kernel ran at {figures.size_text(entry['size'])}, so there is nothing to see")
    lines, memory = {}, Memory(entry)
    all_encoded = [encoded(event, lines, memory) for event in events]
    sizes = [len(json.dumps(one, separators=(",", ":"))) + 1 for one in all_encoded]
    moments = moments_of(entry, events, memory)
    shown = {thread(events[number]) for one in moments for number in (one["event"], one["first"])
             if why and number is not None}
    kept = chosen(events, sizes, moments[0]["event"] if moments else 0, shown, budget)
    place = {number: at for at, number in enumerate(kept)}
    moments = [{**one, "event": place[one["event"]], "first": place.get(one["first"])}
               for one in moments if one["event"] in place]
    first = [number for one in moments[:1] for number in (one["event"], one["first"]) if number is not None]
    begin = "first " * (not is_whole(entry))
    some = f"{len(kept):,} of " * (len(kept) < len(events))
    cut = f"The film is cut: it has {some}the run's {begin}{len(events):,} events." * bool(some or begin)
    cut += " Loads of threads that have no part in what is wrong are left out first." * bool(some and shown)
    seen = entry.get("failure", {}).get("seen", "see below")
    wrong = "" if entry["right"] else seen if errors(entry) else f"The result is wrong: {seen}"
    lines = [json.loads(line) for line, _ in lines]
    files = dict.fromkeys([entry["file"], *(line["file"] for line in lines if "file" in line)])
    return {"version": 1, "step": entry["step"], "file": entry["file"], "size": figures.size_text(entry["size"]),
            "right": entry["right"], "wrong": wrong, "order": "executed" if why else "lockstep",
            "why": why + " What a thread that spins does over and over is left out." * spins, "cut": cut,
            "warnings": warnings(entry),
            "sources": {file: text for file in files if (text := report.source_lines(file)) is not None},
            "launches": [{key: launch[key] for key in ("kernel", "grid", "block", "shared_bytes")}
                         for launch in entry["launches"]],
            "arrays": memory.arrays, "lines": lines, "moments": moments,
            "start": max(0, min(first, default=0) - BEFORE),
            "fields": FIELDS, "events": [all_encoded[number] for number in kept]}


FRAMES, FRAME_S = 12, 1.5  # frames of the picture, and seconds for each


def svg_of(entry):
    """Returns an animated picture of the first requests of one warp, drawn as scripts/explain --svg draws them."""
    memory = Memory(entry)
    accesses = [event for event in in_order(entry, False)[0]
                if event["kind"] == "access" and event["space"] in report.DRAW]
    own = [event for event in accesses if thread(event, 0) == thread(accesses[0], 0)]
    frames, heights = [], []
    for event in own[:FRAMES]:
        number, offsets = memory.find(event)
        array = memory.arrays[number]
        phase = array["phase"] * (event["space"] == "shared")  # its word 0 may not be in bank 0
        served = dict(zip(lanes_of(event["lanes"]), zip([offset + phase for offset in offsets], event["passes"])))
        offsets, passes = zip(*(served.get(lane, (None, None)) for lane in range(32)))
        sample = {"offsets": offsets, "passes": passes, "units": event["units"], "ideal": event["ideal"]}
        source = report.source_lines(event["file"])[event["line"] - 1].strip()
        title = f"line {event['line']}, {event['space']} {event['op']} of {array['name']}: {source}"
        parts, bottom = report.request(event, sample, title)
        frames.append(f'<g class="frame" style="animation-delay: {len(frames) * FRAME_S}s">{"".join(parts)}</g>')
        heights.append(bottom)
    style = (f"<style>.frame {{ opacity: 0; animation: frame {len(frames) * FRAME_S}s step-end infinite; }} "
             f"@keyframes frame {{ 0% {{ opacity: 1; }} {100 / len(frames):.3f}% {{ opacity: 0; }} }}</style>")
    title, command = f"{entry['step']}, request by request", f"--play --svg {entry['step']}"
    return report.svg([style, *frames], max(heights), title, command)


def to_json(films):
    return json.dumps({"version": 1, "films": films}, separators=(",", ":"))


def html_of(films):
    """Returns a page that plays the films side by side."""
    folder = ladder.ROOT / "scripts/ladder"
    page = (folder / "film.html").read_text()
    for mark, text in (("/*colours*/", report.COLOURS), ("/*script*/", (folder / "film.js").read_text()),
                       ("<!--title-->", " and ".join(film["step"] for film in films)),
                       ("<!--films-->", to_json(films).replace("</", "<\\/"))):
        page = page.replace(mark, text, 1)
    return page
