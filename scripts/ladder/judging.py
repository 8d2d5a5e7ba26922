"""Judges a submission: one verdict for each stage, on the CPU backend and, where there is one, on a GPU."""
import concurrent.futures
import json
import shlex
import shutil
from typing import NamedTuple

import ladder
from ladder import access_pattern, candidates, checked_run, compute_sanitizer, diagnosis, levels, sandbox

LIMIT_S = 120  # of CPU time, for a submission's full verdict
CHECKS, FEW = 1 / 2, 1 / 8  # of that for the checks, and for some of them: large sizes may be left out
EXPERIMENT_S = 3
LONG, LONG_S = 65535 * 32 + 1, 4  # rows or columns, more than gridDim.y counts tiles of 32; seconds for each dimension
TOOL_MEMORY = 8 << 30  # bytes that compute-sanitizer may hold
BLOCK_S, SLOW_BLOCK_S = 3, 30  # CPU time in which a thread of a block must end; with sanitizers and counters
PASSED, FAILED = "passed", "failed"
NOT_JUDGED = "not judged"  # the time was over: neither right nor wrong
SKIPPED = "skipped"  # what this machine cannot judge


class Stage(NamedTuple):
    name: str
    state: str
    text: str = ""


class Remark(NamedTuple):
    """What is wrong with a submission that passes all the same."""
    kind: str
    text: str
    about: str = ""  # a corner's lesson, a dimension's name
    facts: dict = {}


class Verdict(NamedTuple):
    submission: str
    kernel: str
    stages: list
    failure: diagnosis.Failure  # the first, or None
    printed: str = ""  # by the submission: in the run that fails, else in a small one
    remarks: list = []
    level: str = ""  # one of levels.NAMES, of a submission that passes
    following: str = ""  # the next one, and what is missing for it

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
        listed = {name: [one._asdict() for one in getattr(self, name)] for name in ("stages", "remarks")}
        return {**self._asdict(), **listed, "state": self.state,
                "failure": self.failure.as_json() if self.failure else None}


class OutOfTime(Exception):
    pass


# ---- remarks

def remark_of(entry):
    """A Remark for what the runner let pass."""
    kind, facts = entry["kind"], entry["failure"]
    where = diagnosis.how(facts)
    if kind == "alignment":
        text = f"Right on aligned arrays, wrong at {where}: test each pointer before a vector access, (size_t)p % 16 " \
               "== 0, and take a scalar path otherwise."
    elif kind == "empty":
        text = f"At {where}: {facts['seen'] if facts['what'] != 'error' else facts['error']}. A grid of 0 blocks is " \
               "an error: return before the launch, or write what the problem says."
    elif kind == "NaN":
        text = f"At {where} a NaN is lost: {facts['buffer']}[{facts['index']}] is {facts['got']}. NaN > 0 is false, " \
               "and fmaxf returns the other operand."
    else:
        text = f"At {where}: {facts['seen']}. {entry['lesson']}"
    return Remark(kind, text, entry.get("lesson", ""), facts)


LEAK = Remark("leak", "Device memory is not freed: each cudaMalloc needs its cudaFree, also before an early return.")
RETURNED = Remark("return", "Threads return before a barrier that others reach: fine since Volta, older GPUs may hang.")


