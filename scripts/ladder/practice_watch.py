"""scripts/practice --watch: judges the submission that was saved last."""
import os
import select
import shlex
import subprocess
import sys
import termios
import tty

import ladder
from ladder import candidates, document, judging, problems, progress_file

KEYS = "h hint   n next   l list   e explain   p play   q quit"
CLEAR = "\033[2J\033[3J\033[H"


def list_text(chosen):
    """Returns a line for each problem: whether it is solved, its difficulty, its description."""
    solved = progress_file.solved_kernels()
    lines = [f"  {'x' if one.kernel in solved else ' '} {one.kernel:17} {one.difficulty:6} {one.description}"
             for one in chosen]
    return "\n".join(ladder.wrapped(line, " " * 29) for line in lines)


def hint_text(problem, number):
    """Returns the idea of the ladder's step with this number, counted from 1. Ends the script if there is none."""
    hints = problem.hints()
    if not 1 <= number <= len(hints):
        ladder.usage_error(f"--hint: {problem.kernel} has {len(hints)} hints, 1 to {len(hints)}")
    step, text = hints[number - 1]
    return ladder.wrapped(f"Hint {number} of {len(hints)}, the idea of step {step.number}: {text}")


def section_text(section):
    """Returns the Markdown of the section that a failure names, such as "README.md#where-data-live"."""
    name, _, anchor = section.partition("#")
    page = document.Document(ladder.ROOT / name)
    headings = page.of_kind("heading")
    ends = [heading.line - 1 for heading in headings[1:]] + [len(page.lines)]
    return next("\n".join(page.lines[heading.line - 1:end]) for heading, end in zip(headings, ends)
                if anchor in ("", document.anchor(document.HEADING.match(heading.text)[2])))


class Watch:
    """The state and the text of the screen. It needs no terminal, so tests can use it."""

    def __init__(self):
        self.submission = self.verdict = None
        self.hints, self.note = 0, ""
        self.saved = {}  # {submission's path: time of its last change}

    def step(self):
        """Judges the submission saved since the last call. Returns True if the screen must be redrawn."""
        before, self.saved = self.saved, {path: path.stat().st_mtime_ns for path in ladder.PRACTICE.glob("*.cu")}
        fresh = [path for path in self.saved if before.get(path) != self.saved[path]]
        if fresh:
            submission = candidates.find(str(max(fresh, key=self.saved.get)))
            self.hints = self.hints if submission == self.submission else 0
            self.submission, self.note = submission, ""
            self.verdict = progress_file.judge(submission, say=lambda line: print(
                f"{CLEAR}{submission.path.name}: {line} ...", flush=True))
        return bool(fresh)

    def key(self, key):
        """Handles a key. Returns False for quit."""
        failure = self.verdict and self.verdict.failure
        if key == "l":
            self.note = list_text(problems.problems().values())
        elif key == "n":  # the next unsolved kernel after this one
            begin = problems.named(self.submission.kernel).next if self.submission else problems.FIRST
            problem = problems.suggestion(progress_file.solved_kernels(), begin)
            if problem and not problem.submission.exists():
                ladder.PRACTICE.mkdir(exist_ok=True)
                problem.submission.write_text(problems.template(problem))
            self.note = f"next: practice/{problem.submission.name}" if problem else "All are solved."
        elif key == "h" and self.submission:
            problem = problems.named(self.submission.kernel)
            self.hints = min(self.hints + 1, len(problem.hints()))
            self.note = hint_text(problem, self.hints)
        elif key == "e" and failure:
            self.note = section_text(failure.section)
        elif key == "p" and failure and self.verdict.film:
            done = subprocess.run([sys.executable, *shlex.split(self.verdict.film)], cwd=ladder.ROOT, text=True,
                                  capture_output=True)
            page = self.submission.path.with_suffix(".html")
            page.write_text(done.stdout)
            self.note = f"Open practice/{page.name} in a browser: it plays the run that fails." if done.stdout else \
                done.stderr
        return key != "q"

    def screen(self):
        shown = judging.text(self.verdict) if self.verdict else "There is no file yet; n writes the one to begin with."
        return "\n\n".join(filter(None, [shown, self.note, KEYS]))


def watch():
    """Runs until q is pressed."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        ladder.usage_error("--watch needs a terminal; scripts/judge judges once")
    state = Watch()
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin)
        state.step()
        print(CLEAR + state.screen(), flush=True)
        going = True
        while going:
            typed = select.select([sys.stdin], [], [], 0.3)[0]
            if typed:
                key = os.read(sys.stdin.fileno(), 1)
                going = key != b"" and state.key(key.decode(errors="replace"))
            if typed or state.step():
                print(CLEAR + state.screen(), flush=True)
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
