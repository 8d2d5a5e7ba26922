#!/usr/bin/env python3
"""Tests the rules of scripts/mutate: what each changes, and what no rule touches."""
import json
import tempfile
import unittest
from pathlib import Path

from helpers import ROOT, Case, ladder
from ladder import mutation_rules

mutate = ladder.load_script("mutate")

# A line of a kernel, a rule, and every line that the rule makes of it.
EXAMPLES = [
    ("__syncthreads();", "barrier removed", [";"]),
    ("__syncwarp();", "warp barrier removed", [";"]),
    ("__threadfence();", "fence removed", [";"]),
    ("__pipeline_wait_prior(1);", "wait removed", [";"]),
    ("CUDA_CHECK(cudaStreamWaitEvent(s, e, 0));", "wait removed", [";"]),
    ("ok = i < n;", "comparison", ["ok = i <= n;"]),
    ("ok = f<float>(i) == 3;", "comparison", []),
    ("ok = i == n;", "equality", ["ok = i != n;"]),
    ("ok = a && b;", "logic", ["ok = a || b;"]),
    ("ok = !a;", "negation removed", ["ok = a;"]),
    ("v = a - b;", "sign", ["v = a + b;"]),
    ("v = -a;", "sign", ["v = a;"]),
    ("v += a;", "accumulation", ["v = a;"]),
    ("v = a * b;", "factor", ["v = a / b;"]),
    ("v = 0.5f;", "factor", ["v = 1.01f * 0.5f;"]),
    ("float* const p = q;", "factor", []),
    ("v = a << b;", "bits", ["v = a >> b;"]),
    ("v = a ^ b;", "bits", ["v = a | b;"]),
    ("v = x[4u];", "off by one", ["v = x[3u];", "v = x[5u];"]),
    ("v = x4 + 0xff + 1.0f;", "off by one", []),
    ("constexpr int tile = 32;", "off by one", []),
    ("__shared__ float t[32][a + 1];", "off by one", ["__shared__ float t[31][a + 1];"]),
    ("if (i == 0) c[0] = clock64() - start;", "equality", []),
    ("float v = 0.0f;", "start value", ["float v = 1.0f;"]),
    ("float v = -INFINITY;", "start value", ["float v = 0.0f;"]),
    ("v = fmaxf(a, b);", "extremum", ["v = fminf(a, b);"]),
    ("v = threadIdx.x;", "axis", ["v = threadIdx.y;"]),
    ("const dim3 grid(a(1, 2), b);", "axis", ["const dim3 grid(b, a(1, 2));"]),
    ("v = __shfl_down_sync(mask, v, o);", "shuffle", ["v = __shfl_up_sync(mask, v, o);"]),
    ("v = __shfl_xor_sync(mask, v, o);", "shuffle", ["v = __shfl_down_sync(mask, v, o);"]),
    ("v = f(0xffffffff);", "shuffle", ["v = f(0x0000ffff);", "v = f(0x7fffffff);"]),
    ("ok = aligned_for<float4>(x);", "alignment weakened",
     ["ok = aligned_for<float2>(x);", "ok = aligned_for<float>(x);"]),
    ("ok = aligned_for<char>(x, y);", "alignment weakened",
     ["ok = aligned_for<char>(y);", "ok = aligned_for<char>(x);"]),
    ("v = static_cast<long long>(i);", "32 bits", ["v = static_cast<int>(i);"]),
    ("v = beta == 0 ? a : b;", "special case removed", ["v = false ? a : b;"]),
    ("ok = true;", "truth", ["ok = false;"]),
    ("if (i > n && j > m) return;", "guard removed",
     ["if (true) return;", "if (false) return;", "if (j > m) return;", "if (i > n) return;"]),
    ("v = i < n ? x[i] : z;", "guard removed", ["v = true ? x[i] : z;", "v = false ? x[i] : z;"]),
    ("for (int i = a; i < n && i < m; i += s) f(i);", "guard removed",
     ["for (int i = a; i < m; i += s) f(i);", "for (int i = a; i < n; i += s) f(i);"]),
    ("for (int i = a; i < n; i += s) f(i);", "loop dropped", ["for (int i = a; false; i += s) f(i);"]),
    ("v = ceil_div(n, f(a, b));", "tail dropped", ["v = ((n) / (f(a, b)));"]),
    ("atomicAdd(&out[i], v);", "atomic weakened", ["((*(&out[i]) += v) - v);"]),
    ("atomicMax(out, v);", "atomic weakened", ["(*(out) = max(*(out), v));"]),
    ("v = tile[a[0]][b];", "subscripts swapped", ["v = tile[b][a[0]];"]),
]

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


