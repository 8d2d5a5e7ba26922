#!/usr/bin/env python3
"""Tests of scripts/readme: on a page made up, each kind of drift is found, and what holds is not reported."""
import textwrap
import unittest

from helpers import ROOT, Case, entry, executable, known
from ladder import document, document_commands, document_sessions, document_twin, figure_links

CHAPTER = ROOT / "reduce" / "sum" / "README.md"


def page(text, path=CHAPTER):
    return document.Document(path, textwrap.dedent(text).lstrip("\n"))


class Found(Case):
    """Checks of a page's text: what they report, as 'line: text'."""

    def after(self, check, text, path=CHAPTER):
        one = page(text, path)
        check(one)
        return [f"{line}: {what}" for line, what in sorted(one.errors)]

    def assert_found(self, found, *patterns):
        self.assertEqual(len(found), len(patterns), found)
        for one, pattern in zip(found, patterns):
            self.assertRegex(one, pattern)


class Markdown(Found):
    def test_what_is_wrong_with_a_page(self):
        for check, text, *patterns in (
                (None, "text\n```sh\nscripts/run\n", "^2: .*code block"),
                (None, "<!-- table sum -->\n", "^1: .*<!-- end -->"), (None, "<!-- end -->\n", "^1: .*<!-- end -->"),
                (None, "text\n<!-- seen:\n", "^2: .*comment", "^2: .*comment"),
                (None, "<!-- computed --> 3 us here.\n", "^1: .*comment"),  # GitHub takes it for HTML
                (None, "One line\n<!-- computed --> and one more.\n", "^2: .*comment", "^2: .*comment"),
                (document.check_blocks, "```bash\nx\n```\n", "^1: .*'bash'"),
                (document.check_blocks, "```text\nx\n```\n", "^1: .*text block"),
                (document.check_blocks, "<!-- not a session: a drawing -->\n```text\nx\n```\n")):
            self.assert_found(self.after(check or (lambda one: None), text), *patterns)

    def test_pieces(self):
        one = page("# A\n\n## `sum`\n\n<!-- computed -->\n- one\n- two\n\n```sh\nls\n```\n| a |\n|---|\n")
        self.assertEqual([(piece.kind, piece.line, piece.mark("computed")) for piece in one.pieces],
                         [("heading", 1, None), ("heading", 3, None), ("text", 6, ""), ("code", 10, None),
                          ("table", 12, None)])

    def test_a_changed_source(self):
        shown = "<!-- source: reduce/sum/sum_08_warp_shuffle.cu -->\n```cpp\n{}\n```\n"
        lines = (ROOT / "reduce/sum/sum_08_warp_shuffle.cu").read_text().splitlines()
        at = next(number for number, line in enumerate(lines) if "__global__" in line)
        kernel = lines[at:at + 6]
        changed = [[line + "z" * (place == other) for place, line in enumerate(kernel)] for other in (3, 5)]
        for code, *patterns in ((kernel,), (textwrap.dedent("\n".join(kernel[1:4])).split("\n"),),
                                ([kernel[0], "  // ...", kernel[3]],), (changed[0], "^6: .*reduce/"),
                                (changed[1], "^8: .*reduce/"), ([kernel[3], "// ...", kernel[0]], "^5: ")):
            self.assert_found(self.after(document.check_blocks, shown.format("\n".join(code))), *patterns)
        self.assert_found(self.after(document.check_blocks, shown.replace("_08_", "_77_")), "^2: .*sum_77_")
        self.assert_found(self.after(document.check_blocks, "```cpp\nint x;\n```\n"), "^1: .*cpp block")


