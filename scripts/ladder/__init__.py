"""Shared by the Python scripts: finds the steps in the folders, builds them and runs them."""
import argparse
import contextlib
import difflib
import fcntl
import functools
import importlib.machinery
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

from ladder import cuda_source

ROOT = cuda_source.ROOT
PRACTICE = ROOT / "practice"  # the reader's own submissions

if not shutil.which("nvcc") and os.access("/usr/local/cuda/bin/nvcc", os.X_OK):
    os.environ["PATH"] += os.pathsep + "/usr/local/cuda/bin"

NO_DEVICE = 77  # a program's exit status if there is no GPU
TIMED_OUT = 124  # a program's exit status after a time limit
INTERRUPTED = 130  # a script's exit status after Ctrl-C


class Step(NamedTuple):
    """A step, or a file that is run like one: a planted bug, a whiteboard answer, a submission of the reader's own."""
    family: str
    kernel: str
    number: str  # "07"; "any" for a program for any shape, which is no ladder step; "" unless kind is step
    name: str  # the file's name, e.g. sum_08_warp_shuffle; sum_whiteboard for sum's answer
    path: Path
    kind: str = "step"  # or bug, answer, submission

    @property
    def id(self):
        return self.name[len(self.kernel) + 1:]

    @property
    def is_vendor(self):
        return self.number == "00"

    @property
    def is_any_shape(self):
        return self.number == "any"

    @property
    def is_bug(self):
        return self.kind == "bug"

    @property
    def folder(self):
        if self.kind == "submission":
            return folder_of(self.kernel)
        return self.path.parent.parent if self.is_bug or self.is_any_shape else self.path.parent

    @property
    def label(self):
        """Returns its path without the suffix, relative to the top folder: reduce/sum/sum_08_warp_shuffle."""
        return shown(self.path.with_suffix(""))

    @property
    def target(self):
        """Returns the CMake target of its own program."""
        if self.kind == "answer":
            return self.path.stem.replace("whiteboard", f"whiteboard_{self.kernel}")
        return "bug_" * self.is_bug + self.path.stem

    def program(self, preset):
        """Returns the path of its own program. The build folder mirrors the source folders; a submission's program is
        in practice/ of the build folder, wherever its source is."""
        return ROOT / "build" / preset / (f"practice/{self.path.stem}" if self.kind == "submission" else self.label)

    def ladder_program(self, preset):
        """Returns the path of the program with all steps of its kernel."""
        return ROOT / "build" / preset / self.folder.relative_to(ROOT) / self.kernel


def shown(path):
    """Returns a path as messages show it: relative to the top folder if it is below."""
    return (path.relative_to(ROOT) if path.is_relative_to(ROOT) else path).as_posix()


@functools.lru_cache(None)
def steps():
    """Returns all steps, sorted by family, kernel and number."""
    found = []
    for path in [*ROOT.glob("*/*/*.cu"), *ROOT.glob("*/*/any_shape/*.cu")]:
        match = re.fullmatch(r"(?!build/|practice/)(\w+)/\w+/(?:any_shape/)?([a-z0-9_]+?)_(any|\d\d)_[a-z0-9_]+\.cu",
                             shown(path))
        if match:
            found.append(Step(*match.groups(), path.stem, path))
    return sorted(found)


def bugs():
    """Returns the planted bugs. A bug belongs to the longest kernel name that its own name begins with."""
    found = {path: Step(step.family, kernel, "", path.stem, path, "bug")
             for kernel, (step, *_) in sorted(kernels().items(), key=lambda entry: len(entry[0]))
             for path in step.folder.glob(f"bugs/{kernel}_*.cu")}
    return sorted(found.values())


def answers():
    """Returns the whiteboard answers. reduce/sum/whiteboard.cu has the name sum_whiteboard."""
    return sorted(Step(step.family, kernel, "", f"{kernel}_{path.stem}", path, "answer")
                  for kernel, (step, *_) in kernels().items() if step.folder.name == kernel
                  for path in step.folder.glob("whiteboard*.c*"))


