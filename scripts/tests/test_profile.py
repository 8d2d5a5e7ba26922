#!/usr/bin/env python3
"""Tests of scripts/profile on what ncu prints, made up: a machine with a GPU and ncu is not needed."""
import contextlib
import io
import os
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path
from unittest import mock

SCRIPTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SCRIPTS))
import ladder
from ladder import counter_tables, counters, figures

script = ladder.load_script("profile")

SECTORS, REQUESTS = counters.EXACT["global_store_sectors"], counters.EXACT["global_store_requests"]
TIME, DRAM, STALL = counters.ALL["time_ns"], counters.ALL["dram_pct"], counters.ALL["stall_barrier"]

# What `ncu --csv --page raw --print-units base` writes to its log: lines of its own, the head, the units, the launches.
LOG = f"""\
==PROF== Connected to process 4711 (/a/program)
==PROF== Profiling "transpose_naive": 0%....50%....100% - 9 passes
==PROF== Disconnected from process 4711
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC",\
"{DRAM}","{TIME}","{REQUESTS}","{SECTORS}","{STALL}"
"","","","","","","","","","","","%","ns","request","sector","inst"
"0","4711","program","127.0.0.1","transpose_naive","1","7","(32, 8, 1)","(49, 33, 1)","0","9.0",\
"12.5","3,000","50,721","1,578,499","n/a"
"1","4711","program","127.0.0.1","profile_next_step","1","7","(1, 1, 1)","(1, 1, 1)","0","9.0","0","900","0","0","0"
"2","4711","program","127.0.0.1","zero","1","7","(32, 1, 1)","(1, 1, 1)","0","9.0","4","1000","1","4","0.25"
"3","4711","program","127.0.0.1","add","1","7","(32, 1, 1)","(1, 1, 1)","0","9.0","10","1000","1","4","1"
"4","4711","program","127.0.0.1","add","1","7","(32, 1, 1)","(1, 1, 1)","0","9.0","50","3000","3","12","2"
"""


class Csv(unittest.TestCase):
    def test_numbers(self):
        for text, value in (("1,578,499", 1578499), ("12.5", 12.5), ("3.0", 3), ("0", 0), ("1.5e+03", 1500)):
            self.assertEqual(counters.number(text), value)
        for text in ("n/a", "", "(32, 1, 1)", "nan"):
            self.assertIsNone(counters.number(text))

    def test_launches(self):
        found = counters.launches(LOG)
        self.assertEqual([launch["function"] for launch in found],
                         ["transpose_naive", "profile_next_step", "zero", "add", "add"])
        self.assertEqual(found[0], {"function": "transpose_naive", "grid": [49, 33, 1], "block": [32, 8, 1],
                                    "dram_pct": 12.5, "time_ns": 3000, "global_store_requests": 50721,
                                    "global_store_sectors": 1578499})
        self.assertEqual(counters.launches("==ERROR== nothing\n"), [])

    def test_steps_are_what_lies_between_the_markers(self):
        groups = counters.by_step(counters.launches(LOG))
        self.assertEqual([[launch["function"] for launch in group] for group in groups],
                         [["transpose_naive"], ["zero", "add", "add"]])

    def test_launches_of_one_function_are_merged(self):
        zero, add = counters.merged(counters.by_step(counters.launches(LOG))[1])
        self.assertEqual((zero["function"], zero["launches"]), ("zero", 1))
        self.assertEqual((add["function"], add["launches"]), ("add", 2))
        self.assertEqual(add["global_store_sectors"], 16, "counts are added")
        self.assertEqual(add["time_ns"], 4000)
        self.assertEqual(add["dram_pct"], 40, "rates are averages, by time")
        self.assertEqual(add["stall_barrier"], 1.75)
        self.assertNotIn("global_load_sectors", add, "what was not counted is absent")


class Words(unittest.TestCase):
    def readings(self, **entry):
        return {what: (value, meaning) for what, value, meaning in counters.readings(entry)}

    def test_only_what_the_kernel_does(self):
        self.assertEqual(counters.readings({}), [])
        said = self.readings(global_store_sectors=128, global_store_requests=32, shared_load_wavefronts=0,
                             shared_load_instructions=0, tensor_instructions=0, global_reductions=0)
        self.assertEqual(list(said), ["global stores"])
        self.assertEqual(said["global stores"][0], "4.00 sectors per request")

    def test_conflicts_spills_and_limits(self):
        said = self.readings(shared_load_wavefronts=1578499, shared_load_instructions=50721, registers=40,
                             local_load_instructions=7, warps_pct=48.2, warps_possible_pct=50, limit_registers=6,
                             limit_shared=2, limit_blocks=32, limit_warps=2, stall_barrier=1.0, stall_wait=3.0)
        self.assertEqual(said["shared loads"][0], "31.12 wavefronts per instruction")
        self.assertRegex(said["registers"][1], r"\b7\b.*local memory")
        self.assertRegex(said["occupancy"][1], r"\b50 %.*\b2 blocks per SM.*shared memory.*warps")
        self.assertRegex(" ".join(said["stall"]), r"\b25%.*__syncthreads")
        self.assertEqual(counters.stalls({"stall_barrier": 1.0, "stall_wait": 3.0}),
                         [("wait", 0.75), ("barrier", 0.25)])
        self.assertRegex(" ".join(self.readings(registers=40)["registers"]), r"\b40\b.*no spills")


