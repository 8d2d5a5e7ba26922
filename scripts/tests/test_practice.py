#!/usr/bin/env python3
"""Tests scripts/practice: submissions, hints, the list, what is remembered, watching, disguised bugs, and the limits of
the sandbox. Compiles nothing."""
import contextlib
import io
import json
import os
import re
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import ladder
from ladder import (
    access_pattern,
    bug_lab,
    candidates,
    checked_run,
    diagnosis,
    exporting,
    judging,
    practice_watch,
    problems,
    progress_file,
    sandbox,
)

practice = ladder.load_script("practice")
judge_script = ladder.load_script("judge")
SUM = problems.named("sum")


class InFolder(unittest.TestCase):
    """With an empty practice/."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        patch = mock.patch.object(ladder, "PRACTICE", Path(folder.name).resolve())
        patch.start()
        self.addCleanup(patch.stop)

    def practice(self, *arguments):
        """(output, exit status) of scripts/practice; what it says on standard error comes with it."""
        out = io.StringIO()
        with mock.patch.object(sys, "argv", ["practice", *arguments]), contextlib.redirect_stdout(out), \
                contextlib.redirect_stderr(out):
            try:
                status = practice.main()
            except SystemExit as end:
                status = end.code
        return out.getvalue(), status


def verdict(submission, failure=None):
    return judging.Verdict(submission.path.name, submission.problem.kernel, [], failure, "")


class Submissions(InFolder):
    def test_every_kernel_with_one_launch_has_a_page(self):
        with_launch = {step.kernel for step in ladder.steps()
                       if re.search(r"^LADDER_STEP\(\w+, launch", step.path.read_text(), re.M)}
        self.assertEqual(set(problems.problems()), with_launch)

    def test_pages_state_the_problem_and_nothing_of_a_solution(self):
        for problem in problems.problems().values():
            flat = problems.flat_template(problem)  # a kernel with no main for it is an error of test_export.py
            for text in filter(None, (problems.template(problem), flat)):
                with self.subTest(problem.kernel):
                    self.assertIn(f"void launch({problem.parameters[0]}", text)
                    self.assertIn("__global__ void", text)
                    self.assertEqual(text.partition("int main")[0].count("<<<"), 1)
                    self.assertIn(problem.statement.splitlines()[0], text)
                    self.assertLessEqual(max(map(len, problems.template(problem).splitlines())), 120)
            if flat:
                self.assertIn("int main(", flat)
                self.assertNotIn('#include "', flat)

    def test_parameters_are_the_header_s(self):
        self.assertEqual(SUM.signature, "const float* x, float* out, std::size_t n")
        self.assertEqual(SUM.arguments, "x, out, n")
        self.assertEqual(str(problems.named("vec3_norm").parameters[0].by_value), "Vectors in")

    def test_a_page_is_never_overwritten_without_force(self):
        self.practice("sum")
        path = ladder.PRACTICE / "sum.cu"
        path.write_text("mine")
        said, status = self.practice("sum")
        self.assertEqual(status, 1)
        self.assertIn("--force", said)
        self.assertEqual(path.read_text(), "mine")
        self.assertEqual(self.practice("sum", "--force")[1], 0)
        self.assertEqual(path.read_text(), problems.template(SUM))
        self.practice("sum", "--force", "--flat")
        self.assertEqual(path.read_text(), problems.flat_template(SUM))

    def test_hints_are_the_ideas_in_their_order(self):
        hints = SUM.hints()
        self.assertEqual([step.number for step, _ in hints], sorted(step.number for step in SUM.steps))
        self.assertIn("atomicAdd", hints[0][1])
        self.assertIn(hints[2][1], self.practice("sum", "--hint", "3")[0])
        for wrong in ("0", str(len(hints) + 1)):
            self.assertEqual(self.practice("sum", "--hint", wrong)[1], 2)

    def test_list(self):
        said, status = self.practice()
        self.assertEqual(status, 0)
        for problem in problems.problems().values():
            line = re.search(rf"(?m)^    {problem.kernel} +{problem.difficulty} +{re.escape(problem.description)}$",
                             said)
            self.assertTrue(line, problem.kernel)
            self.assertLessEqual(len(line[0]), 80)
            self.assertRegex(problem.asked, r"^(none|\d+ of 25), \d+ of 8")
        self.assertIn("0 of", said)

    def test_a_page_includes_its_header_as_seen_from_practice(self):
        for problem in problems.problems().values():
            [name] = re.findall(r'^#include "(.*)"', problems.template(problem), re.MULTILINE)
            self.assertEqual((ROOT / "practice" / name).resolve(), problem.header)
            self.assertEqual((ROOT / "common" / name).resolve(), problem.header, "with -I common, from any place")

    def test_usage(self):
        for arguments in (["--hint", "1"], ["--minutes", "0", "sum"], ["nosuch"], ["--watch"]):
            self.assertEqual(self.practice(*arguments)[1], 2, arguments)


class PageNames(InFolder):
    """What the scripts take for a submission, and of which kernel it is."""

    def submission(self, name, text=""):
        path = ladder.PRACTICE / name
        path.write_text(text)
        return path

    def message(self, name, **options):
        said = io.StringIO()
        with contextlib.redirect_stderr(said), self.assertRaises(SystemExit) as end:
            ladder.resolve([name], **options)
        self.assertEqual((end.exception.code, said.getvalue().count("\n")), (2, 1), said.getvalue())
        return said.getvalue()

    def test_the_kernel_is_that_of_the_header_or_of_the_name(self):
        for name, text, kernel in (("sum", "", "sum"), ("sum_of_squares_2", "", "sum_of_squares"),
                                   ("try", '#include "../reduce/sum/sum.cuh"', "sum"),
                                   ("try", '#include <cstdio>\n  # include "sum.cuh"  // x', "sum"),
                                   ("copy_of_sum", '#include "../reduce/sum/sum.cuh"', "sum"),
                                   ("max_2", '#include "sum.cuh"\n#include "../reduce/max/max.cuh"', "max")):
            path = self.submission(f"{name}.cu", text)
            self.assertEqual(candidates.find(str(path)).problem.kernel, kernel, text)
            [step] = ladder.resolve([path], submissions=True)
            self.assertEqual((step.kind, step.kernel, step.path), ("submission", kernel, path))
            self.assertEqual(step.name, name if name.startswith(kernel) else f"{kernel}_{name}")

    def test_every_step_and_bug_tells_its_kernel(self):
        for step in ladder.steps() + ladder.bugs() + ladder.answers():
            self.assertEqual(ladder.kernel_of(step.path), step.kernel, step.name)

    def test_names(self):
        path = self.submission("sum_mine.cu")
        for name in (path, "sum_mine", "sum_mine.cu"):
            self.assertEqual([step.path for step in ladder.resolve([name], submissions=True)], [path], name)
        self.assertEqual({step.kind for step in ladder.resolve(["sum"], submissions=True)}, {"step"})

    def test_a_main_of_its_own(self):
        self.assertFalse(exporting.has_main(self.submission("sum.cu", problems.template(SUM) + "// int main()\n")))
        self.assertTrue(exporting.has_main(self.submission("sum.cu", problems.flat_template(SUM))))

    def test_what_is_no_page(self):
        path = self.submission("sum_mine.cu")
        self.assertIn("scripts/judge", self.message(path))
        self.assertIn("which kernel is it?", self.message(self.submission("try.cu"), submissions=True))
        self.assertIn("did you mean practice/sum_mine.cu?",
                      self.message(ladder.PRACTICE / "sum_mime.cu", submissions=True))
        self.assertIn("did you mean practice/sum_mine.cu", self.message("sum_mime", submissions=True))


class Fields(unittest.TestCase):
    """What a header says for the list."""

    def test_every_header_says_it_and_next_leads_through_all(self):
        known = problems.problems()  # ends the script where a field is missing or ill-formed
        for begin in known:
            solved, problem = set(), known[begin]
            while problem:
                solved.add(problem.kernel)
                problem = problems.suggestion(solved, problem.next)
            self.assertEqual(solved, set(known))

    def test_ill_formed(self):
        good = "// Adds.\n// More.\n// practice: easy, next sum\n#pragma once\n"
        with tempfile.TemporaryDirectory() as folder:
            header = Path(folder) / "x.cuh"
            header.write_text(good)
            self.assertEqual(problems.fields(header), {"description": "Adds", "difficulty": "easy", "next": "sum"})
            for was, now in (("// practice: easy, next sum\n", ""), ("easy", "simple"), (", next sum", ""),
                             ("Adds.", "Adds"), ("// More.\n", "\n")):
                header.write_text(good.replace(was, now))
                with self.subTest(was), contextlib.redirect_stderr(io.StringIO()) as said:
                    self.assertRaises(SystemExit, problems.fields, header)
                    self.assertIn("x.cuh: ", said.getvalue())


class Wrapping(unittest.TestCase):
    """Text in a terminal of 40 columns."""
    WORDS = "a sentence of words, and a name that_is_longer_than_the_line_and_stays_as_it_is_all_the_same"

    def setUp(self):
        for target, name, value in ((sys, "stdout", mock.Mock(isatty=lambda: True)),
                                    (ladder.shutil, "get_terminal_size", lambda: os.terminal_size((40, 24)))):
            patch = mock.patch.object(target, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def test_between_words(self):
        text = ladder.wrapped(f"{self.WORDS}\nanother line", "  ")
        self.assertEqual(text.split(), f"{self.WORDS}\nanother line".split())
        self.assertEqual(sum(len(line) > 40 for line in text.split("\n")), 1)
        self.assertIn("\nanother line", text)

    def test_not_without_a_terminal(self):
        sys.stdout.isatty = lambda: False
        self.assertEqual(ladder.wrapped(self.WORDS * 3), self.WORDS * 3)


class Sections(unittest.TestCase):
    def test_what_a_failure_names_is_there(self):
        for section in diagnosis.SECTIONS:
            self.assertRegex(practice_watch.section_text(SUM.section(section)), "^#+ ")


class Remembering(InFolder):
    def test_solved_stays_solved_and_a_change_is_judged_again(self):
        path = ladder.PRACTICE / "sum.cu"
        path.write_text("first")
        submission = candidates.find(str(path))
        self.assertFalse(progress_file.unchanged(submission))
        progress_file.remember(submission, verdict(submission))
        self.assertTrue(progress_file.unchanged(submission))
        path.write_text("second")
        self.assertFalse(progress_file.unchanged(submission))
        progress_file.remember(submission, verdict(submission, diagnosis.Failure("right", "", "", "")))
        self.assertEqual(set(progress_file.solved_kernels()), {"sum"})
        self.assertEqual(progress_file.read()["sum.cu"]["reached"], "right")

    def test_watch_judges_what_is_saved_once(self):
        judged = []

        def judge(submission):
            judged.append(submission.text)
            failure = diagnosis.Failure("right", "n=1: x", "Learn this.", "README.md#where-data-live",
                                        "sum.cu:3:5")
            return verdict(submission, failure if submission.text == "wrong" else None)
        watch = practice_watch.Watch(judge)
        self.assertFalse(watch.step())
        self.assertIn("n writes the one to begin with", watch.screen())
        path = ladder.PRACTICE / "sum.cu"
        path.write_text("wrong")
        self.assertTrue(watch.step())
        self.assertFalse(watch.step())
        self.assertEqual(judged, ["wrong"])
        self.assertTrue(watch.screen().startswith("sum.cu:3:5: right: n=1: x\nLearn this."), watch.screen())
        watch.key("h")
        self.assertIn("Hint 1 of", watch.screen())
        watch.key("e")
        self.assertIn("Where data live", watch.screen())
        watch.key("l")
        self.assertIn(problems.named("row_softmax").description, watch.screen())
        time.sleep(0.02)
        path.write_text("right")
        self.assertTrue(watch.step())
        self.assertIn("Solved.", watch.screen())
        time.sleep(0.02)
        path.touch()  # saved again as it is
        watch.step()
        self.assertEqual(judged, ["wrong", "right"])
        self.assertEqual(practice_watch.Watch(judge).step(), True)
        self.assertEqual(judged, ["wrong", "right"], "another run does not judge it again")
        self.assertFalse(watch.key("q"))

    def test_a_spoilt_file_is_an_empty_one(self):
        (ladder.PRACTICE / "progress.json").write_text("{")
        self.assertEqual(progress_file.read(), {})

    def test_n_leads_on_from_the_page_at_hand(self):
        watch = practice_watch.Watch(None)
        watch.submission = candidates.Submission(ladder.PRACTICE / "sum.cu", SUM)
        watch.key("n")
        self.assertTrue((ladder.PRACTICE / f"{SUM.next}.cu").is_file())


class Commands(InFolder):
    """With the judge's place taken by what returns a verdict at once."""

    FAILURE = diagnosis.Failure("right", "n=1: out[0] is wrong", "Learn this.", "README.md#where-data-live",
                                "", {"size": "n=1", "index": "0"})

    def setUp(self):
        super().setUp()
        patch = mock.patch.object(judging, "Judge")
        self.judge = patch.start()
        self.addCleanup(patch.stop)
        self.judge.side_effect = lambda submission, *_, **__: mock.Mock(
            verdict=lambda: verdict(submission, self.FAILURE if "wrong" in submission.text else None))

    def judged(self, *arguments):
        out = io.StringIO()
        with mock.patch.object(sys, "argv", ["judge", *arguments]), contextlib.redirect_stdout(out):
            status = judge_script.main()
        return out.getvalue(), status

    def test_all_pages_and_json(self):
        for name, text in (("sum", "right"), ("dot", "wrong")):
            (ladder.PRACTICE / f"{name}.cu").write_text(text)
        said, status = self.judged("--json")
        self.assertEqual(status, 1)
        found = json.loads(said)
        states = {one["submission"]: one["state"] for one in found["verdicts"]}
        self.assertEqual(states, {"dot.cu": "failed", "sum.cu": "passed"})
        self.assertEqual(next(one["failure"] for one in found["verdicts"] if one["failure"])["index"], "0")
        said, status = self.judged(str(ladder.PRACTICE / "sum.cu"))
        self.assertEqual(status, 0)
        self.assertTrue(said.endswith("Solved.\n\n"), said)
        self.assertEqual(set(progress_file.solved_kernels()), {"sum"})

    def test_minutes_writes_a_page_shows_the_time_and_judges(self):
        said, status = self.practice("sum", "--minutes", "0.001")
        self.assertEqual(status, 0)
        self.assertIn("0:00 left", said)
        self.assertIn("the time is over; judging", said)
        self.assertTrue((ladder.PRACTICE / "sum.cu").is_file())
        (ladder.PRACTICE / "sum.cu").write_text("wrong, and mine")
        said, status = self.practice("sum", "--minutes", "0.001")
        self.assertEqual(status, 1)
        self.assertIn("Learn this.", said)
        self.assertEqual((ladder.PRACTICE / "sum.cu").read_text(), "wrong, and mine", "it is not written anew")