def folder_of(kernel):
    return next(step.folder for step in steps() if step.kernel == kernel)


def needs(step):
    """Returns the requirement in its line '// needs: ...', or an empty text."""
    found = re.search(r"^// needs: (.*)", step.path.read_text(), re.MULTILINE)
    return found[1] if found else ""


def runs_on_cpu(step):
    """Returns whether the CPU backend has what the step needs (ladder_missing in common/cmake/ladder.cmake)."""
    return re.fullmatch(r"|sm_8\d", needs(step)) is not None


@functools.lru_cache(None)
def known_names():
    """Returns the names that stand for steps, planted bugs and whiteboard answers on a command line: {"reduce/sum":
    [Step, ...]}. Files have no suffix. "reduce/" is the family; a name that is both a kernel's and a family's stands
    for the kernel."""
    known = {}
    for one in steps() + bugs() + answers():
        names, folder = {one.name, one.label}, shown(one.folder)
        if one.kind == "step":
            names |= {one.kernel, one.folder.name, folder, f"{folder}/{one.kernel}", f"{one.family}/"}
        elif one.is_bug:
            names.add(f"{folder}/bugs")
        for name in names:
            known.setdefault(name, []).append(one)
    for step in steps():
        known.setdefault(step.family, known[f"{step.family}/"])
    return known


def find(name, known):
    """Returns the steps that a name or a path (from the current or the top folder) stands for, or None."""
    here = os.path.relpath(Path(name).resolve(), ROOT)
    for text in [here] if Path(name).is_file() else [here, os.path.normpath(name)]:
        text = re.sub(r"\.(cuh?|cpp)$", "", text)
        folder = f"{text}/"
        if folder in known and (name.endswith("/") or name.startswith((".", "/"))):
            return known[folder]
        if text in known:
            return known[text]
    return None


def submission_file(name):
    """Returns the .cu file of a submission that a name stands for, or None. The name is a path relative to the current
    or the top folder, or the name of a file in practice/. It may lack the suffix."""
    bases = (Path(name), ROOT / name, PRACTICE / name)
    return next((path.resolve() for base in bases for path in (base, Path(f"{base}.cu"))
                 if path.suffix == ".cu" and path.is_file()), None)


def kernel_of(path):
    """Returns the kernel whose header a file includes, or whose name the file's name begins with; None if neither
    identifies one. Two kernels may share a folder and its header."""
    headers = {Path(header).stem for header in cuda_source.INCLUDE.findall(path.read_text(errors="replace"))}

    def fit(entry):
        kernel, (step, *_) = entry
        named = re.match(rf"{kernel}(_|$)", path.stem)
        return bool(headers & {kernel, step.folder.name}), len(kernel) if named else 0, kernel in headers

    best = max(kernels().items(), key=fit)
    return best[0] if any(fit(best)) else None


def plain_name(stem):
    """Returns a file's name in letters, digits and _, as Registration in runner/definitions.hpp does."""
    return re.sub(rb"[^0-9A-Za-z]", b"_", stem.encode()).decode()


def submission(path):
    """Returns the submission in a file, whose name begins with the kernel's."""
    kernel = kernel_of(path)
    if kernel is None:
        usage_error(f"{shown(path)}: which kernel is it? Include its header, such as \"../reduce/sum/sum.cuh\", or "
                    "name the file <kernel>.cu or <kernel>_<words>.cu")
    name = plain_name(path.stem)
    if not re.match(rf"{kernel}(_|$)", name):
        name = f"{kernel}_{name}"
    return Step(kernels()[kernel][0].family, kernel, "", name, path, "submission")


