#!/usr/bin/env python3
"""Tests that scripts/readme finds each kind of error on a made-up page. The project's own pages test that it reports
nothing that is right: scripts/readme --check."""
import textwrap
import unittest

from helpers import ROOT, Case, entry, executable, known, ladder
from ladder import document, document_checks

tables = ladder.load_script("tables")

CHAPTER = ROOT / "reduce" / "sum" / "README.md"
STEP = "reduce/sum/sum_08_warp_shuffle.cu"
KERNEL = (ROOT / STEP).read_text().partition("__global__")[2].splitlines()[1:5]


def block(code, before="", language="cpp"):
    return f"{before}\n```{language}\n{code}\n```\n"


def shown(*lines):
    """Returns a page that shows these lines of the kernel."""
    return block("\n".join(lines), f"<!-- source: {STEP} -->")


TO_FIGURE = "It is [0.94](results/h200.json#{}).\n"
# {check: [(a text, and for each error a pattern of 'line: error')]}
CASES = {
    document_checks.check_links: (
        ("See /" + "home/me/sum.\n", "^1: .*absolute"),
        ("# `sum`, *the* ladder\n## 没有 GPU？\n[a](sum.cuh) [b](#sum-the-ladder) [x](#没有-gpu) `[g](nothing)`\n",),
        ("[a](sums.cuh)\n\n[b](#b)\n\n[c](../../README.md#gpu)\n[d](/etc/x)\n[e](https://nowhere)\n[f](file:x)\n"
         "![g](no.svg)\n", "^1: .*'sums.cuh'", "^3: .*'#b'", "^5: .*#gpu", "^6: .*/etc/x", "^7: .*//nowhere",
         "^8: .*file:x", "^9: .*'no.svg'")),
    document_checks.check_blocks: (
        (block("x", language="bash"), "^2: .*'bash'"), (block("x", language="text"), "^2: .*text block"),
        (block("int x;"), "^2: .*cpp block"), (shown("int x;").replace("_08_", "_77_"), "^2: .*sum_77_"),
        (shown(*textwrap.dedent("\n".join(KERNEL)).split("\n")),), (shown(KERNEL[0], "// ...", KERNEL[3]),),
        (shown(*KERNEL[:2], KERNEL[2] + "z"), "^5: .*reduce/"), (shown(KERNEL[3], "// ...", KERNEL[0]), "^5: ")),
    document_checks.check_names: (
        ("Run `scripts/rum`:\n\n" + block("scripts/run \\\n  sum\nscripts/run sums", language="sh")
         + block("$ scripts/rum\nrum", language="console"), "^1: .*rum", "^7: .*'sums'", "^11: .*rum"),
        *((f"`{bad}`\n", "^1: ") for bad in (
            "scripts/rum", "scripts/run --fast", "scripts/run --fast=1", "sums.cuh", "bugs/sum_late_return.cu",
            "sum_77_x.cu", "sum_08_warp", "common/walker/", "build/cpu/reduce/sum/sums")),
        *((block(bad, language="sh"), "^3: ") for bad in (
            "scripts/run sum_8", "scripts/debug --backend cpu sum_05", "build/cpu/reduce/sum_08_shuffle",
            "nvcc reduce/sum_7.cu", "ls && scripts/rum", "echo 'x"))),
    document_checks.check_numbers: (
        *((f"A line\nthat has {text}.\n", "^2: .* in a sentence") for text in (
            "407 us", "1.26x step 02", "17x", "3.3 TB/s", "2,638 GB/s", "8.7us", "51.2 TFLOP/s", "耗时 8 ns内")),
        ("<!-- cited -->\nOne.\n\n17x\n", "^4: "))}


