"""Explains a failed check: the stage at which a submission fails, and a sentence that teaches.

The facts come from the runner's record (common/runner/record.hpp) and from the CPU backend's reports in it. A cause is
named only if an experiment has isolated it: the judge runs the failing check again without it (see Causes)."""
import re
from typing import NamedTuple

import ladder

COMPILES, ENDS, RIGHT, MEMORY, RACES, PATTERN, SPEED = STAGES = [
    "compiles", "launches and ends", "right", "memory", "races and barriers", "access pattern", "speed"]


class Failure(NamedTuple):
    stage: str
    sentence: str  # what the reader learns from it
    section: str  # the explanation: a heading's anchor, in a page, or with "chapter" in the kernel's chapter
    what: str = ""  # what was observed, in a line or more
    at: str = ""  # "file:line:column"
    facts: dict = {}  # the runner's: size, data, buffer, index, got, want and so on
    crashed: bool = False  # at an address that only AddressSanitizer can explain

    def as_json(self):
        own = {key: value for key, value in self._asdict().items() if key not in ("facts", "crashed")}
        return {**self.facts, **own}


SECTIONS = BARRIERS, GRID, FIRST, MEMORIES, NUMBERS, DEBUGGER, SANITIZER, RETURNS, NO_GPU, TRAPS = [
    "README.md#barriers-fences-scopes", "README.md#grid-block-warp-lane-sm", "README.md#the-first-program",
    "README.md#where-data-live", "docs/questions.md#numbers", "scripts/README.md#debug-gdb-and-cuda-gdb",
    "scripts/README.md#sanitize-four-tools-four-bugs", "README.md#launches-return-at-once", "README.md#no-gpu",
    "chapter#traps"]

OUT_OF_BOUNDS = Failure(MEMORY, "A thread uses an index outside the array: guard each access with the bound of its own "
                        "dimension, i < n.", FIRST)
RACE = Failure(RACES, "Two threads use the same memory, one of them writes, and nothing orders them: put a barrier "
               "between the two accesses, or use an atomic.", BARRIERS)
WARP_RACE = Failure(RACES, "Two lanes of one warp use the same shared memory, one of them writes, and nothing orders "
                    "them: lanes of a warp need not run in step. Put __syncthreads() between the two accesses, also if "
                    "they are in two rounds or calls; __syncwarp() if the memory is one warp's own.", BARRIERS)
SAME_ELEMENT = ("Two threads write the same element: is its index right, such as row * columns + column, and does "
                "each thread own its elements? Where all add to one, use atomicAdd or a reduction.")
DEADLOCK = Failure(RACES, "Threads wait for something that never comes: all threads of a block must reach the same "
                   "barrier, and all lanes of a mask the same warp function.", BARRIERS)
NEVER_WRITTEN = Failure(MEMORY, "A thread reads memory that nothing has written: does a kernel before it write all of "
                        "it, and is a sum that is added to set to 0?", SANITIZER)
INPUT = Failure(MEMORY, "The inputs belong to the caller: write only to the output, and to memory of your own.",
                SANITIZER)
WRONG_VALUE = Failure(RIGHT, "Follow the thread that owns this index at this size: which element does it read, which "
                      "does it write, and what do the threads past the end do?", FIRST)
ANY_CUDA_ERROR = Failure(ENDS, "A CUDA call failed: the message names it.", RETURNS)
OF_TOOL = {"memcheck": OUT_OF_BOUNDS, "initcheck": NEVER_WRITTEN, "racecheck": RACE, "synccheck": DEADLOCK}