def no_such(name, known, otherwise, pages=()):
    """Ends the script with an error that suggests similar names."""
    wanted = re.sub(r"\.\w*$", "", Path(name).name.lower())
    wanted = re.sub(r"_(\d)(?=_|$)", r"_0\1", wanted)  # sum_7 means sum_07
    plain = sorted(other for other in {*known, *pages} if "/" not in other)
    parts = sorted((other for other in plain if len(wanted) > 2 and wanted in other), key=len)
    near = [wanted] if wanted in plain else parts[:5] or difflib.get_close_matches(wanted, plain, 5, 0.6)
    near = [other if other in known else f"practice/{other}.cu" for other in near]
    usage_error(f"there is no '{name}'; " + (f"did you mean {', '.join(near)}?" if near else otherwise))


def resolve(names, only_steps=False, submissions=False):
    """Returns the steps that the names stand for, in order and without duplicates. Names are those of kernels,
    families, steps and, unless only_steps is set, planted bugs and whiteboard answers, and of their files or folders.
    With `submissions` they may be the reader's own files too. Ends the script if a name stands for nothing."""
    chosen = {}
    for name in names:
        found, path = find(name, known_names()), submission_file(name)
        if not found and path:
            if not submissions:
                usage_error(f"'{name}' is not a step, and scripts/{script_name()} takes only steps; "
                            "scripts/judge judges your own files")
            found = [submission(path)]
        if not found:
            no_such(name, known_names(), "'scripts/run --list' lists what there is",
                    [path.stem for path in PRACTICE.glob("*.cu") if submissions])
        if only_steps and {"bug", "answer"} & {step.kind for step in found}:
            usage_error(f"'{name}' is not a step of a ladder")
        chosen.update(dict.fromkeys(found))
    return list(chosen)


def resolve_one(name, only_steps=False, submissions=False):
    """Returns the single step that the name stands for. Ends the script if there are several."""
    found = resolve([name], only_steps, submissions)
    if len(found) > 1:
        usage_error(f"'{name}' stands for {len(found)} steps, but one is needed, such as {found[-1].name}")
    return found[0]


def kernels(names=()):
    """Returns the steps that the names stand for, or all steps without names, by kernel: {kernel: [Step]}."""
    chosen = {}
    for step in resolve(names, only_steps=True) if names else steps():
        chosen.setdefault(step.kernel, []).append(step)
    return chosen


# ---- the command line

def say(*words):
    sys.stderr.write(" ".join(map(str, words)) + "\n")  # one write, because other threads write messages too


def wrapped(text, hang=""):
    """Wraps text for standard output at the terminal's width; continuation lines are indented by `hang`. If standard
    output is no terminal, nothing is wrapped, so a script that reads it finds a whole sentence on one line."""
    if not sys.stdout.isatty():
        return text
    width = shutil.get_terminal_size().columns
    return "\n".join(textwrap.fill(line, width, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False)
                     for line in text.split("\n"))


