#!/usr/bin/env python3
"""Tests of scripts/ladder/machine_code.py: what counts as the same kernels and the same launch."""
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from ladder import machine_code

SASS = """\
\tcode for sm_90a
\t\tFunction : _Z3onePf
\t.headerflags\t@"EF_CUDA_SM90"
        /*0000*/                   LDC R1, c[0x0][0x28] ;   /* 0x00000a00ff017b82 */
                                                            /* 0x000fe20000000800 */
        /*0010*/                   EXIT ;                   /* 0x000000000000794d */
                                                            /* 0x000fea0003800000 */
\t\t..........
\t\tFunction : _Z3twoPf
        /*0000*/                   EXIT ;                   /* 0x000000000000794d */
                                                            /* 0x000fea0003800000 */
"""
USAGE = """\
Resource usage:
 Common:
  GLOBAL:0
 Function _Z3onePf:
  REG:22 STACK:0 SHARED:1056 LOCAL:0
 Function _Z3twoPf:
  REG:8 STACK:0 SHARED:0 LOCAL:0
"""
STEP = """\
// A head.
#include "ladder.cuh"

constexpr int kBlock = 256;
struct Pair { float a, b; };
template <int block>
__global__ void __launch_bounds__(block) kernel(float* x, int n) { if (threadIdx.x < n) { x[threadIdx.x] = 1.0f; } }
__device__ static float helper(float v) { return v; }
static __device__ unsigned done;
__host__ __device__ inline int both(int a) { return a + 1; }

static void launch(float* x, int n) {
  const auto grid = both(n);
  kernel<kBlock><<<grid, kBlock>>>(x, n);
}
"""


class Parsing(unittest.TestCase):
    def test_instructions(self):
        found = machine_code.instructions(SASS)
        self.assertEqual(list(found), ["_Z3onePf", "_Z3twoPf"])
        self.assertEqual(found["_Z3twoPf"], ("0x000000000000794d", "0x000fea0003800000"))
        self.assertEqual(len(found["_Z3onePf"]), 4)

    def test_resources(self):
        self.assertEqual(machine_code.resources(USAGE)["_Z3twoPf"], ("LOCAL:0", "REG:8", "SHARED:0", "STACK:0"))


class HostCode(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "common").mkdir()
        (self.root / "common/ladder.cuh").write_text("#pragma once\n")

    def compared(self, step, header=""):
        (self.root / "shapes.hpp").write_text(header)
        path = self.root / "kernel_01_x.cu"
        path.write_text(step)
        return machine_code.comparable(machine_code.host_code(path, self.root))

    def same(self, text):
        return self.compared(STEP) == self.compared(text)

    def test_items(self):
        items = machine_code.items(STEP)
        self.assertEqual(len(items), 7, items)
        device = [item for item in items if machine_code.is_device_code(item)]
        self.assertEqual(len(device), 2, device)

    def test_kernels_and_names_do_not_count(self):
        self.assertTrue(self.same(STEP.replace("1.0f", "2.0f").replace("return v;", "return -v;")))
        self.assertTrue(self.same(STEP.replace("kBlock", "kThreads").replace("grid", "blocks")))
        self.assertTrue(self.same(STEP.replace("// A head.", "// Another.")))

    def test_types_and_what_does_not_launch_do_not_count(self):
        cast = "unsigned grid = static_cast<unsigned>(both(n))"
        self.assertTrue(self.same(STEP.replace("const auto grid = both(n)", cast)))
        bound = "static int height(int n) { return n + kBlock; }\nLADDER_STEP(Sum, launch, height);\n"
        self.assertTrue(self.same(STEP + bound))
        wide = STEP.replace("both(n)", "(std::size_t{n} + 1) * 2")
        self.assertFalse(self.same(wide))
        self.assertNotEqual(machine_code.without_types("= static_cast < int > ( a + b ) * c ;"),
                            machine_code.without_types("= a + b * c ;"))

    def test_headers_that_decide_a_launch_count(self):
        step = STEP.replace("// A head.", '#include "shapes.hpp"').replace("both(n)", "blocks(n)", 1)
        self.assertNotEqual(step, STEP)
        header = "inline int blocks(int n) { return n / 4; }\ninline int not_launched(int n) { return n; }\n"
        before = self.compared(step, header)
        self.assertEqual(self.compared(step, header.replace("return n;", "return -n;")), before)
        self.assertNotEqual(self.compared(step, header.replace("n / 4", "n / 8")), before)

    def test_launches_count(self):
        for old, new in (("256", "128"), ("both(n)", "both(n) + 1"), ("<<<grid, kBlock>>>", "<<<kBlock, grid>>>"),
                         ("(x, n);", "(x, n + 1);"), ("both(n)", "2 * (n + 1)")):
            self.assertIn(old, STEP)
            self.assertFalse(self.same(STEP.replace(old, new)), new)


@unittest.skipUnless(shutil.which("nvcc") and shutil.which("cuobjdump"), "needs nvcc and cuobjdump")
class Compiled(unittest.TestCase):
    """With the real compiler: names and comments do not count, an instruction does."""
    KERNEL = "__global__ void kernel(float* x) { x[threadIdx.x] += 1.0f; }\n"

    def test_difference(self):
        with tempfile.TemporaryDirectory() as folder:
            reworded = "// Reworded.\n" + self.KERNEL.replace("kernel", "add_one")
            for version, text in (("old", self.KERNEL), ("new", reworded),
                                  ("other", self.KERNEL.replace("1.0f", "2.0f")), ("broken", "__global__ int no();"),
                                  ("more", reworded + self.KERNEL.replace("1.0f", "2.0f"))):
                (Path(folder) / version).mkdir()
                (Path(folder) / version / "step.cu").write_text(text)

            def difference(version):
                return machine_code.difference("step.cu", Path(folder) / "old", Path(folder) / version)

            self.assertEqual(difference("new"), (None, 0))
            self.assertEqual(difference("other"), ("the machine code of 1 of 1 kernels differs (1 now)", 0))
            self.assertEqual(difference("more"), ("1 kernels were added to 1", 1))
            self.assertIn("does not compile now", difference("broken")[0])


if __name__ == "__main__":
    unittest.main()