class States(InFolder):
    """A submission whose judging did not end is neither solved nor failed."""

    def of(self, stages, failure=None):
        path = ladder.PRACTICE / "sum.cu"
        path.write_text("text")
        return candidates.find(str(path)), judging.Verdict("sum.cu", "sum", [judging.Stage(*one) for one in stages],
                                                           failure, "")

    def test_states(self):
        wrong = diagnosis.Failure("right", "", "", "")
        passed, unknown, left_out = ("right", "passed"), ("memory", "not judged"), ("speed", "skipped")
        for stages, failure, state, status in (([passed, left_out], None, "passed", 0),
                                               ([passed, unknown], None, "not judged", 3),
                                               ([passed, unknown], wrong, "failed", 1)):
            submission, found = self.of(stages, failure)
            self.assertEqual((found.state, judging.exit_status([found])), (state, status))
            self.assertEqual(json.loads(judging.to_json([found]))["verdicts"][0]["state"], state)
            progress_file.write({})
            progress_file.remember(submission, found)
            self.assertEqual(set(progress_file.solved_kernels()), {"sum"} if state == "passed" else set())
            self.assertEqual(progress_file.unchanged(submission), state != "not judged")

    def test_the_worst_state_counts(self):
        found = [self.of([("memory", state)])[1] for state in ("passed", "not judged")]
        self.assertEqual(judging.exit_status(found), 3)
        found.append(self.of([], diagnosis.Failure("right", "", "", ""))[1])
        self.assertEqual(judging.exit_status(found), 1)


