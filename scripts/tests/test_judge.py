#!/usr/bin/env python3
"""Judges submissions as candidates write them, and submissions that misbehave. Each one is compiled for the CPU
backend."""
import shutil
import subprocess
import textwrap
import unittest
from unittest import mock

from helpers import ROOT, Case
from ladder import candidates, checked_run, diagnosis, judging, levels, problems, sandbox
from ladder.diagnosis import COMPILES, ENDS, MEMORY, RACES, RIGHT

ADD = """
#include <cstdio>
#include <cstdlib>
__global__ void k(const float* a, const float* b, float* c, size_t n) {{
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  {kernel}
}}
{before}
void launch(const float* a, const float* b, float* c, size_t n) {{
  {host}
  {call}
}}
"""
SUM = "if (i < n) c[i] = a[i] + b[i];"
CALL = "if (n) k<<<(n + 255) / 256, 256>>>(a, b, c, n);"
UNGUARDED_CALL = CALL[len("if (n) "):]


def page_of(**words):
    return ADD.format(**{"kernel": SUM, "before": "", "host": "", "call": CALL, **words})


# Submissions that misbehave: (words of the submission, the stage that fails, words of the verdict)
BAD = {
    "endless_loop": ({"kernel": "while (n + 1) if (i > n + 5000) c[0] = i++;"}, ENDS, "timed out"),
    "divergent_barrier": ({"kernel": "if (threadIdx.x % 2) return; __syncthreads(); " + SUM}, RIGHT,
                          "c[1] of 2 was never written"),
    "lanes_apart": ({"kernel": "i += 0 * __shfl_sync(1, (int)i, 0); " + SUM}, RACES, "mask"),
    "null_pointer": ({"kernel": "float* p = nullptr; p[i] = 1; " + SUM}, MEMORY, ""),
    "stack_overflow": ({"kernel": "volatile float big[200000]; for (int j = 0; j < 200000; ++j) big[j] = j; c[0] = "
                                  "big[n];"}, ENDS, ""),
    "too_many_blocks": ({"call": "k<<<2147483647, 1024>>>(a, b, c, n);"}, ENDS, "limit on CPU time"),
    "prints_without_end": ({"host": "for (;;) puts(\"still here, still here\");"}, ENDS, "limit on output"),
    "writes_over_input": ({"kernel": SUM + " if (i < n) ((float*)a)[i] = 0;"}, MEMORY, "the input a"),
    "leaves_early": ({"host": "exit(0);"}, ENDS, "before its checks"),
    "huge_block": ({"call": "k<<<1, 2048>>>(a, b, c, n);"}, ENDS, "blockDim.x is 2048"),
    "no_guard": ({"kernel": "c[i] = a[i] + b[i];"}, MEMORY, ""),
    "smallest": ({"kernel": "if (i < n) c[i] = a[i] + (i == 40 ? 0 : b[i]);"}, RIGHT, "n=127, random data: c[40] of "),
    "does_not_compile": ({"kernel": "c[i] = a[i] + undeclared;"}, COMPILES, "undeclared"),
    "no_launch": ({"before": "#define launch another_name"}, COMPILES, "launch"),
    "other_parameters": ({"before": "struct T {}; void launch(T); /*", "call": "} /* "}, COMPILES, ""),
}

# Submissions that pass with remarks: (words, kinds of remarks, level).
REMARKS = {
    "vectors": ({"kernel": "if (i == 0 && n > 3) *(float4*)c = *(float4*)a; __syncthreads(); " + SUM}, ["alignment"],
                levels.RIGHT),
    "no_blocks": ({"call": UNGUARDED_CALL}, ["empty"], levels.RIGHT),
    "narrow": ({"host": "const int blocks = (n + 255) / 256;", "call": "if (n) k<<<blocks, 256>>>(a, b, c, n);"},
               ["narrow"], levels.ROBUST),
    "right": ({}, [], levels.ROBUST),
}

# Errors that only a later stage detects.
LATER = {
    "host_memory_in_a_structure": ({"before": """
        struct Sizes { const size_t* n; };
        __global__ void s(const float* a, const float* b, float* c, Sizes sizes) {
          size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
          if (i < *sizes.n) c[i] = a[i] + b[i];
        }""", "call": "if (n) s<<<(n + 255) / 256, 256>>>(a, b, c, Sizes{&n});"}, ENDS, "a variable of the host"),
    "read_past_the_end_and_not_used": ({"kernel": "if (i < n) { float next = a[i + 1]; c[i] = (i + 1 < n && next > "
                                                  "1e30f ? next : a[i]) + b[i]; }"}, MEMORY, ""),
}