class Judge:
    """One submission's. `say` gets a line on what takes long. A step of the ladder, a planted bug and a submission made
    from one must keep the problem's contract to the letter; of other submissions remarks are made where an interviewer
    would make them."""

    def __init__(self, submission, seconds=LIMIT_S, say=lambda line: None, with_gpu=False):
        self.submission = submission
        self.seconds = seconds  # of CPU time, that are left
        self.for_checks, self.for_few_checks = seconds * CHECKS, seconds * FEW
        self.say = say
        self.with_gpu = with_gpu
        self.is_strict = submission.is_strict
        self.stages = []
        self.remarks = []
        self.builders = {}
        self.printed = ""  # by the submission, in the last run that printed
        self.printed_by_failure = None  # and in the run that fails
        self.program = None  # that runs as the submission should, without sanitizers and counters
        self.traced_run = None  # what was counted
        self.references = []  # the same of the ladder's steps
        self.slow = "as fast as the ladder's best steps, on a GPU"  # what is missing for the level fast

    # -- building and running

    def left(self):
        if self.seconds < 1:
            raise OutOfTime
        return self.seconds

    def build(self, kind):
        candidates.prepare(kind, self.submission.problem.kernel)
        builder = self.builders[kind] = candidates.Builder(kind, self.submission)
        program = builder.program()
        if kind in ("cpu", "gpu"):
            self.program = self.program or program
            lines = candidates.narrowed_lines(builder.warnings, self.submission.path)
            if lines and not self.is_strict:
                self.add(Remark("narrow", f"Line {lines[0]}: a 64-bit value becomes an int, which wraps from 2^31 on. "
                                          "Is that enough for every size that the problem allows?"))
        return program

    def run(self, program, *options, order=None, fill=None, seconds=None):
        """The program's Outcome; it may take so many seconds of CPU time, or what is left."""
        plain = program.is_relative_to(ladder.ROOT / "build" / candidates.PRESETS["cpu"])
        environment = {"CUDA_EMU_TIMEOUT": str(BLOCK_S if plain else SLOW_BLOCK_S)}
        if order:
            environment["CUDA_EMU_ORDER"] = order
        if fill:
            environment["CUDA_EMU_FILL"] = fill
        outcome = checked_run.run(program, options, min(seconds or self.left(), self.left()), environment)
        self.seconds -= outcome.result.seconds
        self.printed = outcome.printed or self.printed
        return outcome

    def check(self, program, *options, **how):
        options = ["--smallest-first", *["--lenient"] * (not self.is_strict), *options]
        if any(remark.kind == "alignment" for remark in self.remarks):
            options.append("--aligned")
        return self.run(program, "--check", *options, **how)

    def check_within(self, seconds, program, *options, **how):
        """Leaves out the largest sizes that the time is not enough for."""
        limit = max(1, round(seconds * checked_run.CORES))
        return self.check(program, f"--seconds={limit}", *options, seconds=1.5 * seconds, **how)

    def failure_of(self, outcome):
        """The Failure that an Outcome shows, or None; it keeps the remarks."""
        if not self.is_strict:
            self.add(*map(remark_of, outcome.remarks))
            if outcome.leaks:
                self.add(LEAK)
                return None
        if any(report["cause"] == "returned" for report in outcome.reports):
            self.add(RETURNED)
        failure = diagnosis.of_outcome(outcome)
        if failure:
            self.printed_by_failure = outcome.printed
        return failure

    def add(self, *remarks):
        """One remark of each kind, and one on each corner and dimension."""
        for remark in remarks:
            if not any(known.kind == remark.kind and known.about == remark.about for known in self.remarks):
                self.remarks.append(remark)

    def passed(self, stage, text=""):
        self.stages.append(Stage(stage, PASSED, text))

    # -- the verdict

    def verdict(self):
        try:
            failure = self.first_failure()
            if not failure and self.program:  # for what it prints
                self.run(self.program, "--check", "--random-data", "--aligned",
                         *compute_sanitizer.small_sizes(self.program)[0], seconds=LONG_S)
        except candidates.CompileError as error:
            failure = diagnosis.of_compiler(error, self.submission)
        except OutOfTime:
            failure = None
            self.say("the time is over: the stages that follow are not judged")
        finally:
            for builder in self.builders.values():
                builder.clean()
        if failure:
            failure = failure._replace(section=self.submission.problem.section(failure.section))
            names = diagnosis.STAGES
            kept = [stage for stage in self.stages if names.index(stage.name) < names.index(failure.stage)]
            if failure.stage == diagnosis.RIGHT and self.program:
                kept.append(Stage(diagnosis.ENDS, PASSED))  # it was run to its end
            self.stages = kept + [Stage(failure.stage, FAILED, failure.what)]
        judged = {stage.name: stage for stage in self.stages}
        stages = [judged.get(name, Stage(name, NOT_JUDGED)) for name in diagnosis.STAGES]
        printed = self.printed_by_failure if failure and self.printed_by_failure is not None else self.printed
        verdict = Verdict(ladder.shown(self.submission.path), self.submission.kernel, stages, failure, printed,
                          self.remarks)
        return verdict if failure else self.with_level(verdict)

    def with_level(self, verdict):
        ideas = {step.name[len(step.kernel) + 1:]: text for step, text in self.submission.problem.hints()}
        is_robust = not {remark.kind for remark in self.remarks} & {"alignment", "empty", "NaN", "corner", "grid"}
        level, following, text = levels.standing(self.traced_run, self.references, is_robust, ideas, self.slow)
        return verdict._replace(level=level, following=f"{following}: {text}" if following else "")

    def first_failure(self):
        if self.submission.is_untouched:
            return diagnosis.Failure(
                diagnosis.RIGHT, "the page is empty", "This is still the empty page. Write the kernel in "
                f"{self.submission.path.name}, then judge it again; scripts/practice {self.submission.kernel} --hint 1 "
                "gives a first idea.", diagnosis.FIRST)
        self.say("compiling for the CPU backend")
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            by_nvcc = pool.submit(candidates.nvcc_errors, self.submission)
            try:
                program = self.build("cpu")
            except candidates.CompileError as error:
                if self.with_gpu and diagnosis.CANNOT_RUN in str(error):
                    return self.on_gpu_alone()
                raise
            self.passed(diagnosis.COMPILES)
            failure = self.checked(program, pool)
            refused = by_nvcc.result()  # it takes longer than most checks
            if refused:
                raise candidates.CompileError(refused)
        return failure or self.speed()

    def checked(self, program, pool):
        """The stages on the CPU backend."""
        self.say("checking a few small sizes")
        few = self.check(program, "--brief", seconds=self.for_few_checks)
        if few.result.stopped:
            return self.failure_of(few)
        self.say("checking every awkward size, aligned and not")
        outcome = self.check_within(self.for_checks, program)
        too_long = outcome.result.stopped == "time"  # one check
        outcome = few if too_long else outcome
        failure = self.failure_of(outcome)
        if failure:
            return self.explained(program, outcome, self.with_address(failure))
        left_out, checks = outcome.entry.get("sizes_left", 0), outcome.entry["checks"]
        others = {kind: pool.submit(self.build, kind) for kind in ("memory", "trace")}
        self.say("the same in another order of threads, and with other values in fresh memory")
        another = {"order": "random:1", "fill": "large"}
        outcome = self.check_within(self.for_few_checks, program, *["--brief"] * too_long, **another)
        failure = self.failure_of(outcome)
        if failure and outcome.result.stopped != "time":
            return self.explained(program, outcome, self.with_address(failure), others["trace"], **another)
        failure = self.many_rows(program)
        if failure:
            return failure
        self.passed(diagnosis.ENDS)
        if left_out or too_long:
            left_out = f"{left_out} largest" if left_out else "larger"
            self.stages.append(Stage(diagnosis.RIGHT, NOT_JUDGED,
                                     f"{checks} checks are right; the {left_out} sizes take too long here"))
        else:
            self.passed(diagnosis.RIGHT, f"{checks} checks")
        return self.memory(others) or self.traced(others["trace"])

    def many_rows(self, program):
        """The Failure where a dimension needs more blocks than gridDim.y can count; where CUDA refuses such a launch,
        that is a remark."""
        names = ladder.dims(program)
        for long in names if len(names) > 1 else []:
            sizes = [f"--{name}={LONG if name == long else 1}" for name in names]
            outcome = self.check(program, *sizes, "--random-data", "--aligned", seconds=LONG_S)
            if outcome.facts.get("error") == "cudaErrorInvalidConfiguration" and not self.is_strict:
                self.add(Remark("grid", f"{long} = {LONG:,} is refused: gridDim.y and gridDim.z end at 65535. "
                                        "Number the tiles in x, which goes to 2^31 - 1, or let each block take "
                                        "several.", long))
            elif not outcome.result.stopped and outcome.result.status not in (ladder.TIMED_OUT, 2):
                failure = self.failure_of(outcome)
                if failure:
                    return failure
        return None

    # -- why it fails

    def explained(self, program, outcome, failure, building=None, order=None, fill=None):
        """The Failure with its cause, as far as experiments isolate it."""
        def passes(*options, order=order, fill=fill):
            if self.seconds < EXPERIMENT_S:
                return None
            result = self.run(program, "--check", *options, order=order, fill=fill, seconds=EXPERIMENT_S)
            return None if result.result.stopped or result.result.status == 2 else result.passed

        self.say("looking for the cause")
        try:
            failure = diagnosis.Causes(failure, passes, outcome.reports, ladder.dims(program)).found()
            if failure.facts.get("what") in ("value", "unwritten"):
                failure = self.with_writer(failure, building, order, fill)
        except (candidates.CompileError, OutOfTime):
            pass
        return failure

    def with_address(self, failure):
        """What AddressSanitizer says of a crash: whose memory it was, and which line left it."""
        if not failure.crashed:
            return failure
        self.say("where does that address lie?")
        options = [*failure.facts["options"], f"--data={failure.facts['data']}"] if failure.facts else ["--random-data"]
        try:
            outcome = self.check(self.build("memory"), *options, seconds=2 * EXPERIMENT_S)
        except (candidates.CompileError, OutOfTime):
            return failure
        return diagnosis.of_outcome(outcome) if outcome.sanitizer else failure

    def with_writer(self, failure, building, order, fill):
        """With the thread that wrote the wrong value last, and a race at that size."""
        self.say("who wrote it?")
        program = building.result() if building else self.build("trace")
        facts = failure.facts
        again = self.run(program, "--check", *facts["options"], f"--data={facts['data']}", order=order, fill=fill,
                         seconds=2 * EXPERIMENT_S).facts
        if all(again.get(key) == facts[key] for key in ("size", "data", "index")) and again.get("writer"):
            failure = diagnosis.with_writer(failure, again["writer"])
        step = self.trace(program, *facts["options"])[0]
        race = access_pattern.first_race(step) if step else None
        return diagnosis.with_race(failure, race) if race else failure

    # -- memory, races, access pattern, speed

    def memory(self, others):
        """Under AddressSanitizer, on fewer sizes. What only another timing shows, a lost update, may show here
        first."""
        program = others["memory"].result()
        self.say("under AddressSanitizer")
        outcome = self.check(program, "--brief")
        failure = self.failure_of(outcome)
        if not failure:
            self.passed(diagnosis.MEMORY, "nothing out of bounds, nothing misaligned")
        elif outcome.result.stopped != "time":
            return self.explained(program, outcome, failure, others["trace"])
        return None

    def traced(self, building):
        """Races, and the access pattern beside those of the ladder."""
        program = building.result()
        self.say("counting accesses")
        step, outcome = self.trace(program)
        if step is None:
            return None if outcome.result.stopped == "time" else self.failure_of(outcome)
        error = next((report for report in step.get("reports", []) if report["kind"] == "error"), None)
        if error:  # what only this build sees: the host's memory behind a structure's pointer
            return diagnosis.of_error(error, step["failure"])
        race = access_pattern.first_race(step)
        if race:
            return race
        self.traced_run = step
        self.passed(diagnosis.RACES)
        self.references = access_pattern.of_ladder(self.submission.problem, "cpu-trace", ("--trace", "--json"),
                                                   self.say)
        self.passed(diagnosis.PATTERN, access_pattern.compared(step, self.references))
        return None

    def trace(self, program, *sizes):
        """(what a traced program counts, None if it did not end; its Outcome)"""
        outcome = self.run(program, "--trace", "--json", *sizes)
        return next(iter(ladder.entries(outcome.result.output)), None), outcome

    def speed(self):
        """On a GPU: is it right there, and which step of the ladder does it equal?"""
        if not self.with_gpu:
            self.stages.append(Stage(diagnosis.SPEED, SKIPPED, "needs a GPU"))
            return None
        self.say("on the GPU")
        program = self.build("gpu")
        outcome = self.check(program)
        failure = self.failure_of(outcome)
        if failure:
            return None if outcome.result.stopped == "time" else failure
        self.timed(program)
        return None

    def timed(self, program):
        own = [entry for entry in ladder.entries(self.run(program, "--json").result.output) if "cold_us" in entry]
        if own:
            steps = [step for step in access_pattern.of_ladder(self.submission.problem, "gpu", ("--json",), self.say)
                     if "cold_us" in step]
            self.passed(diagnosis.SPEED, access_pattern.speed_text(own[-1], steps))
            self.slow = levels.shortfall_in_time(own[-1]["cold_us"], steps)

    def on_gpu_alone(self):
        """The stages of a submission that the CPU backend cannot run; compute-sanitizer takes its place."""
        self.say("the CPU backend cannot run this: compiling for the GPU")
        program = self.build("gpu")
        self.passed(diagnosis.COMPILES, "for the GPU; the CPU backend cannot run it")
        self.say("checking every awkward size, aligned and not")
        outcome = self.check(program)
        failure = self.failure_of(outcome)
        if failure:
            return failure
        self.stages += [Stage(diagnosis.ENDS, PASSED),
                        Stage(diagnosis.RIGHT, PASSED, f"{outcome.entry['checks']} checks")]
        failure = self.sanitized(program)
        self.stages.append(Stage(diagnosis.PATTERN, SKIPPED, "needs the CPU backend"))
        if not failure:
            self.timed(program)
        return failure

    def sanitized(self, program):
        """What compute-sanitizer's tools find at two small sizes. The stages memory and races have two tools each."""
        stages = {stage: Stage(stage, PASSED, "by compute-sanitizer") for stage, *_ in diagnosis.OF_TOOL.values()}
        if not shutil.which("compute-sanitizer"):
            self.stages += [Stage(stage, SKIPPED, "needs compute-sanitizer") for stage in stages]
            return None
        self.say("under compute-sanitizer")
        runs = [(tool, [*size, "--quiet"]) for tool in diagnosis.OF_TOOL
                for size in compute_sanitizer.small_sizes(program)]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            results = list(pool.map(lambda run: sandbox.run(compute_sanitizer.command(run[0], program, run[1]),
                                                            self.left(), memory=TOOL_MEMORY), runs))
        for (tool, _), result in zip(runs, results):
            if compute_sanitizer.has_findings(result.status, result.output):
                finding = compute_sanitizer.first_finding(result.output)
                return diagnosis.of_tool(tool, finding.replace(f"{ladder.ROOT}/", ""))
            if not compute_sanitizer.did_run(result.status, result.output):
                stage = diagnosis.OF_TOOL[tool][0]
                stages[stage] = Stage(stage, NOT_JUDGED, f"{tool} did not run to its end")
        self.stages += stages.values()
        return None