class Bugs(InFolder):
    def test_a_disguised_bug_does_not_tell(self):
        for bug in bug_lab.open_to(None):
            text = bug_lab.disguised(bug)
            with self.subTest(bug.name):
                for comment in re.findall(r"// *(\S.{9,})", bug.path.read_text()):
                    self.assertNotIn(comment, text)
                self.assertNotIn(bug.name, text)
                for include in re.findall(r'^#include "(\.\./.*)"', text, re.MULTILINE):
                    self.assertTrue((ROOT / "practice" / include).resolve().is_file(), include)
                    self.assertNotIn("bugs", include)
                telling = bug.name[len(bug.kernel) + 1:].replace("_", "")
                self.assertNotIn(telling, text.replace("_", "").lower())
                self.assertRegex(text, r"(?m)^LADDER_STEP\(")

    def test_a_bug_is_handed_out_fixed_and_revealed(self):
        """With the judge's place taken by what says that the submission fails, and later that it passes."""
        failure = diagnosis.Failure("right", "n=1: out[0] is wrong", "", "README.md#where-data-live")
        with mock.patch.object(judging, "Judge") as judge:
            judge.side_effect = lambda submission: mock.Mock(verdict=lambda: verdict(submission, failure))
            handed, status = self.practice("--bug", "dot")
            self.assertEqual(status, 0)
            self.assertRegex(handed, r"practice/dot_bug_1.cu has a bug. What is seen: n=1: out\[0\] is wrong\n"
                                     r"Find it, fix it, then: scripts/judge practice/dot_bug_1.cu")
            [(name, entry)] = progress_file.read().items()
            revealed, status = self.practice("--reveal")
            bug = next(bug for bug in ladder.bugs() if bug.name == entry["bug"])
            self.assertIn(f"practice/dot_bug_1.cu is {bug.path.relative_to(ROOT)}: ", revealed)
            self.assertIn("The judge's verdict on it:", revealed)
            submission = candidates.find(str(ladder.PRACTICE / name))
            progress_file.remember(submission, verdict(submission))
            self.assertEqual(progress_file.solved_kernels(), {}, "a bug fixed is no kernel solved")
            for _ in range(len(bug_lab.open_to(problems.named("dot"))) - 1):
                self.assertEqual(self.practice("--bug", "dot")[1], 0)
                latest = next(name for name, entry in progress_file.read().items() if entry["latest"])
                submission = candidates.find(str(ladder.PRACTICE / latest))
                progress_file.remember(submission, verdict(submission))
            self.assertIn("no bug left to fix in dot", self.practice("--bug", "dot")[0])

    def test_every_bug_names_its_stage(self):
        for bug in ladder.bugs():
            stage = re.search(r"^// stage: (.*)$", bug.path.read_text(), re.MULTILINE)
            self.assertTrue(stage and set(stage[1].split(" | ")) <= set(diagnosis.STAGES), bug.path)


