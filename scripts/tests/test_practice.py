#!/usr/bin/env python3
"""Tests scripts/practice (submissions, hints, the list, the progress file, watching, disguised bugs) and the limits of
the sandbox. It compiles nothing."""
import json
import os
import re
import sys
import time
import unittest
from unittest import mock

from helpers import ROOT, Case, ladder, outcome
from ladder import bug_lab, candidates, diagnosis, judging, levels, practice_watch, problems, progress_file
from ladder.diagnosis import MEMORY, RIGHT, STAGES

SUM = problems.named("sum")
WRONG = diagnosis.Failure(RIGHT, "Learn this.", "README.md#where-data-live", "n=1: x", "sum.cu:3:5",
                          {"size": "n=1", "index": "0"})


class InFolder(Case):
    """Uses an empty practice/ and a mock judge, for which a submission's text says if it is wrong or not judged."""

    def setUp(self):
        self.patch(ladder, "PRACTICE", self.folder())
        self.patch(judging, "Judge").side_effect = lambda submission, *_, **__: mock.Mock(
            verdict=lambda: self.verdict(submission))
        self.judged = []  # texts of the judged submissions

    def verdict(self, submission):
        text = submission.path.read_text()
        self.judged.append(text)
        state = judging.NOT_JUDGED if "too slow" in text else judging.PASSED
        return judging.Verdict(submission.path.name, submission.kernel, [judging.Stage(MEMORY, state)],
                               WRONG if "wrong" in text or "bug" in submission.path.name else None,
                               level="right", film="scripts/explain --play sum.cu")

    def script(self, name, *arguments):
        """Returns (output on both streams, exit status)."""
        with mock.patch.object(sys, "argv", [name, *map(str, arguments)]):
            said, status = outcome(ladder.load_script(name).main)
        return said, status or 0

    def practice(self, *arguments):
        return self.script("practice", *arguments)

    def page(self, name, text=""):
        path = ladder.PRACTICE / name
        path.write_text(text)
        return path


class Submissions(InFolder):
    def test_pages_state_the_problem_and_nothing_of_a_solution(self):
        """Every kernel with one launch has a submission template."""
        with_launch = {step.kernel for step in ladder.steps()
                       if re.search(r"^LADDER_STEP\(\w+, launch", step.path.read_text(), re.M)}
        self.assertEqual(set(problems.problems()), with_launch)
        for problem in problems.problems().values():
            page, flat = problems.template(problem), problems.flat_template(problem)
            for text in (page, flat):
                with self.subTest(problem.kernel):
                    self.assertIn(f"void launch({problem.parameters[0]}", text)
                    self.assertIn("__global__ void", text)
                    self.assertEqual(text.partition("int main")[0].count("<<<"), 1)
                    self.assertIn(problem.statement.splitlines()[0], text)
            self.assertLessEqual(max(map(len, page.splitlines())), 120)
            self.assertTrue("int main(" in flat and '#include "' not in flat)
            [name] = re.findall(r'^#include "(.*)"', page, re.MULTILINE)
            for folder in ("practice", "common"):  # the include works in practice/, and anywhere with -I common
                self.assertEqual((ROOT / folder / name).resolve(), problem.header)

    def test_a_page_is_never_overwritten(self):
        for arguments, text in ((["sum"], problems.template(SUM)), (["sum", "--flat"], problems.flat_template(SUM))):
            self.assertEqual(self.practice(*arguments)[1], 0)
            self.assertEqual(SUM.submission.read_text(), text)
            self.page("sum.cu", "mine")
            self.assertEqual(self.practice(*arguments)[1], 1)
            self.assertEqual(SUM.submission.read_text(), "mine")
            SUM.submission.unlink()

    def test_list_hints_and_next(self):
        known, circle, said = problems.problems(), [problems.FIRST], self.practice()[0]
        for problem in known.values():
            self.assertRegex(said, rf"(?m)^    {problem.kernel} +{problem.difficulty} .{{1,60}}$")
            self.assertRegex(problem.asked, r"^(none|\d+ of 25), \d+ of 8")
        self.assertIn(SUM.hints()[2][1], self.practice("sum", "--hint", "3")[0])
        while circle[-1] not in circle[:-1]:
            circle.append(known[circle[-1]].next)
        self.assertEqual(sorted(circle), sorted([*known, problems.FIRST]))

    def test_usage(self):
        for arguments in (["--hint", "1"], ["--minutes", "0", "sum"], ["nosuch"], ["--watch"], ["sum", "--hint", "0"],
                          ["sum", "--hint", "99"]):
            self.assertEqual(self.practice(*arguments)[1], 2, arguments)

    def test_minutes_writes_a_page_shows_the_time_and_judges(self):
        self.patch(time, "sleep")
        judge = self.patch(os, "execv")
        said, _ = self.practice("sum", "--minutes", "20")
        self.assertRegex(said, r"(?s)19:59 left.*\r0:01 left.*the time is over\njudging\n")
        path = self.page("sum.cu", "mine")
        self.practice("sum", "--minutes", "20")
        self.assertEqual(path.read_text(), "mine", "it is not written anew")
        self.assertEqual(judge.call_args.args[1][1:], [str(ROOT / "scripts/judge"), str(path)])


