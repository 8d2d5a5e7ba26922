#!/usr/bin/env python3
"""Judges every planted bug, and prints which stage rejects it, and what a checker says of the kind that many
collections have: one round shape, one epsilon, blind to NaN (common/runner/tests/peer_check.cu). Each bug must be
rejected at the stage that its line '// stage: ...' names. With --steps it judges the steps, which must pass.
Takes about 10 minutes of CPU time, with --steps an hour.

example: scripts/tests/judge_known.py --jobs 2 reduce
"""
import argparse
import concurrent.futures
import re
import subprocess
import sys
from pathlib import Path

SECONDS = 120  # of CPU time, for each
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import ladder
from ladder import candidates, judging, problems


class StageJudge(judging.Judge):
    """Names the stage at which a submission fails; it does not look for who wrote a wrong value."""

    def with_writer(self, failure, building, order, fill):
        return failure


class PeerBuilder(candidates.Builder):
    """Builds a submission with the peers' checker in place of ours."""

    def link(self, kernel, objects, output):
        super().link("peers", objects, output)


def peer_verdict(submission):
    """What the peers' checker says."""
    builder = PeerBuilder("cpu", submission)
    try:
        done = subprocess.run([builder.program()], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
        return "passes" if done.returncode == 0 else "rejects"
    except subprocess.TimeoutExpired:
        return "hangs"
    finally:
        builder.clean()


def named_stages(bug):
    """One, or two where it is left to chance which of them sees the bug first."""
    found = re.search(r"^// stage: *(.*)", bug.path.read_text(), re.MULTILINE)
    return found[1].split(" | ") if found else []


def judged_bug(bug):
    """(line to print, is it rejected as its file says?)"""
    submission = candidates.Submission(bug.path, problems.named(bug.kernel))
    failure = StageJudge(submission, SECONDS).verdict().failure
    stage = failure.stage if failure else "NONE"
    return (f"{bug.name:42} {stage:20} peers: {peer_verdict(submission):8} {failure.what[:90] if failure else ''}",
            stage in named_stages(bug))


def judged_step(step):
    """The same; a step must pass."""
    verdict = judging.Judge(candidates.Submission(step.path, problems.named(step.kernel)), SECONDS).verdict()
    return (f"{step.name:42} " + ("passes" if verdict.passed else f"{verdict.reached}: {verdict.failure}"),
            verdict.passed)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--steps", action="store_true", help="the steps that the CPU backend builds, not the bugs")
    parser.add_argument("names", nargs="*", help="bugs, kernels or families; default: all")
    options = parser.parse_args()
    known = problems.problems()
    ladder.configure("cpu")
    skipped = ladder.skipped("cpu")
    judge, chosen = judged_bug, [bug for bug in ladder.bugs() if ladder.runs_on_cpu(bug)]
    if options.steps:
        judge = judged_step
        chosen = [step for step in ladder.steps() if step.kernel in known and step.name not in skipped]
    else:
        ladder.build("cpu", ["outside_peers"])
    chosen = [one for one in chosen if not options.names
              or {one.name, one.kernel, one.family} & set(options.names)]
    if not chosen:
        ladder.usage_error(f"nothing to judge has one of these names: {' '.join(options.names)}")
    wrong = let_through = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for line, is_right in pool.map(judge, chosen):
            print(("ok    " if is_right else "WRONG ") + line, flush=True)
            wrong += not is_right
            let_through += "peers: passes" in line
    print(f"\n{len(chosen)} judged, {wrong} wrong" + (f"; the peers' checker lets {let_through} through"
                                                     if judge is judged_bug else ""))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
