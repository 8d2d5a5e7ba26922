#!/usr/bin/env python3
"""Judges every planted bug, and prints which stage rejects it and whether a simple checker does, as in many other
collections: one round shape, one epsilon, blind to NaN (common/runner/tests/peer_check.cu). Each bug must be rejected
at the stage that its line '// stage: ...' names. With --steps it judges the steps and the whiteboard answers, which
must pass. It takes about 10 minutes of CPU time, with --steps an hour.

example: scripts/tests/judge_known.py --jobs 2 reduce
"""
import argparse
import concurrent.futures
import re
import sys
import tempfile
from pathlib import Path

SECONDS = 120  # CPU time for each
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import ladder
from ladder import candidates, judging, problems, sandbox


class PeerBuilder(candidates.Builder):
    """Builds a submission with the simple checker instead of the project's."""

    def link(self, kernel, objects, output):
        super().link("peers", objects, output)


def peer_verdict(submission):
    """Returns the simple checker's verdict."""
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
        result = sandbox.run([PeerBuilder("cpu", submission, Path(folder)).program()], SECONDS)
    return "hangs" if result.stopped else "rejects" if result.status else "passes"


def judged(known):
    """Judges a bug or a step. Returns (line to print, whether the verdict is the expected one)."""
    judge = judging.Judge(known, SECONDS)
    judge.with_writer = lambda failure, order, fill: failure  # only the stage matters
    verdict = judge.verdict()
    failure = verdict.failure
    if not known.is_bug:
        return f"{known.name:42} {verdict.state} {failure or verdict.not_judged}", verdict.state == judging.PASSED
    # one stage, or two if chance decides which of them detects the bug first
    named = re.search(r"^// stage: *(.*)", known.path.read_text(), re.MULTILINE)
    return (f"{known.name:42} {failure.stage if failure else 'NONE':20} peers: {peer_verdict(known):8} "
            f"{failure.what[:90] if failure else ''}", bool(failure) and failure.stage in named[1].split(" | "))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--steps", action="store_true", help="judge steps and whiteboard answers, not bugs")
    parser.add_argument("names", nargs="*", help="bugs, kernels or families; default: all")
    options = parser.parse_args()
    ladder.configure("cpu")
    ladder.build("cpu", ["outside_peers"])
    skipped = ladder.skipped("cpu")
    if options.steps:
        chosen = [step for step in ladder.steps() + ladder.answers() if step.kernel in problems.problems()
                  and step.name not in skipped and step.path.suffix == ".cu"]
    else:
        chosen = [bug for bug in ladder.bugs() if ladder.runs_on_cpu(bug)]
    chosen = [one for one in chosen if not options.names or {one.name, one.kernel, one.family} & set(options.names)]
    if not chosen:
        ladder.usage_error(f"nothing to judge has one of these names: {' '.join(options.names)}")
    wrong = let_through = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for line, is_right in pool.map(judged, chosen):
            print(("ok    " if is_right else "WRONG ") + line, flush=True)
            wrong += not is_right
            let_through += "peers: passes" in line
    print(f"\n{len(chosen)} judged, {wrong} wrong; the peers' checker lets {let_through} bugs through")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
