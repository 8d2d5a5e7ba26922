"""Films: what scripts/explain --play shows of a small run, event by event. The traced build keeps the events
(--trace --json --events); here they are put in order, cut to size and written into a page, which film.js plays. The
format is in scripts/README.md."""
import collections
import json
import math
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
LINE = ["file", "line", "kind", "what", "type", "space", "op", "width", "async"]
BYTES_OF = {"float16": 2, "bfloat16": 2, "int64": 8, "int8": 1, "uint8": 1}
TYPES = {"float": "float32", "int": "int32", "unsigned int": "int32", "__half": "float16", "__half2": "float16",
         "__nv_bfloat16": "bfloat16", "__nv_bfloat162": "bfloat16", "long": "int64", "unsigned long": "int64",
         "long long": "int64", "unsigned long long": "int64", "signed char": "int8", "unsigned char": "uint8",
         "bool": "uint8", **{f"{kind}{n}": f"{kind}32" for kind in ("float", "int") for n in (2, 3, 4)},
         **{f"uint{n}": "int32" for n in (2, 3, 4)}}


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
        keys = ("executed", "words", "addresses", "from")
        one.update({key: [event[key][number]] for key in keys if key in event})
        one.pop("passes", None)
        yield one


def thread(event, lane=None):
    """The thread of an event of one lane, or that of another lane of its warp."""
    return event["launch"], event["block"], event["warp"], event["lanes"].bit_length() - 1 if lane is None else lane


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
        if event["kind"] in ("wait", "barrier"):
            mine.clear()
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
    """The events of all launches as they are played; and whether a thread that spins is left out. An event's `turn`
    says how far its warp is in the program: the barriers that the block has passed, and the warp's events since."""
    events = [{**event, "launch": number} for number, launch in enumerate(entry["launches"])
              for event in launch.get("events", ())]
    barriers, turns = collections.Counter(), collections.Counter()
    for event in events:
        block = event["launch"], event["block"]
        warp = *block, barriers[block], event["warp"]
        turns[warp] += 1
        event["turn"] = barriers[block], turns[warp]
        barriers[block] += event["kind"] == "barrier"
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

    def find(self, event):
        """(number of the array, each lane's offset in bytes): the array that the first lane accesses. The offset of
        what lies outside may be negative, or too large."""
        array = self.array_of(event, self.entry["launches"][event["launch"]])
        key = event["space"], array["name"], array["begin"], *array["extents"]
        if key not in self.numbers:
            self.numbers[key] = len(self.arrays)
            self.arrays.append({**{key: array[key] for key in ("name", "type", "element", "extents")},
                                "space": event["space"], "phase": array["begin"] % 128})
        return self.numbers[key], [address - array["begin"] for address in event["addresses"]]

    def array_of(self, event, launch):
        if event["space"] == "constant":
            return {"name": "constants", "begin": 0, "type": None, "element": None, "extents": []}
        if event["space"] == "shared":
            return shared_array(launch["shared_arrays"][event["array"]])
        address = event["addresses"][0]
        begin, end = next((one["begin"], one["begin"] + one["bytes"]) for one in launch["allocations"]
                          if one["begin"] <= address < one["begin"] + one["bytes"])
        for array in self.entry["arrays"]:  # each has an allocation of its own, perhaps with guard bands
            if begin <= array["begin"] < end:
                element = BYTES_OF.get(array["type"], 4)
                return {**array, "element": element, "extents": [array["bytes"] // element]}
        return {"name": self.scratch(begin), "begin": begin, "type": None, "element": None, "extents": []}

    def scratch(self, begin):
        """Memory that is none of the problem's arrays has a number."""
        names = {key[2]: key[1] for key in self.numbers if key[1].startswith("scratch ")}
        return names.get(begin, f"scratch {len(names) + 1}")


def shared_array(array):
    """A __shared__ variable for a film. How many elements an extern one has follows from its bytes."""
    size = array["element"] * math.prod(array["extents"])
    if size == array["bytes"]:
        return {**array, "type": TYPES.get(array["type"])}
    kind = array["type"] if array["element"] > 1 else None  # bytes are cast to something else
    return {**array, "type": TYPES.get(kind), "extents": [array["bytes"] // size, *array["extents"][1:]]}


# ---- what is wrong, and when

def overlaps(event, address, width):
    return "addresses" in event and any(begin < address + width and address < begin + event["width"]
                                        for begin in event["addresses"])


def places_of(event):
    """What an event of one lane accesses, by words, or a part of one; each block has its own shared memory."""
    own = (event["launch"], event["block"]) if event["space"] == "shared" else None
    return [(own, event["addresses"][0] + at) for at in range(0, event["width"], 4)]


class Values:
    """What is known of the values in the accesses of a run that was executed lane by lane."""

    def __init__(self, events, last):
        self.events = events
        self.numbers = {event["executed"][0]: number for number, event in enumerate(events)}
        self.writes = collections.defaultdict(list)  # of a thread to a word, by their places in events
        self.changing = set()  # the writes that change what is there
        memory = {}
        for number, event in enumerate(events):
            if "addresses" not in event:
                continue
            has_value = event["kind"] == "landing" or not event["async"] or event["op"] == "load"
            for place, word in zip(places_of(event), event["words"][0]):
                if event["op"] != "load":
                    self.writes[thread(event), place].append(number)
                    if not has_value or memory.get(place) != word:
                        self.changing.add(number)
                if has_value:
                    memory[place] = word
        self.flowing = flowing(events, last)

    def harm(self, kind, first, second):
        """How much harm a race does: does the lane that is further in the program come first, while the word changes,
        and can the word be in the wrong value? Then the places in events of the accesses that meet."""
        if kind != "write after read":
            early = self.events[first]["turn"] > self.events[second]["turn"] and first in self.changing
            return early, second in self.flowing, first, second
        read, word = self.events[first], places_of(self.events[second])[0]
        # what the lane that is behind has still to store before
        due = [number for number in self.writes[thread(self.events[second]), word]
               if number > first and self.events[number]["turn"] < read["turn"]]
        second = max(due, default=second)
        early = due != [] and self.value(second, word) != self.value(first, word)
        return early, first in self.flowing, first, second

    def value(self, number, place):
        event = self.events[number]
        return dict(zip(places_of(event), event["words"][0])).get(place)


def flowing(events, last):
    """The events whose values can be in what the last of these wrote: all that its thread had loaded or got, what was
    stored there last, all that the thread that stored it had loaded, and so on."""
    if last is None:
        return set()
    threads, places, found = {thread(events[last])}, set(), {last}
    for number in range(last, -1, -1):
        event = events[number]
        own = thread(event)
        if "addresses" in event:
            touched = places_of(event)
            if event["op"] != "load" and not places.isdisjoint(touched):
                threads.add(own)
                found.add(number)
                places.difference_update(touched if event["op"] == "store" else ())
            if event["op"] != "store" and own in threads:
                places.update(touched)
                found.add(number)
        elif event["kind"] == "collective" and own in threads and event["what"] != "__syncwarp":
            threads.update(thread(event, lane) for lane in event.get("from", range(32)))
    return found


def side_text(event, launch, with_block):
    """What a side of a race does: "thread (1,0,0) stores in line 16". """
    number = event["warp"] * 32 + event["lanes"].bit_length() - 1
    named = [traces.coordinates((at % x, at // x % y, at // x // y)) for at, (x, y, _) in
             ((number, launch["block"]), (event["block"], launch["grid"]))]
    block = f" of block {named[1]}" * with_block
    return f"thread {named[0]}{block} {DOES[event['op']]} in line {event['line']}"


def moment_of_race(entry, race, values):
    """A moment when the second of two lanes comes to a word: of those that do most `harm` the first; None if the events
    have none."""
    found = [values.harm(race["kind"], *(values.numbers[number] for number in both)) for both in race["executed"]
             if values.numbers.keys() >= set(both)]
    if not found:
        return None
    *harm, before, at = max(found, key=lambda one: (*one[:2], -one[3]))
    first, second = values.events[before], values.events[at]
    within = race["scope"] == "block"
    missing = ("fence and atomic" if not within else "wait for the copy" if thread(first) == thread(second)
               else "__syncwarp or barrier" if first["warp"] == second["warp"] else "barrier")
    launch = entry["launches"][second["launch"]]
    said = [side_text(event, launch, first["block"] != second["block"]) for event in (first, second)]
    name = Memory(entry).array_of(second, launch)["name"]
    return {"event": at, "first": before, "harm": harm, "text": f"Race at one word of {name}, in {race['space']} "
            f"memory, {race['kind']}: {said[0]}, then {said[1]}, with no {missing} between."
            + f" The {first['op']} comes too early." * harm[0]}


def is_whole(entry):
    return all(launch.get("all_events", True) for launch in entry["launches"])


def moment_of_value(entry, events):
    """When the element that is wrong was written last."""
    failure = entry.get("failure", {})
    array = next((one for one in entry["arrays"] if one["name"] == failure.get("buffer")), None)
    if array is None or "seen" not in failure or not is_whole(entry):
        return None
    width = BYTES_OF.get(array["type"], 4)
    address = array["begin"] + failure["index"] * width
    writes = [number for number, event in enumerate(events)
              if event.get("space") == "global" and event["op"] != "load" and overlaps(event, address, width)]
    last = max(writes, key=lambda number: max(events[number]["executed"]), default=len(events) - 1)
    who = "It is written last here." if writes else "No thread wrote it."
    return {"event": last, "first": None, "text": f"{failure['seen']}. {who}"}


def moments_of(entry, events):
    """What is wrong: races first, those that do most harm; then the rest, in order."""
    value = moment_of_value(entry, events)
    races = [race for launch in entry["launches"] for race in launch["races"]]
    values = Values(events, value and value["event"]) if races else None
    found = [moment for race in races if (moment := moment_of_race(entry, race, values))]
    found.sort(key=lambda moment: ([not one for one in moment.pop("harm")], moment["event"]))
    ends = [number for number, event in enumerate(events) if event["kind"] == "failure"]
    told = [diagnosis.told(one).replace("\n", "; ") for one in entry.get("reports", ())
            if one["kind"] == "error" and "thread" in one]
    others = [{"event": end, "first": None, "text": text} for end, text in zip(ends, told)]
    return found[:MOST_RACES] + sorted([*others, *[value] * bool(value)], key=lambda moment: moment["event"])


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
    number = lines.setdefault((json.dumps(line), event.get("site")), len(lines))
    array, at = memory.find(event) if "addresses" in event else (None, event.get("from", []))
    passes = event.get("passes", []) if event.get("units", 1) > event.get("ideal", 1) else []
    return [event["launch"], event["block"], event["warp"], number, event["lanes"], event.get("units", 1),
            event.get("ideal", 1), array, packed(at), packed(words_of(event)), packed(event["executed"]),
            packed(passes)]


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
    seen = entry.get("failure", {}).get("seen", "see below")
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
    some = "" if len(kept) == len(events) else f"{len(kept):,} of "
    cut = "" if is_whole(entry) and not some else (
        f"The film is cut: it has {some}the run's {'first ' * (not is_whole(entry))}{len(events):,} events.")
    first = [number for moment in moments[:1] for number in (moment["event"], moment["first"]) if number is not None]
    files = dict.fromkeys([entry["file"], *(json.loads(line)["file"] for line, _ in lines)])
    return {"version": 1, "step": entry["step"], "file": entry["file"], "size": figures.size_text(entry["size"]),
            "right": entry["right"], "wrong": wrong(entry),
            "order": "executed" if why else "lockstep", "why": why, "cut": cut,
            "sources": {file: text for file in files if (text := report.source_lines(file)) is not None},
            "launches": [{key: launch[key] for key in ("kernel", "grid", "block", "shared_bytes")}
                         for launch in entry["launches"]],
            "arrays": memory.arrays, "lines": [json.loads(line) for line, _ in lines], "moments": moments,
            "start": max(0, min(first, default=0) - BEFORE),
            "fields": FIELDS, "events": [all_encoded[number] for number in kept]}


FRAMES, FRAME_S = 12, 1.5  # of the picture, and seconds of each


def svg_of(entry):
    """A picture that moves: the requests of one warp, the first ones, drawn as scripts/explain --svg does."""
    memory, frames, height = Memory(entry), [], 0
    accesses = [event for event in in_order(entry, False)[0] if event["kind"] == "access"
                and event["space"] in report.DRAW]
    where = ("launch", "block", "warp")
    own = [event for event in accesses if all(event[key] == accesses[0][key] for key in where)]
    for event in own[:FRAMES]:
        lanes = [lane for lane in range(32) if event["lanes"] >> lane & 1]
        sample = {"offsets": [None] * 32, "passes": [None] * 32, "units": event["units"], "ideal": event["ideal"]}
        array, offsets = memory.find(event)
        phase = memory.arrays[array]["phase"] * (event["space"] == "shared")  # its word 0 may lie in another bank
        for lane, offset, turn in zip(lanes, offsets, event["passes"]):
            sample["offsets"][lane], sample["passes"][lane] = offset + phase, turn
        parts, bottom, note = report.DRAW[event["space"]](event, sample)
        source = report.source_lines(event["file"])[event["line"] - 1].strip()
        title = f"line {event['line']}, {event['space']} {event['op']} of {memory.arrays[array]['name']}: {source}"
        frames.append([report.text(8, 16, title, "title"), *parts, report.text(8, bottom + 13, note, "note")])
        height = max(height, bottom + 22)
    shown = 100 / len(frames)
    style = (f"<style>.frame {{ opacity: 0; animation: frame {len(frames) * FRAME_S}s step-end infinite; }} "
             f"@keyframes frame {{ 0% {{ opacity: 1; }} {shown:.3f}% {{ opacity: 0; }} }}</style>")
    parts = [style] + [f'<g class="frame" style="animation-delay: {number * FRAME_S}s">{"".join(frame)}</g>'
                       for number, frame in enumerate(frames)]
    drawn = report.svg(parts, report.width_of_all(), height, f"{entry['step']}, request by request")
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
