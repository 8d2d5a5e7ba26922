"""What has been judged and solved: practice/progress.json, the reader's own."""
import hashlib
import json

import ladder
from ladder import judging, levels


def path():
    return ladder.PRACTICE / "progress.json"


def read():
    """{submission's file name: {"kernel", "digest", "state", "reached", "solved", "level"}}"""
    try:
        known = json.loads(path().read_text())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def digest(submission):
    return hashlib.sha256(submission.text.encode()).hexdigest()


def write(known):
    ladder.PRACTICE.mkdir(exist_ok=True)
    fresh = path().with_suffix(".tmp")
    fresh.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    fresh.replace(path())


def remember(submission, verdict):
    """Keeps a verdict on a submission in practice/."""
    if submission.path.parent != ladder.PRACTICE.resolve():
        return
    known = read()
    solved = verdict.passed or known.get(submission.path.name, {}).get("solved", False)
    entry = known.setdefault(submission.path.name, {})
    entry.update(kernel=verdict.kernel, digest=digest(submission), state=verdict.state, reached=verdict.reached,
                 solved=solved and "bug" not in entry, level=higher(verdict.level, entry.get("level", "")))
    write(known)


def unchanged(submission):
    """Has the submission been judged as it is, to an end?"""
    entry = read().get(submission.path.name, {})
    return entry.get("digest") == digest(submission) and entry.get("state") in (judging.PASSED, judging.FAILED)


def higher(one, other):
    """The higher one of two levels, which may be empty."""
    order = ["", *levels.NAMES]
    return max(one, other, key=lambda level: order.index(level) if level in order else 0)


def solved_kernels():
    """{kernel: the highest level of its submissions}"""
    solved = {}
    for entry in read().values():
        if isinstance(entry, dict) and entry.get("solved"):
            kernel = entry.get("kernel")
            solved[kernel] = higher(entry.get("level", ""), solved.get(kernel, ""))
    return solved
