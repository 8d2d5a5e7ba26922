"""scripts/practice --bug: hands out planted bugs without the comments and names that reveal them."""
import itertools
import random
import re

import ladder
from ladder import candidates, cuda_source, judging, problems, progress_file


def disguised(bug):
    """Returns a bug's source without comments, with other kernel names, below the problem's statement."""
    text = re.sub(r'(?m)^#include "(\.\./[^"]*)"',
                  lambda found: f'#include "{problems.include_name((bug.path.parent / found[1]).resolve())}"',
                  cuda_source.without_comments(bug.path.read_text()))
    for i, name in enumerate(dict.fromkeys(cuda_source.kernel_names(bug.path))):
        text = re.sub(rf"\b{name}\b", f"{bug.kernel}_kernel{i or ''}", text)
    text = re.sub(r"\bstruct \w+>", "struct Scratch>", text)  # the tag that identifies memory of scratch<>
    lines = [line.rstrip() for line in text.splitlines()]
    return problems.stated(problems.named(bug.kernel)) + re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


def open_to(problem):
    """Returns the bugs that the CPU backend detects, of one problem or of all."""
    return [bug for bug in ladder.bugs() if (problem is None or bug.kernel == problem.kernel)
            and bug.kernel in problems.problems() and ladder.runs_on_cpu(bug)]


def hand_out(problem):
    """Writes a bug to practice/ and prints its symptom."""
    known = progress_file.read()
    fixed = {entry.get("bug") for entry in known.values() if entry["state"] == judging.PASSED}
    open_ones = [bug for bug in open_to(problem) if bug.name not in fixed]
    if not open_ones:
        ladder.fail("there is no bug left to fix" + f" in {problem.kernel}" * (problem is not None))
    bug = random.choice(open_ones)
    ladder.PRACTICE.mkdir(exist_ok=True)
    path = next(path for path in (ladder.PRACTICE / f"{bug.kernel}_bug_{number}.cu" for number in itertools.count(1))
                if not path.exists())
    path.write_text(disguised(bug))
    known.pop(path.name, None)
    progress_file.write({**known, path.name: {"bug": bug.name, "state": "", "solved": False}})
    failure = progress_file.judge(candidates.find(str(path))).failure
    seen = failure.what.split("\n")[0] if failure else "nothing here"
    print(ladder.wrapped(f"practice/{path.name} has a bug. What is seen: {seen}"))
    print(f"Find it, fix it, then: scripts/judge practice/{path.name}")


def reveal():
    """Prints what is wrong with the bug that was handed out last, and what finds it."""
    handed = [(name, entry["bug"]) for name, entry in progress_file.read().items() if "bug" in entry]
    if not handed:
        ladder.fail("no bug has been handed out; scripts/practice --bug does")
    name, bug_name = handed[-1]
    [path] = [bug.path for bug in ladder.bugs() if bug.name == bug_name]
    text = path.read_text()
    print(ladder.wrapped(f"practice/{name} is {ladder.shown(path)}: " + re.search(r"(?m)^// bug: *(.*)", text)[1]))
    for where, seen in re.findall(r"^// caught by: *([^|\n]*?) *\| *([^|\n]*)", text, re.MULTILINE):
        print(ladder.wrapped(f"  found by {where}: it prints '{seen.strip()}'", "    "))
