#!/usr/bin/env python3
"""Checks that scripts/run gives every step its verdict, whatever its program does."""
import signal
import unittest

from helpers import Case, ladder, outcome, steps
from ladder import run_ladders
from ladder.run_ladders import Tally, Verdict

STEPS = steps("00_cub", "01_atomic", "02_tree", "03_shuffle")
NAMES = [step.name for step in STEPS]
PASS = {"verified": True}
FAIL = {"verified": False, "failure": {"what": "value", "text": "out[0] is wrong"}}
CRASH = {"reports": [{"fatal": True, "cause": "address", "problem": "SIGSEGV", "at": "k.cu:5", "block": [0, 0, 0],
                      "thread": [3, 0, 0], "groups": []}]}


class Verdicts(Case):
    def run_steps(self, *acts, together=False):
        """Returns the verdicts of a ladder whose steps act so: a step records a verdict, or ends with a report or a
        status. The second of a pair of acts is for a step that runs alone."""
        def recorded(command):
            records = []
            for name, act in zip(NAMES, acts):
                is_alone = f"--only={name}" in command
                act = act[is_alone] if isinstance(act, tuple) else act
                if is_alone or len(command) == 1:
                    if isinstance(act, int):
                        return act, records
                    records.append({"kernel": "sum", "step": name[4:], **act})
                    if act == CRASH:
                        return -signal.SIGSEGV, records
            return int(any(not record.get("verified", True) for record in records)), records

        self.patch(run_ladders, "recorded", recorded)
        tally = Tally()
        programs = [(["sum"], STEPS)] if together else [(["sum", f"--only={step.name}"], [step]) for step in STEPS]
        outcome(run_ladders.run, programs, [], tally)
        return [tally.get(name) for name in NAMES]

    def test_one_by_one(self):
        crashed = Verdict("FAIL", "SIGSEGV, in thread (3,0,0) of block (0,0,0), at k.cu:5")
        self.assertEqual(self.run_steps(PASS, CRASH, FAIL, (PASS, CRASH)),
                         [Verdict("PASS"), crashed, Verdict("FAIL", "out[0] is wrong"), crashed])

    def test_no_verdict_is_a_failure(self):
        for verdict, expected in zip(self.run_steps({}, 1, ladder.TIMED_OUT, ladder.NO_DEVICE), (
                "FAIL, printed no verdict", "FAIL, ended with exit status 1", "FAIL, reached its time limit",
                "skipped, no CUDA device")):
            self.assertEqual(str(verdict), expected)

    def test_together(self):
        error = {"verified": False, "failure": {"what": "error", "text": "an illegal memory access"}}
        not_twice = [(act, CRASH) for act in (PASS, FAIL, PASS)]
        for acts, words in (([*not_twice, PASS], "PASS FAIL PASS PASS"),
                            ([PASS, CRASH, PASS, FAIL], "PASS FAIL PASS FAIL"),
                            # after a CUDA error all later calls fail
                            ([PASS, error, (error, PASS), (error, PASS)], "PASS FAIL PASS PASS"),
                            ([PASS, PASS, (CRASH, PASS), PASS], "PASS PASS FAIL FAIL")):
            verdicts = self.run_steps(*acts, together=True)
            self.assertEqual([verdict.word for verdict in verdicts], words.split())
        self.assertIn("alone", verdicts[2].reason, "only in the ladder")

    def test_bad_usage_and_a_size_that_one_step_refuses(self):
        self.patch(run_ladders, "recorded", return_value=(2, []))
        self.assert_ends(2, run_ladders.run, [(["sum"], STEPS)], [], Tally())
        words = [verdict.word for verdict in self.run_steps(PASS, 2, PASS, PASS)]
        self.assertEqual(words, ["PASS", "skipped", "PASS", "PASS"])

    def test_ctrl_c_ends_it_quietly(self):
        self.patch(run_ladders.subprocess, "run", side_effect=KeyboardInterrupt)
        said = outcome(ladder.run_main, lambda: run_ladders.run([(["sum"], STEPS)], [], Tally()))
        self.assertEqual(said, ("", ladder.INTERRUPTED))


class Records(Case):
    def test_verdicts(self):
        """A failure stays. An error that ended the program is no verdict, nor is a verdict on another step."""
        skipped, left_out, late = {"skipped": "needs sm_90a"}, {"left_out": "takes 9.1 s"}, {"failed": "not done"}
        for records, *words, summary in (
                ([PASS], "PASS", "1 step passed, 0 failed, 0 skipped"),
                ([FAIL, PASS], "FAIL, out[0] is wrong",
                 "0 steps passed, 1 failed, 0 skipped\nfailed:\n  sum_01_atomic: out[0] is wrong"),
                ([CRASH], "0 steps passed, 0 failed, 0 skipped"),
                ([skipped], "skipped, needs sm_90a", "0 steps passed, 0 failed, 1 skipped"),
                ([left_out], "left out, takes 9.1 s", "0 steps passed, 0 failed, 0 skipped, 1 left out"),
                ([late], "FAIL, not done", "0 steps passed, 1 failed, 0 skipped\nfailed:\n  sum_01_atomic: not done")):
            tally = Tally()
            tally.note([*({"kernel": "sum", "step": "01_atomic", **record} for record in records),
                        {"kernel": "sum", "step": "07_other", **PASS}], STEPS)
            self.assertEqual(([*map(str, tally.values())], tally.summary()), (words, summary))

    def test_groups(self):
        count = len(ladder.resolve(["sum"]))
        for names, groups in ((["sum"], [(count, True)]), (["sum_05_sequential", "sum_01_atomic"], [(2, False)]),
                              (["sum_01_atomic", "sum"], [(count, True)]),
                              (["sum", "sum_early_return"], [(count, True), (1, False)])):
            found = run_ladders.groups_of(ladder.resolve(names))
            self.assertEqual([(len(group.steps), group.is_whole) for group in found], groups)


if __name__ == "__main__":
    unittest.main()
