"""Runs a program of somebody else's: in a process group of its own, with limits on CPU time, memory and output. A busy
machine changes nothing; but a program that only waits is ended too."""
import contextlib
import os
import resource
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

MEMORY = 2 << 30  # bytes resident
OUTPUT = 1 << 20  # bytes printed
FILE_SIZE = 16 << 20  # of what it writes
POLL_S = 0.01
WAITING = 6  # times the limit on CPU time, and as many seconds more, may pass on the clock
WAITING_S = 30
LAST_WORDS_S = 2  # of CPU time: after SIGXCPU the CPU backend says where it is


class Result(NamedTuple):
    status: int  # as of Popen: -N for signal N
    output: str  # standard output and error
    stopped: str  # "time", "memory" or "output" where a limit ended it, else ""
    seconds: float  # of CPU time


def resident(pid):
    """Bytes that a process and its children hold in memory; 0 where the system does not say."""
    try:
        own = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (OSError, IndexError):
        return 0
    return own * os.sysconf("SC_PAGE_SIZE") + sum(map(resident, children))


def limited(command, seconds, file_size):
    """The command, started by prlimit, so that its limits stand before it runs. AddressSanitizer's start reads a limit
    and sets it, and fails if the limit was lowered in between. Nor can a forked child set them before it runs the
    command: this process has threads."""
    cpu = max(1, round(seconds))
    options = []
    for name, soft, hard in (("core", 0, 0), ("fsize", file_size, file_size), ("cpu", cpu, cpu + LAST_WORDS_S)):
        _, most = resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))
        if most != resource.RLIM_INFINITY:
            soft, hard = min(soft, most), min(hard, most)
        options.append(f"--{name}={soft}:{hard}")
    return ["prlimit", *options, "--", *map(str, command)]


running = set()  # processes that lead their groups


def kill(process):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def end_all():
    """What other threads run here ends."""
    for process in list(running):
        kill(process)


def poll(process):
    """Has it ended? Notes its exit status and, as Popen does not, its CPU time."""
    if process.returncode is None:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            process.cpu_seconds = usage.ru_utime + usage.ru_stime
    return process.returncode is not None


def run(command, seconds, environment=None, memory=MEMORY, folder=None, file_size=FILE_SIZE):
    """Runs a command in a folder; without one in an empty one, which is deleted afterwards."""
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="judge-") as empty:
            return run(command, seconds, environment, memory, empty, file_size)
    end, stopped = time.monotonic() + WAITING * seconds + WAITING_S, ""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(limited(command, seconds, file_size), cwd=folder, stdin=subprocess.DEVNULL,
                                   stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
                                   env={**os.environ, **(environment or {})})
        process.cpu_seconds = 0.0
        running.add(process)
        try:
            while not stopped:
                ended = poll(process)
                if os.fstat(output.fileno()).st_size > OUTPUT:
                    stopped = "output"
                elif ended:
                    break
                elif resident(process.pid) > memory:
                    stopped = "memory"
                elif time.monotonic() > end:
                    stopped = "time"
                else:
                    time.sleep(POLL_S)
        finally:
            kill(process)
            while not poll(process):
                time.sleep(POLL_S)
            running.discard(process)
        output.seek(0)
        said = output.read(OUTPUT).decode(errors="replace")
    stopped = {-signal.SIGXCPU: "time", -signal.SIGXFSZ: "output"}.get(process.returncode, stopped)
    return Result(process.returncode, said, stopped, process.cpu_seconds)