def mutants_of(text, name="step.cu"):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text(text)
        return mutation_rules.mutants(path, Path(folder))


class Rules(Case):
    def test_each_changes_what_it_says(self):
        for line, rule, expected in EXAMPLES:
            with self.subTest(rule=rule, line=line):
                text = FRAME.format(line)
                found = [m.describe(text) for m in mutants_of(text) if m.rule == rule]
                self.assertCountEqual([after.partition("  //")[0] for _, _, _, after in found], expected)
                for number, _, before, after in found:
                    self.assertEqual((number, before), (5, text.splitlines()[4].strip()))
                    self.assertIn("// why: a < b && c + 1", after)

    def test_every_rule_has_an_example(self):
        steps = [step.path for step in ladder.steps()]
        used = {m.rule for path in steps for m in mutation_rules.mutants(path)}
        self.assertLessEqual(used, {rule for _, rule, expected in EXAMPLES if expected})

    def test_a_mutant_keeps_the_number_of_lines(self):
        text = FRAME.format("if (a &&\n      b) f();")
        for mutant in mutants_of(text):
            self.assertEqual(text.count("\n"), mutant.apply(text).count("\n"))

    def test_only_code_of_kernels_and_launches(self):
        text = FRAME.format("f(a);") + "static void launch(int n) {\n  k<<<n + 2, kTile>>>(n);\n}\n"
        lines = {m.describe(text)[0] for m in mutants_of(text)}
        self.assertEqual(lines, {text.splitlines().index("  k<<<n + 2, kTile>>>(n);") + 1})

    def test_host_code_of_a_header_only_if_it_launches(self):
        text = ("inline double bound(int n) { return n + 1; }\n"
                "template <class P>\nvoid passes(int n, P pass) {\n  pass(n + 1);\n}\n"
                "struct Pair {\n  __device__ int sum() const { return a + b; }\n};\n")
        self.assertEqual({m.describe(text)[0] for m in mutants_of(text, "x.cuh")}, {4, 7})

    def test_code_that_the_cpu_backend_leaves_out(self):
        self.assertEqual(mutants_of(FRAME.format("\n#ifndef CUDA_EMU\n  v = a + b;\n#endif\n")), [])


class TheSteps(Case):
    def test_no_mutant_begins_or_ends_in_a_comment_or_literal(self):
        for path in mutate.sources(ladder.steps()):
            text = path.read_text()
            lexemes = [m.span() for m in mutation_rules.cu2cpp.LEXEME.finditer(text) if not m["number"]]
            for mutant in mutation_rules.mutants(path):
                for start, end in lexemes:
                    self.assertFalse(start < mutant.start < end or start < mutant.end < end, mutant)

    def test_judged_survivors_are_mutants_of_today(self):
        for row in json.loads(mutate.SURVIVORS.read_text()):
            with self.subTest(row):
                self.assertEqual(set(row), {"file", "above", "line", "mutant", "verdict", "reason"})
                self.assertIn(row["verdict"], ("equivalent", "hardware only"))
                path = ROOT / row["file"]
                text = path.read_text()
                self.assertIn((row["above"], row["line"], row["mutant"]),
                              {m.describe(text)[1:] for m in mutation_rules.mutants(path)})


if __name__ == "__main__":
    unittest.main()
