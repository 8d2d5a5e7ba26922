"""Runs one of the runner's programs within limits, and reads what it recorded (common/runner/record.hpp)."""
import os
import re
import tempfile
from pathlib import Path
from typing import NamedTuple

import ladder
from ladder import sandbox

PRINTED_LINES, PRINTED_COLUMNS = 20, 100  # of what a submission prints, as many are kept
CORES = max(1, len(os.sched_getaffinity(0)) / 2)  # pairs of cores, which the CPU backend keeps busy


class Outcome(NamedTuple):
    result: sandbox.Result
    records: list
    printed: str  # by the submission, its first lines

    @property
    def entry(self):
        """The verdict's object; {} if the program ended before."""
        return next((record for record in reversed(self.records) if "verified" in record), {})

    @property
    def passed(self):
        return self.result.status == 0 and not self.result.stopped and self.entry.get("verified", False)

    @property
    def facts(self):
        """What is wrong, or how the check was run that ended the program."""
        running = next((record["running"] for record in reversed(self.records) if "running" in record), {})
        return self.entry.get("failure") or running

    @property
    def reports(self):
        """The CPU backend's."""
        return [report for record in self.records for report in record.get("reports", [])]

    @property
    def sanitizer(self):
        """What a sanitizer says is wrong: its line, with how far an address lies outside which memory."""
        said, *more = (re.search(pattern, self.result.output, re.MULTILINE) for pattern in (
            r"(?:ERROR: (?=\w+Sanitizer: )|(?=runtime error: ))(.*?)(?: on (?:unknown )?address |$)",
            r"^((?:READ|WRITE) of size \d+)", r"is located (\d+ bytes .*?\d+-byte region)"))
        return ", ".join(found[1].strip() for found in [said, *more] if found) if said else ""

    @property
    def sanitizer_at(self):
        """The first line of a submission that a sanitizer's stack names, as "file:line:column"."""
        found = re.search(r"^ +#\d+ .* (\S+\.cuh?):(\d+)", self.result.output, re.MULTILINE)
        found = found or re.search(r"(\S+\.cuh?):(\d+):\d+: runtime error", self.result.output)
        return f"{found[1]}:{found[2]}:1" if found else ""


def lines_of(path):
    """Of a file that the program wrote, if it did; names of files in it from the top folder on."""
    text = path.read_text(errors="replace") if path.is_file() else ""
    return text.replace(f"{ladder.ROOT}/", "").splitlines()


def records_in(path):
    """Those that are whole: the program may have ended within a line."""
    return [record for record in map(ladder.parse_entry, lines_of(path)) if record]


def run(program, options, seconds, environment=None):
    """The Outcome of a program, which may take so many seconds of CPU time on two cores; more cores take more."""
    with tempfile.TemporaryDirectory() as folder:
        printed, record = Path(folder) / "printed", Path(folder) / "record"
        result = sandbox.run([program, *options, "--quiet", f"--printed={printed}", f"--record={record}"],
                             seconds * CORES, environment)
        result = result._replace(output=result.output.replace(f"{ladder.ROOT}/", ""), seconds=result.seconds / CORES)
        lines = [line[:PRINTED_COLUMNS] for line in lines_of(printed)]
        lines[PRINTED_LINES:] = ["..."] * (len(lines) > PRINTED_LINES)
        return Outcome(result, records_in(record), "\n".join(lines))
