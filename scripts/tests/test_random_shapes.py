#!/usr/bin/env python3
"""Tests of scripts/bench --random on timings made up: what is said of a shape, the marks, the summary, going on after
an interruption, and the table in a chapter."""
import stat
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SCRIPTS))
import ladder
from ladder import figures, random_shapes

bench, tables = ladder.load_script("bench"), ladder.load_script("tables")


def entry(step, us, number=0, size=None, kernel="gemv", **more):
    size = size or {"m": 1000 + number, "k": 501}
    return {"family": "gemv", "kernel": kernel, "step": step, "backend": "cuda", "size": size, "shape": number,
            "bytes": 400_000_000, "cold_us": us, "cold_spread": 0.0, "gbps": 4e5 / us, "of_ceiling": 0.9,
            "verified": True, **more}


def left_out(step, why, number=0):
    return {"family": "gemv", "kernel": "gemv", "step": step, "backend": "cuda", "size": {"m": 1, "k": 2},
            "shape": number, "left_out": why}


def shape(top, library=None, earlier=(), number=0, **more):
    """A shape where the top step takes `top` us, the library and earlier steps so much."""
    entries = [entry("07_by_shape", top, number, **more)]
    entries += [entry("00_cublas", library, number, **more)] if library else []
    return random_shapes.Shape(number, entries + [entry(f"0{k}_earlier", us, number, **more)
                                                  for k, us in enumerate(earlier, 1)])


def summary(*shapes, kernel="gemv"):
    return random_shapes.summary(kernel, 5, list(shapes), "code")


class OneShape(unittest.TestCase):
    def test_line(self):
        one = random_shapes.Shape(17, [entry("07_by_shape", 100, 17, compared=0.04), entry("00_cublas", 127.6, 17),
                                       entry("02_warp", 120, 17), entry("03_float4", 110, 17),
                                       left_out("01_thread", "slow, would take some 90 ms", 17)])
        text = random_shapes.line(one, "cuBLAS", "read")
        for part in ("17 m=1017 k=501", "400 MB", "100.0 us", "4000 GB/s", "0.90 of read", " 1.276x cuBLAS",
                     " 1.100x 03_float4", "0.04 of the results checked", "left out: 01_thread, slow, would take"):
            self.assertIn(part, text)
        self.assertIn("(below 20 us)", random_shapes.line(shape(19.9), None, "read"))
        wrong = random_shapes.Shape(0, [entry("07_by_shape", 50), {**entry("02_warp", 50), "verified": False}])
        self.assertIn("FAIL: gemv_02_warp", random_shapes.line(wrong, None, "read"))
        refused = random_shapes.Shape(0, [left_out("07_by_shape", "needs 300 GB of memory")])
        self.assertFalse(refused.counts)
        self.assertIn("left out: 07_by_shape, needs 300 GB", random_shapes.line(refused, "cuBLAS", "read"))