class Pages(Case):
    def assert_found(self, check, text, *patterns, path=CHAPTER):
        """Asserts what a check reports on a page with this text."""
        page = document.Document(path, text)
        check(page)
        found = [f"{line}: {text}" for line, text in sorted(page.errors)]
        self.assertEqual(len(found), len(patterns), found)
        for one, pattern in zip(found, patterns):
            self.assertRegex(one, pattern)

    def test_each_kind_of_drift_is_found(self):
        for check, cases in CASES.items():
            for text, *patterns in cases:
                with self.subTest(check.__name__, text=text):
                    self.assert_found(check, text, *patterns)

    def test_translations(self):
        self.patch(document_checks, "page_at", return_value=document.Document(ROOT / "README.md", (
            "# Title\n[中文](README.zh-CN.md), [one](#one-thing).\n## One thing\nRun `x 5`: 1.26x at 2^24, the 33rd, "
            "1,024 B.\n```sh\nscripts/run sum\n```\nSee [sum](reduce/README.md#sum), sm_90.\n")))
        text = ("# 标题\n[English](README.md)，[一](#一件事)。\n## 一件事\n运行 `y`：2^24 时 1.26x，第33个，1,024 B。\n"
                "```sh\nscripts/run sum\n```\n见 [sum](reduce/README.md#求和)。\n")
        for before, after, *patterns in (
                ("", ""), ("1.26x", "1.27x", "numbers: .*1.26.*original.*1.27"), ("第33", "第32", "numbers"),
                ("run sum", "run max", "code blocks.*run sum.*original.*run max"), ("```sh", "```console", "code bl"),
                ("reduce/README", "stencil/README", "links.*/reduce/README.md.*/stencil/README.md"),
                ("## 一件事\n", "", "headings"), ("## 一", "### 一", "headings")):
            self.assert_found(document_checks.check_translation, text.replace(before, after, 1), *patterns,
                              path=ROOT / "README.zh-CN.md")

    def test_output(self):
        for wanted, printed, *patterns in (
                ("a\nb", "a  \nb\n\n"), ("...\nb\n...\nd", "a\nb\nc\nc\nd"), ("a\n...\nb", "a\nb\nb"),
                ("a\nb\nc", "a\nB\nc", "^11: .*'b'.*'B'"), ("a", "a\nb", "^10: .*'b'"), ("a\nb", "a", "^11: .*'b'"),
                ("a\n...\nd", "a\nb\nc", "^12: .*'d'")):
            what = 10, wanted.split("\n"), printed
            self.assert_found(lambda page, what=what: document_checks.compare(page, *what), "", *patterns)

    def test_a_session_is_run_without_a_gpu_and_compared(self):
        good = "$ nvidia-smi; echo $?\n9\n$ pwd | \\\n  wc -l\n1"
        for text, *patterns in ((good,), (good.replace("\n1", "\n2"), "^7: .*'2'.*'1'"),
                                ("$ no_such_program\nx", "^3: .*127"), ("CPU backend", "^3: .*console")):
            text = block(text, language="console")
            self.assert_found(lambda page: document_checks.run_sessions([page]), text, *patterns)
            seen = text.replace("\n", "<!-- seen on: H200 -->\n", 1)
            self.assert_found(lambda page: document_checks.run_sessions([page]), seen)

    def test_gdb(self):
        folder = self.folder()
        fake = executable(folder / "gdb", "#!/bin/sh\necho start\nprintf '(gdb) '\nwhile read -r x; do "
                          "echo \"<$x>\"; printf '(gdb) '; done\n")
        for last, *patterns in (("<print a>",), ("<print b>", "^8: .*'<print b>.*'<print a>")):
            self.assert_found(
                lambda page: document_checks.run_session(page, page.pieces[0], document_checks.environment(folder)),
                block(f"$ {fake}\nstart\n(gdb) next\n<next>\n(gdb) print a\n{last}", "<!-- interactive -->", "console"),
                *patterns)

    def test_links_that_lead_nowhere(self):
        """Such links stay unchanged. The texts of other links are tested by scripts/tables --check, on the pages."""
        data = known(h200=[entry(step, n, 10) for step in ("00_cub", "02_tree", "03_shuffle") for n in (1 << 20, 1000)])
        del data.shown["entries"]["sum", "h200"][0]["of_ceiling"]
        for target, text in (("sum_03,2^20,vs_02", "1.00x"), ("sum_any,2^20,share", "no such figures"),
                             ("sum_03,2^28,share", "at 2.28; .* 2.20"), ("max_03,2^20,share", "no results of max"),
                             ("sum_03,2^20", "not STEP"), ("sum_03,2^20,vs_07", "no vs_07"),
                             ("sum_00,2^20,share", "no share"), ("sum_03,2^20,speed", "no speed")):
            line, errors = TO_FIGURE.format(target), []
            found = tables.linked(data, CHAPTER, line, errors)
            self.assertRegex(" ".join(errors) or found, text)
            self.assertEqual(found == line, errors != [])
        code = "`[1x](results/h200.json#sum_03,2^20,share)`\n```sh\n[1x](results/h200.json#sum_03,2^20,share)\n```\n"
        self.assertEqual(tables.linked(data, CHAPTER, code, []), code)


if __name__ == "__main__":
    unittest.main()
