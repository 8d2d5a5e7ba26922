"""Judges a page: one verdict for each stage, on the CPU backend and, where there is one, on a GPU."""
import concurrent.futures
import itertools
import json
import re
import shutil
import time
from typing import NamedTuple

import ladder
from ladder import access_pattern, candidates, compute_sanitizer, diagnosis, sandbox

LIMIT_S = 60  # for a page's full verdict
LONG, LONG_S = 65535 * 32 + 1, 4  # rows or columns; seconds for each dimension
TOOL_MEMORY = 8 << 30  # bytes that compute-sanitizer may hold
PRINTED_LINES, PRINTED_COLUMNS = 20, 100  # of what a page prints, as many are shown
BLOCK_S, SLOW_BLOCK_S = 3, 30  # CPU time in which a thread of a block must end; with sanitizers and counters
PASSED, FAILED = "passed", "failed"
NOT_JUDGED = "not judged"  # the time was over: neither right nor wrong
SKIPPED = "skipped"  # what this machine cannot judge


class Stage(NamedTuple):
    name: str
    state: str
    text: str = ""


class Verdict(NamedTuple):
    page: str
    kernel: str
    stages: list
    failure: diagnosis.Failure  # the first, or None
    word: str  # to one who has not begun, else empty
    printed: str = ""  # by the page: in the run that fails, else in a small one

    @property
    def not_judged(self):
        """The names of the stages for which the time was not enough."""
        return [] if self.failure else [stage.name for stage in self.stages if stage.state == NOT_JUDGED]

    @property
    def state(self):
        """PASSED only if every stage was judged."""
        return FAILED if self.failure else NOT_JUDGED if self.not_judged else PASSED

    @property
    def passed(self):
        return self.state == PASSED

    @property
    def reached(self):
        """The stage that fails, else the first that was not judged, else the last one."""
        return self.failure.stage if self.failure else [*self.not_judged, diagnosis.STAGES[-1]][0]

    def as_json(self):
        failure = self.failure._asdict() if self.failure else None
        if failure:
            failure.update(failure.pop("details"))
        return {"page": self.page, "kernel": self.kernel, "state": self.state, "word": self.word,
                "printed": self.printed, "stages": [stage._asdict() for stage in self.stages], "failure": failure}


class OutOfTime(Exception):
    pass


def sizes_of(failure):
    """The options for the size at which a page fails."""
    return [f"--{word}" for word in failure.details["size"].split()]


def first_lines(path):
    """Of a file, if there is one: as many as are shown."""
    try:
        with path.open(errors="replace") as file:
            lines = [line.rstrip("\n")[:PRINTED_COLUMNS] for line in itertools.islice(file, PRINTED_LINES + 1)]
    except OSError:
        return ""
    return "\n".join(lines[:PRINTED_LINES] + ["..."] * (len(lines) > PRINTED_LINES))


