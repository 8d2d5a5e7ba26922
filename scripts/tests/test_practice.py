#!/usr/bin/env python3
"""Tests scripts/practice: pages, hints, the list, what is remembered, watching, disguised bugs, and the limits of the
sandbox. Compiles nothing."""
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


def verdict(page, failure=None):
    return judging.Verdict(page.path.name, page.problem.kernel, [], failure, "")


class Pages(InFolder):
    def test_every_kernel_with_one_launch_has_a_page(self):
        with_launch = {step.kernel for step in ladder.steps()
                       if re.search(r"^LADDER_STEP\(\w+, launch\b", step.path.read_text(), re.M)}
        self.assertEqual(set(problems.problems()), with_launch)

    def test_a_problem_can_be_made_of_a_launch_alone(self):
        """Pages are registered so: what else a constructor takes, such as an error bound, has a default."""
        for problem in problems.problems().values():
            texts = "\n".join(path.read_text() for path in problems.headers(problem.header))
            for found in re.finditer(rf"\b{problem.class_name}\(\s*Launch launch", texts):
                others, depth = texts[found.end():], 0
                for place, letter in enumerate(others):
                    depth += (letter in "({[") - (letter in ")}]")
                    if depth < 0:
                        break
                    if letter == "," and depth == 0:
                        self.assertTrue(re.match(r",[^,()]*=", others[place:]),
                                        f"{problem.header.name}: a parameter after launch has no default")

    def test_pages_state_the_problem_and_nothing_of_a_solution(self):
        for problem in problems.problems().values():
            flat = problems.flat_page(problem)  # a kernel with no main for it is an error of test_export.py
            for text in filter(None, (problems.page(problem), flat)):
                with self.subTest(problem.kernel):
                    self.assertIn(f"void launch({problem.parameters[0]}", text)
                    self.assertIn("__global__ void", text)
                    self.assertEqual(text.partition("int main")[0].count("<<<"), 1)
                    self.assertIn(problem.statement.splitlines()[0], text)
                    self.assertLessEqual(max(map(len, problems.page(problem).splitlines())), 120)
            if flat:
                self.assertIn("int main(", flat)
                self.assertNotIn('#include "', flat)

    def test_a_kernel_with_no_main_has_a_page_all_the_same(self):
        with mock.patch.object(exporting, "main_of", return_value=None):
            self.assertIsNone(problems.flat_page(SUM))
            said, status = self.practice("sum", "--flat")
            self.assertEqual(status, 1)
            self.assertIn("has a main for sum", said)
            self.practice("sum")
            self.assertTrue(candidates.find(str(ladder.PRACTICE / "sum.cu")).is_untouched)

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
        self.assertEqual(path.read_text(), problems.page(SUM))
        self.practice("sum", "--force", "--flat")
        self.assertEqual(path.read_text(), problems.flat_page(SUM))

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
            self.assertRegex(said, rf"(?m)^  {problem.kernel} +{problem.difficulty}")
            self.assertRegex(problem.asked, r"^(none|\d+ of 25), \d+ of 8")
        self.assertIn("0 of", said)

    def test_usage(self):
        for arguments in (["--hint", "1"], ["--minutes", "0", "sum"], ["nosuch"], ["--watch"]):
            self.assertEqual(self.practice(*arguments)[1], 2, arguments)

    def test_a_page_includes_its_header_as_seen_from_practice(self):
        for problem in problems.problems().values():
            [name] = re.findall(r'^#include "(.*)"', problems.page(problem), re.MULTILINE)
            self.assertEqual((ROOT / "practice" / name).resolve(), problem.header)
            self.assertEqual((ROOT / "common" / name).resolve(), problem.header, "with -I common, from any place")

    def test_an_older_page_is_known_as_empty(self):
        path = ladder.PRACTICE / "sum.cu"
        path.write_text(problems.page(SUM).replace("../reduce/sum/sum.cuh", "sum.cuh"))
        self.assertTrue(candidates.find("sum").is_untouched)
        path.write_text(path.read_text().replace("<<<1, 1>>>", "<<<2, 1>>>"))
        self.assertFalse(candidates.find("sum").is_untouched)