FACTS = {"what": "value", "seen": "y[7] of 9 is wrong: got 1, want 2", "size": "n=9 ld=12 alpha=2",
         "options": ["--n=9", "--ldx=12", "--alpha=2"], "data": "random", "offsets": "", "order": "forward",
         "second_run": False, "buffer": "y", "index": 7, "count": 9, "got": "1", "want": "2"}
REPORT = {"kind": "error", "cause": "deadlock", "problem": "deadlock", "fatal": False, "launched": "a.cu:9",
          "at": "a.cu:4", "groups": [{"count": 2, "doing": "wait in __syncthreads() at a.cu:4", "threads": "(0,0,0)"}]}


class Diagnoses(unittest.TestCase):
    def outcome(self, facts=None, reports=(), status=1, stopped="", output="", ended=True):
        """`ended`: did the checks end?"""
        record = {"verified": facts is None, "reports": list(reports)} if ended else {"reports": list(reports)}
        if facts:
            record["failure" if ended else "running"] = facts
        return checked_run.Outcome(sandbox.Result(status, output, stopped, 0), [record], "")

    def of(self, *arguments, **options):
        return diagnosis.of_outcome(self.outcome(*arguments, **options))

    def test_pass_needs_its_record(self):
        self.assertIsNone(self.of(status=0))
        self.assertEqual(self.of(status=0, ended=False).stage, diagnosis.ENDS)

    def test_wrong_value(self):
        found = self.of({**FACTS, "offsets": "x + 1, y + 0", "order": "reverse"})
        self.assertEqual(found.stage, diagnosis.RIGHT)
        for fact in ("n=9 ld=12 alpha=2", "x + 1, y + 0", "reverse", "y[7] of 9 is wrong: got 1, want 2"):
            self.assertIn(fact, found.what)

    def test_memory_that_is_not_the_kernels(self):
        for what in ("past end", "before start", "input changed", "input written"):
            self.assertEqual(self.of({**FACTS, "what": what}).stage, diagnosis.MEMORY)

    def test_the_backend_s_words_are_shown(self):
        found = self.of({**FACTS, "what": "error", "error": "cudaErrorLaunchFailure", "message": "a.cu:9"},
                        [{**REPORT, "size": FACTS["size"]}])
        self.assertEqual((found.stage, found.at), (diagnosis.RACES, "a.cu:4:1"))
        self.assertIn("2 threads wait in __syncthreads() at a.cu:4: (0,0,0)", found.what)

    def test_division_by_zero_that_does_not_trap(self):
        output = "a.cu:7:5: runtime error: division by zero\n"
        found = self.of(None, output=output, ended=False)
        self.assertEqual((found.stage, found.at), (diagnosis.MEMORY, "a.cu:7:1"))
        self.assertIn("an arm64 CPU goes on", found.sentence)

    def test_what_ended_the_program_comes_first(self):
        crash = {**REPORT, "cause": "address", "problem": "SIGSEGV", "fatal": True, "at": "b.cu:1", "groups": []}
        found = self.of(FACTS, [REPORT, crash], ended=False)
        self.assertEqual((found.stage, found.at), (diagnosis.MEMORY, "b.cu:1:1"))
        self.assertIn("n=9", found.what)

    def test_every_cause_has_a_stage(self):
        for stage, sentence, section in [*diagnosis.CAUSES.values(), *diagnosis.CUDA_ERRORS.values()]:
            self.assertIn(stage, diagnosis.STAGES)
            self.assertTrue(sentence.endswith("."))
            self.assertIn(section, diagnosis.SECTIONS)

    def cause(self, facts, passing, reports=()):
        """The cause where exactly those runs pass of which `passing` is true: a function of the options, the order and
        what fresh memory holds."""
        failure = diagnosis.of_facts({**FACTS, **facts})
        return diagnosis.Causes(failure, lambda *options, order=None, fill=None: passing(options, order, fill),
                                reports, ["n"]).found()

    def test_a_cause_is_named_only_if_its_absence_mends_the_run(self):
        misaligned, reverse = {"offsets": "x + 1, y + 0"}, {"order": "reverse"}
        words = {"off their alignment": (misaligned, lambda options, order, fill: "--aligned" in options),
                 "order in which threads run": (reverse, lambda options, order, fill: order == "forward"),
                 "nothing has written": ({}, lambda options, order, fill: fill == "zeros"),
                 "nothing has set it to 0": ({}, lambda options, order, fill: "--zeroed" in options),
                 "few right digits": ({"data": "1e4 + noise"}, lambda options, order, fill: "--data=random" in options),
                 "row * ldx": ({}, lambda options, order, fill: "--ldx=12" not in options),
                 "alpha scales": ({}, lambda options, order, fill: "--alpha=1" in options)}
        for word, (facts, passing) in words.items():
            with self.subTest(word):
                self.assertIn(word, self.cause(facts, passing).sentence)
                nothing = self.cause(facts, lambda options, order, fill: False)
                self.assertIn("Follow the thread", nothing.sentence)
                self.assertNotIn("x + 1", nothing.what)
                self.assertNotIn("reverse", nothing.what)

    def test_sizes_that_pass_and_that_fail(self):
        found = self.cause({}, lambda options, order, fill: "--n=256" in options)
        self.assertIn("It passes at n=256; it fails at n=8, n=10, n=32", found.what)

    def test_a_lane_that_is_gone(self):
        gone = {**REPORT, "kind": "warning", "cause": "lane is gone",
                "problem": "lane 3 reads lane 17, which has returned"}
        found = self.cause({}, lambda options, order, fill: False, [gone])
        self.assertEqual(found.stage, diagnosis.RACES)
        self.assertIn("lane 3 reads lane 17", found.what)

    def test_the_writer_is_added(self):
        found = diagnosis.with_writer(diagnosis.of_facts(FACTS), "practice/max.cu:7, thread (0,0,0), in kernel k")
        self.assertEqual(found.at, "practice/max.cu:7:1")
        self.assertIn("want 2\nwritten last at practice/max.cu:7", found.what)

    def test_what_the_cpu_backend_leaves_out(self):
        failure = diagnosis.of_compiler("a.cu:1: error: <thrust/x.h>: the CPU backend cannot run this; write the loop",
                                        mock.Mock(problem=SUM))
        self.assertEqual((failure.stage, failure.section), ("compiles", "README.md#no-gpu"))
        self.assertEqual(failure.at, "a.cu:1:1")
        self.assertTrue(practice_watch.section_text(failure.section))

    def test_limits(self):
        for limit in ("time", "memory", "output"):
            self.assertIn(limit, self.of(None, status=-9, stopped=limit, ended=False).what)