def columns(rows, left=1):
    """Returns the lines of a table. The first `left` cells of a row are left-aligned, the others right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  ".join(cell.ljust(width) if place < left else cell.rjust(width)
                      for place, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in rows]


def script_name():
    return Path(sys.argv[0]).name


def fail(message, status=1):
    say(f"{script_name()}: {message}")
    sys.exit(status)


def usage_error(message):
    fail(message, 2)


def run_main(main):
    """Calls main(). Ctrl-C ends the script without a message."""
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # for example 'scripts/run | head'
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(INTERRUPTED)
    except OSError as error:  # for example a full disk, or a folder without write permission
        if not error.filename:
            raise
        fail(f"{error.filename}: {error.strerror}")


def at_least(least):
    """Returns the argparse type of a whole number of at least `least`."""
    def parse(text):
        if not re.fullmatch(r"-?\d+", text) or int(text) < least:
            raise argparse.ArgumentTypeError(f"'{text}' is not a whole number of at least {least}")
        return int(text)
    return parse


def load_script(name):
    """Loads a Python script of scripts/ as a module, for its tests."""
    loader = importlib.machinery.SourceFileLoader(f"{name}_script", str(ROOT / "scripts" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class ArgumentParser(argparse.ArgumentParser):
    """Reports bad usage in one line; the epilog of --help has examples, then the exit status."""

    def __init__(self, description, epilog="", **options):
        if "Exit status:" not in description + epilog:
            epilog += ("\nExit status: 0 if all went well, 1 if not, 2 for bad usage, or where something needed is "
                       "missing.\n")
        super().__init__(prog=f"scripts/{script_name()}", description=description, epilog=epilog, allow_abbrev=False,
                         formatter_class=argparse.RawDescriptionHelpFormatter, **options)
        self._optionals.title = "options"  # the same for every Python; up to 3.9 the title is "optional arguments"

    def add_backend(self):
        self.add_argument("--backend", choices=("cuda", "cpu"), metavar="cuda|cpu",
                          help="instead of the one found to be possible")

    def error(self, message):
        usage_error(f"{message}; see --help")

    def parse_with_rest(self):
        """Returns the parsed arguments and the words after --, or None if there is no --."""
        words = sys.argv[1:]
        at = words.index("--") if "--" in words else len(words)
        return self.parse_args(words[:at]), words[at + 1:] if at < len(words) else None


# ---- building

def gpu_name():
    """Returns the name of the first GPU, or an empty text if there is none."""
    if not shutil.which("nvidia-smi"):
        return ""
    said = subprocess.run(["nvidia-smi", "-L"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    found = re.search(r"^GPU 0: (.*) \(UUID", said, re.MULTILINE)
    return found[1] if found else ""


def choose_backend(asked):
    """Returns the backend that was asked for, or else cuda if nvcc and a GPU are found, or else cpu."""
    if asked == "cuda":
        require_gpu("; --backend cpu does not")
    return asked or ("cuda" if shutil.which("nvcc") and gpu_name() else "cpu")


@contextlib.contextmanager
def locked(preset):
    """Locks build/<preset>. Other processes that want to change the folder wait."""
    folder = ROOT / "build" / preset
    folder.mkdir(parents=True, exist_ok=True)
    with open(f"{folder}.lock", "a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            say(f"{script_name()}: waiting for {lock.read().strip() or 'another process'}, which is using "
                f"build/{preset}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        lock.truncate(0)
        print(f"scripts/{script_name()} (process {os.getpid()})", file=lock, flush=True)
        yield folder


def configure(preset, *needs):
    """Installs the build tools and the parts of scripts/setup named in `needs`, and configures build/<preset>. Without
    the need "test", a missing Catch2 only leaves the tests out."""
    status = subprocess.run([ROOT / "scripts/setup", "--quiet", "build", *needs]).returncode
    if status != 0:
        sys.exit(status)
    with locked(preset) as folder:
        cache = folder / "CMakeCache.txt"
        cached = dict(re.findall(r"^(\w+):\w+=(.*)$", cache.read_text(), re.M)) if cache.is_file() else {}
        home = cached.get("CMAKE_HOME_DIRECTORY", ROOT)
        if Path(home).resolve() != ROOT:  # a copied or moved folder still names its old sources
            say(f"build/{preset} belongs to another source folder, {home}: removing it")
            shutil.rmtree(folder)
            folder.mkdir()
        tests = ["-DLADDER_TESTS=ON"] * ("test" in needs)
        made = folder / "build.ninja"
        if (made.is_file() and made.stat().st_mtime > (ROOT / "CMakePresets.json").stat().st_mtime
                and (not tests or cached.get("LADDER_TESTS") == "ON")):
            # CMake reads its changed inputs here, not in the build, because the scripts ask which steps are left out.
            command = ["cmake", "--build", folder, "--target", "build.ninja"]
            if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
                return
        say(f"Configuring build/{preset}")
        done = subprocess.run(["cmake", "--preset", preset, *tests], cwd=ROOT, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            fail(f"cmake --preset {preset} failed:\n{done.stdout}")


def try_build(preset, targets, *options, **streams):
    """Builds the targets. Messages go to standard error, because a script's own output can be piped."""
    with locked(preset) as folder:
        say(f"Building build/{preset}")
        return subprocess.run(["cmake", "--build", folder, "--target", *targets, *options], text=True,
                              **{"stdout": sys.__stderr__, **streams})


