#!/usr/bin/env python3
"""Judges every planted bug, and prints which stage rejects it, and what a checker says of the kind that many
collections have: one round shape, one epsilon, blind to NaN (common/runner/tests/peer_check.cu). Each bug must be
rejected at the stage that its line '// stage: ...' names. With --steps it judges the steps and the whiteboard answers,
which must pass. Takes about 10 minutes of CPU time, with --steps an hour.

example: scripts/tests/judge_known.py --jobs 2 reduce
"""
import argparse
import concurrent.futures
import re
import sys
import tempfile
from pathlib import Path

SECONDS = 120  # of CPU time, for each
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import ladder
from ladder import candidates, judging, problems, sandbox


class PeerBuilder(candidates.Builder):
    """Builds a submission with the peers' checker in place of ours."""

    def link(self, kernel, objects, output):
        super().link("peers", objects, output)


def peer_verdict(submission):
    """What the peers' checker says."""
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
        result = sandbox.run([PeerBuilder("cpu", submission, Path(folder)).program()], SECONDS)
    return "hangs" if result.stopped else "rejects" if result.status else "passes"


def judged(known):
    """(line to print, is it judged as it must be?) of a bug or a step."""
    judge = judging.Judge(known, SECONDS)
    judge.with_writer = lambda failure, order, fill: failure  # the stage is enough
    verdict = judge.verdict()
    failure = verdict.failure
    if not known.is_bug:
        return f"{known.name:42} {verdict.state} {failure or verdict.not_judged}", verdict.state == judging.PASSED
    # one stage, or two where it is left to chance which of them sees the bug first
    named = re.search(r"^// stage: *(.*)", known.path.read_text(), re.MULTILINE)
    return (f"{known.name:42} {failure.stage if failure else 'NONE':20} peers: {peer_verdict(known):8} "
            f"{failure.what[:90] if failure else ''}", bool(failure) and failure.stage in named[1].split(" | "))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--steps", action="store_true", help="not the bugs: steps and whiteboard answers")
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