class Patterns(unittest.TestCase):
    @staticmethod
    def step(name, requests, units, ideal):
        none = {"requests": 0, "units": 0, "ideal": 0}
        load = {"requests": requests, "units": units, "ideal": ideal}
        return {"step": name, "kernel": "sum", "launches": [{"totals": {
            "global_load": load, "global_store": none, "shared_load": none, "shared_store": none}}]}

    def test_as_which_step_and_which_is_better(self):
        steps = [self.step("sum_01_a", 10, 320, 40), self.step("sum_02_b", 10, 40, 40)]
        said = access_pattern.compared(self.step("mine", 10, 320, 40), steps)
        self.assertEqual(said, "global loads: 32.0 sectors per request, 4.0 at best; 320 in all, as step 01; step 02 "
                               "has 4.0 per request, 40 in all")

    def test_speed(self):
        steps = [{"step": "00_cub", "cold_us": 5}, {"step": "01_a", "cold_us": 100}, {"step": "02_b", "cold_us": 10}]
        self.assertIn("as fast as step 02_b", access_pattern.speed_text({"cold_us": 9.0, "vs_vendor": 0.5}, steps))
        self.assertIn("slower than every step", access_pattern.speed_text({"cold_us": 200.0}, steps))


class Sandbox(unittest.TestCase):
    def run_python(self, code, seconds=10, **limits):
        return sandbox.run([sys.executable, "-c", code], seconds, **limits)

    def test_plain(self):
        done = self.run_python("print('hello'); raise SystemExit(3)")
        self.assertEqual((done.status, done.output, done.stopped), (3, "hello\n", ""))

    def test_limits_stand_before_the_program_starts(self):
        with mock.patch.object(sandbox.subprocess, "Popen", side_effect=OSError) as started:
            self.assertRaises(OSError, sandbox.run, ["program"], 10)
        words = started.call_args[0][0]
        self.assertEqual((words[0], words[-1]), ("prlimit", "program"))
        done = sandbox.run(["cat", "/proc/self/limits"], 10, file_size=12345)
        self.assertRegex(done.output, r"Max file size +12345 +12345 ")
        self.assertRegex(done.output, r"Max core file size +0 +0 ")

    def test_time(self):
        self.assertEqual(self.run_python("while True: pass", 1).stopped, "time")

    def test_output(self):
        done = self.run_python("while True: print('x' * 1000)")
        self.assertEqual(done.stopped, "output")
        self.assertLessEqual(len(done.output), sandbox.OUTPUT)

    def test_memory(self):
        code = "import time; x = bytearray(1 << 28); x[::4096] = b'1' * len(x[::4096]); time.sleep(20)"
        self.assertEqual(self.run_python(code, 20, memory=1 << 27).stopped, "memory")

    def test_children_end_with_it_and_files_stay_small(self):
        done = self.run_python("import subprocess, sys; subprocess.Popen(['sleep', '60']); print('x', flush=True)\n"
                               "open('f', 'wb').write(b'1' * (1 << 26))")
        self.assertLess(done.seconds, 9)
        self.assertNotEqual(done.status, 0)


if __name__ == "__main__":
    unittest.main()
