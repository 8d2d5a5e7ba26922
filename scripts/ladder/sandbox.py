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
OUTPUT = 1 << 20  # bytes kept of what it prints
FILE_SIZE = 16 << 20  # bytes of what it prints, and of a file that it writes
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


running = set()  # ids of processes that lead their groups


def kill(group):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def end_all():
    """What other threads run here ends."""
    for group in list(running):
        kill(group)


def at_most(value, kind):
    """A limit, or the system's own hard one where that is lower: only root may raise it."""
    most = resource.getrlimit(kind)[1]
    return value if most == resource.RLIM_INFINITY else min(value, most)


def run(command, seconds, environment=None, memory=MEMORY, folder=None, file_size=FILE_SIZE):
    """Runs a command in a folder; without one in an empty one, which is deleted afterwards."""
    end, ended, stopped = time.monotonic() + WAITING * seconds + WAITING_S, 0, ""
    cpu = max(1, round(seconds))
    # prlimit sets the limits before the command runs: AddressSanitizer's start fails if one is lowered meanwhile, and a
    # forked child of this process, which has threads, may not set them
    soft, hard = (at_most(limit, resource.RLIMIT_CPU) for limit in (cpu, cpu + LAST_WORDS_S))
    limited = ["prlimit", "--core=0", f"--fsize={at_most(file_size, resource.RLIMIT_FSIZE)}", f"--cpu={soft}:{hard}",
               "--", *command]
    with tempfile.TemporaryFile() as output, tempfile.TemporaryDirectory(prefix="judge-") as empty:
        process = subprocess.Popen(limited, cwd=folder or empty, env={**os.environ, **(environment or {})},
                                   stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                   start_new_session=True)
        running.add(process.pid)
        try:
            while not ended and not stopped:
                time.sleep(POLL_S)
                ended, status, usage = os.wait4(process.pid, os.WNOHANG)  # Popen.poll() does not tell the CPU time
                if resident(process.pid) > memory:
                    stopped = "memory"
                elif time.monotonic() > end and not ended:
                    stopped = "time"
        finally:
            kill(process.pid)
            if not ended:
                _, status, usage = os.wait4(process.pid, 0)
            running.discard(process.pid)
            process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        stopped = {-signal.SIGXCPU: "time", -signal.SIGXFSZ: "output"}.get(process.returncode, stopped)
        return Result(process.returncode, output.read(OUTPUT).decode(errors="replace"), stopped,
                      usage.ru_utime + usage.ru_stime)