FAKE_NCU = """\
#!/usr/bin/env python3
import subprocess, sys
arguments = sys.argv[1:]
metrics = arguments[arguments.index("--metrics") + 1].split(",")
log = arguments[arguments.index("--log-file") + 1]
assert arguments[arguments.index("--clock-control") + 1] == "none"
lacking = [metric for metric in metrics if metric.startswith({lacking!r})] if {lacking!r} else []
with open(log, "w") as file:
    if lacking:
        print("==ERROR== Failed to find metric", lacking[0], file=file)
        sys.exit(1)
    file.write({log!r})
sys.exit(subprocess.run(arguments[arguments.index(log) + 1:]).returncode)
"""
PROGRAM = """\
#!/bin/sh
[ "$1" = --once ] || exit 2
for step in 01_atomic 02_tree; do
  echo '{"family": "reduce", "kernel": "sum", "step": "'$step'", "size": {"n": 8}}'
done
"""
STEPS = [ladder.Step("reduce", "sum", f"0{n}", f"sum_0{n}_{idea}", Path(f"reduce/sum_0{n}_{idea}.cu"))
         for n, idea in ((1, "atomic"), (2, "tree"))]


class Run(unittest.TestCase):
    def profile(self, log=LOG, lacking="", program=PROGRAM, options=()):
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
            for name, text in (("ncu", FAKE_NCU.format(log=log, lacking=lacking)), ("program", program)):
                Path(folder, name).write_text(textwrap.dedent(text))
                Path(folder, name).chmod(0o755)
            stack.enter_context(mock.patch.dict(os.environ, PATH=f"{folder}{os.pathsep}{os.environ['PATH']}"))
            return script.profile(STEPS, list(counters.ALL.values()), Path(folder, "program"), list(options))

    def said(self, **how):
        with contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit) as end:
            self.profile(**how)
        return end.exception.code, said.getvalue()

    def test_entries(self):
        found = self.profile(options=["--misaligned"])
        self.assertEqual([(entry["step"], entry["function"]) for entry in found],
                         [("01_atomic", "transpose_naive"), ("02_tree", "zero"), ("02_tree", "add")])
        self.assertEqual(found[0]["size"], {"n": 8})
        self.assertTrue(all(entry["misaligned"] for entry in found))
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            script.print_step(found[:1])
            script.print_ladder(found)
        self.assertIn("31.12 sectors per request", printed.getvalue())
        self.assertIn("02_tree add", printed.getvalue())

    def test_metrics_that_the_gpu_lacks_are_left_out(self):
        self.assertEqual(len(self.profile(lacking="sm__inst_executed_pipe_tensor_op_gmma")), 3)

    def test_forbidden(self):
        status, said = self.said(log="==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n")
        self.assertEqual(status, 1)
        for words in ("ERR_NVGPUCTRPERM", "sudo", "--cap-add=SYS_ADMIN", "scripts/explain sum_01_atomic"):
            self.assertIn(words, said)

    def test_other_failures(self):
        status, said = self.said(log="==ERROR== LibraryNotLoaded\n")
        self.assertEqual(status, 1)
        self.assertIn("LibraryNotLoaded", said)
        self.assertIn("scripts/explain", said)
        self.assertIn("no kernel", self.said(log="==PROF== Connected\n")[1])
        self.assertRegex(self.said(log=LOG[:LOG.index('"1","4711"')])[1], r"\b1 steps?\b.*\b2\b")
        status, said = self.said(program="#!/bin/sh\necho 'program: unknown option' >&2\nexit 2\n", log="")
        self.assertEqual(status, 2)
        self.assertIn("unknown option", said)


def counted(step, size, misaligned=False, **values):
    return {"family": "reduce", "kernel": "sum", "step": step, "size": size, "misaligned": misaligned, "code": "now",
            "function": "f", "launches": 1, **values}


