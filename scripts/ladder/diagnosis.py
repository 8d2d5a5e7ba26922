"""What the output of a checked page says: at which stage it fails, and one sentence that teaches."""
import re
import signal
from typing import NamedTuple

STAGES = ["compiles", "ends", "right", "memory", "races and barriers", "access pattern", "speed"]

WRONG = re.compile(r"^\S+: FAIL, (?P<size>[^,\n]+), (?P<data>.*?) data(?P<how>(?:, [^:\n]*)?): "
                   r"(?P<buffer>\w+)\[(?P<index>\d+)\] of (?P<count>\d+) "
                   r"(?:is wrong: got (?P<got>\S+), want (?P<want>[^\s,;]+)|was never written \(want (?P<due>[^)]+)\))"
                   r"[^\n]*?(?:; (?P<writer>no thread wrote it|written last at [^\n]+))?$", re.MULTILINE)
NO_WRITER = "no thread wrote it"
FAIL = re.compile(r"^\S+: FAIL, (?P<text>(?P<size>[\w=^-]+(?: [\w=.^-]+)*), .*)$", re.MULTILINE)


class Failure(NamedTuple):
    stage: str
    what: str  # the line that says what was seen
    sentence: str  # what to learn from it
    section: str  # where that is explained: a heading's anchor, in the README or, with "chapter", in the chapter
    details: dict  # size, data, buffer, index, got, want, writer; at: "file:line:column"


BARRIERS = "README.md#barriers-fences-scopes"
# (stage, sentence, section)
OUT_OF_BOUNDS = ("memory", "A thread uses an index outside the array: guard each access with the bound of its own "
                 "dimension, i < n.", "README.md#the-first-program")
RACE = ("races and barriers", "Two threads use the same memory, one of them writes, and nothing orders them: put a "
        "barrier or an atomic there.", BARRIERS)
DEADLOCK = ("races and barriers", "Threads wait for something that never comes: all of a block must reach the same "
            "barrier, and all lanes of a mask the same warp function.", BARRIERS)
NEVER_WRITTEN = ("memory", "A thread reads memory that nothing has written: does a kernel before it write all of it, "
                 "and is a sum that is added to set to 0?", "README.md#compute-sanitizer-four-tools-four-bugs")
OF_TOOL = {"memcheck": OUT_OF_BOUNDS, "initcheck": NEVER_WRITTEN, "racecheck": RACE, "synccheck": DEADLOCK}

RETURNED = "some threads returned while others wait at a barrier"  # since Volta that alone is no error
# (what the output says, stage, sentence, section); the first that is found counts.
SIGNS = [
    (RETURNED, "races and barriers",
     "Threads return before a barrier that others reach, and what they should have done is missing: let all threads of "
     "the block reach it, and guard only their loads and stores.", BARRIERS),
    (r"deadlock|wait(s)? for each other|different barriers|different warp", *DEADLOCK),
    (r"^\S+: race, ", *RACE),
    (r"no thread of the block finished", "ends",
     "A loop never ends: see that each path through it changes what its condition tests.",
     "README.md#step-through-a-kernel-gdb-and-cuda-gdb"),
    (r"misaligned address", "memory",
     "A float4 access needs an address that is a multiple of 16 bytes: test the pointer, and take a scalar path where "
     "it is not.", "chapter#traps"),
    (r"AddressSanitizer|runtime error: |out of bounds|was written (past its end|before its start)|"
     r"written outside an allocation|illegal (memory|address)|an illegal memory access", *OUT_OF_BOUNDS),
    (r"the input \w+ was (changed|written)", "memory",
     "The inputs belong to the caller: write only to the output, and keep what lies between in memory of your own.",
     "README.md#compute-sanitizer-four-tools-four-bugs"),
    (r"stack overflow|stack of a", "ends",
     "A thread's stack is small: no deep recursion and no large local arrays; they go to local memory, which is DRAM.",
     "README.md#where-data-live"),
    (r"=0\b[^:]* data[^\n]*: [^\n]*invalid configuration argument", "ends",
     "At a size of 0 there is nothing to launch, and a grid of 0 blocks is an error: return before it.",
     "README.md#the-first-program"),
    (r"invalid configuration argument|invalid argument|too many resources", "ends",
     "The launch was refused: a block has at most 1024 threads, gridDim.y and z end at 65535, no dimension may be 0.",
     "README.md#grid-block-warp-lane-sm"),
    (r"out of memory|bad_alloc|memory allocation", "ends",
     "The program asks for more memory than the device has: a kernel of this problem needs little beside its arrays.",
     "README.md#where-data-live"),
    (r"SIGSEGV|Segmentation|SIGBUS", "memory",
     "A thread uses an address that is no memory of the device: an index out of bounds, or a host pointer.",
     "README.md#where-data-live"),
]
STOPPED = {
    "time": "The program was not done in time: a loop that never ends, or far more threads than elements.",
    "memory": "The program filled the memory: allocate once, as much as the arrays need, and free it.",
    "output": "The program prints without end: a printf in a kernel runs once for every thread.",
}


