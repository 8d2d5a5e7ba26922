"""Runs one of the runner's programs within limits, and reads what it recorded (common/runner/record.hpp)."""
import os
import re
import tempfile
from pathlib import Path
from typing import NamedTuple

import ladder
from ladder import sandbox

PRINTED_LINES, PRINTED_COLUMNS = 20, 100  # kept of what a submission prints
CORES = max(1, len(os.sched_getaffinity(0)) / 2)  # in pairs; the CPU backend keeps all of them busy


class Outcome(NamedTuple):
    result: sandbox.Result
    records: list
    printed: str  # the first lines that the submission prints

    @property
    def entry(self):
        """The object with the verdict; {} if the program ended before it."""
        return next((record for record in reversed(self.records) if "verified" in record), {})

    @property
    def passed(self):
        return self.result.status == 0 and not self.result.stopped and self.entry.get("verified", False)

    @property
    def facts(self):
        """The failure's facts, or those of the check that ran when the program ended."""
        running = next((record["running"] for record in reversed(self.records) if "running" in record), {})
        return self.entry.get("failure") or running

    @property
    def reports(self):
        """The CPU backend's reports."""
        return [report for record in self.records for report in record.get("reports", [])]

    @property
    def sanitizer(self):
        """A sanitizer's error: its first line, and how far the address lies outside which memory region."""
        said, *more = (re.search(pattern, self.result.output, re.MULTILINE) for pattern in (
            r"(?:ERROR: (?=\w+Sanitizer: )|(?=runtime error: ))(.*?)(?: on (?:unknown )?address |$)",
            r"^((?:READ|WRITE) of size \d+)", r"is located (\d+ bytes .*?\d+-byte region)"))
        return ", ".join(found[1].strip() for found in [said, *more] if found) if said else ""

    @property
    def sanitizer_at(self):
        """The first source line in a sanitizer's stack, as "file:line:column"."""
        found = re.search(r"^ +#\d+ .* (\S+\.cuh?):(\d+)", self.result.output, re.MULTILINE)
        found = found or re.search(r"(\S+\.cuh?):(\d+):\d+: runtime error", self.result.output)
        return f"{found[1]}:{found[2]}:1" if found else ""


def lines_of(path):
    """Returns the lines of a file that the program may have written. Paths in it become relative to the top folder."""
    text = path.read_text(errors="replace") if path.is_file() else ""
    return text.replace(f"{ladder.ROOT}/", "").splitlines()


def records_in(path):
    """Returns the complete records. The last line may be cut if the program crashed."""
    return [record for record in map(ladder.parse_entry, lines_of(path)) if record]


def run(program, options, seconds, environment=None):
    """Runs a program and returns its Outcome. `seconds` is CPU time on two cores, scaled by the cores."""
    with tempfile.TemporaryDirectory() as folder:
        printed, record = Path(folder) / "printed", Path(folder) / "record"
        result = sandbox.run([program, *options, "--quiet", f"--printed={printed}", f"--record={record}"],
                             seconds * CORES, environment)
        result = result._replace(output=result.output.replace(f"{ladder.ROOT}/", ""), seconds=result.seconds / CORES)
        lines = [line[:PRINTED_COLUMNS] for line in lines_of(printed)]
        lines[PRINTED_LINES:] = ["..."] * (len(lines) > PRINTED_LINES)
        return Outcome(result, records_in(record), "\n".join(lines))
