"""What the Python scripts share: the steps that the folders hold, building them, running them."""
import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent

if not shutil.which("nvcc") and os.access("/usr/local/cuda/bin/nvcc", os.X_OK):
    os.environ["PATH"] += os.pathsep + "/usr/local/cuda/bin"

NO_DEVICE = 77  # a program's exit status where there is no GPU


class Step(NamedTuple):
    family: str
    kernel: str
    number: str
    name: str  # the file's, e.g. sum_07_warp_shuffle
    path: Path

    @property
    def id(self):
        return self.name[len(self.kernel) + 1:]

    @property
    def is_vendor(self):
        return self.number == "00"


def steps():
    """All steps, by family, kernel and number."""
    found = []
    for path in ROOT.glob("*/*.cu"):
        match = re.fullmatch(r"([a-z0-9_]+)_(\d\d)_[a-z0-9_]+", path.stem)
        if match and path.parent.name != "practice":  # the reader's own
            found.append(Step(path.parent.name, match[1], match[2], path.stem, path))
    return sorted(found)


def kernels(names=()):
    """The kernels named, each with its steps: {kernel: [Step]}. A family stands for its kernels, no name for all; where
    a kernel has its family's name, softmax/softmax is the kernel alone."""
    def names_of(step):
        return {step.family, step.kernel, f"{step.family}/{step.kernel}"}

    chosen = {}
    for step in steps():
        if not names or names_of(step) & set(names):
            chosen.setdefault(step.kernel, []).append(step)
    known = set().union(*map(names_of, steps()))
    unknown = [name for name in names if name not in known]
    if unknown:
        listed = ", ".join(sorted(name for name in known if "/" not in name))
        usage_error(f"no kernel or family '{unknown[0]}'; there are {listed}")
    return chosen


def kernel_names(source):
    """The names of the __global__ functions in a file."""
    text = re.sub(r"//.*", "", source.read_text())
    text = re.sub(r"__(?:launch_bounds|cluster_dims|maxnreg)__\s*\((?:[^()]|\([^()]*\))*\)", "", text)
    return re.findall(r"__global__\s[^;{()]*?(\w+)\s*\(", text)


# ---- the command line

def say(*words):
    print(*words, file=sys.stderr, flush=True)


def script_name():
    return Path(sys.argv[0]).name


def fail(message, status=1):
    say(f"{script_name()}: {message}")
    sys.exit(status)


def usage_error(message):
    fail(message, 2)


class ArgumentParser(argparse.ArgumentParser):
    """Bad usage gets one line."""

    def __init__(self, description, **options):
        super().__init__(prog=f"scripts/{script_name()}", description=description, allow_abbrev=False,
                         formatter_class=argparse.RawDescriptionHelpFormatter, **options)

    def error(self, message):
        usage_error(f"{message}; see --help")

    def parse_with_rest(self, arguments=None):
        """Also returns what follows a --, or None if there is none."""
        arguments = sys.argv[1:] if arguments is None else arguments
        if "--" not in arguments:
            return self.parse_args(arguments), None
        at = arguments.index("--")
        return self.parse_args(arguments[:at]), arguments[at + 1:]


# ---- building

def shell(command, *arguments, **options):
    """Runs a function of lib.sh under this script's name; exits as it does if it fails."""
    script = f'source "{ROOT}/scripts/lib.sh"; {command} "$@"'
    done = subprocess.run(["bash", "-c", script, script_name(), *arguments], text=True, **options)
    if done.returncode != 0:
        sys.exit(done.returncode)
    return done.stdout


def choose_backend(asked):
    return shell("choose_backend", asked or "", stdout=subprocess.PIPE).strip()


def configure(preset, *needs):
    """Installs what `needs` (see scripts/setup) names besides the build tools, and makes build/<preset>."""
    shell('"$LADDER_ROOT/scripts/setup" --quiet build', *needs)
    shell("configure", preset)


def build(preset, targets):
    shell("build", preset, *targets)


def program(preset, step_or_kernel, family, subfolder=""):
    return ROOT / "build" / preset / family / subfolder / step_or_kernel


def skipped(preset):
    """The steps that the build leaves out, each with what it needs: {"sum_00_cub": "gpu"}."""
    names = {step.name for step in steps()}
    left_out = {}
    for line in (ROOT / "build" / preset / "skipped.txt").read_text().splitlines():
        match = re.fullmatch(r"\w+\.(\w+): needs (.*)", line)
        if match and match[1] in names:
            left_out[match[1]] = match[2]
    return left_out


def require_gpu():
    """Ends the script where it has nothing to run on."""
    if not shutil.which("nvcc"):
        fail("needs a GPU and nvcc, from the CUDA toolkit; there is no nvcc", NO_DEVICE)
    if not shell("gpu_name", stdout=subprocess.PIPE).strip():
        fail("needs a GPU; nvidia-smi shows none", NO_DEVICE)


# ---- running

def dims(executable):
    """The names of a program's dimensions, from its --help, but for the optional ones (default 0)."""
    text = subprocess.run([executable, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.findall(r"^  --(\w+)=N +default [1-9]\d*, at most", text, re.MULTILINE)


def describe_exit(status):
    """In words, for a status that no program of ours gives on purpose."""
    if status < 0:
        return f"crashed: {signal.Signals(-status).name}"
    return f"ended with exit status {status}"


def parse_entry(line):
    """The object of a --json line, or None."""
    if not line.startswith("{"):
        return None
    try:
        return json.loads(line)
    except ValueError:
        return None
