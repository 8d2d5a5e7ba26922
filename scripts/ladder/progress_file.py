"""What has been judged and solved: practice/progress.json, the reader's own."""
import json

import ladder
from ladder import judging


def read():
    """{submission's file name: {"kernel", "state", "solved", of one with a planted bug "bug"}}, in the order in which
    they came."""
    try:
        return json.loads((ladder.PRACTICE / "progress.json").read_text())
    except (OSError, ValueError):
        return {}


def write(known):
    ladder.PRACTICE.mkdir(exist_ok=True)
    new = ladder.PRACTICE / "progress.json.new"  # Ctrl-C must not leave half a file
    new.write_text(json.dumps(known, indent=1) + "\n")
    new.replace(ladder.PRACTICE / "progress.json")


def judge(submission, **how):
    """The Verdict on a submission, which is remembered if it is in practice/. What is solved stays solved; a planted
    bug that is fixed is no kernel solved."""
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
