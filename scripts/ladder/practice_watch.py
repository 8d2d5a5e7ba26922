"""scripts/practice --watch: judges the submission that was saved last, and shows the first stage that fails."""
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
POLL_S = 0.3


def list_text(chosen, solved):
    """A line for each of these problems: whether it is solved, how hard it is, what it is, the level reached."""
    def line(problem):
        mark, level = ("x", solved[problem.kernel]) if problem.kernel in solved else (" ", "")
        return (f"  {mark} {problem.kernel:17} {problem.difficulty:6} {problem.description}"
                + f"; level: {level}" * bool(level))
    return "\n".join(ladder.wrapped(line(problem), " " * 29) for problem in chosen)


def section_text(section):
    """The Markdown under a heading that a failure names, "README.md#where-data-live"; without a heading, all."""
    name, _, anchor = section.partition("#")
    page = document.Document(ladder.ROOT / name)
    found = [(len(depth), title, piece.line) for piece in page.of_kind("heading")
             for depth, title in [document.HEADING.match(piece.text).groups()]]
    for place, (level, title, first) in enumerate(found):
        if document.anchor(title) == anchor:
            last = next((line for depth, _, line in found[place + 1:] if depth <= level), len(page.lines) + 1)
            return "\n".join(page.lines[first - 1:last - 1])
    return "" if anchor else "\n".join(page.lines)


class Watch:
    """What is shown; without a terminal, so that tests can use it. `judge(submission)` gives a verdict."""

    def __init__(self, judge):
        self.judge = judge
        self.submission = None
        self.verdict = None
        self.hints = 0
        self.note = ""
        self.seen = {}  # submission's path: time of its last change

    def newest(self):
        """The submission saved last, if it was saved since the last call."""
        saved = {path: path.stat().st_mtime_ns for path in ladder.PRACTICE.glob("*.cu")}
        fresh = [path for path in saved if self.seen.get(path) != saved[path]]
        self.seen = saved
        return max(fresh, key=saved.get, default=None)

    def step(self):
        """Judges if there is something new; True where the screen is to be drawn again."""
        path = self.newest()
        if path is None:
            return False
        submission, before = candidates.find(str(path)), self.submission
        self.submission = submission
        if before is None or before.path != submission.path:
            self.hints, self.note, self.verdict = 0, "", None
        if not progress_file.unchanged(submission):
            self.note = ""
            self.verdict = self.judge(submission)
            progress_file.remember(submission, self.verdict)
        elif self.verdict is None:
            entry = progress_file.read()[submission.path.name]
            self.note = ("solved before; not judged again" if entry["state"] == judging.PASSED else
                         f"judged before, fails at '{entry['reached']}'; judged again when you save a change")
        return True

    def key(self, key):
        """What a key does; False: quit."""
        if key == "q":
            return False
        if key == "l":
            self.note = list_text(problems.problems().values(), progress_file.solved_kernels())
        elif key == "n":
            self.next()
        elif key == "h" and self.submission:
            hints = self.submission.problem.hints()
            self.hints = min(self.hints + 1, len(hints))
            self.note = ladder.wrapped(f"Hint {self.hints} of {len(hints)}: {hints[self.hints - 1][1]}")
        elif key == "e" and self.verdict and self.verdict.failure:
            self.note = section_text(self.verdict.failure.section)
        elif key == "p" and self.verdict and judging.film_command(self.verdict):
            self.play()
        return True

    def play(self):
        """Writes the film of the run that fails."""
        page = self.submission.path.with_suffix(".html")
        command = shlex.split(judging.film_command(self.verdict))
        done = subprocess.run([sys.executable, *command], cwd=ladder.ROOT, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        if done.stdout:
            page.write_text(done.stdout)
            self.note = f"Open practice/{page.name} in a browser: it plays the run that fails."
        else:
            self.note = (done.stderr.strip().splitlines() or ["There is no film."])[-1]

    def next(self):
        """Writes the submission of the next kernel that is not solved, after this one, if it is not there."""
        begin = self.submission.problem.next if self.submission else problems.FIRST
        problem = problems.suggestion(progress_file.solved_kernels(), begin)
        if problem is None:
            self.note = "All are solved."
            return
        if not problem.submission.exists():
            ladder.PRACTICE.mkdir(exist_ok=True)
            problem.submission.write_text(problems.template(problem))
        self.note = f"next: practice/{problem.submission.name}"

    def screen(self):
        """First what fails, with its place, then the stages, then notes and keys."""
        parts = []
        if self.verdict and self.verdict.failure:
            failure = self.verdict.failure
            place = failure.at or f"practice/{self.submission.path.name}:1:1"
            parts.append(ladder.wrapped(f"{place}: {failure.stage}: {failure.what}\n{failure.sentence}"))
        if self.verdict:
            stages = [stage._replace(text="") if stage.state == judging.FAILED else stage
                      for stage in self.verdict.stages]  # its text stands above
            parts.append(judging.stages_text(self.verdict._replace(stages=stages)))
            parts.append(judging.printed_text(self.verdict))
            if not self.verdict.failure:
                parts.append(judging.outcome(self.verdict))
        elif self.submission:
            parts.append(f"practice/{self.submission.path.name}")
        else:
            parts.append("There is no page yet; n writes the one to begin with.")
        return "\n\n".join(filter(None, [*parts, self.note, KEYS]))


def watch():
    """Until q is pressed."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        ladder.usage_error("--watch needs a terminal; scripts/judge judges once")

    def judge(submission):
        def say(line):
            print(f"{CLEAR}{submission.path.name}: {line} ...", flush=True)
        return judging.Judge(submission, say=say).verdict()

    state = Watch(judge)
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin)
        state.step()
        going = True
        print(CLEAR + state.screen(), flush=True)
        while going:
            typed = select.select([sys.stdin], [], [], POLL_S)[0]
            if typed:
                keys = os.read(sys.stdin.fileno(), 64).decode(errors="ignore")  # all that were typed meanwhile
                going = keys != "" and all(list(map(state.key, keys)))
            if typed or state.step():
                print(CLEAR + state.screen(), flush=True)
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
    return 0
