#!/usr/bin/env python3
"""Checks that scripts/run gives every step its verdict, whatever its program does."""
import os
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from helpers import Case, executable, ladder, outcome, steps
from ladder import run_ladders
from ladder.run_ladders import Tally, Verdict

STEPS = steps("00_cub", "01_atomic", "02_tree", "03_shuffle")
NAMES = [step.name for step in STEPS]

# What a ladder does at each step: it records a verdict, or ends. With --only, that step alone.
FAKE = """\
#!/usr/bin/env python3
import json, os, signal, sys, time
steps = {steps!r}
only = [a[7:] for a in sys.argv if a.startswith("--only=")]
record = open(next(a[9:] for a in sys.argv if a.startswith("--record=")), "a")
print("CPU backend, n=8", flush=True)
for name, act in steps.items():
    if only and name not in only:
        continue
    act = act[bool(only)] if isinstance(act, tuple) else act
    if act == "crash":
        print(json.dumps({crash!r}), file=record, flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    elif act == "wait":
        time.sleep(60)
    elif isinstance(act, int):
        sys.exit(act)
    elif act:
        print(f"{{name}}  {{act['verified']}}", flush=True)
        print(json.dumps({{"kernel": "sum", "step": name[4:], **act}}), file=record, flush=True)
sys.exit(any(isinstance(act, dict) and not act["verified"] for act in steps.values()))
"""
PASS = {"verified": True}
FAIL = {"verified": False, "failure": {"what": "value", "text": "out[0] is wrong"}}
CRASH = {"reports": [{"fatal": True, "cause": "address", "problem": "SIGSEGV", "at": "k.cu:5", "block": [0, 0, 0],
                      "thread": [3, 0, 0], "groups": []}]}


def run(program, together=False):
    """The verdicts of a ladder's steps."""
    tally = Tally()
    run_ladders.run([([program], STEPS)] if together else
                    [([program, f"--only={step.name}"], [step]) for step in STEPS], [], tally)
    return [tally.get(name) for name in NAMES]


class Verdicts(Case):
    def fake(self, *acts):
        return executable(self.folder() / "ladder", FAKE.format(steps=dict(zip(NAMES, acts)), crash=CRASH))

    def test_one_by_one(self):
        _, verdicts = outcome(run, self.fake(PASS, "crash", FAIL, (PASS, "crash")))
        crashed = Verdict("FAIL", "SIGSEGV, in thread (3,0,0) of block (0,0,0), at k.cu:5")
        self.assertEqual(verdicts, [Verdict("PASS"), crashed, Verdict("FAIL", "out[0] is wrong"), crashed])

    def test_no_verdict_is_a_failure(self):
        _, verdicts = outcome(run, self.fake("", 1, 124, 77))
        self.assertEqual([verdict.word for verdict in verdicts], ["FAIL", "FAIL", "FAIL", "skipped"])
        for verdict, reason in zip(verdicts, ("no verdict", "status 1", "time limit", "CUDA device")):
            self.assertIn(reason, verdict.reason)

    def test_together(self):
        error = {"verified": False, "failure": {"what": "error", "text": "an illegal memory access"}}
        not_twice = [(act, "crash") for act in (PASS, FAIL, PASS)]
        for acts, words in (([*not_twice, PASS], "PASS FAIL PASS PASS"),
                            ([PASS, "crash", PASS, FAIL], "PASS FAIL PASS FAIL"),
                            # after an error of CUDA's all later calls fail
                            ([PASS, error, (error, PASS), (error, PASS)], "PASS FAIL PASS PASS"),
                            ([PASS, PASS, ("crash", PASS), PASS], "PASS PASS FAIL FAIL")):
            _, verdicts = outcome(run, self.fake(*acts), together=True)
            self.assertEqual([verdict.word for verdict in verdicts], words.split())
        self.assertIn("alone", verdicts[2].reason, "only in the ladder")

    def test_bad_usage_and_a_size_that_one_step_refuses(self):
        self.assert_ends(2, run, self.fake(2, 2, 2, 2))
        _, verdicts = outcome(run, self.fake(PASS, 2, PASS, PASS))
        self.assertEqual([verdict.word for verdict in verdicts], ["PASS", "skipped", "PASS", "PASS"])

    def test_ctrl_c_ends_it_quietly(self):
        fake = str(self.fake(PASS, "wait", PASS, PASS))
        script = f"import test_run\ntest_run.ladder.run_main(lambda: test_run.run({fake!r}, together=True))"
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, start_new_session=True, cwd=Path(__file__).parent,
                                   # a shell's background jobs have it ignored
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        next(line for line in process.stdout if NAMES[0] in line)
        os.killpg(process.pid, signal.SIGINT)
        start = time.monotonic()
        errors = process.communicate(timeout=30)[1]
        self.assertEqual(process.returncode, ladder.INTERRUPTED)
        self.assertLess(time.monotonic() - start, 10)
        self.assertNotIn("run_ladders.py", errors)  # no traceback of ours; the fake's own does not count


class Records(Case):
    def note(self, *records):
        tally = Tally()
        tally.note([{"kernel": "sum", **record} for record in records], STEPS)
        return tally

    def test_verdicts(self):
        """A failure stays; an error that ended the program is no verdict, nor is one on another step."""
        wrong = Verdict("FAIL", "out[0] is wrong")
        for records, verdict in (([PASS], Verdict("PASS")), ([FAIL], wrong), ([FAIL, PASS], wrong), ([CRASH], None),
                                 ([{"skipped": "needs sm_90a"}], Verdict("skipped", "needs sm_90a")),
                                 ([{"left_out": "takes 9.1 s"}], Verdict("left out", "takes 9.1 s")),
                                 ([{"failed": "not done after 9 s"}], Verdict("FAIL", "not done after 9 s"))):
            tally = self.note(*({"step": "01_atomic", **record} for record in records), {"step": "07_other", **PASS})
            self.assertEqual(tally, {"sum_01_atomic": verdict} if verdict else {})

    def test_summary(self):
        tally = self.note({"step": "00_cub", "skipped": "needs gpu"}, {"step": "01_atomic", **PASS},
                          {"step": "02_tree", **FAIL}, {"step": "03_shuffle", "left_out": "one run takes 9.1 s"})
        self.assertRegex(tally.summary(), r"(?s)^1 step passed, 1 failed, 1 skipped, 1 left out\n"
                                          r".*sum_02_tree: out\[0\] is wrong$")


    def test_groups(self):
        count = len(ladder.resolve(["sum"]))
        for names, groups in ((["sum"], [(count, True)]), (["sum_05_sequential", "sum_01_atomic"], [(2, False)]),
                              (["sum_01_atomic", "sum"], [(count, True)]),
                              (["sum", "sum_early_return"], [(count, True), (1, False)])):
            found = run_ladders.groups_of(ladder.resolve(names))
            self.assertEqual([(len(group.steps), group.is_whole) for group in found], groups)


if __name__ == "__main__":
    unittest.main()
