"""Builds a page, a candidate's .cu file, into a program with the runner's checks: only the page is compiled, and linked
to what the build folder holds."""
import functools
import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import ladder
from ladder import problems, sandbox

PRESETS = {"cpu": "cpu", "memory": "cpu-asan", "trace": "cpu-trace", "gpu": "gpu"}
RUNNER = {"cpu": ["ladder_main", "cuda_emu", "ladder_step_headers"], "cuda": ["ladder_main"]}
COMPILE_S = 50
OBJECT_SIZE = 1 << 28  # bytes of a file that the compiler writes

# Behind the page: a function with a known name around its launch, which may return nothing or a cudaError_t.
ADAPTER = """
#line 1 "what the judge adds"
#include <cstddef>
#include <cstdint>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
namespace ladder_adapter {{
struct Done {{
  operator int() const {{ return 0; }}
}};
inline int operator,(cudaError_t error, Done) {{ return static_cast<int>(error); }}
}}  // namespace ladder_adapter
extern "C" int ladder_page({signature}) {{ return (launch({arguments}), ladder_adapter::Done{{}}); }}
"""
# In an object of its own, with the problem's header: hands that function to the checks.
REGISTRATION = """\
#include "{header}"
extern "C" int ladder_page({signature});
static void run_page({signature}) {{
  CUDA_CHECK(static_cast<cudaError_t>(ladder_page({arguments})));
  CUDA_CHECK(cudaGetLastError());
}}
LADDER_STEP({class_name}, run_page);
"""


class Page(NamedTuple):
    path: Path
    problem: problems.Problem

    @property
    def text(self):
        return self.path.read_text(errors="replace")

    @property
    def registers_itself(self):
        """As a step, a planted bug and a whiteboard answer do."""
        return bool(re.search(r"^LADDER_(STEP|ANSWER)\(", self.text, re.MULTILINE))

    @property
    def is_untouched(self):
        empty = filter(None, (problems.page(self.problem), problems.flat_page(self.problem)))
        return problems.code_of(self.text) in map(problems.code_of, empty)


class CompileError(Exception):
    """str() is what the compiler said."""


def find(name):
    """The page that a path stands for. Its problem is the kernel that its name begins with, or whose header it
    includes."""
    path = Path(name)
    if not path.is_file() and (problems.PRACTICE / f"{path.name}.cu").is_file():
        path = problems.PRACTICE / f"{path.name}.cu"
    if not path.is_file():
        known = ladder.find(name, ladder.known_names())
        if known and len(known) == 1:
            path = known[0].path
        else:
            ladder.usage_error(f"there is no file '{name}'; 'scripts/practice KERNEL' writes an empty page")
    known = problems.problems()
    fits = [kernel for kernel in known if re.match(rf"{kernel}(_|$)", path.stem)]
    fits = fits or [kernel for kernel in known if f'"{kernel}.cuh"' in path.read_text(errors="replace")]
    if not fits:
        ladder.usage_error(f"{path}: which kernel is it? Name the file <kernel>.cu or <kernel>_<words>.cu, such as "
                           "sum_mine.cu; 'scripts/practice' lists the kernels")
    return Page(path.resolve(), known[max(fits, key=len)])