class PageNames(InFolder):
    def test_the_kernel_is_that_of_the_header_or_of_the_name(self):
        for name, text, kernel in (("sum", "", "sum"), ("sum_of_squares_2", "", "sum_of_squares"),
                                   ("try", '#include "../reduce/sum/sum.cuh"', "sum"),
                                   ("try", '#include <cstdio>\n  # include "sum.cuh"  // x', "sum"),
                                   ("copy_of_sum", '#include "../reduce/sum/sum.cuh"', "sum"),
                                   ("max_2", '#include "sum.cuh"\n#include "../reduce/max/max.cuh"', "max")):
            path = self.page(f"{name}.cu", text)
            self.assertEqual(candidates.find(str(path)).kernel, kernel, text)
            [step] = ladder.resolve([path], submissions=True)
            self.assertEqual((step.kind, step.kernel, step.path), ("submission", kernel, path))
            self.assertEqual(step.name, name if name.startswith(kernel) else f"{kernel}_{name}")
        for step in ladder.steps() + ladder.bugs() + ladder.answers():
            self.assertEqual(ladder.kernel_of(step.path), step.kernel, step.name)

    def test_what_is_no_page(self):
        for name, taken, words in ((self.page("sum_mine.cu"), False, "scripts/judge"),
                                   (self.page("try.cu"), True, "which kernel is it?"),
                                   (ladder.PRACTICE / "sum_mime.cu", True, "did you mean practice/sum_mine.cu"),
                                   ("sum_mime", True, "did you mean practice/sum_mine.cu")):
            said = self.assert_ends(2, ladder.resolve, [name], submissions=taken)
            self.assertIn(words, said)
            self.assertEqual(said.count("\n"), 1)