class Commands(Found):
    """That what is there is not reported, the pages themselves show: scripts/readme --check."""

    def test_what_is_not_there(self):
        for command, pattern in (("scripts/rum", "'scripts/rum'"), ("scripts/run sum_8", "sum_08_warp"),
                                 ("scripts/run --fast", "'--fast'"),
                                 ("scripts/debug --backend cpu sum_05", "sum_05_sequential"),
                                 ("build/cpu/reduce/sum_08_shuffle", "reduce/sum_08_shuffle"),
                                 ("nvcc reduce/sum_7.cu", "'reduce/sum_7.cu'"),
                                 ("ls && scripts/rum", "'scripts/rum'"),
                                 ("echo 'x", "read")):
            self.assert_found(document_commands.errors_of(command), pattern)

    def test_names_in_text(self):
        good = ("scripts/run sum -- --n=2^20", "scripts/export STEP", "reduce/sum/results/", "results/",
                "<kernel>_<NN>_<idea>.cu", "x * 2", "build/cpu/...", "c ^ r", "half2", ".cu", "practice/")
        bad = ("scripts/rum", "scripts/run --fast", "sums.cuh", "bugs/sum_late_return.cu", "sum_08_warp", "sum_77_x.cu",
               "common/walker/", "build/cpu/reduce/sum/sums")
        for name in good:
            self.assertIsNone(document_commands.error_of_span(name, CHAPTER.parent), name)
        for name in bad:
            self.assertIsNotNone(document_commands.error_of_span(name, CHAPTER.parent), name)

    def test_on_a_page(self):
        text = "Run `scripts/rum`:\n\n```sh\nscripts/run \\\n  sum\nscripts/run sums\n```\n" \
               "```console\n$ scripts/rum\nrum\n```\n"
        self.assert_found(self.after(document_commands.check, text), "^1: .*rum", "^6: .*'sums'", "^9: .*rum")


class Links(Found):
    def links(self, text):
        def check(one):
            document.check_links(one, {CHAPTER: one, ROOT / "README.md": page("# Title\n## No GPU?\n")})
        return self.after(check, text)

    def test_links(self):
        good = "# `sum`, *the* ladder\n## A\n## A\n[a](sum.cuh) [b](#sum-the-ladder) [c](#a-1)\n" \
               "[d](../../README.md#no-gpu)\n" \
               "![e](results/h200.json) [f](https://example.org/x#y) `[g](nothing)` <a href=\"bugs/\">h</a>\n"
        self.assertEqual(self.links(good), [])
        self.assert_found(self.links("[a](sums.cuh)\n\n[b](#b)\n\n[c](../../README.md#gpu)\n[d](/etc/x)\n"
                                     "[e](https://nowhere)\n[f](file:x)\n<img src=\"no.svg\">\n"),
                          "^1: .*'sums.cuh'", "^3: '#b'", "^5: .*#gpu", "^6: .*/etc/x", "^7: .*//nowhere",
                          "^8: .*file:x", "^9: .*'no.svg'")
        self.assert_found(self.links("See /" + "home/me/sum.\n"), "^1: .*absolute")

    def test_anchors(self):
        for title, name in (("30 % of bandwidth, why?", "30--of-bandwidth-why"), ("`row_sum`", "row_sum"),
                            ("[01 naive](x.cu)", "01-naive"), ("没有 GPU？", "没有-gpu")):
            self.assertEqual(document.anchor(title), name)


