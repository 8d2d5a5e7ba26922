#!/usr/bin/env python3
"""Runs a planted bug, in a program that may have others, and demands that it is caught in each way its source names:

    // bug: <one line: what is wrong>
    // caught by: <where> [<mode>] | <text that must appear in the output> [| <more options for the program>]

A line '// stage: ...' names the stage at which scripts/judge rejects it (scripts/tests/judge_known.py). <where> is cpu
or cpu-asan, <mode> then the order of threads (forward, which is the default, reverse, random or random:<seed>); or
cpu-trace, which counts accesses and finds those that race; or gpu, <mode> then a tool of compute-sanitizer, or nothing
for a plain run. Of these lines, those that fit the build are tried. Each must make the program fail and print the text;
'did not end' stands for a program that was ended after a minute. What nothing on a GPU finds for sure has a line
'// not caught by: gpu | <why>'.
A line 'ptxas | <text>' is for scripts/tests/test_ptxas.py: the program may be right, for ptxas fixes it, and says so.

Exit status: 0 if the bug was caught, 1 if it was not or the source says too little, 77 if nothing could be tried.
"""
import argparse
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))
import ladder
from ladder import compute_sanitizer

SKIPPED = ladder.NO_DEVICE
TIME_LIMIT = 60  # seconds
ORDER = r"(forward|reverse|random(:\d+)?)?"
TOOL = "(" + "|".join(compute_sanitizer.TOOLS) + ")?"
MODES = {"cpu": ORDER, "cpu-asan": ORDER, "cpu-trace": "", "gpu": TOOL, "ptxas": ""}


class Catch(NamedTuple):
    where: str
    mode: str
    text: str
    options: list

    def __str__(self):
        return f"{self.where} {self.mode}".strip()


def fail(message):
    print(f"FAIL: {message}")
    sys.exit(1)


def parse_catch(line):
    fields = [field.strip() for field in line.split("|")]
    where, _, mode = fields[0].partition(" ")
    known = where in MODES and re.fullmatch(MODES[where], mode.strip())
    if not known or len(fields) not in (2, 3) or not fields[1]:
        fail(f"'// caught by: {line}' is not of the form '<where> [<mode>] | <text> [| <options>]'; see --help")
    return Catch(where, mode.strip(), fields[1], shlex.split(fields[2]) if len(fields) == 3 else [])


def read_source(path):
    """What is wrong, and how it is caught."""
    source = path.read_text()
    bug = re.search(r"^// bug: *(\S.*)", source, re.MULTILINE)
    catches = [parse_catch(line) for line in re.findall(r"^// caught by: *(.*)", source, re.MULTILINE)]
    if not bug:
        fail(f"{path} has no line '// bug: ...'")
    needed = {"a GPU": ("gpu", "ptxas")}
    if not re.search(r"^// needs: (?!sm_8\d$)", source, re.MULTILINE):  # else the CPU backend leaves it out
        needed["the CPU backend"] = ("cpu", "cpu-asan", "cpu-trace")
    for backend, places in needed.items():
        excused = "gpu" in places and re.search(r"^// not caught by: gpu \| \S", source, re.MULTILINE)
        if not excused and not any(catch.where in places for catch in catches):
            fail(f"{path} has no line '// caught by: ...' for {backend}")
    return bug[1], catches


def command_of(catch, bug, executable):
    options = ["--only", bug, *catch.options]
    if catch.where == "cpu-trace":
        return [str(executable), "--trace", *options]
    if catch.where == "gpu" and catch.mode:
        return compute_sanitizer.command(catch.mode, str(executable), options)
    return [str(executable), "--check", *options]


def environment_of(catch):
    environment = dict(os.environ)
    if catch.where != "gpu":
        environment["CUDA_EMU_ORDER"] = {"": "forward", "random": "random:1"}.get(catch.mode, catch.mode)
    return environment


def run(command, environment):
    """Exit status, None if it did not end in time, and what was printed."""
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
    try:
        output, _ = process.communicate(timeout=TIME_LIMIT)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # a tool and the program that it started
        return None, process.communicate()[0]


def try_catch(catch, bug, executable):
    """Is the bug caught? None if that cannot be tried here."""
    command = command_of(catch, bug, executable)
    if not shutil.which(command[0]):
        print(f"{catch}: skipped, there is no {command[0]}")
        return None
    status, output = run(command, environment_of(catch))
    if status == SKIPPED:
        print(f"{catch}: skipped, {output.strip()}")
        return None
    # "RACECHECK SUMMARY: 0 hazards" finds nothing, whatever the text is.
    telling = [line for line in output.splitlines() if catch.text in line and "SUMMARY: 0 " not in line]
    if telling and status not in (None, 0):
        print(f"{catch}: caught, exit status {status}: {telling[0].strip()}")
        return True
    if status is None:
        reason = f"did not end within {TIME_LIMIT} s"
        if catch.text in reason:
            print(f"{catch}: caught, the program {reason}")
            return True
    elif status == 0:
        reason = "passed"
    else:
        reason = f"failed (exit status {status}), but did not print '{catch.text}'"
    print(f"{catch}: NOT CAUGHT, the program {reason}. Its output:\n{output[-4000:]}")
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, choices=["cpu", "cpu-asan", "cpu-trace", "cuda"])
    parser.add_argument("source", type=Path)
    parser.add_argument("executable", type=Path)
    arguments = parser.parse_args()

    bug, catches = read_source(arguments.source)
    print(f"{arguments.source.stem}: {bug}")
    where = "gpu" if arguments.build == "cuda" else arguments.build
    fitting = [catch for catch in catches if catch.where == where]
    if not fitting:
        print(f"skipped: it is caught by {', '.join(map(str, catches))}, not by {where}")
        sys.exit(SKIPPED)
    results = [try_catch(catch, arguments.source.stem, arguments.executable.resolve()) for catch in fitting]
    if False in results:
        sys.exit(1)
    sys.exit(SKIPPED if None in results else 0)


if __name__ == "__main__":
    main()
