"""Judges a submission: one verdict per stage, on the CPU backend and, if there is one, on a GPU."""
import concurrent.futures
import shlex
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

import ladder
from ladder import candidates, checked_run, compute_sanitizer, diagnosis, levels, problems, sandbox
from ladder.diagnosis import COMPILES, ENDS, MEMORY, PATTERN, RACES, RIGHT, SPEED, STAGES

LIMIT_S = 120  # CPU time for all stages of a submission
CHECKS, FEW = 1 / 2, 1 / 8  # shares of it for all checks and for a few; large sizes may be left out
EXPERIMENT_S = 3
LONG, LONG_S = 65535 * 32 + 1, 4  # a length whose tiles of 32 exceed gridDim.y; seconds for each dimension
TOOL_MEMORY = 8 << 30  # compute-sanitizer's memory limit, bytes
BLOCK_S, SLOW_BLOCK_S = 3, 30  # CPU time limit of a thread of a block; SLOW: with sanitizers and counters
PASSED, FAILED = "passed", "failed"
NOT_JUDGED = "not judged"  # the time was over, so neither right nor wrong
SKIPPED = "skipped"  # what this machine cannot judge


class Stage(NamedTuple):
    name: str
    state: str = PASSED
    text: str = ""


class Verdict(NamedTuple):
    submission: str
    kernel: str
    stages: list
    failure: diagnosis.Failure  # the first one, or None
    printed: str = ""  # the submission's output in the run that fails, else in a small one
    remarks: list = []  # {"kind", "text"}: weaknesses that are no failures
    level: str = ""  # reached by a submission that passes (levels.py)
    following: str = ""  # the next level, and what is missing for it
    film: str = ""  # the command that plays the run that fails, if the CPU backend can run it

    @property
    def not_judged(self):
        """The names of the stages that the time was not enough for."""
        return [] if self.failure else [stage.name for stage in self.stages if stage.state == NOT_JUDGED]

    @property
    def state(self):
        """PASSED only if every stage was judged."""
        return FAILED if self.failure else NOT_JUDGED if self.not_judged else PASSED

    def as_json(self):
        return {**self._asdict(), "stages": [stage._asdict() for stage in self.stages], "state": self.state,
                "failure": self.failure and self.failure.as_json()}


class OutOfTime(Exception):
    pass


class Failed(Exception):
    """Raised with the diagnosis.Failure as args[0]."""


REMARKS = {
    "alignment": "Right on aligned arrays, wrong at {where}: test each pointer before a vector access, (size_t)p % 16 "
                 "== 0, and take a scalar path otherwise.",
    "empty": "At {where}: {seen}. A grid of 0 blocks is an error: return before the launch, or write what the problem "
             "says.",
    "NaN": "At {where} a NaN is lost: {buffer}[{index}] is {got}. NaN > 0 is false, and fmaxf returns the other "
           "operand.",
    "corner": "At {where}: {seen}. {lesson}",
    "grid": "{name} = {size:,} is refused: gridDim.y and gridDim.z end at 65535. Number the tiles in x, which goes to "
            "2^31 - 1, or let each block take several.",
    "narrow": "Line {line}: a 64-bit value becomes an int, which wraps from 2^31 on. Is that enough for every size "
              "that the problem allows?",
    "leak": "Device memory is not freed: each cudaMalloc needs its cudaFree, also before an early return.",
    "return": "Threads return before a barrier that others reach: fine since Volta, older GPUs may hang.",
}
NOT_ROBUST = {"alignment", "empty", "NaN", "corner", "grid"}