class Marks(unittest.TestCase):
    def missed(self, *shapes, **more):
        return summary(*shapes, **more)["missed"]

    def test_all_reached(self):
        found = summary(shape(100, 121, [100]), shape(100, 100, [300], 1))
        self.assertEqual(found["missed"], [])
        self.assertEqual(found["vs_vendor"], {"mean": 1.1, "won": 1,
                                              "worst": {"ratio": 1.0, "size": {"m": 1001, "k": 501}}})
        self.assertEqual(found["vs_earlier"]["worst"],
                         {"ratio": 1.0, "size": {"m": 1000, "k": 501}, "step": "01_earlier"})
        self.assertEqual((found["seed"], found["shapes"], found["counted"], found["code"]), (5, 2, 2, "code"))
        self.assertIn("all marks reached", random_shapes.summary_text(found, "cuBLAS", "read"))
        found = summary(shape(100, 400), shape(100, 90, number=1), shape(100, 90, number=2))
        self.assertAlmostEqual(found["vs_vendor"]["mean"], (4 * 0.9 * 0.9) ** (1 / 3), 4, "geometric")

    def test_each_mark_is_seen_when_missed(self):
        self.assertEqual(self.missed(shape(100, 99.6)), [])
        self.assertEqual(self.missed(shape(100, 99)), ["mean 0.990x library"])
        noisy = shape(100, 84), shape(100, 200, number=1)
        self.assertEqual(self.missed(*noisy), ["1 below 0.85x library"])
        noisy[0].entries[1]["cold_spread"] = 0.02
        self.assertEqual(self.missed(*noisy), [], "the spread is allowed for")
        self.assertEqual(self.missed(shape(100, 120, [89])), ["1 below 0.9x an earlier step"])
        self.assertEqual(self.missed(shape(100, 120, [96, 400])), [])
        self.assertEqual(self.missed(shape(100, 120), random_shapes.Shape(1, [left_out("07_by_shape", "no", 1)])),
                         ["1 not run"])

    def test_short_shapes_do_not_count(self):
        found = summary(shape(19, 5, [1]), shape(100, 150, [100], 1))
        self.assertEqual((found["missed"], found["shapes"], found["counted"]), ([], 2, 1))

    def test_without_a_library_the_ceiling_at_long_rows(self):
        long, short = {"rows": 9, "cols": 1024}, {"rows": 9, "cols": 1023}
        low = {"of_ceiling": 0.79, "kernel": "relu"}
        self.assertEqual(self.missed(shape(100, size=long, **low), kernel="relu"),
                         ["1 of 1 long ones below 0.8 of the ceiling"])
        for one in (shape(100, size=short, **low), shape(100, size=long, **{**low, "bytes": 255e6}),
                    shape(100, 120, size=long, **low)):
            self.assertEqual(self.missed(one, kernel="relu"), [])


PROGRAM = """\
#!{python}
import json, sys
options = dict(one[2:].partition("=")[::2] for one in sys.argv[1:])
with open({log!r}, "a") as log:
    log.write(" ".join(sys.argv[1:]) + "\\n")
first, count = int(options.get("first", 0)), int(options["random"])
for number in range(first, first + count):
    if number == {stop}:
        sys.exit({status})
    for step, us in (("07_by_shape", 100 + number), ("00_cublas", 120)):
        print(json.dumps({{"kernel": "gemv", "step": step, "size": {{"m": number, "k": 3}}, "shape": number,
                          "bytes": 1e9, "cold_us": us, "of_ceiling": 0.9, "gbps": 5, "verified": number != {wrong}}}))
print("a line that is no entry")
sys.exit({last})
"""


class Measure(unittest.TestCase):
    HEAD = {"kernel": "gemv", "seed": 5, "gpu": "NVIDIA H200", "code": "abc"}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.log = self.folder / "log"

    def program(self, stop=-1, status=1, wrong=-1, last=0):
        path = self.folder / "gemv"
        path.write_text(PROGRAM.format(python=sys.executable, log=str(self.log), stop=stop, status=status, wrong=wrong,
                                       last=last))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def measure(self, program, resume=False, head=None, count=6):
        shown = []
        journal = random_shapes.Journal(self.folder / "sub" / "gemv.jsonl", head or self.HEAD)
        shapes, error = random_shapes.measure(program, journal, count, 5, resume, shown.append)
        self.assertEqual(shapes, shown, "every shape is shown, also those of the run before")
        return shapes, error

    def commands(self):
        return self.log.read_text().splitlines()

    def test_all_at_once(self):
        shapes, error = self.measure(self.program())
        self.assertIsNone(error)
        self.assertEqual([one.number for one in shapes], list(range(6)))
        self.assertEqual([len(one.entries) for one in shapes], [2] * 6)
        self.assertEqual(self.commands(), ["--json --random=6 --first=0 --seed=5"])

    def test_resume_gives_what_one_run_would_have(self):
        whole, _ = self.measure(self.program())
        found, error = self.measure(self.program(stop=4))
        self.assertEqual((len(found), error), (4, "ended with exit status 1"))
        found, error = self.measure(self.program(), resume=True)
        self.assertIsNone(error)
        self.assertEqual(found, whole)
        self.assertEqual(self.commands()[-1], "--json --random=2 --first=4 --seed=5")
        again, error = self.measure(self.program(stop=0), resume=True)
        self.assertEqual((again, error), (whole, None))
        self.assertEqual(len(self.commands()), 3, "nothing was left to run")

    def test_without_resume_or_after_a_change_it_starts_again(self):
        self.measure(self.program(stop=4))
        self.measure(self.program(stop=4))
        self.measure(self.program(), resume=True, head={**self.HEAD, "code": "def"})
        self.assertEqual({line.split()[2] for line in self.commands()}, {"--first=0"})

    def test_a_line_that_was_cut_off_is_measured_again(self):
        self.measure(self.program(stop=4))
        path = self.folder / "sub" / "gemv.jsonl"
        path.write_text(path.read_text()[:-20])
        _, error = self.measure(self.program(), resume=True)
        self.assertIsNone(error)
        self.assertEqual(self.commands()[-1], "--json --random=3 --first=3 --seed=5")

    def test_a_wrong_result_is_an_error_and_is_not_taken_over(self):
        _, error = self.measure(self.program(wrong=2, last=1))
        self.assertEqual(error, "a check failed: gemv_00_cublas, gemv_07_by_shape")
        _, error = self.measure(self.program(), resume=True)
        self.assertIsNone(error)
        self.assertEqual(self.commands()[-1], "--json --random=4 --first=2 --seed=5")

    def test_a_crash_and_a_short_output_are_errors(self):
        self.assertEqual(self.measure(self.program(last=1))[1], "ended with exit status 1")
        self.assertEqual(self.measure(self.program(stop=3, status=0))[1], "printed 3 of 6 shapes")