class Remembering(InFolder):
    def test_states(self):
        """A submission that was not judged to the end is neither solved nor failed. A solved one stays solved."""
        for text, status, words, solved in (("too slow", 3, "Not solved yet", []), ("wrong", 1, "Learn this.", []),
                                            ("right", 0, "Solved, level: right.\n\n", ["sum"]),
                                            ("wrong again", 1, "Learn this.", ["sum"])):
            said, found = self.script("judge", self.page("sum.cu", text))
            self.assertEqual((found, words in said), (status, True), said)
            self.assertEqual([*progress_file.solved_kernels()], solved)

    def test_all_pages_and_json(self):
        self.page("sum.cu", "too slow")
        self.page("dot.cu", "wrong")
        said, status = self.script("judge", "--json")
        self.assertEqual(status, 1, "the worst state counts")
        dot, of_sum = json.loads(said)["verdicts"]
        self.assertEqual((dot["submission"], dot["state"], of_sum["state"]), ("dot.cu", "failed", "not judged"))
        self.assertEqual(dot["failure"]["index"], "0")

    def test_watch_judges_what_is_saved_once(self):
        watch = practice_watch.Watch()
        self.assertFalse(watch.step())
        self.assertIn("n writes the one to begin with", watch.screen())
        path = self.page("sum.cu", "wrong")
        self.assertTrue(watch.step())
        self.assertFalse(watch.step())
        self.assertIn("sum.cu:3:5:\nLearn this.", watch.screen())
        run = self.patch(practice_watch.subprocess, "run", return_value=mock.Mock(stdout="<html>"))
        for key, words in (("h", "Hint 1 of"), ("e", "Where data live"), ("p", "Open practice/sum.html"),
                           ("l", problems.named("row_softmax").description)):
            watch.key(key)
            self.assertIn(words, watch.screen())
        self.assertEqual(run.call_args.args[0][1:], ["scripts/explain", "--play", "sum.cu"])
        self.assertEqual(path.with_suffix(".html").read_text(), "<html>")
        time.sleep(0.02)
        path.write_text("right")
        self.assertTrue(watch.step())
        self.assertIn("Solved, level", watch.screen())
        self.assertEqual(self.judged, ["wrong", "right"])
        self.assertTrue(watch.key("n"))
        self.assertTrue((ladder.PRACTICE / f"{SUM.next}.cu").is_file())
        self.assertFalse(watch.key("q"))


class Bugs(InFolder):
    def test_a_bug_is_handed_out_fixed_and_revealed(self):
        handed, status = self.practice("--bug", "dot")
        self.assertEqual((status, handed), (0, "practice/dot_bug_1.cu has a bug. What is seen: n=1: x\n"
                                               "Find it, fix it, then: scripts/judge practice/dot_bug_1.cu\n"))
        self.patch(self, "verdict", lambda submission: judging.Verdict(submission.path.name, "dot", [], None))
        for _ in bug_lab.open_to(problems.named("dot")):
            [*_, (latest, entry)] = progress_file.read().items()
            bug = next(bug for bug in ladder.bugs() if bug.name == entry["bug"])
            self.assertRegex(self.practice("--reveal")[0], rf"practice/{latest} is {bug.path.relative_to(ROOT)}: .+\n"
                                                           "  found by .+: it prints")
            progress_file.judge(candidates.find(str(ladder.PRACTICE / latest)))
            said, status = self.practice("--bug", "dot")
        self.assertEqual((status, said.count("no bug left to fix in dot")), (1, 1))
        self.assertEqual(progress_file.solved_kernels(), set(), "a bug fixed is no kernel solved")

    def test_a_disguised_bug_does_not_tell(self):
        for bug in bug_lab.open_to(None):
            text = bug_lab.disguised(bug)
            with self.subTest(bug.name):
                for comment in re.findall(r"// *(\S.{9,})", bug.path.read_text()):
                    self.assertNotIn(comment, text)
                for include in re.findall(r'^#include "(\.\./.*)"', text, re.MULTILINE):
                    self.assertTrue((ROOT / "practice" / include).resolve().is_file(), include)
                    self.assertNotIn("bugs", include)
                for telling in (bug.name, bug.id):
                    self.assertNotIn(telling.replace("_", ""), text.replace("_", "").lower())
                self.assertRegex(text, r"(?m)^LADDER_STEP\(")


FACTS = {"what": "value", "seen": "y[7] of 9 is wrong: got 1, want 2", "size": "n=9 ld=12 alpha=2",
         "options": ["--n=9", "--ldx=12", "--alpha=2"], "data": "random", "offsets": "", "order": "forward",
         "second_run": False, "buffer": "y", "index": 7, "count": 9, "got": "1", "want": "2"}