class Judge:
    """Judges one submission. `say` receives a line before each long operation. A step of the ladder, a planted bug,
    and a submission made from one must satisfy the problem's contract exactly. Other submissions get remarks where an
    interviewer would make them. A stage that finds an error raises Failed."""

    def __init__(self, submission, seconds=LIMIT_S, say=lambda line: None, with_gpu=False):
        self.submission = submission
        self.problem = problems.named(submission.kernel)
        self.seconds = seconds  # CPU time that is left
        self.for_checks, self.for_few_checks = seconds * CHECKS, seconds * FEW
        self.say, self.with_gpu = say, with_gpu
        self.is_strict = candidates.registers_itself(submission.path) and submission.kind != "answer"
        self.stages = {}  # judged so far: {name: Stage}
        self.remarks = {}  # {(kind, about): {"kind", "text"}}
        self.pool = self.folder = None
        self.builds = {}  # {preset: Future of a program}
        self.printed = ""  # the submission's output in the run that fails, else in a small one
        self.program = None  # the build without sanitizers and counters
        self.traced_run, self.references = None, []  # counters of the submission and of the ladder's steps
        self.slow = "as fast as the ladder's best steps, on a GPU"  # what is missing for the level fast

    # -- building and running

    def build(self, preset):
        candidates.prepare(preset, self.submission.kernel)
        builder = candidates.Builder(preset, self.submission, self.folder / preset)
        program = builder.program()
        if builder.narrowed and not self.is_strict:
            self.remark("narrow", line=builder.narrowed)
        return program

    def building(self, preset):
        """Returns the Future of the program for a preset. The program is built once."""
        if preset not in self.builds:
            self.builds[preset] = self.pool.submit(self.build, preset)
        return self.builds[preset]

    def run(self, program, *options, order=None, fill=None, seconds=None):
        """Runs a program and returns its Outcome. The limit is `seconds` of CPU time, or what is left."""
        how = {"TIMEOUT": BLOCK_S if program == self.program else SLOW_BLOCK_S, "ORDER": order, "FILL": fill}
        environment = {f"CUDA_EMU_{name}": str(value) for name, value in how.items() if value}
        if self.seconds < 1:
            raise OutOfTime
        outcome = checked_run.run(program, options, min(seconds or self.seconds, self.seconds), environment)
        self.seconds -= outcome.result.seconds
        return outcome

    def check(self, program, *options, within=None, **how):
        """Runs the program's checks; sizes that take more than `within` seconds are left out."""
        options = ["--smallest-first", *["--lenient"] * (not self.is_strict), *options]
        options += ["--aligned"] * any(kind == "alignment" for kind, _ in self.remarks)
        if within:
            options.append(f"--seconds={max(1, round(within * checked_run.CORES))}")
            how["seconds"] = 1.5 * within
        return self.run(program, "--check", *options, **how)

    def failure_of(self, outcome):
        """Returns the Failure that an Outcome shows, or None. Keeps the remarks."""
        if not self.is_strict:
            for entry in outcome.entry.get("remarks", []):
                facts, lesson = entry["failure"], entry.get("lesson", "")
                seen = facts["error"] if facts["what"] == "error" else facts["seen"]
                self.remark(entry["kind"], lesson,
                            **{**facts, "where": diagnosis.how(facts), "seen": seen, "lesson": lesson})
            if outcome.entry.get("verified") and "LeakSanitizer" in outcome.sanitizer:
                self.remark("leak")
                return None
        if any(report["cause"] == "returned" for report in outcome.reports):
            self.remark("return")
        failure = diagnosis.of_outcome(outcome)
        self.printed = outcome.printed if failure else self.printed
        return failure

    def holds(self, outcome, program=None, **how):
        """Returns True if the outcome is right, False if its time was over; else raises Failed, explained by runs."""
        failure = self.failure_of(outcome)
        if failure and outcome.result.stopped != "time":
            raise Failed(self.explained(program, outcome, failure, **how) if program else failure)
        return failure is None

    def remark(self, kind, about=None, **facts):
        """Keeps one remark of each kind. For corners and dimensions it keeps one for each of them."""
        self.remarks.setdefault((kind, about), {"kind": kind, "text": REMARKS[kind].format(**facts)})

    def mark(self, stage, state=PASSED, text=""):
        self.stages[stage] = Stage(stage, state, text)

    # -- the verdict

    def verdict(self):
        failure, build = None, ladder.ROOT / "build"
        build.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="judge-", dir=build) as folder, \
                concurrent.futures.ThreadPoolExecutor(3) as self.pool:
            self.folder = Path(folder)
            try:
                self.judge()
            except Failed as found:
                [failure] = found.args
            except candidates.CompileError as error:
                failure = diagnosis.of_compiler(error, self.problem)
            except OutOfTime:
                self.say("the time is over: the stages that follow are not judged")
        film = level = following = ""
        if failure:
            failure = failure._replace(section=self.problem.section(failure.section))
            if failure.stage == RIGHT and self.program:
                self.mark(ENDS)  # it ran to its end
            self.mark(failure.stage, FAILED, failure.what)
            for later in STAGES[STAGES.index(failure.stage) + 1:]:
                self.stages.pop(later, None)
            if failure.stage in (RIGHT, MEMORY, RACES) and self.program and self.program.parent.name == "cpu":
                film = f"scripts/explain --play {shlex.quote(ladder.shown(self.submission.path))}"
        else:
            ideas = {step.id: text for step, text in self.problem.hints()}
            is_robust = not NOT_ROBUST & {kind for kind, _ in self.remarks}
            level, following = levels.standing(self.traced_run, self.references, is_robust, ideas, self.slow)
        return Verdict(ladder.shown(self.submission.path), self.submission.kernel,
                       [self.stages.get(name, Stage(name, NOT_JUDGED)) for name in STAGES], failure,
                       self.printed, [*self.remarks.values()], level, following, film)

    def judge(self):
        self.say("compiling for the CPU backend")
        by_nvcc = self.pool.submit(candidates.check_with_nvcc, self.submission)
        try:
            self.program = self.building("cpu").result()
        except candidates.CompileError as error:
            if self.with_gpu and diagnosis.CANNOT_RUN in str(error):
                return self.on_gpu(alone=True)
            raise
        self.mark(COMPILES)
        try:
            self.checked(self.program)
        finally:
            by_nvcc.result()  # nvcc takes longer than most checks; its error replaces their findings
        if self.with_gpu:
            self.on_gpu()
        else:
            self.mark(SPEED, SKIPPED, "needs a GPU")

    def checked(self, program):
        """Judges the stages on the CPU backend."""
        self.say("checking a few small sizes")
        few = self.check(program, "--brief", seconds=self.for_few_checks)
        if few.result.stopped:
            raise Failed(self.failure_of(few))
        self.printed = few.printed
        self.say("checking every awkward size, aligned and not")
        outcome = self.check(program, within=self.for_checks)
        too_long = outcome.result.stopped == "time"  # in a single check
        outcome = few if too_long else outcome
        self.holds(outcome, program)
        left_out, checks = outcome.entry.get("sizes_left") or too_long, outcome.entry["checks"]
        self.building("cpu-asan")
        self.building("cpu-trace")
        self.say("checking again with another order of threads and other values in fresh memory")
        another = {"order": "random:1", "fill": "large"}
        outcome = self.check(program, *["--brief"] * too_long, within=self.for_few_checks, **another)
        self.holds(outcome, program, **another)
        self.many_rows(program)
        self.mark(ENDS)
        self.mark(RIGHT, NOT_JUDGED if left_out else PASSED,
                  f"{checks} checks" + " are right; the larger sizes take too long here" * bool(left_out))
        self.memory()
        self.traced()

    def many_rows(self, program):
        """Checks sizes that need more blocks than gridDim.y can count. A launch that CUDA refuses gets a remark."""
        names = ladder.dims(program)
        for long in names if len(names) > 1 else []:
            sizes = [f"--{name}={LONG if name == long else 1}" for name in names]
            outcome = self.check(program, *sizes, "--random-data", "--aligned", seconds=LONG_S)
            if outcome.facts.get("error") == "cudaErrorInvalidConfiguration" and not self.is_strict:
                self.remark("grid", long, name=long, size=LONG)
            elif not outcome.result.stopped and outcome.result.status not in (ladder.TIMED_OUT, 2):
                self.holds(outcome)

    # -- why it fails

    def explained(self, program, outcome, failure, order=None, fill=None):
        """Returns the Failure with its cause, as far as experiments isolate it."""
        def passes(*options, order=order, fill=fill):
            if self.seconds < EXPERIMENT_S:
                return None
            result = self.run(program, "--check", *options, order=order, fill=fill, seconds=EXPERIMENT_S)
            return None if result.result.stopped or result.result.status == 2 else result.passed

        self.say("looking for the cause")
        try:
            if failure.crashed and program == self.program:
                failure = self.with_address(failure)
            failure = diagnosis.Causes(failure, passes, outcome.reports, ladder.dims(program)).found()
            if failure.facts.get("what") in ("value", "unwritten"):
                failure = self.with_writer(failure, order, fill)
        except (candidates.CompileError, OutOfTime):
            pass
        return failure

    def with_address(self, failure):
        """Adds AddressSanitizer's report to a crash: which memory the address is near, and which line accessed it."""
        self.say("locating the address")
        options = [*failure.facts["options"], f"--data={failure.facts['data']}"] if failure.facts else ["--random-data"]
        outcome = self.check(self.building("cpu-asan").result(), *options, seconds=2 * EXPERIMENT_S)
        return diagnosis.of_outcome(outcome) if outcome.sanitizer else failure

    def with_writer(self, failure, order, fill):
        """Adds the thread that wrote the wrong value last, and a race at that size."""
        self.say("finding the thread that wrote it")
        program, facts = self.building("cpu-trace").result(), failure.facts
        again = self.run(program, "--check", *facts["options"], f"--data={facts['data']}", order=order, fill=fill,
                         seconds=2 * EXPERIMENT_S).facts
        if all(again.get(key) == facts[key] for key in ("size", "data", "index")) and again.get("writer"):
            failure = diagnosis.with_writer(failure, again["writer"])
        step = self.trace(program, *facts["options"])[0]
        race = levels.first_race(step) if step else None
        return diagnosis.with_race(failure, race) if race else failure

    # -- memory, races, access pattern, speed

    def memory(self):
        """Checks fewer sizes under AddressSanitizer, where a lost update may show first."""
        program = self.building("cpu-asan").result()
        self.say("under AddressSanitizer")
        if self.holds(self.check(program, "--brief"), program):
            self.mark(MEMORY, text="nothing out of bounds, nothing misaligned")

    def traced(self):
        """Judges races, and compares the access pattern with the ladder's."""
        program = self.building("cpu-trace").result()
        self.say("counting accesses")
        step, outcome = self.trace(program)
        if step is None:
            self.holds(outcome)
            return
        # an error that only this build detects: host memory behind a pointer in a structure
        errors = [report for report in step.get("reports", []) if report["kind"] == "error"]
        failure = diagnosis.of_error(errors[0], step["failure"]) if errors else levels.first_race(step)
        if failure:
            self.printed = outcome.printed
            raise Failed(failure)
        self.traced_run = step
        self.mark(RACES)
        self.references = levels.ladder_entries(self.problem, "cpu-trace", ("--trace", "--json"), self.say)
        self.mark(PATTERN, text=levels.compared(step, self.references))

    def trace(self, program, *sizes):
        """Returns (the counters of a traced program, or None if it did not end; its Outcome)."""
        outcome = self.run(program, "--trace", "--json", *sizes)
        return next(iter(ladder.entries(outcome.result.output)), None), outcome

    def on_gpu(self, alone=False):
        """Checks the submission on a GPU, and finds the ladder's step with the same time. With `alone` the CPU backend
        cannot run the submission, so all stages are judged here, with compute-sanitizer in the CPU backend's place."""
        self.say("on the GPU")
        program = self.building("gpu").result()
        self.program = self.program or program
        if alone:
            self.mark(COMPILES, text="for the GPU; the CPU backend cannot run it")
        outcome = self.check(program)
        if alone and outcome.result.stopped:
            raise Failed(self.failure_of(outcome))
        if not self.holds(outcome):
            return
        if alone:
            self.mark(ENDS)
            self.mark(RIGHT, text=f"{outcome.entry['checks']} checks")
            self.mark(PATTERN, SKIPPED, "needs the CPU backend")
            self.sanitized(program)
        for own in ladder.entries(self.run(program, "--json").result.output):
            if "cold_us" in own:
                steps = [step for step in levels.ladder_entries(self.problem, "gpu", ("--json",), self.say)
                         if "cold_us" in step]
                text, self.slow = levels.speed(own, steps)
                self.mark(SPEED, text=text)

    def sanitized(self, program):
        """Judges memory and races with compute-sanitizer at two small sizes. Each of the two stages has two tools."""
        found = shutil.which("compute-sanitizer")
        for stage in (MEMORY, RACES):
            self.mark(stage, *(PASSED, "by compute-sanitizer") if found else (SKIPPED, "needs compute-sanitizer"))
        if not found:
            return
        self.say("under compute-sanitizer")
        runs = [(tool, [*size, "--quiet"]) for tool in diagnosis.OF_TOOL
                for size in compute_sanitizer.small_sizes(program)]
        results = self.pool.map(lambda run: sandbox.run(compute_sanitizer.command(run[0], program, run[1]),
                                                        self.seconds, memory=TOOL_MEMORY), runs)
        for (tool, _), result in zip(runs, results):
            if compute_sanitizer.has_findings(result.status, result.output):
                finding = compute_sanitizer.first_finding(result.output)
                raise Failed(diagnosis.of_tool(tool, finding.replace(f"{ladder.ROOT}/", "")))
            if not compute_sanitizer.did_run(result.status, result.output):
                self.mark(diagnosis.OF_TOOL[tool][0], NOT_JUDGED, f"{tool} did not run to its end")


