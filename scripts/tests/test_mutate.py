#!/usr/bin/env python3
"""Tests the rules of scripts/mutate: what each one changes, and what no rule changes."""
import json
import unittest

from helpers import ROOT, Case, ladder
from ladder import mutation_rules

mutate = ladder.load_script("mutate")

# A rule, a line of a kernel, and all lines that the rule makes of it, separated by two blanks.
EXAMPLES = [row.split("  ") for row in """\
barrier removed  __syncthreads();  ;
warp barrier removed  __syncwarp();  ;
fence removed  __threadfence();  ;
wait removed  __pipeline_wait_prior(1);  ;
wait removed  CUDA_CHECK(cudaStreamWaitEvent(s, e, 0));  ;
comparison  ok = i < n;  ok = i <= n;
comparison  ok = f<float>(i) == 3;
equality  ok = i == n;  ok = i != n;
logic  ok = a && b;  ok = a || b;
negation removed  ok = !a;  ok = a;
sign  v = a - b;  v = a + b;
sign  v = -a;  v = a;
accumulation  v += a;  v = a;
factor  v = a * b;  v = a / b;
factor  v = 0.5f;  v = 1.01f * 0.5f;
factor  float* const p = q;
bits  v = a << b;  v = a >> b;
bits  v = a ^ b;  v = a | b;
off by one  v = x[4u];  v = x[3u];  v = x[5u];
off by one  v = x4 + 0xff + 1.0f;
off by one  constexpr int tile = 32;
off by one  __shared__ float t[32][a + 1];  __shared__ float t[31][a + 1];
equality  if (i == 0) c[0] = clock64() - start;
start value  float v = 0.0f;  float v = 1.0f;
start value  float v = -INFINITY;  float v = 0.0f;
extremum  v = fmaxf(a, b);  v = fminf(a, b);
axis  v = threadIdx.x;  v = threadIdx.y;
axis  const dim3 grid(a(1, 2), b);  const dim3 grid(b, a(1, 2));
shuffle  v = __shfl_down_sync(mask, v, o);  v = __shfl_up_sync(mask, v, o);
shuffle  v = __shfl_xor_sync(mask, v, o);  v = __shfl_down_sync(mask, v, o);
shuffle  v = f(0xffffffff);  v = f(0x0000ffff);  v = f(0x7fffffff);
alignment weakened  ok = aligned_for<float4>(x);  ok = aligned_for<float2>(x);  ok = aligned_for<float>(x);
alignment weakened  ok = aligned_for<char>(x, y);  ok = aligned_for<char>(y);  ok = aligned_for<char>(x);
32 bits  v = static_cast<long long>(i);  v = static_cast<int>(i);
special case removed  v = beta == 0 ? a : b;  v = false ? a : b;
truth  ok = true;  ok = false;
guard removed  if (a && j > m) return;  if (true) return;  if (false) return;  if (j > m) return;  if (a) return;
guard removed  v = i < n ? x[i] : z;  v = true ? x[i] : z;  v = false ? x[i] : z;
guard removed  for (; i < n && i < m; ++i) f(i);  for (; i < m; ++i) f(i);  for (; i < n; ++i) f(i);
loop dropped  for (int i = a; i < n; i += s) f(i);  for (int i = a; false; i += s) f(i);
tail dropped  v = ceil_div(n, f(a, b));  v = ((n) / (f(a, b)));
atomic weakened  atomicAdd(&out[i], v);  ((*(&out[i]) += v) - v);
atomic weakened  atomicMax(out, v);  (*(out) = max(*(out), v));
subscripts swapped  v = tile[a[0]][b];  v = tile[b][a[0]];""".splitlines()]

FRAME = """// A header: a < b.
#include "ladder.cuh"
static constexpr int kTile = 8 + 1;
__global__ void __launch_bounds__(8 * 4) k(int n) {{
  {}  // why: a < b && c + 1
  /* __syncthreads(); */
}}
static std::size_t height(std::size_t n) {{ return n - 1; }}
LADDER_STEP(Sum, launch, [](std::size_t n) {{ return n + 1; }});
"""


class Rules(Case):
    def described(self, text, name="step.cu"):
        """Returns (mutant, its line's number, the line before and after) for all mutants of a file."""
        path = self.folder() / name
        path.write_text(text)
        for mutant in mutation_rules.mutants(path, path.parent):
            self.assertEqual(text.count("\n"), mutant.apply(text).count("\n"))
            number, _, before, after = mutant.describe(text)
            yield mutant, number, before, after

    def test_each_changes_what_it_says(self):
        for rule, line, *expected in EXAMPLES:
            with self.subTest(rule=rule, line=line):
                found = [rest for mutant, *rest in self.described(FRAME.format(line)) if mutant.rule == rule]
                self.assertCountEqual(found, [[5, f"{line}  // why: a < b && c + 1", f"{one}  // why: a < b && c + 1"]
                                              for one in expected])

    def test_which_lines(self):
        for name, text, expected in (
                ("a step's kernel and launch", FRAME.format("f(a);") + "void launch(int n) {\n  f(n + 2);\n}\n", {11}),
                ("host code of a header only if it launches",
                 "inline double bound(int n) { return n + 1; }\n"
                 "template <class P>\nvoid passes(int n, P pass) {\n  pass(n + 1);\n}\n"
                 "struct Pair {\n  __device__ int sum() const { return a + b; }\n};\n", {4, 7}),
                ("what the CPU backend leaves out", FRAME.format("\n#ifndef CUDA_EMU\n  v = a + b;\n#endif\n"), set()),
                ("a condition of two lines", FRAME.format("if (a &&\n      b) f();"), {5})):
            with self.subTest(name):
                found = self.described(text, "x.cuh" if "header" in name else "x.cu")
                self.assertEqual({number for _, number, *_ in found}, expected)

    def test_mutants_of_the_steps(self):
        """Each rule has an example; changes begin and end outside comments and literals; survivors are mutants."""
        rules = {rule for rule, _, *expected in EXAMPLES if expected}
        judged = json.loads(mutate.SURVIVORS.read_text())
        for path in {*mutate.sources(ladder.steps()), *(ROOT / row["file"] for row in judged)}:
            text, mutants = path.read_text(), mutation_rules.mutants(path)
            lexemes = [m.span() for m in mutation_rules.cu2cpp.LEXEME.finditer(text) if not m["number"]]
            for mutant in mutants:
                self.assertIn(mutant.rule, rules)
                for start, end in lexemes:
                    self.assertFalse(start < mutant.start < end or start < mutant.end < end, mutant)
            described = {mutant.describe(text)[1:] for mutant in mutants}
            for row in judged:
                if ROOT / row["file"] == path:
                    self.assertTrue(row["reason"])
                    self.assertIn(row["verdict"], ("equivalent", "hardware only"))
                    self.assertIn((row["above"], row["line"], row["mutant"]), described)


if __name__ == "__main__":
    unittest.main()