class Judge:
    """One page's. `say` gets a line on what takes long."""

    def __init__(self, page, seconds=LIMIT_S, say=lambda line: None, with_gpu=False):
        self.page = page
        self.end = time.monotonic() + seconds
        self.say = say
        self.with_gpu = with_gpu
        self.stages = []
        self.builders = {}
        self.note = ""  # on barriers
        self.printed = ""  # by the page, in the last run that printed
        self.printed_by_failure = None  # and in the run that fails
        self.program = None  # that runs as the page should, without sanitizers and counters

    def left(self):
        seconds = self.end - time.monotonic()
        if seconds < 1:
            raise OutOfTime
        return seconds

    def build(self, kind):
        start = time.monotonic()
        candidates.prepare(kind, self.page.problem.kernel)
        self.end += time.monotonic() - start  # not the page's time
        builder = self.builders[kind] = candidates.Builder(kind, self.page)
        program = builder.program(min(self.left(), candidates.COMPILE_S))
        if kind in ("cpu", "gpu"):
            self.program = self.program or program
        return program

    def run(self, program, *options, order=None, most=1.0, seconds=None):
        """The program's Result; it may take so many seconds, or the share `most` of the time left."""
        plain = program.is_relative_to(ladder.ROOT / "build" / candidates.PRESETS["cpu"])
        environment = {"CUDA_EMU_TIMEOUT": str(BLOCK_S if plain else SLOW_BLOCK_S)}
        if order:
            environment["CUDA_EMU_ORDER"] = order
        printed = program.with_suffix(".printed")
        result = sandbox.run([program, *options, "--quiet", f"--printed={printed}"], seconds or self.left() * most,
                             environment)
        output = result.output.replace(f"{ladder.ROOT}/", "")
        output = re.sub(r"\blaunch:\d+: [^:]*: ", "launch: ", output)  # an error that the page did not ask for
        result = result._replace(output=output, printed=first_lines(printed))
        self.printed = result.printed or self.printed
        return result

    def failure_of(self, result):
        """The Failure that a Result shows, or None."""
        failure = diagnosis.of_run(result)
        if failure:
            self.printed_by_failure = result.printed
        return failure

    def verdict(self):
        try:
            failure = self.first_failure()
            if not failure and self.program:  # for what it prints
                self.run(self.program, "--check", "--random-data", *compute_sanitizer.small_sizes(self.program)[0],
                         seconds=LONG_S)
        except OutOfTime:
            failure = None
            self.say("the time is over: the stages that follow are not judged")
        finally:
            for builder in self.builders.values():
                builder.clean()
        if failure:
            section = self.page.problem.section(failure.section)
            failure = failure._replace(section=section)
            names = diagnosis.STAGES
            kept = [stage for stage in self.stages if names.index(stage.name) < names.index(failure.stage)]
            if failure.stage == "right" and not any(stage.name == "ends" for stage in kept):
                kept.append(Stage("ends", PASSED))  # it printed what is wrong
            self.stages = kept + [Stage(failure.stage, FAILED, failure.what)]
        judged = {stage.name: stage for stage in self.stages}
        stages = [judged.get(name, Stage(name, NOT_JUDGED)) for name in diagnosis.STAGES]
        word = ""
        if failure and self.page.is_untouched:
            word = (f"This is still the empty page. Write the kernel in {self.page.path.name}, then judge it again; "
                    f"scripts/practice {self.page.problem.kernel} --hint 1 gives a first idea.")
        printed = self.printed_by_failure if failure and self.printed_by_failure is not None else self.printed
        return Verdict(ladder.shown(self.page.path), self.page.problem.kernel, stages, failure, word, printed)

    def first_failure(self):
        self.say("compiling for the CPU backend")
        try:
            program = self.build("cpu")
        except candidates.CompileError as error:
            alone = self.with_gpu and diagnosis.CANNOT_RUN in str(error)
            return self.on_gpu_alone() if alone else diagnosis.of_compiler(error, self.page)
        self.stages.append(Stage("compiles", PASSED))
        self.say("checking every awkward size, aligned and not")
        result = self.run(program, "--check", "--smallest-first", most=0.6)
        failure = self.failure_of(result)
        if failure and result.stopped == "time" and self.is_right_on_small_sizes(program):
            return self.slow()
        if failure:
            return self.with_writer(self.of_forward_order(program, failure))
        checks = re.search(r"PASS, (\d+) checks", result.output)
        if diagnosis.RETURNED in result.output:
            self.note = "threads return before a barrier that others reach: fine since Volta, older GPUs may hang"
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            others = {kind: pool.submit(self.build, kind) for kind in ("memory", "trace")}
            self.say("the same in another order of threads")
            result = self.run(program, "--check", "--smallest-first", order="random:1", most=0.5)
            failure = self.failure_of(result)
            if failure and result.stopped != "time":
                return self.with_writer(failure, "random:1")
            if failure:  # right in the plain order
                raise OutOfTime
            failure, note = self.many_rows(program)
            if failure:
                return failure
            self.stages += [Stage("ends", PASSED), Stage("right", PASSED, f"{checks[1]} checks{note}")]
            failure = self.memory(others) or self.traced(others["trace"])
        return failure or self.speed()

    def is_right_on_small_sizes(self, program):
        self.say("that takes long: only small sizes")
        return all(diagnosis.of_run(self.run(program, "--check", "--brief", order=order, most=0.5)) is None
                   for order in (None, "random:1"))

    def slow(self):
        """The stages of a page that is right on small sizes, and too slow here for the others."""
        self.stages += [Stage("ends", PASSED),
                        Stage("right", NOT_JUDGED, "right on small sizes; the large ones take too long here")]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            others = {kind: pool.submit(self.build, kind) for kind in ("memory", "trace")}
            return self.memory(others) or self.traced(others["trace"]) or self.speed()

    def of_forward_order(self, program, failure):
        """What fails at the same size in the plain order too does not depend on the order."""
        size = failure.details.get("size")
        if not size or "threads in " not in failure.details.get("how", ""):
            return failure
        result = self.run(program, "--check", *sizes_of(failure), order="forward", most=0.5)
        return self.failure_of(result) or failure

    def many_rows(self, program):
        """Of several dimensions each in turn needs more blocks than gridDim.y can count: (failure, note). Many kernels
        are right there but take long, in all or in one block, or much memory; the note says so."""
        unknown = []
        names = ladder.dims(program)
        for long in names if len(names) > 1 else []:
            sizes = [f"--{name}={LONG if name == long else 1}" for name in names]
            result = self.run(program, "--check", *sizes, seconds=min(LONG_S, self.left()))
            if result.stopped in ("time", "memory") or result.status == ladder.TIMED_OUT:
                unknown.append(f"{long}={LONG}")
            elif result.status != 2:  # a size that the problem or the step refuses
                failure = self.failure_of(result)
                if failure:
                    return failure, ""
        return None, f", not with {' or '.join(unknown)}: too long or too large for the judge" if unknown else ""

    def with_writer(self, failure, order=None, building=None):
        """With the thread that wrote the wrong value last, which a traced build knows, and a race at that size."""
        if not failure.details.get("index"):
            return failure
        self.say("who wrote it?")
        try:
            return self.explained(failure, building.result() if building else self.build("trace"), order)
        except (candidates.CompileError, OutOfTime):
            return failure

    def explained(self, failure, program, order):
        again = diagnosis.of_run(self.run(program, "--check", "--smallest-first", order=order, most=0.5))
        same = again and all(again.details.get(key) == failure.details[key] for key in ("size", "data", "index"))
        if same and again.details.get("writer"):
            failure = diagnosis.with_writer(failure, again.details["writer"])
        step = self.traced_step(program, *sizes_of(failure))[0]
        race = access_pattern.first_race(step) if step else None
        return diagnosis.with_race(failure, race) if race else failure

    def memory(self, others):
        """Under AddressSanitizer, on fewer sizes. What only another timing shows, a lost update, may show here
        first."""
        try:
            program = others["memory"].result()
        except candidates.CompileError as error:
            return diagnosis.of_compiler(error, self.page)
        self.say("under AddressSanitizer")
        result = self.run(program, "--check", "--smallest-first", "--brief", most=0.7)
        failure = self.failure_of(result)
        if failure and result.stopped != "time":
            return self.with_writer(failure, building=others["trace"])
        if not failure:
            self.stages.append(Stage("memory", PASSED, "nothing out of bounds, nothing misaligned"))
        return None

    def traced(self, building):
        """Races, and the access pattern beside those of the ladder."""
        try:
            program = building.result()
        except candidates.CompileError as error:
            return diagnosis.of_compiler(error, self.page)
        self.say("counting accesses")
        step, result = self.traced_step(program)
        if step is None:
            return None if result.stopped == "time" else self.failure_of(result)
        race = access_pattern.first_race(step)
        if race:
            return race
        self.stages.append(Stage("races and barriers", PASSED, self.note))
        references = self.of_ladder("cpu-trace", "--trace", "--json")
        self.stages.append(Stage("access pattern", PASSED, access_pattern.compared(step, references)))
        return None

    def traced_step(self, program, *sizes):
        """(what a traced program counts, None if it did not end; its Result)"""
        result = self.run(program, "--trace", "--json", *sizes, most=0.7)
        return next(iter(ladder.entries(result.output)), None), result

    def of_ladder(self, preset, *options):
        """The ladder's steps. Built once, like the runner: that is not the page's time."""
        start = time.monotonic()
        steps = access_pattern.of_ladder(self.page.problem, preset, options, self.say)
        self.end += time.monotonic() - start
        return steps

    def speed(self):
        """On a GPU: is it right there, and which step of the ladder does it equal?"""
        if not self.with_gpu:
            self.stages.append(Stage("speed", SKIPPED, "needs a GPU"))
            return None
        self.say("on the GPU")
        try:
            program = self.build("gpu")
        except candidates.CompileError as error:
            return diagnosis.of_compiler(error, self.page)
        result = self.run(program, "--check", "--smallest-first")
        failure = self.failure_of(result)
        if failure:
            return None if result.stopped == "time" else failure
        self.timed(program)
        return None

    def timed(self, program):
        own = [entry for entry in ladder.entries(self.run(program, "--json").output) if "cold_us" in entry]
        if own:
            steps = [step for step in self.of_ladder("gpu", "--json") if "cold_us" in step]
            self.stages.append(Stage("speed", PASSED, access_pattern.speed_text(own[-1], steps)))

    def on_gpu_alone(self):
        """The stages of a page that the CPU backend cannot run; compute-sanitizer takes its place."""
        self.say("the CPU backend cannot run this: compiling for the GPU")
        try:
            program = self.build("gpu")
        except candidates.CompileError as error:
            return diagnosis.of_compiler(error, self.page)
        self.stages.append(Stage("compiles", PASSED, "for the GPU; the CPU backend cannot run it"))
        self.say("checking every awkward size, aligned and not")
        result = self.run(program, "--check", "--smallest-first", most=0.6)
        failure = self.failure_of(result)
        if failure:
            return failure
        checks = re.search(r"PASS, (\d+) checks", result.output)
        self.stages += [Stage("ends", PASSED), Stage("right", PASSED, f"{checks[1]} checks")]
        failure = self.sanitized(program)
        self.stages.append(Stage("access pattern", SKIPPED, "needs the CPU backend"))
        if not failure:
            self.timed(program)
        return failure

    def sanitized(self, program):
        """What compute-sanitizer's tools find at two small sizes."""
        if not shutil.which("compute-sanitizer"):
            self.stages += [Stage(name, SKIPPED, "needs compute-sanitizer")
                            for name in ("memory", "races and barriers")]
            return None
        self.say("under compute-sanitizer")
        sizes = compute_sanitizer.small_sizes(program)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            runs = {tool: [pool.submit(sandbox.run, compute_sanitizer.command(tool, program, [*size, "--quiet"]),
                                       self.left(), memory=TOOL_MEMORY) for size in sizes]
                    for tool in diagnosis.OF_TOOL}
        for tool, (stage, *_) in diagnosis.OF_TOOL.items():
            for result in (run.result() for run in runs[tool]):
                if compute_sanitizer.has_findings(result.status, result.output):
                    finding = compute_sanitizer.first_finding(result.output)
                    return diagnosis.of_tool(tool, finding.replace(f"{ladder.ROOT}/", ""))
                if not compute_sanitizer.did_run(result.status, result.output):
                    self.stages = [found for found in self.stages if found.name != stage]
                    self.stages.append(Stage(stage, NOT_JUDGED, f"{tool} did not run to its end"))
                    return None
            if not any(found.name == stage for found in self.stages):
                self.stages.append(Stage(stage, PASSED, "by compute-sanitizer"))
        return None