class Explanations(Case):
    def test_every_cause_has_a_stage_and_a_section_that_is_there(self):
        for failure in [*diagnosis.CAUSES.values(), *diagnosis.CUDA_ERRORS.values()]:
            self.assertIn(failure.stage, STAGES)
            self.assertTrue(failure.sentence.endswith("."))
            self.assertIn(failure.section, diagnosis.SECTIONS)
        for problem in problems.problems().values():
            for section in map(problem.section, diagnosis.SECTIONS):
                self.assertRegex(practice_watch.section_text(section), "^#+ ", section)

    def test_a_cause_is_named_only_if_its_absence_mends_the_run(self):
        def cause(facts, passes):
            """Returns the diagnosis if exactly the runs with true `passes` pass."""
            return diagnosis.Causes(diagnosis.of_facts({**FACTS, **facts}), passes, [], ["n"]).found()

        for word, facts, passes in (
                ("off their alignment", {"offsets": "x + 1, y + 0"}, lambda *options, **how: "--aligned" in options),
                ("order in which threads run", {"order": "reverse"},
                 lambda *options, order=None, **how: order == "forward"),
                ("nothing has written", {}, lambda *options, fill=None, **how: fill == "zeros"),
                ("nothing has set it to 0", {}, lambda *options, **how: "--zeroed" in options),
                ("few right digits", {"data": "1e4 + noise"}, lambda *options, **how: "--data=random" in options),
                ("exp overflows", {"data": "thousands"}, lambda *options, **how: "--data=random" in options),
                ("row * ldx", {}, lambda *options, **how: "--ldx=12" not in options),
                ("alpha scales", {}, lambda *options, **how: "--alpha=2" not in options)):
            with self.subTest(word):
                self.assertIn(word, cause(facts, passes).sentence)
                nothing = cause(facts, lambda *options, **how: False)
                self.assertIn("Follow the thread", nothing.sentence)
                self.assertNotRegex(nothing.what, r"x \+ 1|reverse")

    def test_speed(self):
        steps = [{"step": "00_cub", "cold_us": 5}, {"step": "01_a", "cold_us": 100}, {"step": "02_b", "cold_us": 10}]
        for own, words, slow in (({"cold_us": 9.0, "vs_vendor": 0.5}, "as fast as step 02_b", ""),
                                 ({"cold_us": 200.0}, "slower than every step", "200.00 us; step 02 takes 10.00")):
            text, missing = levels.speed(own, steps)
            self.assertIn(words, text)
            self.assertEqual(missing, slow)


class Sandbox(Case):
    def test_limits(self):
        fill = "import time; x = bytearray(1 << 28); x[::4096] = b'1' * len(x[::4096]); time.sleep(20)"
        for command, seconds, status, stopped, output in (
                (["sh", "-c", "echo hello; exit 3"], 10, 3, "", "hello\n"),
                (["yes"], 10, None, "output", "y\n" * (judging.sandbox.OUTPUT // 2)),
                (["sh", "-c", "exec yes >file"], 10, None, "output", ""),
                (["sh", "-c", "sleep 60 & echo x"], 10, 0, "", "x\n"),  # its child is ended too
                ([sys.executable, "-c", fill], 20, None, "memory", "")):
            with self.subTest(command):
                begin = time.monotonic()
                done = judging.sandbox.run(command, seconds, memory=1 << 27)
                self.assertEqual((done.stopped, done.output), (stopped, output))
                self.assertTrue(done.status == status if status is not None else done.status != 0, done.status)
                self.assertLess(time.monotonic() - begin, 30)

    def test_lower_limits_of_the_system_stay(self):
        self.patch(judging.sandbox.resource, "getrlimit", return_value=(1 << 20, 1 << 20))
        self.assertEqual(judging.sandbox.run(["sh", "-c", "ulimit -Hf"], 10).output, "2048\n")  # blocks of 512 bytes


if __name__ == "__main__":
    unittest.main()
