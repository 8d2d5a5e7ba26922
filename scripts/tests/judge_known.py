#!/usr/bin/env python3
"""Judges every planted bug, and prints which stage rejects it, and what a checker says of the kind that many
collections have: one round shape, one epsilon, blind to NaN (common/runner/tests/peer_check.cu). Each bug must be
rejected at the stage that its line '// stage: ...' names. With --steps it judges the steps, which must pass; with
--submissions the template of every kernel, which must fail with a friendly word.
Takes about 10 minutes of CPU time, with --submissions 5, with --steps an hour.

example: scripts/tests/judge_known.py --jobs 2 reduce
"""
import argparse
import concurrent.futures
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import ladder
from ladder import candidates, judging, problems


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


def one(bug):
    submission = candidates.Submission(bug.path, problems.named(bug.kernel))
    verdict = judging.StageJudge(submission, 120).verdict()
    return bug, verdict.failure, peer_verdict(submission)


def judge_steps(steps, jobs):
    """1 if one does not pass."""
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        named = (candidates.Submission(step.path, problems.named(step.kernel)) for step in steps)
        verdicts = pool.map(lambda submission: judging.Judge(submission, 120).verdict(), named)
        for step, verdict in zip(steps, verdicts):
            failed += not verdict.passed
            print(f"{step.name:42} " + ("passes" if verdict.passed else f"{verdict.reached}: {verdict.failure.what}"),
                  flush=True)
    print(f"\n{len(steps)} steps, {failed} not passed")
    return 1 if failed else 0


def judge_templates(chosen, jobs):
    """1 if the template of one of these problems does not compile, passes, or gets no friendly word."""
    failed = 0

    def one(problem):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / problem.submission.name
            path.write_text(problems.template(problem))
            return problem, judging.StageJudge(candidates.Submission(path, problem), 120).verdict()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for problem, verdict in pool.map(one, chosen):
            good = verdict.failure and verdict.failure.stage != "compiles" and verdict.word
            failed += not good
            print(f"{problem.kernel:20} {'ok' if good else 'WRONG':6} {verdict.reached:20} "
                  + (verdict.failure.what[:90] if verdict.failure else "passes"), flush=True)
    print(f"\n{len(chosen)} empty pages, {failed} not as they should be")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--steps", action="store_true", help="the steps that the CPU backend builds, not the bugs")
    parser.add_argument("--pages", action="store_true", help="the empty pages, not the bugs")
    parser.add_argument("names", nargs="*", help="bugs, kernels or families; default: all")
    options = parser.parse_args()
    known = problems.problems()
    ladder.configure("cpu")
    skipped = ladder.skipped("cpu")
    known_steps = [step for step in ladder.steps() if step.kernel in known and step.name not in skipped]
    known_bugs = [bug for bug in ladder.bugs() if ladder.runs_on_cpu(bug)]
    chosen = [file for file in (known_steps if options.steps else known_bugs)
              if not options.names or {file.name, file.kernel, file.family} & set(options.names)]
    if options.submissions:
        sys.exit(judge_templates([problem for problem in known.values() if not options.names
                              or {problem.kernel, problem.family} & set(options.names)], options.jobs))
    if not chosen:
        ladder.usage_error(f"nothing to judge has one of these names: {' '.join(options.names)}")
    if options.steps:
        sys.exit(judge_steps(chosen, options.jobs))
    ladder.build("cpu", ["outside_peers"])
    wrong, let_through = [], 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for bug, failure, peer in pool.map(one, chosen):
            stage = failure.stage if failure else "NONE"
            let_through += peer == "passes"
            wrong += [bug.name] * (stage not in named_stages(bug))
            print(f"{bug.name:42} {stage:20} peers: {peer:8} {failure.what[:90] if failure else ''}", flush=True)
    print(f"\n{len(chosen)} bugs, {len(wrong)} not rejected at the stage that they name"
          + f" ({', '.join(wrong)})" * bool(wrong) + f"; the peers' checker lets {let_through} through")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