# Submissions that pass all stages: (text, words of the verdict)
GOOD = {
    "early_return_before_a_barrier": (page_of(kernel="if (i >= n) return; __syncthreads(); " + SUM),
                                      "Next level, fast: as fast as", "fine since Volta"),
    "one_thread": (page_of(kernel="for (; i < n; ++i) c[i] = a[i] + b[i];", call="if (n) k<<<1, 1>>>(a, b, c, n);"),
                   "level: robust.", "Next level, coalesced: the work is done by 1 lane of 32, 1 block"),
    "other_names_and_own_main": ("""
        namespace mine {
        template <int N> __global__ void run(const float* a, const float* b, float* c, int n) {
          for (int i = blockIdx.x * N + threadIdx.x; i < n; i += gridDim.x * N) c[i] = a[i] + b[i];
        }
        }
        static int ceil_div(int a, int b) { return (a + b - 1) / b; }
        cudaError_t launch(const float* a, const float* b, float* c, int n) {
          if (n) mine::run<128><<<ceil_div(n, 128), 128>>>(a, b, c, n);
          return cudaGetLastError();
        }
        int main() { return launch(nullptr, nullptr, nullptr, 0); }
        """, "Solved, level: "),
}


class OnPlainBuild(judging.Judge):
    """Judges only the stages on the build without sanitizers and counters."""

    def memory(self):
        self.say("left out")

    traced = memory

    def build(self, kind):
        if kind != "cpu":
            raise judging.OutOfTime
        return super().build(kind)


class JudgeTest(Case):
    def judge(self, name, text, seconds=300, how=OnPlainBuild):
        path = self.folder() / f"{name}.cu"
        path.write_text(textwrap.dedent(text))
        return how(candidates.find(str(path)), seconds).verdict()

    def assert_fails(self, verdict, stage, what):
        self.assertTrue(verdict.failure, judging.text(verdict))
        self.assertEqual(verdict.failure.stage, stage, verdict.failure)
        self.assertIn(what, verdict.failure.what)

    def test_bad_pages(self):
        cases = [(name, *case, OnPlainBuild) for name, case in BAD.items()]
        cases += [(name, *case, judging.Judge) for name, case in LATER.items()]
        for name, words, stage, what, how in cases:
            with self.subTest(name):
                verdict = self.judge(f"add_{name}", page_of(**words), 15 if what.endswith("time") else 120, how)
                self.assert_fails(verdict, stage, what)
                self.assertEqual("scripts/explain --play" in judging.text(verdict), stage in (RIGHT, MEMORY, RACES))

    def test_planted_bugs(self):
        """One bug gives a wrong sum, explained by its race. The other lacks a fence, but all its results are right."""
        for name, stage in (("sum_missing_loop_barrier", RIGHT), ("scan_missing_fence", RACES)):
            self.assert_fails(judging.Judge(candidates.find(name), 300).verdict(), stage, "race")

    def test_good_pages(self):
        for name, (text, *words) in GOOD.items():
            with self.subTest(name):
                verdict = self.judge(f"add_{name}", text, how=judging.Judge)
                said = judging.text(verdict)
                self.assertEqual([stage.state for stage in verdict.stages], [judging.PASSED] * 6 + [judging.SKIPPED],
                                 said)
                self.assertEqual(verdict.state, judging.PASSED)
                for word in words:
                    self.assertIn(word, said)

    def test_remarks_and_what_was_not_judged(self):
        """What an interviewer would accept passes, with a remark on what is missing or was not judged."""
        for name, (words, kinds, level) in REMARKS.items():
            with self.subTest(name):
                verdict = self.judge(f"add_{name}", page_of(**words))
                self.assertIsNone(verdict.failure, judging.text(verdict))
                self.assertEqual(([remark["kind"] for remark in verdict.remarks], verdict.level), (kinds, level))
                self.assertEqual(verdict.not_judged, [MEMORY, RACES, "access pattern"])
                self.assertEqual(verdict.state, judging.NOT_JUDGED)
                self.assertIn("Not solved yet", judging.text(verdict))

    def test_what_is_right_and_slow_is_neither_failed_nor_solved(self):
        """At large sizes 100000 blocks do the same work."""
        verdict = self.judge("sum_slow", """
            __global__ void k(const float* x, float* out, size_t n) {
              float v = 0;
              for (size_t i = 0; i < n; ++i) v += ((volatile const float*)x)[i];
              if (blockIdx.x == 0) *out = v;
            }
            void launch(const float* x, float* out, size_t n) { k<<<n > 40000 ? 100000 : 1, 1>>>(x, out, n); }
            """, 20)
        self.assertEqual(verdict.state, judging.NOT_JUDGED, judging.text(verdict))
        self.assertIn("the larger sizes take too long", judging.text(verdict))

    def test_templates_compile_and_write_nothing(self):
        problem = problems.named("add")
        for text in (problems.template(problem), problems.flat_template(problem)):
            self.assert_fails(self.judge("add", text), RIGHT, "c[0] of 1 was never written")


PRINTS = """\
#include <cstdio>
#include "sum.cuh"
__global__ void clear(const float* x, float* out, size_t n) {
  float v = 0;
  for (size_t i = 0; i < n; ++i) v += x[i];
  *out = WHAT;
  printf("n=%d\\nsum_mine: PASS, 3 checks", (int)n);
}
void launch(const float* x, float* out, size_t n) { clear<<<1, 1>>>(x, out, n); }
"""