def stages_text(verdict, color=False):
    """The submission's name, and a line for each stage."""
    indent = " " * 26
    marks = {PASSED: ("ok", "32"), FAILED: ("FAIL", "31"), NOT_JUDGED: ("?", "33"), SKIPPED: ("-", "2")}
    lines = [f"{verdict.submission} ({verdict.kernel})"]
    for stage in verdict.stages:
        mark, code = marks[SKIPPED if verdict.failure and stage.state == NOT_JUDGED else stage.state]
        first, *others = stage.text.split("\n")
        shown = "\n".join([f"  {mark:4} {stage.name:18} {first}".rstrip(), *[indent + line for line in others]])
        shown = ladder.wrapped(shown, indent)
        lines.append(shown.replace(f"{mark:4}", f"\033[{code}m{mark:4}\033[0m", 1) if color else shown)
    return "\n".join(lines)


def film_command(verdict):
    """What plays the run that fails; empty where none ran to its end on the CPU backend."""
    failure = verdict.failure
    played = (diagnosis.MEMORY, diagnosis.RACES, *[diagnosis.RIGHT] * bool(failure and failure.facts))  # no empty page
    on_gpu_alone = any("CPU backend cannot run it" in stage.text for stage in verdict.stages)
    can_play = failure and failure.stage in played and not on_gpu_alone
    return f"scripts/explain --play {shlex.quote(verdict.submission)}" if can_play else ""