@functools.lru_cache(maxsize=None)
def prepare(kind, kernel):
    """Builds what a kernel's pages are linked with: the runner of a preset, and on a GPU the library's step; once in a
    process."""
    preset = PRESETS[kind]
    if not (ladder.ROOT / "build" / preset / "build.ninja").is_file():
        ladder.say(f"building the judge's runner, once: {preset}")
    ladder.configure(preset)
    skipped = ladder.skipped(preset)
    vendors = [f"step_{step.name}" for step in ladder.kernels()[kernel] if step.is_vendor and step.name not in skipped]
    done = ladder.try_shell("build", preset, *RUNNER["cuda" if kind == "gpu" else "cpu"], *vendors,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode != 0:
        ladder.fail(f"the runner does not build:\n{done.stderr[-2000:]}")


@functools.lru_cache(maxsize=None)
def commands(build):
    return ladder.compile_commands(build)


def run_compiler(words, cwd, seconds):
    done = sandbox.run(words, seconds, folder=cwd, file_size=OBJECT_SIZE)
    if done.stopped:
        raise CompileError(f"the compiler was stopped: over the limit on {done.stopped}")
    if done.status != 0:
        raise CompileError(done.output.replace(f"{ladder.ROOT}/", ""))


numbers = itertools.count()


def own_name():
    """Part of a file's name that nobody else has: neither another process nor another thread."""
    return f"{os.getpid()}.{next(numbers)}"


class Builder:
    def __init__(self, kind, page):
        self.build = ladder.ROOT / "build" / PRESETS[kind]
        self.cuda = kind == "gpu"
        self.page = page
        self.folder = self.build / "practice" / f"{page.path.stem}.{own_name()}"
        skipped = ladder.skipped(PRESETS[kind])
        steps = [step for step in page.problem.steps if step.name not in skipped]
        self.step = steps[0]  # whose commands are taken; to compile for a GPU, a step's that needs the same one
        self.like = next((step for step in steps if self.cuda and ladder.needs(step) == ladder.needs(page)), self.step)

    def compile(self, source, output, own, more="", seconds=COMPILE_S):
        """Compiles a .cu file, with `more` behind it, as the step is compiled; `own`: as a file with own headers."""
        compiled = source
        if not self.cuda:
            compiled = output.with_suffix(".cpp")
            run_compiler([sys.executable, ladder.ROOT / "common/emulator/cu2cpp.py", "-I", ladder.ROOT / "common", "-I",
                          self.step.path.parent, source, compiled], self.build, seconds)
            with compiled.open("a") as file:
                file.write(more)
        elif more:
            compiled = output.with_name(f"{source.stem}.cu")
            compiled.write_text(f'#include "{source}"\n{more}')
        words = list(commands(self.build)[self.like.path if self.cuda else
                                          self.build / f"{self.step.path.relative_to(ladder.ROOT)}.cpp"])
        words[words.index("-c") + 1] = str(compiled)
        words[words.index("-o") + 1] = str(output)
        if own:
            words.append("-Dmain=ladder_main_of_the_page")
            if "-Winvalid-pch" in words:  # no header but its own
                at = words.index("-Winvalid-pch")
                del words[at:at + 3]
        if self.cuda:
            words += ["-I", str(source.parent), "-I", str(self.step.path.parent), "-w"]
        else:
            words += ["-iquote", str(source.parent), "-fmax-errors=5", "-fdiagnostics-color=never", "-w"]
            words.append("-gdwarf-4")  # of version 5, addr2line takes a page for the file that the translator wrote
        if not self.cuda and shutil.which("nm") and shutil.which("objcopy"):
            words = [ladder.ROOT / "common/cmake/private_symbols.sh", "nm", "objcopy", *words]
        run_compiler(words, self.build, seconds)

    def registration(self):
        """The object that registers pages of this problem; compiled again only after a change of what it includes."""
        problem = self.page.problem
        source = self.build / "practice" / f"{problem.kernel}_page.cu"
        output = source.with_suffix(".o")
        text = REGISTRATION.format(header=problem.header, signature=problem.signature, arguments=problem.arguments,
                                   class_name=problem.class_name)
        newest = max(path.stat().st_mtime for path in [*problems.headers(problem.header), Path(__file__),
                                                       *(ladder.ROOT / "common").glob("*.?*")])
        if not output.is_file() or output.stat().st_mtime < newest or source.read_text() != text:
            source.write_text(text)
            own = output.with_name(f"{output.stem}.{own_name()}.o")
            self.compile(source, own, own=False)
            own.with_suffix(".cpp").unlink(missing_ok=True)
            own.with_suffix(".cpp.d").unlink(missing_ok=True)
            own.replace(output)
        return output

    def program(self, seconds=COMPILE_S):
        """Compiles and links the page; CompileError if that fails."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        page, problem = self.page, self.page.problem
        output = self.folder / "page.o"
        if page.registers_itself:
            self.compile(page.path, output, own=False, seconds=seconds)
            objects = [output]
        else:
            more = ADAPTER.format(signature=problem.signature, arguments=problem.arguments)
            self.compile(page.path, output, own=True, more=more, seconds=seconds)
            objects = [output, self.registration()]
        program = self.folder / page.path.stem
        self.link(objects, program, seconds)
        return program

    def link(self, objects, output, seconds):
        run_compiler(ladder.link_command(self.build, self.step, objects, output), self.build, seconds)

    def clean(self):
        shutil.rmtree(self.folder, ignore_errors=True)
