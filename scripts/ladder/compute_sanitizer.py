"""Runs the tools of compute-sanitizer and reads their findings."""
import re

import ladder

# Each tool's options. synccheck counts an array of barriers as one.
TOOLS = {"memcheck": [], "racecheck": ["--racecheck-report", "all"], "initcheck": [],
         "synccheck": ["--num-cuda-barriers", "64"]}
FINDINGS_STATUS = 9
TEST_SIZES = ["--random-data"]  # the option for all sizes of the tests
SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (\d+)")


def command(tool, executable, options):
    """Returns the command that checks a program's results under a tool."""
    return ["compute-sanitizer", "--tool", tool, *TOOLS[tool], "--print-limit", "5", "--error-exitcode",
            str(FINDINGS_STATUS), executable, "--check", "--exact-buffers", *options]


def small_sizes(executable):
    """Returns two sets of options: an odd size with few blocks, the CPU backend's small size with many."""
    dims = ladder.dims(executable)
    # descending: top_k needs k <= columns, and block_shape needs width * height <= 1024
    odd = [1025] if len(dims) == 1 else [37 - 2 * place for place in range(len(dims))]
    return [[f"--{name}={min(size, most)}" for (name, most), size in zip(dims.items(), odd)], ["--small"]]


def has_findings(status, output):
    summary = SUMMARY.search(output)
    return status == FINDINGS_STATUS or (summary is not None and summary[1] != "0")


def did_run(status, output):
    """Returns whether the tool ran to its end, with or without findings."""
    return has_findings(status, output) or (status == 0 and SUMMARY.search(output) is not None)


def first_finding(output):
    """Returns the first lines of a tool's report, without the tool's prefix."""
    lines = [line.replace("=========", "", 1).strip() for line in output.splitlines() if line.startswith("=========")]
    lines = [line for line in lines if line and not line.startswith("COMPUTE-SANITIZER") and not SUMMARY.match(line)]
    return "\n".join(lines[:6])