class Files(unittest.TestCase):
    def test_ladders_with_nothing_to_compare_are_left_out_unless_named(self):
        names = ["gemv/gemv", "copy_row", "divergence"]
        kernels = ladder.kernels(names)
        self.assertEqual(list(bench.comparable(kernels, [])), ["gemv"])
        self.assertEqual(list(bench.comparable(kernels, names)), list(kernels))
        self.assertLess(random_shapes.DEMONSTRATIONS, set(ladder.kernels()))
        with self.assertRaises(SystemExit):
            bench.comparable(ladder.kernels(["gemv_03_float4"]), ["gemv_03_float4"])


class Table(unittest.TestCase):
    TEXT = "before\n<!-- random gemv gemv_t -->\nold\n<!-- end -->\nafter\n"

    def known(self, *found, code="code"):
        results = [figures.Results("gemv/gemv", "h200", {}, [entry("07_by_shape", 1)], [], list(found))]
        return figures.Figures(results, lambda _: True, ladder.kernels(), lambda kernel, steps: code)

    def page(self, known, text=TEXT):
        return tables.document(known, ladder.ROOT / "gemv" / "gemv" / "README.md", text)

    def test_a_row_for_each_kernel(self):
        text = self.page(self.known(summary(shape(100, 121, [89]))))
        self.assertIn("| `gemv` | H200 | 1 of 1, 5 | 1.210x | 100% | 1.21 at m=1000 k=501 | 0.89x 01 at m=1000 k=501 | "
                      "0.90 | 1 below 0.9x an earlier step |", text)
        self.assertEqual(len({line.count("|") for line in text.splitlines() if line.startswith("|")}), 1)
        self.assertNotIn("old", text)
        self.assertEqual(self.page(self.known(summary(shape(100, 121, [89]))), text), text)

    def test_not_measured_or_of_other_code(self):
        self.assertIn("Not measured yet.", self.page(self.known()))
        stale = self.known(summary(shape(100, 121)), code="other")
        self.assertIn("Not measured yet.", self.page(stale))
        self.assertEqual(stale.stale_random, {"h200": ["gemv"]})
        older = self.known({**summary(shape(100, 121)), "commit": "abc1234"}, code="other")
        self.assertIn("| `gemv` | H200 at abc1234 | ", self.page(older))

    def test_unknown_kernels(self):
        with self.assertRaises(SystemExit):
            self.page(self.known(), self.TEXT.replace("gemv_t", "nothing"))

    def test_every_ladder_with_steps_to_compare_has_its_row(self):
        listed = [kernel for path in figures.documents() for found in figures.BLOCK.finditer(path.read_text())
                  for kernel in found[3].split() if found[2] == "random"]
        self.assertEqual(sorted(listed), sorted(bench.comparable(ladder.kernels(), [])))


if __name__ == "__main__":
    unittest.main()
