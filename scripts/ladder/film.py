"""Films: what scripts/explain --play shows of a small run, event by event. The traced build keeps the events
(--trace --json --events); here they are put in order, cut to size and written into a page, which film.js plays. The
format is in scripts/README.md."""
import collections
import json
import math
import os
import re

import ladder
from ladder import candidates, checked_run, diagnosis, figures, report, traces

SMALL = {1: [500], 2: [64, 64], 3: [32, 32, 64]}  # lengths where the command line gives none, by their number
SMALLEST = 8  # where there are more dimensions
LENGTHS = 1, 2, 5, 17, 33, 65, 129, 257  # that are tried in place of those that fail
MOST_BYTES = 2_400_000  # of a page's events
POLLS = 4  # of a thread that spins
MOST_RACES = 3  # that are named
BEFORE = 12  # events that are played before what is wrong
CHECK_S, HANGS_S = 5, 10  # CPU seconds: of sizes tried on what is not right, and of a thread that does not end
FIELDS = ["launch", "block", "warp", "line", "lanes", "units", "ideal", "array", "at", "words", "executed", "passes"]
DOES = {"load": "loads {}", "store": "stores {}", "atomic": "changes {} by an atomic operation"}
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
    def check(options):
        limited = ["--check", "--smallest-first", f"--seconds={CHECK_S}", *options]
        outcome = checked_run.run(program, limited, 8 * CHECK_S)
        return outcome.facts if not outcome.passed and "options" in outcome.facts else {}

    facts = check([])
    if not facts:
        return []
    for name in ladder.dims(program):  # the tests have few sizes, and of a length of 0 there is little to see
        given = next(one for one in facts["options"] if one.startswith(f"--{name}="))
        lengths = (one for one in LENGTHS if given.endswith("=0") or one < int(given.partition("=")[2]))
        sizes = ([f"--{name}={one}" if old == given else old for old in facts["options"]] for one in lengths)
        facts = next(filter(None, map(check, sizes)), facts)
    ladder.say(f"{program.name} fails at {diagnosis.how(facts)}: this is the run to see")
    os.environ.setdefault("CUDA_EMU_ORDER", facts.get("order") or "forward")
    return [*facts["options"], f"--data={facts['data']}", *["--misaligned"] * bool(facts["offsets"])]


def run(step, options):
    """The traced run of a step with its events, as scripts/explain --json has it. Without options it is small; of a
    planted bug, or of a page that is wrong, the smallest that fails."""
    os.environ.setdefault("CUDA_EMU_TIMEOUT", str(HANGS_S))
    ladder.buildable(traces.PRESET, {step.kernel: [step]})
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
    """Leaves out what a thread that spins does over and over: the same load or atomic operation, of the same value."""
    last = {}
    for event in events:
        own, can_poll = thread(event), event["kind"] == "access" and event["op"] != "store"
        deed = can_poll and [event[key] for key in ("line", "addresses", "words")]
        before, times = last.get(own, (False, 0))
        last[own] = deed, times + 1 if deed and deed == before else 1
        if last[own][1] <= POLLS:
            yield event


def problem(report_):
    """What stopped a launch: the element that is outside of its array, if that is known."""
    op = re.search(r"the (load|store) at", report_["problem"])
    element, _, count = report_.get("element", "").partition(" of ")
    if op and element:
        return f"it {DOES[op[1]].format(element)}, but {element.partition('[')[0]} has length {count}"
    return re.sub(", in thread .*", "", report_["problem"])


def failures(entry, events):
    """An event for each error that the backend reports, where it stopped: the thread that it names, and its line."""
    for report_ in entry.get("reports", ()):
        if report_["kind"] != "error" or not entry["launches"] or "thread" not in report_:
            continue
        launch = len(entry["launches"]) - 1
        (x, y, _), (width, height, _) = entry["launches"][launch]["grid"], entry["launches"][launch]["block"]
        one, block = report_["thread"], report_["block"]
        number = one[0] + width * (one[1] + height * one[2])
        file, _, line = report_.get("at", "").rpartition(":")
        place = {"file": file, "line": int(line)} if file else {"line": 0}
        yield {"launch": launch, "block": block[0] + x * (block[1] + y * block[2]), "warp": number // 32,
               "lanes": 1 << number % 32, "kind": "failure", "what": problem(report_), "report": report_,
               "executed": [max(events[-1]["executed"]) + 1 if events else 1], **place}