def of_wrong_value(details):
    """(stage, sentence, section) of a wrong result."""
    how, data, got, want = (details.get(key, "") for key in ("how", "data", "got", "want"))
    if "threads in " in how:
        return ("races and barriers",
                "The result depends on the order in which threads run, which nothing fixes: a barrier or an atomic is "
                "missing.", BARRIERS)
    if "second run" in how:
        return ("right", "The second run finds what the first left: what is kept between launches, such as a counter "
                         "or a sum that is added to, must be set again in each.", "chapter#traps")
    if not got or details.get("writer") == NO_WRITER:
        return ("right", "Each element of the output must be written by a thread: does the grid cover all, also the "
                         "last partial block and a size of 0?", "README.md#the-first-program")
    if re.search(r"[1-9]", " ".join(re.findall(r"\+ \d+", how))):
        return ("right", "The arrays start off their alignment here: a vector access needs a test of each pointer, and "
                         "the rest a scalar path.", "chapter#traps")
    special = re.search(r"NaN|inf|huge|extreme|thousands|zeros|minus|special", data, re.IGNORECASE)
    if "nan" in got and re.fullmatch(r"-?[\d.e+-]+", want) and (not special or "NaN in" in data):
        return ("right", "A NaN reaches a result that does not depend on one. NaN stands around the arrays, in memory "
                         "that nothing has written, and in what the problem says is not read; 0 * NaN is NaN too.",
                "README.md#numbers-and-code")
    if special or want in ("nan", "inf", "-inf", "-0"):
        return ("right", f"On {data} data IEEE arithmetic decides: NaN and infinity go through, and what overflows or "
                         "cancels must be computed in another way.", "README.md#numbers-and-code")
    if data.startswith("0.1"):
        return ("right", "Rounding errors that go the same way add up: add in a tree, or in several accumulators.",
                "README.md#numbers-and-code")
    return ("right", "Follow the thread that owns this index at this size: which element does it read, which does it "
                     "write, and what do the threads past the end do?", "README.md#the-first-program")


def with_writer(failure, writer):
    """A wrong value's Failure, with the thread that wrote it last, or NO_WRITER."""
    details = {**failure.details, "writer": writer, "at": first_place(writer)}
    failure = failure._replace(what=f"{failure.what}\n{writer}", details=details)
    if writer == NO_WRITER and failure.stage == "right":
        _, sentence, section = of_wrong_value(details)
        failure = failure._replace(sentence=sentence, section=section)
    return failure


def with_race(failure, race):
    """A wrong value's Failure, with that of a race at the same size, which explains it."""
    return failure._replace(what=f"{failure.what}\n{race.what}", sentence=race.sentence, section=race.section,
                            details={**failure.details, "race": race.what, "at": race.details["at"]})


