"""Runs an untrusted program in its own process group, with limits on CPU time, memory and output. The limit on CPU
time does not depend on how busy the machine is. A program that only waits is ended too."""
import contextlib
import os
import resource
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

MEMORY = 2 << 30  # resident bytes
OUTPUT = 1 << 20  # bytes kept of its output
FILE_SIZE = 16 << 20  # limit in bytes for its output, and for a file that it writes
POLL_S = 0.01
WAITING = 6  # the wall-clock limit is WAITING * CPU limit + WAITING_S
WAITING_S = 30
LAST_WORDS_S = 2  # CPU time after SIGXCPU, in which the CPU backend reports where it is


class Result(NamedTuple):
    status: int  # as in Popen: -N for signal N
    output: str  # standard output and error
    stopped: str  # "time", "memory" or "output" if a limit ended it, else ""
    seconds: float  # CPU time


def resident(pid):
    """Returns the bytes that a process and its children hold in memory; 0 if the system does not say."""
    try:
        own = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (OSError, IndexError):
        return 0
    return own * os.sysconf("SC_PAGE_SIZE") + sum(map(resident, children))


running = set()  # ids of the leaders of process groups


def kill(group):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def end_all():
    """Ends all programs that other threads run here."""
    for group in list(running):
        kill(group)


def at_most(value, kind):
    """Returns a limit, or the system's hard limit if that is lower. Only root may raise that one."""
    most = resource.getrlimit(kind)[1]
    return value if most == resource.RLIM_INFINITY else min(value, most)


def run(command, seconds, environment=None, memory=MEMORY, folder=None, file_size=FILE_SIZE):
    """Runs a command in a folder. Without one it runs in an empty folder, which is deleted afterwards."""
    end, ended, stopped = time.monotonic() + WAITING * seconds + WAITING_S, 0, ""
    cpu = max(1, round(seconds))
    # prlimit sets the limits before the command starts: AddressSanitizer fails to start if one is lowered meanwhile.
    # A forked child of this process must not set them, because this process has threads.
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
                ended, status, usage = os.wait4(process.pid, os.WNOHANG)  # Popen.poll() does not return the CPU time
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