class PageNames(InFolder):
    """What the scripts take for a page, and of which kernel it is."""

    def page(self, name, text=""):
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
            path = self.page(f"{name}.cu", text)
            self.assertEqual(candidates.find(str(path)).problem.kernel, kernel, text)
            [step] = ladder.resolve([path], pages=True)
            self.assertEqual((step.kind, step.kernel, step.path), ("page", kernel, path))
            self.assertEqual(step.name, name if name.startswith(kernel) else f"{kernel}_{name}")

    def test_every_step_and_bug_tells_its_kernel(self):
        for step in ladder.steps() + ladder.bugs() + ladder.answers():
            self.assertEqual(ladder.kernel_of(step.path), step.kernel, step.name)

    def test_names(self):
        path = self.page("sum_mine.cu")
        for name in (path, "sum_mine", "sum_mine.cu"):
            self.assertEqual([step.path for step in ladder.resolve([name], pages=True)], [path], name)
        self.assertEqual({step.kind for step in ladder.resolve(["sum"], pages=True)}, {"step"})

    def test_a_file_of_the_current_folder_comes_before_a_step_of_its_name(self):
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(ladder.PRACTICE)
        for name in ("sum.cu", "sum_07_warp_shuffle.cu"):
            path = self.page(name)
            self.assertEqual([step.path for step in ladder.resolve([name], pages=True)], [path])

    def test_a_main_of_its_own(self):
        self.assertFalse(exporting.has_main(self.page("sum.cu", problems.page(SUM) + "// int main()\n")))
        self.assertTrue(exporting.has_main(self.page("sum.cu", problems.flat_page(SUM))))

    def test_what_is_no_page(self):
        path = self.page("sum_mine.cu")
        self.assertIn("scripts/judge", self.message(path))
        self.assertIn("which kernel is it?", self.message(self.page("try.cu"), pages=True))
        self.assertIn("did you mean practice/sum_mine.cu?", self.message(ladder.PRACTICE / "sum_mime.cu", pages=True))
        self.assertIn("did you mean practice/sum_mine.cu", self.message("sum_mime", pages=True))


class Remembering(InFolder):
    def test_solved_stays_solved_and_a_change_is_judged_again(self):
        path = ladder.PRACTICE / "sum.cu"
        path.write_text("first")
        page = candidates.find(str(path))
        self.assertFalse(progress_file.unchanged(page))
        progress_file.remember(page, verdict(page))
        self.assertTrue(progress_file.unchanged(page))
        path.write_text("second")
        self.assertFalse(progress_file.unchanged(page))
        progress_file.remember(page, verdict(page, diagnosis.Failure("right", "", "", "", {})))
        self.assertEqual(progress_file.solved_kernels(), {"sum"})
        self.assertEqual(progress_file.read()["sum.cu"]["reached"], "right")

    def test_a_spoilt_file_is_an_empty_one(self):
        (ladder.PRACTICE / "progress.json").write_text("{")
        self.assertEqual(progress_file.read(), {})

    def test_watch_judges_what_is_saved_once(self):
        judged = []

        def judge(page):
            judged.append(page.text)
            failure = diagnosis.Failure("right", "n=1: x", "Learn this.", "README.md#where-data-live",
                                        {"at": "sum.cu:3:5"})
            return verdict(page, failure if page.text == "wrong" else None)
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
        self.assertIn("row_softmax, hard", watch.screen())
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

    def test_what_is_suggested_is_easy_and_open(self):
        self.assertEqual(practice_watch.suggestion().difficulty, "easy")