def in_order(entry, executed):
    """The events of all launches as they are played; and whether a thread that spins is left out. An event's `turn`
    says how far its warp is in the program: the barriers that the block has passed, and the warp's events since."""
    events = [{**event, "launch": number} for number, launch in enumerate(entry["launches"])
              for event in launch.get("events", ())]
    for event in events:
        if "from" in event:
            event["from"] = [lane + 32 * (not event["lanes"] >> lane & 1) for lane in event["from"]]
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
        self.arrays, self.numbers, self.scratches = [], {}, {}

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
        if begin not in self.scratches:
            self.scratches[begin] = self.scratch(begin, end, event, launch)
        return self.scratches[begin]

    def scratch(self, begin, end, event, launch):
        """Memory that is none of the problem's arrays: named as in the line that uses it first, or by a number."""
        widths = {one["width"] for every in self.entry["launches"] for one in every.get("events", ())
                  if one.get("space") == "global" and begin <= one["addresses"][0] < end}
        element = widths.pop() if len(widths) == 1 else None
        source = (report.source_lines(event["file"]) or [""] * event["line"])[event["line"] - 1]
        arrays = *self.entry["arrays"], *launch["shared_arrays"], *self.scratches.values()
        names = {name for both in re.findall(r"(\w+)\[|\batomic\w+\(&?(\w+)", source) for name in both if name}
        names -= {array["name"] for array in arrays}
        name = names.pop() if len(names) == 1 else f"scratch {len(self.scratches) + 1}"
        return {"name": name, "begin": begin, "type": None, "element": element,
                "extents": [(end - begin) // element] if element else []}


def place_name(array, byte):
    """The element of an array at a byte: tile[3][5]."""
    if not array["element"]:
        return f"{array['name']} byte {byte}"
    index, places = byte // array["element"], ""
    for extent in reversed(array["extents"][1:]):
        index, place = divmod(index, extent)
        places = f"[{place}]{places}"
    return array["name"] + (f"[{index}]" if array["extents"] else "") + places


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

    def __init__(self, events, last, arrays):
        self.events = events
        self.unstored = set()  # the loads of what no thread has stored, nor the host
        self.numbers = {event["executed"][0]: number for number, event in enumerate(events)}
        self.writes = collections.defaultdict(list)  # of a thread to a word, by their places in events
        self.changing = set()  # the writes that change what is there
        memory, stored = {}, set()
        for number, event in enumerate(events):
            if "addresses" not in event:
                continue
            has_value = event["kind"] == "landing" or not event["async"] or event["op"] == "load"
            for place, word in zip(places_of(event), event["words"][0]):
                if event["op"] != "load":
                    self.writes[thread(event), place].append(number)
                    stored.add(place)
                    if not has_value or memory.get(place) != word:
                        self.changing.add(number)
                elif place not in stored and (place[0] or not any(
                        array["begin"] <= place[1] < array["begin"] + array["bytes"] for array in arrays)):
                    self.unstored.add(number)
                if has_value:
                    memory[place] = word
        self.flowing = flowing(events, last)
        self.writer = None if last is None else thread(events[last])

    def harm(self, kind, first, second):
        """How much harm a race does: does the lane that is further in the program come first, while the word changes,
        can the word be in the wrong value, and does the lane write that which gets the word? Then the places in events
        of the accesses that meet."""
        if kind != "write after read":
            early = self.events[first]["turn"] > self.events[second]["turn"] and first in self.changing
            return early, second in self.flowing, thread(self.events[second]) == self.writer, first, second
        read, word = self.events[first], places_of(self.events[second])[0]
        # what the lane that is behind has still to store before
        due = [number for number in self.writes[thread(self.events[second]), word]
               if number > first and self.events[number]["turn"] < read["turn"]]
        second = max(due, default=second)
        early = first in self.unstored or due != [] and self.value(second, word) != self.value(first, word)
        return early, first in self.flowing, thread(read) == self.writer, first, second

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


def index_text(number, extent):
    """An index in as many dimensions as there are: 5, (5,0)."""
    x, y, z = extent
    index = number % x, number // x % y, number // x // y
    return str(number) if y * z == 1 else "({})".format(",".join(map(str, index[:2 + (z > 1)])))


def thread_text(event, launch, with_block):
    number = event["warp"] * 32 + event["lanes"].bit_length() - 1
    block = f" of block {index_text(event['block'], launch['grid'])}" * with_block
    return f"thread {index_text(number, launch['block'])}{block}"


def moment_of_race(entry, race, values, memory):
    """A moment when the second of two lanes comes to a word: of those that do most `harm` the first; None if the events
    have none."""
    found = [values.harm(race["kind"], *(values.numbers[number] for number in both)) for both in race["executed"]
             if values.numbers.keys() >= set(both)]
    if not found:
        return None
    *harm, before, at = max(found, key=lambda one: (*one[:3], -one[4]))
    first, second = values.events[before], values.events[at]
    within = race["scope"] == "block"
    missing = ("fence and atomic" if not within else "wait for the copy" if thread(first) == thread(second)
               else "__syncwarp or barrier" if first["warp"] == second["warp"] else "barrier")
    launch = entry["launches"][second["launch"]]
    said = []
    for event in (first, second):
        file = f" of {event['file'].rpartition('/')[2]}" * (event["file"] != entry["file"])
        said.append(f"{thread_text(event, launch, first['block'] != second['block'])} {DOES[event['op']]} "
                    f"in line {event['line']}{file}".format("it"))
    array = memory.array_of(second, launch)
    word = place_name(array, max(event["addresses"][0] for event in (first, second)) - array["begin"])
    return {"event": at, "first": before, "harm": harm, "text": f"Race at {word}, in {race['space']} memory, "
            f"{race['kind']}: {said[0]}, then {said[1]}, with no {missing} between."
            + f" The {first['op']} comes too early." * harm[0],
            "says": f"A race: {said[0]}" + ", too early." * harm[0],
            "first_says": f"{'Too early' if harm[0] else 'A race'}: {said[1]} only later, with no {missing} between."}


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
    last = max(writes, key=lambda number: max(events[number]["executed"]), default=0)
    who = "It is written last here." if writes else "No thread wrote it."
    return {"event": last, "first": None, "text": f"{failure['seen']}. {who}", "says": f"{failure['seen']}. {who}"}


def moment_of_failure(entry, event, at):
    """Where a launch stopped: what the backend reports."""
    launch = entry["launches"][event["launch"]]
    groups = diagnosis.told(event["report"]).splitlines()[1:]
    text = f"{thread_text(event, launch, math.prod(launch['grid']) > 1)} fails in line {event['line']}: {event['what']}"
    return {"event": at, "first": None, "text": "; ".join([text, *groups]), "says": ""}


def moments_of(entry, events, memory):
    """What is wrong: races first, those that do most harm; then the rest, in order."""
    value = moment_of_value(entry, events)
    races = [race for launch in entry["launches"] for race in launch["races"]]
    values = Values(events, value and value["event"] or None, entry["arrays"]) if races else None
    found = [moment for race in races if (moment := moment_of_race(entry, race, values, memory))]
    found.sort(key=lambda moment: ([not one for one in moment.pop("harm")], moment["event"]))
    others = [moment_of_failure(entry, event, at) for at, event in enumerate(events) if event["kind"] == "failure"]
    others += [value] * bool(value)
    return found[:MOST_RACES] + sorted(others, key=lambda moment: moment["event"])


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


def chosen(events, sizes, focus, shown, budget):
    """The numbers of the events that fit. Left out first is what threads load that are not `shown`, if any are. Then
    come those of the block of event `focus`, of which the first are left out if that one would not fit, then the other
    blocks', in order."""
    blocks, fits = {}, not shown or sum(sizes) <= budget
    for number, event in enumerate(events):
        if fits or thread(event) in shown or event["kind"] != "collective" and event.get("op") != "load":
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


def warnings(entry):
    """What the backend warns of, each with its lines."""
    places = {}
    for one in entry.get("reports", ()):
        if one["kind"] == "warning":
            places.setdefault(one["problem"], []).append(one["at"].rpartition(":")[2])
    return [f"Line {', '.join(lines)}: {text}." for text, lines in places.items()]


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
    lines, memory = {}, Memory(entry)
    all_encoded = [encoded(event, lines, memory) for event in events]
    sizes = [len(json.dumps(one, separators=(",", ":"))) + 1 for one in all_encoded]
    moments = moments_of(entry, events, memory)
    shown = {thread(events[moment[key]]) for moment in moments for key in ("event", "first")
             if why and moment[key] is not None}
    kept = chosen(events, sizes, moments[0]["event"] if moments else 0, shown, budget)
    place = {number: at for at, number in enumerate(kept)}
    moments = [{**moment, "event": place[moment["event"]], "first": place.get(moment["first"])}
               for moment in moments if moment["event"] in place]
    first = [number for moment in moments[:1] for number in (moment["event"], moment["first"]) if number is not None]
    some = "" if len(kept) == len(events) else f"{len(kept):,} of "
    cut = "" if is_whole(entry) and not some else (
        f"The film is cut: it has {some}the run's {'first ' * (not is_whole(entry))}{len(events):,} events."
        + " Loads of threads that have no part in what is wrong are left out first." * bool(some and shown))
    files = dict.fromkeys([entry["file"], *(json.loads(line)["file"] for line, _ in lines)])
    return {"version": 1, "step": entry["step"], "file": entry["file"], "size": figures.size_text(entry["size"]),
            "right": entry["right"], "wrong": wrong(entry),
            "order": "executed" if why else "lockstep", "why": why, "cut": cut, "warnings": warnings(entry),
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
        source = report.source_lines(event["file"])[event["line"] - 1].strip()
        title = f"line {event['line']}, {event['space']} {event['op']} of {memory.arrays[array]['name']}: {source}"
        parts, bottom = report.request(event, sample, title)
        frames.append(parts)
        height = max(height, bottom)
    shown = 100 / len(frames)
    style = (f"<style>.frame {{ opacity: 0; animation: frame {len(frames) * FRAME_S}s step-end infinite; }} "
             f"@keyframes frame {{ 0% {{ opacity: 1; }} {shown:.3f}% {{ opacity: 0; }} }}</style>")
    parts = [style] + [f'<g class="frame" style="animation-delay: {number * FRAME_S}s">{"".join(frame)}</g>'
                       for number, frame in enumerate(frames)]
    return report.svg(parts, height, f"{entry['step']}, request by request", f"--play --svg {entry['step']}")


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
