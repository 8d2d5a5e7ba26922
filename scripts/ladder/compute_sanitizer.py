"""compute-sanitizer: its tools, how they are run, and what they find."""
import re

import ladder

# Each tool's options; synccheck counts an array of barriers as one.
TOOLS = {"memcheck": [], "racecheck": ["--racecheck-report", "all"], "initcheck": [],
         "synccheck": ["--num-cuda-barriers", "64"]}
FINDINGS_STATUS = 9
TEST_SIZES = ["--random-data"]  # the option for all sizes of the tests
SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (\d+)")


def command(tool, executable, options):
    """Checks a program's results under a tool."""
    return ["compute-sanitizer", "--tool", tool, *TOOLS[tool], "--print-limit", "5", "--error-exitcode",
            str(FINDINGS_STATUS), executable, "--check", "--exact-buffers", *options]


def small_sizes(executable):
    """Two sets of options: an odd size of a few blocks, and the CPU backend's size, of many."""
    dims = ladder.dims(executable)
    # falling, as k of top_k is at most the columns, and width times height of block_shape at most 1024
    odd = [1025] if len(dims) == 1 else [37 - 2 * place for place in range(len(dims))]
    return [[f"--{name}={min(size, most)}" for (name, most), size in zip(dims.items(), odd)], ["--small"]]


def has_findings(status, output):
    summary = SUMMARY.search(output)
    return status == FINDINGS_STATUS or (summary is not None and summary[1] != "0")


def did_run(status, output):
    """To its end, whether or not it found something."""
    return has_findings(status, output) or (status == 0 and SUMMARY.search(output) is not None)


def first_finding(output):
    """The first lines of what a tool reports, without its prefix."""
    lines = [line.replace("=========", "", 1).strip() for line in output.splitlines() if line.startswith("=========")]
    lines = [line for line in lines if line and not line.startswith("COMPUTE-SANITIZER") and not SUMMARY.match(line)]
    return "\n".join(lines[:6])