# {cause in a report of the CPU backend: Failure}
CAUSES = {
    **dict.fromkeys(["deadlock", "barriers differ", "collectives differ"], DEADLOCK),
    "grid barrier": Failure(RACES, "All blocks must reach a grid barrier the same number of times: one that leaves its "
                            "loop early leaves the others waiting.", BARRIERS),
    "mask": Failure(RACES, "A warp function's mask must name exactly the lanes that call it.", BARRIERS),
    "width": Failure(RACES, "The width of a shuffle must be a power of two, from 1 to 32.", BARRIERS),
    "lane is gone": Failure(RACES, "A shuffle reads from a lane that takes no part, so the value is undefined. Let all "
                            "lanes reach the shuffle, and guard only loads and stores.", BARRIERS),
    "shared array": Failure(MEMORY, "An index is outside its shared array: a GPU would access what lies behind it.",
                            MEMORIES),
    "misaligned": Failure(MEMORY, "An access of 8 or 16 bytes needs an address that is a multiple of its size: test "
                          "the pointer, and take a scalar path where it is not.", TRAPS),
    "address": OUT_OF_BOUNDS,
    "host memory": Failure(ENDS, "A kernel cannot use the host's memory: copy it, or pass it by value.", MEMORIES),
    "device memory": Failure(ENDS, "The host cannot use the device's memory: copy it with cudaMemcpy.", MEMORIES),
    "launch": Failure(ENDS, "CUDA refused the call: the line above says which argument, and its limit.", GRID),
    "block waits": Failure(ENDS, "A block waits for another one that has not started: blocks need not run at the same "
                           "time. Use a cooperative launch, or no more blocks than the device holds at once.",
                           BARRIERS),
    "time": Failure(ENDS, "A loop never ends: see that each path through it changes what its condition tests.",
                    DEBUGGER),
    "stack": Failure(ENDS, "A thread's stack is small: avoid deep recursion and large local arrays.", MEMORIES),
    "arithmetic": Failure(RIGHT, "An integer division by zero, or one that overflows: its result means nothing. A GPU "
                          "and an arm64 CPU go on with it, an x86 CPU stops.", NUMBERS),
    "trap": Failure(RIGHT, "The kernel ended itself: an assertion failed, or it called __trap().", DEBUGGER),
    "unsupported": Failure(COMPILES, "The CPU backend cannot run this; the message says what to write instead.",
                           NO_GPU),
}
CUDA_ERRORS = {
    "cudaErrorInvalidConfiguration": Failure(ENDS, "The launch was refused: a block has at most 1024 threads, "
                                             "gridDim.y and z end at 65535, and no dimension may be 0.", GRID),
    "cudaErrorMisalignedAddress": CAUSES["misaligned"],
    "cudaErrorIllegalAddress": OUT_OF_BOUNDS,
    "cudaErrorMemoryAllocation": Failure(ENDS, "The program asks for more memory than the device has.", MEMORIES),
    "cudaErrorLaunchFailure": DEADLOCK,
}
FOUND = {"past end": OUT_OF_BOUNDS, "before start": OUT_OF_BOUNDS, "input changed": INPUT, "input written": INPUT}
STOPPED = {
    "time": "The program was not done in time: a loop that never ends, or far more threads than elements.",
    "memory": "The program filled the memory: allocate once, as much as the arrays need, and free it.",
    "output": "The program prints without end: a printf in a kernel runs once for every thread.",
}

# {words in the name of a kind of data: what this data teaches}
LESSONS = {
    r"noise|cancel": "The difference of two large, nearly equal sums has few right digits left. Subtract first (two "
                     "passes, or Welford's update), then square or add.",
    r"0\.1|tenths": "Rounding errors that go the same way add up: add in a tree, or in several accumulators.",
    r"zeros": "+0 and -0 are equal, but not their bits: compare as numbers, and let ties go as the problem says.",
    r"NaN": "NaN is neither greater nor less than anything: x > m is false, and fmaxf drops it.",
    r"inf": "Infinity minus infinity is NaN, and so is 0 times infinity: treat these cases by themselves.",
    r"thousands|huge|extreme|magnitudes|far below": "exp overflows from 89 on, and products overflow: subtract the "
                                                    "maximum, or scale, before.",
    r"special|subnormal": "NaN and infinity go through, -0 is a number, and what overflows must be computed in another "
                          "way.",
    r"negative": "All elements are negative: a maximum starts from -INFINITY or the first element, not from 0.",
    r"border": "A quotient close to 1 rounds up to 1, and the bin is then one past the last: clamp it to bins - 1.",
    r"tail|last": "The last elements count: a grid or a loop that rounds down leaves them out.",
    r"ties|equal|few|integer": "Several elements are equal here: the problem says which of them wins.",
}