def first_place(text):
    """The first "file.cu:12:3" that the text names; column 1 where it names none."""
    found = re.search(r"([\w./+-]+\.cuh?):(\d+)(?::(\d+))?", text)
    return f"{found[1]}:{found[2]}:{found[3] or 1}" if found else ""


def line_with(pattern, output):
    return next((line.strip() for line in output.splitlines() if re.search(pattern, line)), "")


def of_run(result):
    """The Failure that a sandbox.Result shows, or None if the program passed."""
    output = result.output
    if result.status == 0 and not result.stopped:
        if re.search(r"^\S+: PASS, \d+ checks$", output, re.MULTILINE):
            return None
        return Failure("ends", "the program ended before its checks did, with exit status 0", "launch must return: "
                       "what it starts is checked after it.", "README.md#launches-return-at-once", {})
    if result.stopped:
        what = line_with(r"\w", result.printed or output) if result.stopped == "output" else ""
        what = f"stopped: over the limit on {result.stopped}" + f", it prints '{what[:80]}'" * bool(what)
        return Failure("ends", what, STOPPED[result.stopped], "README.md#step-through-a-kernel-gdb-and-cuda-gdb", {})
    wrong = WRONG.search(output)
    if wrong:
        details = {key: value for key, value in wrong.groupdict().items() if value is not None and key != "count"}
        details["how"] = details.pop("how").lstrip(", ")
        if "due" in details:
            details["want"] = details.pop("due")
        details["at"] = first_place(details.get("writer", ""))
        stage, sentence, section = SIGNS[0][1:] if RETURNED in output else of_wrong_value(details)
        return Failure(stage, wrong[0].split("FAIL, ", 1)[1], sentence, section, details)
    failed = FAIL.search(output)
    for pattern, stage, sentence, section in SIGNS:
        if re.search(pattern, output, re.MULTILINE):
            what = failed["text"] if failed else line_with(pattern, output)
            more = line_with(pattern, output)
            what += f" ({more})" * (what not in more and more not in what)
            details = {"at": first_place(output)}
            if failed:
                details["size"] = failed["size"]
            return Failure(stage, what, sentence, section, details)
    if failed:
        return Failure("right", failed["text"], "The check failed.", "family#how-results-are-judged",
                       {"size": failed["size"], "at": first_place(output)})
    how = (f"crashed: {signal.Signals(-result.status).name}" if result.status < 0
           else f"ended with exit status {result.status}")
    last = (output.strip().splitlines() or [""])[-1]
    return Failure("ends", how + f": {last}" * bool(last), "The program ended before its checks did: launch must "
                   "return, and report a CUDA error rather than exit.", "README.md#launches-return-at-once",
                   {"at": first_place(output)})


def of_tool(tool, finding):
    """The Failure that a tool of compute-sanitizer shows."""
    stage, sentence, section = OF_TOOL[tool]
    return Failure(stage, f"{tool}: {finding}", sentence, section, {"at": first_place(finding)})


CANNOT_RUN = "the CPU backend cannot run this"


def of_compiler(error, page):
    """The Failure of a page that does not compile."""
    lines = [line for line in str(error).splitlines() if re.search(r"\berror\b|undefined reference|refuse", line)]
    what = lines[0].strip() if lines else (str(error).strip().splitlines() or ["no message"])[0]
    problem = page.problem
    call = f"launch({problem.signature})"
    if "what the judge adds" in what or "ladder_page" in what:
        sentence = f"The judge calls {call}: name the function that starts your kernel so, with these parameters."
    elif CANNOT_RUN in what:
        return Failure("compiles", what, "Without a GPU the judge runs pages on the CPU backend, which leaves this "
                       "out; the message says what to write instead.", "README.md#no-gpu", {"at": first_place(what)})
    elif "conver" in what or "cannot bind" in what:
        sentence = f"The types do not fit: the judge calls {call}."
    else:
        sentence = "The compiler stops at its first error: mend that one and look again."
    return Failure("compiles", what, sentence, "README.md#the-first-program", {"at": first_place(what)})
