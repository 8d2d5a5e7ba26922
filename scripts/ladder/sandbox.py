"""Runs a program of somebody else's: in a process group of its own, with limits on time, memory and output."""
import os
import resource
import selectors
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

MEMORY = 2 << 30  # bytes resident
OUTPUT = 1 << 20  # bytes printed
FILE_SIZE = 16 << 20  # of what it writes
POLL_S = 0.05


class Result(NamedTuple):
    status: int  # as of Popen: -N for signal N
    output: str  # standard output and error
    stopped: str  # "time", "memory" or "output" where a limit ended it, else ""
    seconds: float
    printed: str = ""  # what a step itself printed, where the runner keeps that apart


def resident(pid):
    """Bytes that a process and its children hold in memory; 0 where the system does not say."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(map(resident, children))


def limited(command, seconds, file_size):
    """The command, started by prlimit, so that its limits stand before it runs. AddressSanitizer's start reads a limit
    and sets it, and fails if the limit was lowered in between. Nor can a forked child set them before it runs the
    command: this process has threads."""
    limits = {"core": (resource.RLIMIT_CORE, 0), "fsize": (resource.RLIMIT_FSIZE, file_size),
              "cpu": (resource.RLIMIT_CPU, int(seconds * (os.cpu_count() or 1)) + 1)}
    options = []
    for name, (what, value) in limits.items():
        _, most = resource.getrlimit(what)
        value = value if most == resource.RLIM_INFINITY else min(value, most)
        options.append(f"--{name}={value}:{value}")
    return ["prlimit", *options, "--", *map(str, command)]


def end(process):
    """Ends the group that the process leads."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def run(command, seconds, environment=None, memory=MEMORY, folder=None, file_size=FILE_SIZE):
    """Runs a command in a folder; without one in an empty one, which is deleted afterwards."""
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="judge-") as empty:
            return run(command, seconds, environment, memory, empty, file_size)
    start = time.monotonic()
    pieces, size, stopped = [], 0, ""
    process = subprocess.Popen(limited(command, seconds, file_size), cwd=folder, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
                               env={**os.environ, **(environment or {})})
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            ended = False
            while not stopped:
                if selector.select(0 if ended else POLL_S):
                    piece = os.read(process.stdout.fileno(), 1 << 16)
                    if not piece:
                        break
                    pieces.append(piece)
                    size += len(piece)
                elif ended:  # and a child of it may hold the pipe
                    break
                ended = process.poll() is not None
                if size > OUTPUT:
                    stopped = "output"
                elif resident(process.pid) > memory:
                    stopped = "memory"
                elif time.monotonic() - start > seconds:
                    stopped = "time"
        if not stopped:
            try:
                process.wait(max(seconds - (time.monotonic() - start), 0.1))
            except subprocess.TimeoutExpired:
                stopped = "time"
    finally:
        end(process)
        process.stdout.close()
    stopped = {-signal.SIGXCPU: "time", -signal.SIGXFSZ: "output"}.get(process.returncode, stopped)
    return Result(process.returncode, b"".join(pieces)[:OUTPUT].decode(errors="replace"), stopped,
                  time.monotonic() - start)
