"""scripts/run: builds the kernels' ladders, runs them, and says what passed."""
import re
import subprocess
import sys

import ladder

sys.argv[0] = "run"

DESCRIPTION = """\
Builds and runs the ladder of each kernel: all its steps, each checked, on a GPU each timed too.
On a GPU if nvcc and a GPU are there, else on the CPU backend, which prints no times.
"""
EPILOG = """\
examples:
  scripts/run                        every kernel
  scripts/run sum reduce             kernels, or families of kernels
  scripts/run sum -- --n=2^20        with options for the programs; 'scripts/run sum -- --help' lists them

Exit status: 0 if no step failed, 1 if one did or a program crashed, 2 for bad usage.
"""


class Tally:
    """What became of each step: PASS, FAIL or skipped, perhaps followed by the reason."""

    def __init__(self):
        self.verdicts = {}

    def read(self, line, kernel):
        """Notes the verdict in a line of a program's output, if there is one. A step fails if it fails at any size."""
        entry = ladder.parse_entry(line)
        if entry:
            name, verdict = f"{kernel}_{entry['step']}", "PASS" if entry["verified"] else "FAIL"
        else:
            match = re.match(r"(\w+):? +(PASS|FAIL|skipped, .*)", line)
            if not match:
                return
            name, verdict = match.groups()
        if self.verdicts.get(name) != "FAIL":
            self.verdicts[name] = verdict

    def count(self, word):
        return sum(verdict.startswith(word) for verdict in self.verdicts.values())

    def summary(self):
        passed, failed = self.count("PASS"), self.count("FAIL")
        return f"{passed} steps passed, {failed} failed, {len(self.verdicts) - passed - failed} skipped"


def run_program(executable, options, kernel, tally):
    """Runs a ladder, showing its output as it comes; returns its exit status."""
    process = subprocess.Popen([executable, *options], stdout=subprocess.PIPE, text=True, errors="replace")
    for line in process.stdout:
        print(line, end="", flush=True)
        tally.read(line, kernel)
    return process.wait()


def run_kernel(preset, kernel, steps, options, tally):
    """Runs one kernel's ladder; whatever its output leaves open is settled here."""
    left_out = ladder.skipped(preset)
    built = [step for step in steps if step.name not in left_out]
    status = 0
    if built:
        executable = ladder.program(preset, kernel, steps[0].family)
        status = run_program(executable, options, kernel, tally)
        if status == 2:
            sys.exit(2)
        if status not in (0, 1, ladder.NO_DEVICE):
            print(f"{kernel}: {executable.relative_to(ladder.ROOT)} {ladder.describe_exit(status)}; "
                  f"run its steps one by one to see which: {executable.parent.relative_to(ladder.ROOT)}/{kernel}_*")
    for step in steps:
        if step.name in tally.verdicts:
            continue
        if step.name in left_out:
            tally.verdicts[step.name] = "skipped, needs " + left_out[step.name]
        elif status == ladder.NO_DEVICE:
            tally.verdicts[step.name] = "skipped, no CUDA device"
        elif status != 0:
            tally.verdicts[step.name] = "FAIL, no verdict"
        else:
            continue
        print(f"{step.name}: {tally.verdicts[step.name]}")


def main():
    parser = ladder.ArgumentParser(DESCRIPTION, epilog=EPILOG, usage="%(prog)s [options] [KERNEL...] [-- OPTIONS]")
    parser.add_argument("--backend", metavar="cuda|cpu", help="instead of the one found to be possible")
    parser.add_argument("kernels", metavar="KERNEL", nargs="*",
                        help="a kernel or family; default all; softmax/softmax is the kernel alone")
    arguments, options = parser.parse_with_rest()
    kernels = ladder.kernels(arguments.kernels)
    backend = ladder.choose_backend(arguments.backend)
    preset = {"cuda": "gpu", "cpu": "cpu"}[backend]

    ladder.configure(preset)
    left_out = ladder.skipped(preset)
    ladder.build(preset, [f"ladder_{kernel}" for kernel, steps in kernels.items()
                          if any(step.name not in left_out for step in steps)])

    tally = Tally()
    for number, (kernel, steps) in enumerate(kernels.items(), 1):
        print(f"\n[{number}/{len(kernels)}] {kernel}", flush=True)
        run_kernel(preset, kernel, steps, options or [], tally)
    print("\n" + tally.summary())
    sys.exit(1 if tally.count("FAIL") else 0)


if __name__ == "__main__":
    main()