def text(verdict, color=False):
    """Returns a verdict as text for a reader: its stages, the submission's output, remarks, and the result."""
    indent, failure = " " * 26, verdict.failure
    marks = {PASSED: ("ok", "32"), FAILED: ("FAIL", "31"), NOT_JUDGED: ("?", "33"), SKIPPED: ("-", "2")}
    stages = [f"{verdict.submission} ({verdict.kernel})"]
    for stage in verdict.stages:
        mark, code = marks[SKIPPED if failure and stage.state == NOT_JUDGED else stage.state]
        said = stage.text.replace("\n", f"\n{indent}")
        shown = ladder.wrapped(f"  {mark:4} {stage.name:18} {said}".rstrip(), indent)
        stages.append(shown.replace(f"{mark:4}", f"\033[{code}m{mark:4}\033[0m", 1) if color else shown)
    printed = [f"The kernel printed, in {'the run that fails' if failure else 'one run'}:",
               *(f"  | {line}" for line in verdict.printed.splitlines())]
    if failure:
        result = f"{failure.at}:\n" * bool(failure.at) + f"{failure.sentence}\nSee {failure.section}"
        result += f"\nSee it run: {verdict.film} >film.html" * bool(verdict.film)
    elif verdict.not_judged:
        result = (f"Not solved yet: the time was over before all was judged: {', '.join(verdict.not_judged)}. "
                  "scripts/judge --seconds gives more.")
    else:
        result = f"Solved, level: {verdict.level}." + f"\nNext level, {verdict.following}" * bool(verdict.following)
    remarks = [f"Remark: {remark['text']}" for remark in verdict.remarks]
    parts = ["\n".join(stages), "\n".join(printed) if verdict.printed else "",
             *(ladder.wrapped("\n".join(lines)) for lines in (remarks, [result]))]
    return "\n\n".join(filter(None, parts))