def lesson(data):
    return next((text for words, text in LESSONS.items() if re.search(words, data)), "")


def first_place(text):
    """Returns the first "file.cu:12:3" in a compiler's or a sanitizer's text, with column 1 if the text has none."""
    found = re.search(r"([\w./+-]+\.cuh?):(\d+)(?::(\d+))?", text)
    return f"{found[1]}:{found[2]}:{found[3] or 1}" if found else ""


def error_report(outcome):
    """Returns the CPU backend's report of the error or call that ended the failing check, or None."""
    reports = [report for report in outcome.reports if report["kind"] == "error" and report["cause"] != "sanitizer"]
    fatal = [report for report in reports if report["fatal"]]
    failed = [report for report in reports if report.get("size") == outcome.facts.get("size")]
    return (fatal or (failed if outcome.facts.get("what") == "error" else []) or [None])[-1]


def told(report):
    """Returns a report in a line or more: what, where, which threads."""
    line = report["problem"] + with_element(report)
    if "thread" in report:
        line += ", in thread ({},{},{}) of block ({},{},{})".format(*report["thread"], *report["block"])
    groups = [f"{group['count']} thread{'s' * (group['count'] != 1)} {group['doing']}: {group['threads']}"
              for group in report["groups"]]
    return "\n".join([line + f", at {report['at']}" * bool(report["at"]), *groups])


def with_element(report):
    return f", which would be {report['element']}" if report.get("element") else ""


def how(facts):
    """Describes how a check was run: "n=1025, random data, arrays off by x + 1, y + 0 elements"."""
    order = facts.get("order", "")
    parts = [facts.get("size", ""), f"{facts['data']} data" if facts.get("data") else "",
             f"arrays off by {facts['offsets']} elements" if facts.get("offsets") else "",
             f"threads run in {order} order" if order not in ("", "forward") else "",
             "the second run on the same arrays" if facts.get("second_run") else ""]
    return ", ".join(filter(None, parts))


def seen(facts, more=""):
    """Returns the line that says how the check was run and what was observed."""
    return ": ".join(filter(None, [how(facts), more or facts.get("seen", "")]))


def of_error(report, facts):
    """Returns the Failure that an error report describes."""
    place = report["at"] or report["launched"]
    return CAUSES.get(report["cause"], OUT_OF_BOUNDS)._replace(
        what=seen(facts, told(report)), at=f"{place}:1" if place else "", facts=facts,
        crashed=report["cause"] == "address")


def of_outcome(outcome):
    """Returns the Failure of a checked run without a search for its cause, or None if the run passed."""
    if outcome.passed:
        return None
    facts, report, (status, output, stopped, *_) = outcome.facts, error_report(outcome), outcome.result
    if report:
        return of_error(report, facts)
    if outcome.sanitizer:
        causes = {"misaligned address": "misaligned", "division by zero": "arithmetic"}
        cause = next((cause for words, cause in causes.items() if words in outcome.sanitizer), "address")
        element = next(filter(None, map(with_element, outcome.reports)), "")
        return CAUSES[cause]._replace(stage=MEMORY, what=seen(facts, outcome.sanitizer + element),
                                      at=outcome.sanitizer_at, facts=facts)
    if stopped:
        printed = (outcome.printed or output).strip().partition("\n")[0][:80]
        prints = f", it prints '{printed}'" * (stopped == "output" and printed != "")
        return Failure(ENDS, STOPPED[stopped], DEBUGGER, seen(facts, f"stopped: over the limit on {stopped}{prints}"),
                       facts=facts)
    if outcome.entry:
        return of_facts(facts)
    last = output.strip().rpartition("\n")[2]
    name = "the program ended before its checks did: " + ladder.describe_exit(status) + f": {last}" * bool(last)
    return Failure(ENDS, "launch must return: what it starts is checked after it. It reports a CUDA error rather than "
                   "exit.", RETURNS, seen(facts, name), facts=facts, crashed=status < 0)


