"""Keeps what the reader has judged and solved, in practice/progress.json."""
import json

import ladder
from ladder import judging


def read():
    """Returns {submission's file name: {"kernel", "state", "solved", perhaps "bug"}}, in the order of judging."""
    try:
        return json.loads((ladder.PRACTICE / "progress.json").read_text())
    except (OSError, ValueError):
        return {}


def write(known):
    ladder.PRACTICE.mkdir(exist_ok=True)
    new = ladder.PRACTICE / "progress.json.new"  # so that Ctrl-C leaves no half-written file
    new.write_text(json.dumps(known, indent=1) + "\n")
    new.replace(ladder.PRACTICE / "progress.json")


def judge(submission, **how):
    """Returns the Verdict on a submission, and saves it if the file is in practice/. A solved kernel stays solved. A
    fixed planted bug does not count as a solved kernel."""
    verdict = judging.Judge(submission, **how).verdict()
    if submission.path.parent == ladder.PRACTICE.resolve():
        known = read()
        entry = known.setdefault(submission.path.name, {})
        solved = verdict.state == judging.PASSED or entry.get("solved", False)
        entry.update(kernel=verdict.kernel, state=verdict.state, solved=solved and "bug" not in entry)
        write(known)
    return verdict


def solved_kernels():
    return {entry["kernel"] for entry in read().values() if entry.get("solved")}
