#!/usr/bin/env python3
"""Checks the code that the scripts share: the names that they take, and what they read from a failed build."""
import os
import subprocess
import sys
import unittest

from helpers import ROOT, Case, ladder
from ladder import run_ladders


def names_of(*names, **options):
    return [step.name for step in ladder.resolve(names, **options)]


class Names(Case):
    def setUp(self):
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(ROOT)

    def assert_kernels(self, wanted, *names):
        for name in names:
            self.assertEqual({step.kernel for step in ladder.resolve([name])}, wanted, name)

    def test_paths_are_of_the_current_folder_or_the_top(self):
        for name in ("sum_08_warp_shuffle", "reduce/sum/sum_08_warp_shuffle", "./reduce/sum/sum_08_warp_shuffle.cu",
                     "sgemm/../reduce/sum/sum_08_warp_shuffle", str(ROOT / "reduce/sum/sum_08_warp_shuffle.cu")):
            self.assertEqual(names_of(name), ["sum_08_warp_shuffle"], name)
        os.chdir(ROOT / "reduce")
        self.assertEqual(names_of("sum/sum_08_warp_shuffle.cu"), ["sum_08_warp_shuffle"])
        self.assertEqual(names_of("sum/bugs/sum_early_return.cu"), ["sum_early_return"])
        self.assertEqual(names_of("."), names_of("reduce"))
        os.chdir(self.folder())
        self.assertEqual(names_of("reduce/sum/sum_08_warp_shuffle.cu"), ["sum_08_warp_shuffle"])

    def test_kernels_and_families(self):
        reduce = {step.kernel for step in ladder.steps() if step.family == "reduce"}
        self.assertGreater(len(reduce), 5)
        self.assert_kernels(reduce, "reduce", "reduce/", "./reduce/", str(ROOT / "reduce"))
        self.assert_kernels({"sum"}, "sum", "reduce/sum", "reduce/sum/sum.cuh")
        self.assert_kernels({"copy_row", "copy_col"}, "copy_matrix", "transpose/copy_matrix/")
        self.assert_kernels({"copy_row"}, "copy_row")
        self.assert_kernels({"softmax"}, "softmax", "softmax/softmax", "softmax/softmax/")  # also a family's name
        self.assert_kernels({step.kernel for step in ladder.steps() if step.family == "softmax"}, "softmax/",
                            "./softmax", str(ROOT / "softmax"))
        os.chdir(ROOT / "softmax")
        self.assert_kernels({"softmax"}, "./softmax/")

    def test_planted_bugs_and_whiteboard_answers(self):
        for kind, name, label in (("bug", "sum_early_return", "reduce/sum/bugs/sum_early_return"),
                                  ("answer", "sum_whiteboard", "reduce/sum/whiteboard")):
            one, = ladder.resolve([label])
            self.assertEqual((one.name, one.kernel, one.kind), (name, "sum", kind))
            self.assertEqual(one.program("cpu"), ROOT / "build/cpu" / label)
            self.assertNotIn(name, names_of("reduce"))
        self.assertEqual(len(names_of("reduce/sum/bugs/")), len(list(ROOT.glob("reduce/sum/bugs/*.cu"))))
        self.assertEqual(len(ladder.bugs()), len(list(ROOT.glob("*/*/bugs/*.cu"))))
        self.assertEqual(len(ladder.answers()), len(list(ROOT.glob("*/*/whiteboard*.c*"))))

    def test_each_step_once_in_order(self):
        self.assertEqual(names_of("sum_03_interleaved_divergent", "sum_01_atomic", "reduce/sum/sum_01_atomic.cu"),
                         ["sum_03_interleaved_divergent", "sum_01_atomic"])

    def test_all_names_resolve(self):
        steps = ladder.steps() + ladder.bugs() + ladder.answers()
        self.assertEqual(ladder.resolve([step.path for step in steps]), steps)
        self.assertEqual(names_of(*(step.name for step in steps)), [step.name for step in steps])

    def test_the_nearest_names(self):
        for wrong, right in (("Sum", "sum"), ("sun", "sum"), ("REDUCE/", "reduce"),
                             ("sum_8_warp", "sum_08_warp_shuffle"),
                             ("sum_08_warp_shufle", "sum_08_warp_shuffle"), ("sum_8", "sum_08_warp_shuffle"),
                             ("reduce/sum_09_float4.cu", "sum_09_float4_grid_stride"), ("trnspose", "transpose"),
                             ("sum_early_retrun", "sum_early_return")):
            self.assertRegex(self.assert_ends(2, ladder.resolve, [wrong]), rf"'{wrong}'.*[ ']{right}\b(?!_)")
        for wrong in ("xyzzy", "", "..", "build", "/", "README.md"):
            self.assertIn(f"'{wrong}'", self.assert_ends(2, ladder.resolve, [wrong]))


class Build(Case):
    OUTPUT = f"""\
[1/4] Translating x.cu
FAILED: CMakeFiles/step_sum_07_unrolled_last_warp.dir/reduce/sum/sum_07_unrolled_last_warp.cu.cpp.o \n\
/usr/bin/c++ -Wall -o x -c x.cpp
{ROOT}/reduce/sum/sum_07_unrolled_last_warp.cu: In function ‘void f()’:
{ROOT}/reduce/sum/sum_07_unrolled_last_warp.cu:29:3: error: ‘oops’ was not declared in this scope
{ROOT}/reduce/sum/sum_07_unrolled_last_warp.cu:30:3: error: another
FAILED: [code=2] CMakeFiles/step_copy_01_scalar.dir/elementwise/copy/copy_01_scalar.cu.o
nvcc -c x
{ROOT}/elementwise/copy/copy_01_scalar.cu(12): error: expected a ";"
FAILED: CMakeFiles/answer_sum.dir/reduce/sum/whiteboard.cu.cpp.o
g++ -c x
reduce/sum/whiteboard.cu:3:1: error: no
FAILED: reduce/max
: && c++ -o reduce/max
/usr/bin/ld: a.o: in function `f': multiple definition of `f'
ninja: build stopped: cannot make progress due to previous errors.
"""

    def test_the_first_error_of_each(self):
        self.patch(ladder, "try_build", return_value=subprocess.CompletedProcess([], 1, self.OUTPUT))
        self.assertEqual(ladder.build_what_compiles("cpu", ["reduce/max"]), {
            "sum_07_unrolled_last_warp":
                "reduce/sum/sum_07_unrolled_last_warp.cu:29:3: error: ‘oops’ was not declared in this scope",
            "copy_01_scalar": 'elementwise/copy/copy_01_scalar.cu(12): error: expected a ";"',
            "sum_whiteboard": "reduce/sum/whiteboard.cu:3:1: error: no",
            "max": "/usr/bin/ld: a.o: in function `f': multiple definition of `f'"})

    def test_without_a_gpu(self):
        """A script that needs a GPU says so before it builds anything."""
        self.patch(ladder.shutil, "which", return_value=None)
        self.patch(ladder.subprocess, "run", side_effect=AssertionError("something is run"))
        for words in ("run --backend cuda sum", "debug --backend cuda sum_01_atomic", "test --backend cuda",
                      "bench sum", "sanitize sum", "profile sum"):
            self.patch(sys, "argv", words.split())
            script = run_ladders if sys.argv[0] == "run" else ladder.load_script(sys.argv[0])
            said = self.assert_ends(2, script.main)
            self.assertRegex(said, rf"(?m)^{sys.argv[0]}: .*needs (nvcc|a GPU)")


if __name__ == "__main__":
    unittest.main()
