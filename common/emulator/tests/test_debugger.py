#!/usr/bin/env python3
"""Checks what gdb shows for kernels on the CPU backend, with the commands that scripts/debug loads.

usage: test_debugger.py PROGRAM, which is debugged.cu without optimization. Exits with 77 without a gdb that has Python.
"""
import re
import subprocess
import sys
import unittest
from pathlib import Path

EMULATOR = Path(__file__).resolve().parents[1]
SOURCE = Path(__file__).with_name("debugged.cu")
SKIPPED = 77
PROGRAM = None


def at(name):
    """Returns the number of a marked line, which gdb prints before the text."""
    lines = SOURCE.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(f"// at: {name}"))


def gdb(*commands, arguments=()):
    words = ["gdb", "-q", "-nx", "-batch", "-x", EMULATOR / "debug.gdb", "-x", EMULATOR / "cuda_commands.py"]
    for command in commands:
        words += ["-ex", command]
    done = subprocess.run([*words, "--args", PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, text=True, timeout=100)
    return done.stdout


class Debugger(unittest.TestCase):
    def session(self, *commands):
        """Returns the output after thread 0 of the first block has stopped at its first line."""
        output = gdb("tbreak twice", "run", "echo --\\n", *commands)
        self.assertIn("Temporary breakpoint", output)
        return output.partition("\n--\n")[2]

    def test_where_it_is(self):
        self.assertEqual(self.session("cuda", "cuda block thread").splitlines()[:2],
                         ["block (0,0,0), thread (0,0,0)"] * 2)

    def test_a_thread_that_has_not_started(self):
        output = self.session("cuda block 2 thread 37", "print threadIdx.x + 1000 * blockIdx.x", "next", "next",
                              "print i")
        self.assertIn("[Switching to block (2,0,0), thread (37,0,0)]", output)
        self.assertRegex(output, rf"(?m)^{at('start')}\t")
        self.assertIn("$1 = 2037\n", output)
        self.assertIn("$2 = 165\n", output)

    def test_a_thread_that_waits(self):
        output = self.session("cuda thread 5", "cuda thread (3,0,0)", "info locals", "info cuda threads")
        self.assertRegex(output, rf"(?m)^{at('after')}\t")
        self.assertIn("i = 3\n", output)
        self.assertRegex(output, r"(?m)^\* \(3,0,0\) +1  running$")
        self.assertNotIn("launch later", output)

    def test_threads(self):
        output = self.session("cuda thread 5", "info cuda threads")
        barrier = rf"waits in __syncthreads at debugged\.cu:{at('barrier')}"
        self.assertRegex(output, rf"(?m)^block \(0,0,0\), 64 threads\n  \(0,0,0\) to \(4,0,0\) +5  {barrier}\n"
                                 r"\* \(5,0,0\) +1  running\n  \(6,0,0\) to \(63,0,0\) +58  not started$")

    def test_a_thread_that_has_ended(self):
        output = self.session("cuda block 3", "cuda block 1 thread 2", "cuda block 0", "cuda block 3 thread 63", "kill")
        self.assertEqual(output.count("That thread had ended: this is 1 launch later."), 2)
        output = self.session("cuda block 3", "cuda block 0", "cuda block 0 thread 1", "cuda block 3", "cuda block 0",
                              "cuda block 3 thread 1", "cuda block 0", "cuda")
        self.assertIn("Block (0,0,0), thread (0,0,0) did not run again.", output)
        self.assertIn("no kernel is running", output)

    def test_breakpoints_of_the_user_stay(self):
        output = self.session("break twice if threadIdx.x == 9", "cuda thread 20", "info breakpoints", "continue")
        self.assertIn("[Switching to block (0,0,0), thread (20,0,0)]", output)
        self.assertEqual(len(re.findall(r"(?m)^\d+ +breakpoint +keep y ", output)), 2, output)  # and cuda_emu_error
        self.assertRegex(output, r"(?m)^(Thread .* hit )?Breakpoint 3, twice")

    def test_bad_usage(self):
        output = gdb("cuda thread 1", "info cuda threads")
        self.assertEqual(output.count("no kernel is running"), 2)
        output = self.session("cuda thread 64", "cuda block 0,1", "cuda lane 3", "cuda")
        self.assertIn("there is no thread (64,0,0): this launch has (64,1,1)\n", output)
        self.assertIn("there is no block (0,1,0): this launch has (4,1,1)\n", output)
        self.assertIn("usage: cuda [block", output)
        self.assertIn("block (0,0,0), thread (0,0,0)", output)

    def test_ctrl_c_in_an_endless_loop(self):
        output = gdb("run", "where 1", "cuda", arguments=["spin"])
        self.assertIn("SIGINT", output)
        self.assertRegex(output, r"(?m)^#0 +(0x\w+ in )?spin \(.*debugged\.cu:(%d|%d)$" % (at("spin"), at("spin") + 1))
        self.assertIn("block (0,0,0), thread (0,0,0)", output)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop()
    try:
        has_python = subprocess.run(["gdb", "-nx", "-batch", "-ex", "python print(1)"], stdout=subprocess.PIPE,
                                    stderr=subprocess.DEVNULL, text=True).stdout == "1\n"
    except FileNotFoundError:
        has_python = False
    if not has_python:
        print("skipped: needs gdb with Python")
        sys.exit(SKIPPED)
    unittest.main()