class Sessions(Found):
    def test_output(self):
        for shown, printed, *patterns in (
                ("a\nb", "\na  \nb\n\n"), ("...\nb\n...\nd", "a\nb\nc\nc\nd"), ("a\n...\nb", "a\nb\nb"),
                ("a\nb\nc", "a\nB\nc", "^11: .*'b'.*'B'"), ("a", "a\nb", "^10: .*'b'"), ("a\nb", "a", "^11: .*'b'"),
                ("a\n...\nd", "a\nb\nc", "^12: .*'d'")):
            one = page("")
            document_sessions.compare(one, 10, shown.split("\n"), printed)
            self.assert_found([f"{line}: {what}" for line, what in one.errors], *patterns)

    def run_page(self, text):
        one = page(text)
        count, _ = document_sessions.check([one])
        return count, [f"{line}: {what}" for line, what in sorted(one.errors)]

    def test_a_session_is_run_without_a_gpu_and_compared(self):
        text = "```console\n$ nvidia-smi; echo $?\n9\n$ pwd | \\\n  wc -l\n1\n```\n"
        self.assertEqual(self.run_page(text), (1, []))
        self.assert_found(self.run_page(text.replace("\n1\n", "\n2\n"))[1], "^6: .*'2'.*'1'")
        self.assert_found(self.run_page("```console\n$ no_such_program\nx\n```\n")[1], "^2: .*127")

    def test_what_cannot_be_run(self):
        gpu = "```console\n$ build/gpu/reduce/sum/sum\n```\n"
        for text, *patterns in ((gpu, "^2: .*GPU"), ("```console\n$ scripts/new sum x\n```\n", "^2: .*writes"),
                                ("```console\nCPU backend\n```\n", "^2: .*console"),
                                ("<!-- seen on: H200 -->\n" + gpu,)):
            count, found = self.run_page(text)
            self.assertEqual(count, 0)
            self.assert_found(found, *patterns)

    def test_gdb(self):
        fake = executable(self.folder() / "gdb", "#!/bin/sh\necho start 0x12\nprintf '(gdb) '\nwhile read -r x; do "
                          "echo \"<$x> 0xff\"; printf '(gdb) '; done\n")
        for shown, *patterns in (("<print a> 0x0",), ("<print b> 0x0", "^8: .*'<print b> 0x.*'<print a> 0x")):
            one = page(f"<!-- interactive -->\n```console\n$ {fake}\nstart 0x34\n(gdb) next\n<next> 0xaa\n"
                       f"(gdb) print a\n{shown}\n```\n")
            document_sessions.check_session(one, one.of_kind("code")[0], document_sessions.environment(self.folder()))
            self.assert_found([f"{line}: {what}" for line, what in one.errors], *patterns)


class Figures(Found):
    """sum 00, 02 and 03 and any_shape on a card, at two sizes."""

    def setUp(self):
        rows = [entry(step, n, time, **({"vs_vendor": 1.187} if "any" in step else {}), of_ceiling=0.9351)
                for n in (1 << 20, 1000) for step, time in (("00_cub", 8.3), ("02_tree", 20.04), ("03_shuffle", 10.0),
                                                            ("any_shape", 7.0))]
        rows += [{"kernel": "aat", "step": "01_x", "size": {"n": n}, "cold_us": 71000.0, "tflops": 51.23, "code": "now"}
                 for n in (1, 2)]
        self.known = known(h200=rows)
        self.known.kernels["aat"] = self.known.kernels["sum"]

    def updated(self, text, errors):
        return figure_links.updated(self.known, CHAPTER, text, errors)

    def found(self, text):
        return self.after(figure_links.check, text)

    def test_each_kind_of_value_is_written(self):
        values = {"sum_03,2^20,vs_02": "2.00x", "sum_03,2^20,vs_00": "0.83x", "sum_any,2^20,vs_00": "1.19x",
                  "sum_03,2^20,share": "0.94", "sum_03,2^20,rate": "419 GB/s", "aat_01,2,rate": "51.2 TFLOP/s",
                  "sum_02,1000,time": "20.0 us", "aat_01,1,time": "71 ms"}
        for target, text in values.items():
            right, wrong = (f"It is [{one}](results/h200.json#{target}) there.\n" for one in (text, "7x"))
            self.assertEqual(self.found(right), [])
            self.assertEqual(self.updated(wrong, []), right)

    def test_links_that_lead_nowhere(self):
        for target, pattern in (("sum_09,2^20,share", "no such figures"), ("sum_03,2^28,share", "at 2.28; .* 2.20"),
                                ("max_03,2^20,share", "no results of max"), ("sum_03,2^20,speed", "not STEP"),
                                ("sum_03,2^20,vs_07", "no such figures"), ("aat_01,1,share", "has no share")):
            text = f"It is [0.94](results/h200.json#{target}).\n"
            errors = []
            self.assertEqual(self.updated(text, errors), text)
            self.assert_found(errors, f"README.md:1: .*{pattern}")

    def test_code_is_left_alone(self):
        text = "`[1x](results/h200.json#sum_03,2^20,share)`\n```sh\n[1x](results/h200.json#sum_03,2^20,share)\n```\n"
        self.assertEqual(self.updated(text, []), text)
        self.assertEqual(self.found(text), [])

    def test_measured_numbers_without_a_link(self):
        for text in ("407 us", "1.26x step 02", "17x", "3.3 TB/s", "2,638 GB/s", "8.7us", "51.2 TFLOP/s",
                     "耗时 8 ns内"):
            self.assert_found(self.found(f"A line\nthat has {text}.\n"), "^2: .* in a sentence")
            for allowed in (f"`{text}`", f"<!-- computed -->\n- one\n- {text}", f"<!-- cited -->\n{text}",
                            f"## {text}", f"| {text} |\n|---|", f"[{text}](https://a.org)", f"```sh\n{text}\n```"):
                self.assertEqual(self.found(allowed + "\n"), [], allowed)
            self.assert_found(self.found(f"<!-- cited -->\nOne.\n\n{text}\n"), "^4: ")
        self.assert_found(self.found("It is so <!-- computed --> today.\n"), "^1: a comment within")
        self.assertEqual(self.found("8191x8193, 2^20x3, 0x12, 32 x 33, 0.94 of a copy, sm_90, 4 KB, 132 SMs\n"), [])