class Commands(InFolder):
    """With the judge's place taken by what returns a verdict at once."""

    FAILURE = diagnosis.Failure("right", "n=1: out[0] is wrong", "Learn this.", "README.md#where-data-live",
                                {"size": "n=1", "index": "0"})

    def setUp(self):
        super().setUp()
        patch = mock.patch.object(judging, "Judge")
        self.judge = patch.start()
        self.addCleanup(patch.stop)
        self.judge.side_effect = lambda page, *_, **__: mock.Mock(
            verdict=lambda: verdict(page, self.FAILURE if "wrong" in page.text else None))

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
        states = {one["page"]: one["state"] for one in found["verdicts"]}
        self.assertEqual(states, {"dot.cu": "failed", "sum.cu": "passed"})
        self.assertEqual(next(one["failure"] for one in found["verdicts"] if one["failure"])["index"], "0")
        said, status = self.judged(str(ladder.PRACTICE / "sum.cu"))
        self.assertEqual(status, 0)
        self.assertTrue(said.endswith("Solved.\n\n"), said)
        self.assertEqual(progress_file.solved_kernels(), {"sum"})

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
    """A page whose judging did not end is neither solved nor failed."""

    def of(self, stages, failure=None):
        path = ladder.PRACTICE / "sum.cu"
        path.write_text("text")
        return candidates.find(str(path)), judging.Verdict("sum.cu", "sum", [judging.Stage(*one) for one in stages],
                                                           failure, "")

    def test_states(self):
        wrong = diagnosis.Failure("right", "", "", "", {})
        passed, unknown, left_out = ("right", "passed"), ("memory", "not judged"), ("speed", "skipped")
        for stages, failure, state, status in (([passed, left_out], None, "passed", 0),
                                               ([passed, unknown], None, "not judged", 3),
                                               ([passed, unknown], wrong, "failed", 1)):
            page, found = self.of(stages, failure)
            self.assertEqual((found.state, judging.exit_status([found])), (state, status))
            self.assertEqual(json.loads(judging.to_json([found]))["verdicts"][0]["state"], state)
            progress_file.write({})
            progress_file.remember(page, found)
            self.assertEqual(progress_file.solved_kernels(), {"sum"} if state == "passed" else set())
            self.assertEqual(progress_file.unchanged(page), state != "not judged")

    def test_the_worst_state_counts(self):
        found = [self.of([("memory", state)])[1] for state in ("passed", "not judged")]
        self.assertEqual(judging.exit_status(found), 3)
        found.append(self.of([], diagnosis.Failure("right", "", "", "", {}))[1])
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

    def test_a_bug_is_handed_out_mended_and_revealed(self):
        """With the judge's place taken by what says that the page fails, and later that it passes."""
        failure = diagnosis.Failure("right", "n=1: out[0] is wrong", "", "README.md#where-data-live", {})
        with mock.patch.object(judging, "Judge") as judge:
            judge.side_effect = lambda page: mock.Mock(verdict=lambda: verdict(page, failure))
            handed, status = self.practice("--bug", "dot")
            self.assertEqual(status, 0)
            self.assertRegex(handed, r"practice/dot_bug_1.cu has a bug. What is seen: n=1: out\[0\] is wrong\n"
                                     r"Find it, mend it, then: scripts/judge practice/dot_bug_1.cu")
            [(name, entry)] = progress_file.read().items()
            revealed, status = self.practice("--reveal")
            bug = next(bug for bug in ladder.bugs() if bug.name == entry["bug"])
            self.assertIn(f"practice/dot_bug_1.cu is {bug.path.relative_to(ROOT)}: ", revealed)
            self.assertIn("The judge's verdict on it:", revealed)
            page = candidates.find(str(ladder.PRACTICE / name))
            progress_file.remember(page, verdict(page))
            self.assertEqual(progress_file.solved_kernels(), set(), "a bug mended is no kernel solved")
            for _ in range(len(bug_lab.open_to(problems.named("dot"))) - 1):
                self.assertEqual(self.practice("--bug", "dot")[1], 0)
                latest = next(name for name, entry in progress_file.read().items() if entry["latest"])
                page = candidates.find(str(ladder.PRACTICE / latest))
                progress_file.remember(page, verdict(page))
            self.assertIn("no bug left to mend in dot", self.practice("--bug", "dot")[0])

    def test_every_bug_names_its_stage(self):
        for bug in ladder.bugs():
            stage = re.search(r"^// stage: (.*)$", bug.path.read_text(), re.MULTILINE)
            self.assertTrue(stage and set(stage[1].split(" | ")) <= set(diagnosis.STAGES), bug.path)