class MarkdownTables(unittest.TestCase):
    N = {"n": 8}

    def known(self, *entries, traced=()):
        results = [figures.Results("reduce/sum", "h200", {}, [], list(entries)),
                   figures.Results("reduce/sum", figures.TRACE, {}, [], list(traced))]
        return figures.Counters(results, lambda entry: entry["code"] == "now")

    def test_a_ladder(self):
        known = self.known(counted("01_atomic", self.N, dram_pct=12.4, registers=16, global_load_sectors=8,
                                   global_load_requests=2, stall_wait=1, stall_barrier=3),
                           counted("02_tree", self.N, dram_pct=50, registers=20, function="a"),
                           counted("02_tree", self.N, dram_pct=5, registers=20, function="b"),
                           counted("02_tree", self.N, True, dram_pct=99), counted("02_tree", {"n": 9}, registers=77))
        steps = [step._replace(path=ladder.ROOT / step.path) for step in STEPS]
        lines = counter_tables.counter_table(known, steps, None, ladder.ROOT / "reduce", lambda size: "8").splitlines()
        self.assertEqual(lines[0], "| H200, 8 | ld sect | DRAM % | regs | most waiting |")
        self.assertEqual(lines[2:5], ["| [01_atomic](sum_01_atomic.cu) | 4.0 | 12 | 16 | barrier 75% |",
                                      "| [02_tree](sum_02_tree.cu), `a` |  | 50 | 20 |  |",
                                      "| [02_tree](sum_02_tree.cu), `b` |  | 5 | 20 |  |"])
        self.assertIsNone(counter_tables.counter_table(known, steps, "9", ladder.ROOT / "reduce", lambda size: "8"))

    def test_stale_counters_are_left_out(self):
        known = self.known({**counted("01_atomic", self.N, dram_pct=1), "code": "before"})
        self.assertEqual(known.of("h200", "sum"), [])
        self.assertEqual(known.stale, {"h200": {"sum_01_atomic": None}})

    def test_ours_beside_the_hardware_s(self):
        known = self.known(counted("01_atomic", self.N, global_load_sectors=60, shared_load_wavefronts=10),
                           counted("01_atomic", self.N, function="g", global_load_sectors=40),
                           counted("01_atomic", self.N, True, global_load_sectors=100),
                           counted("02_tree", self.N, global_load_sectors=5),
                           traced=[counted("01_atomic", self.N, global_load_sectors=100, shared_load_wavefronts=11),
                                   counted("01_atomic", self.N, True, global_load_sectors=101)])
        self.assertEqual(counter_tables.closer({"shared_load_wavefronts": 40, "joined_load_wavefronts": 10}, 12,
                                               "shared_load_wavefronts"), 10)
        summary = counter_tables.compared(known, {"sum": STEPS, "max": []}).splitlines()
        self.assertEqual(summary[2:], ["| `sum` | 3 | 1 | 1 | shared load wavefronts of 01: +10% |"])

    def test_what_explain_says(self):
        def access(space, op, requests, units, is_async=False):
            return {"space": space, "op": op, "requests": requests, "units": units, "async": is_async}

        launch = {"totals": {"shared_load": {"requests": 8, "units": 8, "merged_requests": 2, "merged_units": 6}},
                  "accesses": [access("global", "load", 2, 8), access("global", "load", 1, 16, True),
                               access("shared", "store", 1, 4, True), access("shared", "store", 3, 5),
                               access("shared", "load", 8, 8), access("constant", "load", 1, 1)]}
        found = counter_tables.traced({"family": "reduce", "kernel": "sum", "step": "sum_02_tree", "size": self.N,
                                       "launches": [launch, launch]})
        self.assertEqual(found, {"family": "reduce", "kernel": "sum", "step": "02_tree", "size": self.N,
                                 "global_load_sectors": 16, "global_load_requests": 4, "async_copy_sectors": 32,
                                 "async_copy_wavefronts": 8, "async_copy_requests": 4, "shared_store_wavefronts": 10,
                                 "shared_store_requests": 6, "shared_load_wavefronts": 16, "shared_load_requests": 16,
                                 "joined_load_wavefronts": 12, "joined_load_requests": 4})


class Record(unittest.TestCase):
    def entry(self, step, n, misaligned=False, function="f", **values):
        return {"kernel": "sum", "step": step, "size": {"n": n}, "misaligned": misaligned, "function": function,
                **values}

    def test_only_the_same_runs_are_replaced(self):
        old = [self.entry("01", 8, registers=1), self.entry("01", 8, function="gone"),
               self.entry("01", 8, misaligned=True), self.entry("01", 9), self.entry("02", 8)]
        found = script.recorded(old, [self.entry("01", 8, registers=2)])
        self.assertEqual(found, [self.entry("01", 8, registers=2), self.entry("01", 8, misaligned=True),
                                 self.entry("01", 9), self.entry("02", 8)])


if __name__ == "__main__":
    unittest.main()