class Twin(Found):
    ORIGINAL = ("# Title\n[中文](README.zh-CN.md), [one](#one-thing).\n## One thing\nRun `x`: 1.26x at 2^24, 1,024 B.\n"
                "```sh\nscripts/run sum\n```\nSee [sum](reduce/README.md#sum).\n\n| card | GB/s |\n|---|--:|\n"
                "| H200 | 4800 |\n## Glossary\n- **warp**: 32 threads.\n")
    TWIN = ("# 标题\n[English](README.md)，[一](#一件事)。\n## 一件事\n运行 `y`：2^24 时 1.26x，1,024 B。\n"
            "```sh\nscripts/run sum\n```\n见 [sum](reduce/README.md#求和)。\n\n| 显卡 | GB/s |\n|---|--:|\n"
            "| H200 | 4800 |\n## 术语表\n- **warp**：32 个线程。\n")

    def compared(self, twin, original=ORIGINAL):
        return self.after(lambda one: document_twin.check(one, page(original, ROOT / "README.md")), twin,
                          ROOT / "README.zh-CN.md")

    def test_numbers(self):
        self.assertEqual(document_twin.numbers("step 07 of `x 5`, [a](b#6), sm_90, the 33rd: 2^31 - 1, 65,536, 4 KB/s"),
                         ["07", "33", "2^31", "1", "65,536", "4 KB/s"])
        self.assertEqual(document_twin.numbers("第 33 个，8 个，1.98GHz，60 s内，92 %；float4，9.1e"),
                         ["33", "8", "1.98 GHz", "60 s", "92 %", "9.1"])

    def test_each_difference_is_found(self):
        self.assertEqual(self.compared(self.TWIN), [])
        for before, after, pattern in (
                ("1.26x", "1.27x", "numbers: .*1.26 x.*README.md.*1.27 x"), ("32 个", "33 个", "numbers"),
                ("scripts/run sum", "scripts/run max", "code blocks.*run sum.*README.md.*run max"),
                ("```sh", "```console", "code blocks"),
                ("reduce/README", "stencil/README", "links.*/reduce/README.md.*/stencil/README.md"),
                ("## 一件事\n", "", "headings"), ("## 术语", "### 术语", "headings")):
            self.assert_found(self.compared(self.TWIN.replace(before, after, 1)), pattern)


if __name__ == "__main__":
    unittest.main()