def outcome(verdict):
    """What the stages come to."""
    failure = verdict.failure
    if failure:
        said = f"{failure.at}:\n" * bool(failure.at) + f"{failure.sentence}\nSee {failure.section}"
        said += f"\nSee it run: {film_command(verdict)} >film.html" * bool(film_command(verdict))
    elif verdict.not_judged:
        said = (f"Not solved yet: the time was over before all was judged: {', '.join(verdict.not_judged)}. "
                "scripts/judge --seconds gives more.")
    else:
        said = "Solved" + f", level: {verdict.level}" * bool(verdict.level) + "."
        said += f"\nNext level, {verdict.following}" * bool(verdict.following)
    return ladder.wrapped(said)


def printed_text(verdict):
    """What the submission printed, marked as its own; empty if it printed nothing."""
    if not verdict.printed:
        return ""
    run = "the run that fails" if verdict.failure else "one run"
    return f"The page printed, in {run}:" + "".join(f"\n  | {line}" for line in verdict.printed.splitlines())


def text(verdict, color=False):
    """A verdict as a person reads it."""
    remarks = ladder.wrapped("\n".join(f"Remark: {remark.text}" for remark in verdict.remarks))
    return "\n\n".join(filter(None, [stages_text(verdict, color), printed_text(verdict), remarks, outcome(verdict)]))


def to_json(verdicts):
    return json.dumps({"version": 1, "verdicts": [verdict.as_json() for verdict in verdicts]}, indent=1)


def exit_status(verdicts):
    """That of scripts/judge."""
    states = {verdict.state for verdict in verdicts}
    return 1 if FAILED in states else 3 if NOT_JUDGED in states else 0