def of_facts(facts):
    """Returns the Failure of a check that ran to its end."""
    failure = CUDA_ERRORS.get(facts["error"], ANY_CUDA_ERROR) if facts["what"] == "error" else \
        FOUND.get(facts["what"], WRONG_VALUE)
    return failure._replace(what=seen(facts), at=first_place(facts.get("message", "")), facts=facts)


def of_tool(tool, finding):
    """Returns the Failure for a finding of a compute-sanitizer tool."""
    return OF_TOOL[tool]._replace(what=f"{tool}: {finding}", at=first_place(finding))


CANNOT_RUN = "the CPU backend cannot run this"


def of_compiler(error, problem):
    """Returns the Failure of a submission that does not compile."""
    what = re.sub(r"^([^:\s]+:\d+):\d+:", r"\1:", ladder.first_error(str(error)))  # this column is of the translation
    call = f"launch({problem.signature})"
    if CANNOT_RUN in what:
        return CAUSES["unsupported"]._replace(what=what, at=first_place(what))
    if "what the judge adds" in what or "ladder_page" in what:
        sentence = f"The judge calls {call}: name the function that starts your kernel so, with these parameters."
    elif "conver" in what or "cannot bind" in what:
        sentence = f"The types do not fit: the judge calls {call}."
    else:
        sentence = "The compiler stops at its first error: fix that one and look again."
    return Failure(COMPILES, sentence, FIRST, what, first_place(what))


# ---- causes, by experiment

# {first letters of an option's name: lesson}. Defaults: leading dimension 0 (rows are contiguous), beta 0, alpha 1.
OPTIONS = {
    "ld": "Rows lie {0} elements apart, not their own length: the index of an element is row * {0} + column.",
    "beta": "beta times the old value is added: read it before it is overwritten, in the thread that owns it.",
    "alpha": "alpha scales the product, not the old value.",
}