def build(preset, targets):
    if targets and try_build(preset, targets).returncode != 0:  # without a target, CMake would build everything
        fail(f"the build of preset {preset} failed")


def build_what_compiles(preset, targets):
    """Builds the targets and continues after errors. Returns the names that did not build, each with the first line
    that says why: {"sum_05_sequential": "reduce/sum/sum_05_sequential.cu:12:3: error: ..."}. Names are those of files
    without suffixes: a step for a compile error in it, a program if it does not link."""
    keep_going = ["--", "-k", "0"]
    if not targets or try_build(preset, targets, *keep_going).returncode == 0:
        return {}
    say("Building the failed targets again, for their messages")
    output = try_build(preset, targets, *keep_going, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
    found = {}
    for block in re.split(r"^FAILED: (?:\[code=\d+\] )?", output, flags=re.MULTILINE)[1:]:
        target, _, said = block.split("\n", 2)  # the second line is the command
        path = Path(target.split()[0])
        name = path.name.partition(".")[0]
        name = f"{path.parent.name}_{name}" if name.startswith("whiteboard") else name
        found.setdefault(name, first_error(said))
    return found


def first_error(output):
    """Returns the first line of a compiler's or linker's output that says why it failed."""
    lines = [line.strip() for line in output.replace(f"{ROOT}/", "").splitlines() if line.strip()] or ["no message"]
    return next((line for line in lines if re.search(r"\berror\b|undefined reference|multiple definition", line)),
                lines[0])


def skipped(preset):
    """Returns the steps that the build leaves out, each with what it needs: {"sum_00_cub": "gpu"}."""
    names = {step.name for step in steps()}
    needed = re.findall(r"^\S+/(\w+): needs (.*)", (ROOT / "build" / preset / "skipped.txt").read_text(), re.MULTILINE)
    return {name: need for name, need in needed if name in names}


def buildable(preset, kernels, *needs):
    """Configures the preset and returns the steps of {kernel: [Step]} that it can build."""
    configure(preset, *needs)
    left_out = skipped(preset)
    found = {kernel: [step for step in steps if step.name not in left_out] for kernel, steps in kernels.items()}
    found = {kernel: steps for kernel, steps in found.items() if steps}
    if not found:
        name = next(iter(kernels.values()))[0].name
        usage_error(f"{name} needs {left_out[name]}, which this build lacks")
    return found


def require_program(name, package):
    if not shutil.which(name):
        usage_error(f"needs {name}, {package}")


def require_gpu(hint=""):
    """Ends the script if nvcc or a GPU is missing."""
    if not shutil.which("nvcc"):
        usage_error(f"needs a GPU and nvcc, from the CUDA toolkit; there is no nvcc{hint}")
    if not gpu_name():
        usage_error(f"needs a GPU; nvidia-smi shows none{hint}")


# ---- running

def dims(executable):
    """Returns a program's dimensions from its --help, without the optional ones (default 0): {name: largest value}."""
    text = subprocess.run([executable, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return {name: int(most) for name, most in re.findall(r"(?m)^  --(\w+)=N +default [1-9]\d*, at most (\d+)", text)}


def describe_exit(status):
    """Describes an unexpected exit status in words."""
    if status < 0:
        return f"crashed: {signal.Signals(-status).name}"
    if status == TIMED_OUT:
        return "reached its time limit"
    return f"ended with exit status {status}"


def parse_entry(line):
    """Returns the object in a --json line, or None."""
    try:
        return json.loads(line) if line.startswith("{") else None
    except ValueError:
        return None


def entries(output):
    """Returns the steps' objects among a program's lines. Kernels may print other lines."""
    return [entry for entry in map(parse_entry, output.splitlines()) if entry and {"kernel", "step"} <= entry.keys()]
