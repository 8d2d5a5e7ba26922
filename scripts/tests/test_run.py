#!/usr/bin/env python3
"""Checks that scripts/run gives every step its verdict, whatever its program does."""
import contextlib
import io
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import ladder
from ladder import run_ladders
from ladder.run_ladders import Tally, Verdict

STEPS = [ladder.Step("reduce", "sum", f"0{n}", f"sum_0{n}_{idea}", Path(f"reduce/sum_0{n}_{idea}.cu"))
         for n, idea in enumerate(("cub", "atomic", "tree", "shuffle"))]
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


class FakeLadder:
    def __init__(self, folder, acts):
        self.path = Path(folder, "ladder")
        self.path.write_text(FAKE.format(steps=dict(zip(NAMES, acts)), crash=CRASH))
        self.path.chmod(0o755)

    def run(self, together=False):
        """The verdicts, and what was printed."""
        tally, printed = Tally(), io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            if together:
                run_ladders.run_together(self.path, STEPS, [], tally)
            else:
                run_ladders.run_steps(lambda step: [self.path, f"--only={step.name}"], STEPS, [], tally)
        return [tally.verdicts.get(name) for name in NAMES], printed.getvalue()


class Verdicts(unittest.TestCase):
    CRASH = Verdict("FAIL", "SIGSEGV, in thread (3,0,0) of block (0,0,0), at k.cu:5")
    ERROR = {"verified": False, "failure": {"what": "error", "text": "an illegal memory access was encountered"}}

    def fake(self, *acts):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return FakeLadder(folder.name, acts)

    def test_one_by_one(self):
        verdicts, printed = self.fake(PASS, "crash", FAIL, PASS).run()
        self.assertEqual(verdicts, [Verdict("PASS"), self.CRASH, Verdict("FAIL", "out[0] is wrong"), Verdict("PASS")])
        self.assertEqual(printed.count("CPU backend, n=8\n"), 1)

    def test_no_verdict_is_a_failure(self):
        verdicts, _ = self.fake("", 1, 124, 77).run()
        self.assertEqual([verdict.word for verdict in verdicts], ["FAIL", "FAIL", "FAIL", "skipped"])
        for verdict, reason in zip(verdicts, ("no verdict", "status 1", "time limit", "CUDA device")):
            self.assertIn(reason, verdict.reason)

    def test_a_failure_and_then_a_crash(self):
        verdicts, _ = self.fake(PASS, PASS, PASS, (PASS, "crash")).run()
        self.assertEqual(verdicts[3], self.CRASH)

    def test_together(self):
        verdicts, _ = self.fake((PASS, "crash"), (FAIL, "crash"), (PASS, "crash"), PASS).run(together=True)
        self.assertEqual(verdicts, [Verdict("PASS"), Verdict("FAIL", "out[0] is wrong"), *[Verdict("PASS")] * 2],
                         "none is run again")

    def test_a_crash_among_others(self):
        verdicts, _ = self.fake(PASS, "crash", PASS, FAIL).run(together=True)
        self.assertEqual(verdicts, [Verdict("PASS"), self.CRASH, Verdict("PASS"), Verdict("FAIL", "out[0] is wrong")])

    def test_an_error_of_cuda_that_stays(self):
        verdicts, _ = self.fake(PASS, self.ERROR, (self.ERROR, PASS), (self.ERROR, PASS)).run(together=True)
        self.assertEqual([verdict.word for verdict in verdicts], ["PASS", "FAIL", "PASS", "PASS"])

    def test_a_crash_that_only_the_ladder_has(self):
        verdicts, _ = self.fake(PASS, PASS, ("crash", PASS), PASS).run(together=True)
        self.assertEqual([verdict.word for verdict in verdicts], ["PASS", "PASS", "FAIL", "FAIL"])
        self.assertIn("alone", verdicts[2].reason)

    def test_bad_usage(self):
        with self.assertRaises(SystemExit) as end:
            self.fake(2, 2, 2, 2).run()
        self.assertEqual(end.exception.code, 2)

    def test_a_size_that_one_step_refuses(self):
        verdicts, _ = self.fake(PASS, 2, PASS, PASS).run()
        self.assertEqual([verdict.word for verdict in verdicts], ["PASS", "skipped", "PASS", "PASS"])