class PagesElsewhere(Case):
    """Tests the other scripts that take a submission, on the CPU backend. The submission's kernel prints, and has the
    name of functions of the C++ library. Its include is in the older form."""

    def setUp(self):
        self.submission = self.folder(prefix="a folder ") / "sum_mine.cu"
        self.submission.write_text(PRINTS.replace("WHAT", "v"))

    def script(self, name, *arguments, typed=""):
        return subprocess.run([ROOT / "scripts" / name, "--backend", "cpu", *arguments], text=True, input=typed,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def test_run(self):
        for what, status, said in (
                ("v", 0, r"(?s)\nn=100\n.*sum_mine +PASS\n"), ("v + 1", 1, r"sum_mine +FAIL .*out\[0\]"),
                ("undeclared", 1, r"FAIL, does not build: .*sum_mine\.cu:6:\d+: error: .*undeclared")):
            self.submission.write_text(PRINTS.replace("WHAT", what))
            done = self.script("run", self.submission, "--", "--n=100")
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertRegex(done.stdout, said)

    @unittest.skipUnless(shutil.which("gdb"), "needs gdb")
    def test_debug(self):
        done = self.script("debug", self.submission, typed="kill\n")
        self.assertRegex(done.stdout, r"(?s)\nBreakpoint \d+, clear \(.*sum_mine\.cu:4\n", done.stderr)

    def test_judge(self):
        def judged(what):
            self.submission.write_text(PRINTS.replace("WHAT", what))
            return OnPlainBuild(candidates.find(str(self.submission)), 60).verdict()
        self.assertRegex(judged("v").printed, r"^n=\d+\nsum_mine: PASS, 3 checks$")
        verdict = judged("n == 5 ? 0 : v")
        self.assertEqual(verdict.failure.facts["size"], "n=5")
        self.assertEqual(verdict.printed, "n=5\nsum_mine: PASS, 3 checks")


CLUSTERS = f"a.cu:3: error: thread block clusters: {diagnosis.CANNOT_RUN}; exchange data through global memory"
CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
OUTSIDE = """========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at k(float *)+0x10 in add_clusters.cu:7
========= ERROR SUMMARY: 1 error
"""


ALL_RIGHT = {"verified": True, "checks": 700}
WRONG = {"verified": False, "checks": 3, "failure": {
    "size": "n=5", "data": "random", "what": "value", "buffer": "c", "index": 2, "got": 1, "want": 2,
    "seen": "c[2] of 5 is wrong: got 1, want 2"}}


class OnGpuAlone(Case):
    """Tests submissions that the CPU backend cannot run, with mock programs."""

    def judge(self, tools=(), check=ALL_RIGHT, with_gpu=True):
        """Returns the verdict. `tools`: {name: output}, CLEAN for others; `check`: the runner's record."""
        def build(judge, kind):
            if kind == "cpu":
                raise candidates.CompileError(CLUSTERS)
            return judge.folder / "program"

        def run(judge, program, *options, **how):
            return checked_run.Outcome(sandbox.Result(1 - check["verified"], "", "", 1), [check], "")

        def run_tool(command, seconds, memory):
            output = dict(tools).get(command[2], CLEAN)
            return sandbox.Result(9 if "1 error" in output else 0, output, "", 1)

        path = self.folder() / "add_clusters.cu"
        path.write_text("// a page")
        with mock.patch.multiple(judging.Judge, build=build, run=run), mock.patch.object(sandbox, "run", run_tool), \
                mock.patch.object(judging.shutil, "which", lambda name: name), \
                mock.patch.object(judging.compute_sanitizer, "small_sizes", lambda program: [["--n=5"], ["--small"]]):
            return judging.Judge(candidates.find(str(path)), with_gpu=with_gpu).verdict()

    def test_stages(self):
        verdict = self.judge()
        self.assertEqual([stage.state for stage in verdict.stages][:6], [judging.PASSED] * 5 + [judging.SKIPPED])
        self.assertEqual(verdict.not_judged, ["speed"])
        self.assertIn("700 checks", judging.text(verdict))
        verdict = self.judge({"initcheck": "========= Error: no device\n"})
        self.assertIn(MEMORY, verdict.not_judged, "a tool that does not run judges nothing")
        self.assertEqual(self.judge(with_gpu=False).failure.stage, COMPILES)
        failure = self.judge(check=WRONG).failure
        self.assertEqual((failure.stage, failure.facts["index"]), (RIGHT, 2))
        for tool, (stage, *_) in diagnosis.OF_TOOL.items():
            failure = self.judge({tool: OUTSIDE}).failure
            self.assertEqual((failure.stage, failure.at), (stage, "add_clusters.cu:7:1"))
            self.assertIn("Invalid __global__ write", failure.what)


if __name__ == "__main__":
    unittest.main()
