"""What has been judged and solved: practice/progress.json, the reader's own."""
import hashlib
import json

import ladder
from ladder import judging, levels


def read():
    """{submission's file name: {"kernel", "digest", "state", "solved", "level", of one with a planted bug "bug"}}, in
    the order in which they came."""
    try:
        return json.loads((ladder.PRACTICE / "progress.json").read_text())
    except (OSError, ValueError):
        return {}


def write(known):
    ladder.PRACTICE.mkdir(exist_ok=True)
    fresh = ladder.PRACTICE / "progress.tmp"
    fresh.write_text(json.dumps(known, indent=1) + "\n")
    fresh.replace(ladder.PRACTICE / "progress.json")


def digest(submission):
    return hashlib.sha256(submission.text.encode()).hexdigest()


def judge(submission, **how):
    """The Verdict on a submission, which is remembered if it is in practice/."""
    verdict = judging.Judge(submission, **how).verdict()
    if submission.path.parent == ladder.PRACTICE.resolve():
        known = read()
        entry = known.setdefault(submission.path.name, {})
        solved = verdict.state == judging.PASSED or entry.get("solved", False)
        entry.update(kernel=verdict.kernel, digest=digest(submission), state=verdict.state,
                     solved=solved and "bug" not in entry, level=higher(verdict.level, entry.get("level", "")))
        write(known)
    return verdict


def state(submission):
    """PASSED or FAILED if the submission has been judged as it is, to an end; else empty."""
    entry = read().get(submission.path.name, {})
    is_judged = entry.get("digest") == digest(submission) and entry["state"] in (judging.PASSED, judging.FAILED)
    return entry["state"] if is_judged else ""


def higher(one, other):
    """The higher one of two levels, which may be empty."""
    return max(one, other, key=["", *levels.NAMES].index)


def solved_kernels():
    """{kernel: the highest level of its submissions}"""
    solved = {}
    for entry in read().values():
        if entry["solved"]:
            solved[entry["kernel"]] = higher(entry["level"], solved.get(entry["kernel"], ""))
    return solved