class Causes:
    """Searches for the cause of a failed check. `passes(*options, order=..., fill=...)` runs the check again at the
    failing size and returns whether it passes, or None if the time is over. `dims` has the names of the problem's
    required dimensions."""

    def __init__(self, failure, passes, reports, dims):
        self.failure, self.facts, self.passes, self.reports, self.dims = failure, failure.facts, passes, reports, dims

    def found(self):
        """Returns the Failure, with its cause if one was isolated."""
        if "options" not in self.facts:
            return self.failure
        if self.facts.get("what") not in ("value", "unwritten", "values"):
            cause = self.data() if self.failure.stage == MEMORY else None
            words = f"{self.failure.sentence} {lesson(self.facts['data'])}".strip()
            return self.with_proof(cause.what, sentence=words) if cause else self.failure
        self.simplify()
        for search in (self.lane, self.change, self.data, self.option):
            cause = search()
            if cause:
                return self.with_proof(cause.what, stage=cause.stage, sentence=cause.sentence, section=cause.section)
        return self.with_proof(self.neighbours())

    def with_proof(self, proof, **changed):
        return self.failure._replace(what="\n".join(filter(None, [self.failure.what, proof])), **changed)

    def simplify(self):
        """Removes conditions that the failure does not need: the order of threads, the misaligned arrays."""
        for key, options, how in (("order", [], {"order": "forward"}), ("offsets", ["--aligned"], {})):
            if self.facts[key] not in ("", "forward") and self.again(*options, **how) is False:
                was, self.facts = seen(self.facts), {**self.facts, key: ""}
                self.failure = self.failure._replace(facts=self.facts,
                                                     what=self.failure.what.replace(was, seen(self.facts)))

    def again(self, *more, data=None, without=(), **how):
        """Returns whether the check passes with other options."""
        kept = [option for option in self.facts["options"] if option not in without]
        return self.passes(*kept, f"--data={data or self.facts['data']}", *more, **how)

    def lane(self):
        gone = next((report for report in self.reports if report["cause"] == "lane is gone"), None)
        return CAUSES["lane is gone"]._replace(what=told(gone)) if gone else None

    def change(self):
        """Returns the cause shown by the first change that makes the check pass, or by the facts, or None."""
        order = self.facts["order"]
        if order not in ("", "forward") and self.again(order="forward"):
            return Failure(RACES, "The result depends on the order in which threads run, which nothing fixes: a "
                           "barrier or an atomic is missing.", BARRIERS,
                           f"It passes when threads run in forward order, and fails in {order} order.")
        if self.facts["offsets"] and self.again("--aligned"):
            return Failure(RIGHT, "The arrays start off their alignment here: a vector access needs a test of each "
                           "pointer, and the rest a scalar path.", TRAPS, "It passes where all arrays are aligned.")
        if self.facts["second_run"]:
            return Failure(RIGHT, "The second run finds what the first left: what is kept between launches, such as a "
                           "counter or a sum that is added to, must be set again in each.", TRAPS,
                           "The first run passes.")
        if self.facts["what"] == "unwritten" or self.facts.get("writer") == "no thread":
            return Failure(RIGHT, "Each element of the output must be written by a thread: does the grid cover all, "
                           "also the last partial block and a size of 0?", FIRST)
        if self.again(fill="zeros"):
            return NEVER_WRITTEN._replace(stage=RIGHT, what="It passes where fresh memory holds zeros.")
        if self.again("--zeroed"):
            return Failure(RIGHT, "The output is added to, and nothing has set it to 0 before: cudaMemsetAsync it, or "
                           "let the first writer store.", TRAPS, "It passes where the output holds zeros beforehand.")
        return None

    def data(self):
        data = self.facts["data"]
        if data == "random" or not self.again(data="random"):
            return None
        sentence = lesson(data) or f"The data decide: see what the problem says of {data} data."
        return Failure(RIGHT, sentence, NUMBERS, "It passes on random data of this size.")

    def option(self):
        """Looks for an option that causes the failure: a leading dimension longer than the row, or a scalar."""
        for option in self.facts["options"]:
            for start, sentence in OPTIONS.items():
                if option.startswith(f"--{start}") and self.again(without=[option]):
                    return Failure(RIGHT, sentence.format(option[2:].split("=")[0]), FIRST,
                                   f"It passes without {option[2:]}.")
        return None

    def neighbours(self):
        """Lists which sizes near the failing one pass, and which fail."""
        results = {True: [], False: [], None: []}
        for option in self.facts["options"]:
            name, value = option[2:].split("=")
            n = int(value) if name in self.dims else 0
            sizes = (n - 1, n + 1, n // 32 * 32, -(-n // 32) * 32, -(-n // 256) * 256) if n else ()
            for other in dict.fromkeys(sizes):
                if other not in (0, n):
                    results[self.again(f"--{name}={other}", without=[option])].append(f"{name}={other}")
        return "; ".join(f"{word} at {', '.join(sizes[:4])}" for word, sizes in
                         (("It passes", results[True]), ("it fails", results[False])) if sizes)


def with_writer(failure, writer):
    """Returns a wrong value's Failure with the thread that wrote it last."""
    line = "no thread wrote it" if writer == "no thread" else f"written last at {writer}"
    return failure._replace(what=f"{failure.what}\n{line}", at=failure.at or first_place(writer),
                            facts={**failure.facts, "writer": writer})


def with_race(failure, race):
    """Returns a wrong value's Failure with the race at the same size that explains it."""
    sentence = SAME_ELEMENT if "write after write in global" in race.what else race.sentence
    return failure._replace(what=f"{failure.what}\n{race.what}", sentence=sentence, section=race.section,
                            at=race.at, facts={**failure.facts, "race": race.what})