class Diagnoses(unittest.TestCase):
    def of(self, output, status=1, stopped=""):
        return diagnosis.of_run(sandbox.Result(status, output, stopped, 0))

    def test_pass_needs_its_line(self):
        self.assertIsNone(self.of("sum_page: PASS, 12 checks\n", 0))
        self.assertEqual(self.of("", 0).stage, "ends")

    def test_wrong_value(self):
        found = self.of("sum_page: FAIL, n=33, one NaN data, x + 1, out + 0, threads in reverse order: out[0] of 1 is "
                        "wrong: got 1, want nan; written last at sum.cu:7, thread (0,0,0) of block (1,0,0), in "
                        "kernel k\n")
        self.assertEqual(found.stage, "races and barriers")
        details = found.details
        self.assertEqual([details[key] for key in ("size", "data", "buffer", "index", "got", "want", "at")],
                         ["n=33", "one NaN", "out", "0", "1", "nan", "sum.cu:7:1"])

    def test_never_written(self):
        found = self.of("a_page: FAIL, m=1 n=2 alpha=1, random data: C[5] of 9 was never written (want 0); 2 are wrong "
                        "in all, the next at [7]; no thread wrote it\n")
        self.assertEqual((found.stage, found.details["want"], found.details["writer"]),
                         ("right", "0", "no thread wrote it"))

    def test_what_a_nan_says(self):
        """A NaN in the data is another matter than one that comes from elsewhere."""
        def sentence(data, got, want):
            return self.of(f"a_page: FAIL, n=1, {data} data: y[0] of 1 is wrong: got {got}, want {want}\n").sentence
        self.assertIn("A NaN reaches", sentence("random", "nan", "0.5"))
        self.assertIn("A NaN reaches", sentence("NaN in y", "-nan", "-1e-05"))
        self.assertIn("IEEE arithmetic", sentence("thousands", "nan", "1"))
        self.assertIn("IEEE arithmetic", sentence("one NaN", "1", "nan"))
        self.assertIn("Follow the thread", sentence("random", "1", "2"))

    def test_the_writer_is_added_and_where_there_is_none_that_is_the_lesson(self):
        failure = self.of("a_page: FAIL, n=0, random data: out[0] of 1 is wrong: got nan, want -inf\n")
        self.assertIn("IEEE", failure.sentence)
        self.assertIn("must be written by a thread", diagnosis.with_writer(failure, diagnosis.NO_WRITER).sentence)
        with_place = diagnosis.with_writer(failure, "written last at practice/max.cu:7, thread (0,0,0), in kernel k")
        self.assertEqual(with_place.details["at"], "practice/max.cu:7:1")
        self.assertIn("want -inf\nwritten last at practice/max.cu:7", with_place.what)

    def test_a_grid_of_no_blocks(self):
        for size, word in (("rows=0 cols=3", "nothing to launch"), ("rows=1 cols=30", "gridDim.y")):
            self.assertIn(word, self.of(f"a_page: FAIL, {size}, random data: practice/transpose_1.cu:10: "
                                        "cudaGetLastError(): invalid configuration argument (cudaError)\n").sentence)

    def test_threads_that_returned_before_a_barrier(self):
        wrong = "a_page: FAIL, n=2, random data: y[0] of 2 is wrong: got 1, want 2\n"
        found = self.of(f"cuda_emu: warning: {diagnosis.RETURNED}: ...\n{wrong}")
        self.assertEqual(found.stage, "races and barriers")
        self.assertEqual(diagnosis.with_writer(found, "written last at a.cu:1").sentence, found.sentence)
        self.assertEqual(self.of(wrong).stage, "right")

    def test_what_the_cpu_backend_leaves_out(self):
        failure = diagnosis.of_compiler("a.cu:1: error: <thrust/x.h>: the CPU backend cannot run this; write the loop",
                                        mock.Mock(problem=SUM))
        self.assertEqual((failure.stage, failure.section), ("compiles", "README.md#no-gpu"))
        self.assertEqual(failure.details["at"], "a.cu:1:1")
        self.assertTrue(practice_watch.section_text(failure.section))

    def test_limits(self):
        for limit in ("time", "memory", "output"):
            self.assertIn(limit, self.of("x", -9, limit).what)


class Printed(InFolder):
    def test_what_a_page_printed_is_marked(self):
        path = ladder.PRACTICE / "sum.cu"
        path.write_text("")
        printed = "sum: PASS, 3 checks\nsum: FAIL, n=1"
        shown = judging.text(verdict(candidates.find(str(path)))._replace(printed=printed))
        self.assertIn("  | sum: PASS, 3 checks\n  | sum: FAIL, n=1\n\nSolved.", shown)

    def test_it_is_shortened(self):
        path = ladder.PRACTICE / "printed"
        self.assertEqual(judging.first_lines(path), "")
        path.write_text("x" * 5000 + "\n" + "line\n" * 5000)
        self.assertEqual(judging.first_lines(path).splitlines(), ["x" * judging.PRINTED_COLUMNS] +
                         ["line"] * (judging.PRINTED_LINES - 1) + ["..."])


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