def stages_text(verdict, color=False):
    """The page's name, and a line for each stage."""
    marks = {PASSED: ("ok", "32"), FAILED: ("FAIL", "31"), NOT_JUDGED: ("?", "33"), SKIPPED: ("-", "2")}
    lines = [f"{verdict.page} ({verdict.kernel})"]
    for stage in verdict.stages:
        mark, code = marks[SKIPPED if verdict.failure and stage.state == NOT_JUDGED else stage.state]
        mark = f"\033[{code}m{mark:4}\033[0m" if color else f"{mark:4}"
        shown = stage.text.split("\n")
        lines.append(f"  {mark} {stage.name:18} {shown[0]}".rstrip())
        lines += [" " * 26 + line for line in shown[1:]]
    return "\n".join(lines)


def outcome(verdict):
    """What the stages come to."""
    failure = verdict.failure
    if verdict.word:
        return verdict.word
    if failure:
        place = f"{failure.details['at']}:\n" if failure.details.get("at") else ""
        return f"{place}{failure.sentence}\nSee {failure.section}"
    if verdict.not_judged:
        return (f"Not solved yet: the time was over before all was judged: {', '.join(verdict.not_judged)}. "
                "scripts/judge --seconds gives more.")
    return "Solved."


def printed_text(verdict):
    """What the page printed, marked as its own; empty if it printed nothing."""
    if not verdict.printed:
        return ""
    run = "the run that fails" if verdict.failure else "one run"
    return f"The page printed, in {run}:" + "".join(f"\n  | {line}" for line in verdict.printed.splitlines())


def text(verdict, color=False):
    """A verdict as a person reads it."""
    return "\n\n".join(filter(None, [stages_text(verdict, color), printed_text(verdict), outcome(verdict)]))


def to_json(verdicts):
    return json.dumps({"version": 1, "verdicts": [verdict.as_json() for verdict in verdicts]}, indent=1)


def exit_status(verdicts):
    """That of scripts/judge."""
    states = {verdict.state for verdict in verdicts}
    return 1 if FAILED in states else 3 if NOT_JUDGED in states else 0