class Records(unittest.TestCase):
    def note(self, *records):
        tally = Tally()
        tally.note([{"kernel": "sum", **record} for record in records], STEPS)
        return tally

    def test_verdicts(self):
        for record, verdict in ((PASS, Verdict("PASS")), (FAIL, Verdict("FAIL", "out[0] is wrong")),
                                ({"skipped": "needs sm_90a"}, Verdict("skipped", "needs sm_90a")),
                                ({"left_out": "takes 9.1 s"}, Verdict("left out", "takes 9.1 s")),
                                ({"failed": "not done after 9 s"}, Verdict("FAIL", "not done after 9 s"))):
            self.assertEqual(self.note({"step": "01_atomic", **record}).verdicts, {"sum_01_atomic": verdict})
        self.assertEqual(self.note({"step": "01_atomic", **CRASH}, {"step": "07_other", **PASS}).verdicts, {})

    def test_a_failure_stays(self):
        tally = self.note({"step": "01_atomic", **FAIL}, {"step": "01_atomic", **PASS})
        self.assertEqual(tally.verdicts, {"sum_01_atomic": Verdict("FAIL", "out[0] is wrong")})

    def test_summary(self):
        tally = self.note({"step": "00_cub", "skipped": "needs gpu"}, {"step": "01_atomic", **PASS},
                          {"step": "02_tree", **FAIL}, {"step": "03_shuffle", "left_out": "one run takes 9.1 s"})
        self.assertRegex(tally.summary(), r"(?s)^1 step passed, 1 failed, 1 skipped, 1 left out\n"
                                          r".*sum_02_tree: out\[0\] is wrong$")
        self.assertNotIn("left out", Tally().summary())


class Groups(unittest.TestCase):
    def groups(self, *names):
        return [(group.kernel, len(group.steps), group.is_whole)
                for group in run_ladders.groups_of(ladder.resolve(names))]

    def test_groups(self):
        count = len(ladder.resolve(["sum"]))
        self.assertEqual(self.groups("sum"), [("sum", count, True)])
        self.assertEqual(self.groups("sum_03_interleaved_divergent", "sum_01_atomic"), [("sum", 2, False)])
        self.assertEqual(self.groups("sum_01_atomic", "sum"), [("sum", count, True)])
        self.assertEqual(self.groups("sum", "sum_early_return"), [("sum", count, True), ("sum", 1, False)])


class CtrlC(unittest.TestCase):
    def test_it_ends_quietly(self):
        with tempfile.TemporaryDirectory() as folder:
            fake = FakeLadder(folder, [PASS, "wait", PASS, PASS])
            script = (f"import sys; sys.path.insert(0, {str(ROOT / 'scripts')!r}); "
                      f"import ladder; from ladder import run_ladders\n"
                      f"steps = [ladder.Step('reduce', 'sum', '0', name, None) for name in {NAMES!r}]\n"
                      f"ladder.run_main(lambda: run_ladders.run_together({str(fake.path)!r}, steps, [], "
                      f"run_ladders.Tally()))")
            process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       text=True, start_new_session=True,
                                       # a shell's background jobs have it ignored
                                       preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
            for line in process.stdout:
                if NAMES[0] in line:
                    break
            os.killpg(process.pid, signal.SIGINT)
            start = time.monotonic()
            errors = process.communicate(timeout=30)[1]
        self.assertEqual(process.returncode, ladder.INTERRUPTED)
        self.assertLess(time.monotonic() - start, 10)
        self.assertNotIn("run_ladders.py", errors)  # no traceback of ours; the fake's own does not count


if __name__ == "__main__":
    unittest.main()
