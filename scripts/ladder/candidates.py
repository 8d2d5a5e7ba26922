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
from ladder import figures, problems, sandbox

PRESETS = {"cpu": "cpu", "memory": "cpu-asan", "trace": "cpu-trace", "gpu": "gpu"}
RUNNER = {"cpu": ["ladder_main", "cuda_emu", "ladder_step_headers"], "cuda": ["ladder_main"]}
COMPILE_S = 50
OBJECT_SIZE = 1 << 28  # bytes of a file that the compiler writes

# Behind the page: a function around its launch, which may return nothing or a cudaError_t. A constant with a known name
# holds it, and what the runner is to call the page.
ADAPTER = """
#line 1 "what the judge adds"
#include <cstddef>
#include <cstdint>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#ifndef LADDER_NEEDS
#define LADDER_NEEDS ""
#endif
namespace ladder_adapter {{
struct Done {{
  operator int() const {{ return 0; }}
}};
inline int operator,(cudaError_t error, Done) {{ return static_cast<int>(error); }}
static int call({signature}) {{ return (launch({arguments}), Done{{}}); }}
struct Page {{
  int (*call)({signature});
  const char *file, *needs;
}};
}}  // namespace ladder_adapter
extern "C" __attribute__((visibility("default"))) const ladder_adapter::Page ladder_page = {{
    ladder_adapter::call, "{name}.cu", LADDER_NEEDS}};
"""
# In an object of its own, with the problem's header: hands that function to the checks. An error that the page did not
# ask for is the launch's.
REGISTRATION = """\
#include "{header}"
#line 1 "launch"
struct Page {{
  int (*call)({signature});
  const char *file, *needs;
}};
extern "C" __attribute__((visibility("default"))) const Page ladder_page;
static void run_page({signature}) {{
  CUDA_CHECK(static_cast<cudaError_t>(ladder_page.call({arguments})));
  CUDA_CHECK(cudaGetLastError());
}}
static const ladder::Registration registration(std::unique_ptr<ladder::Problem>(new {class_name}(run_page)),
                                               ladder_page.file, ladder_page.needs);
"""


class Page(NamedTuple):
    path: Path
    problem: problems.Problem

    @property
    def text(self):
        return self.path.read_text(errors="replace")

    @property
    def kernel(self):
        return self.problem.kernel

    @property
    def is_untouched(self):
        """Its code is the empty page's. Older ones include the header by its name alone."""
        empty = filter(None, (problems.page(self.problem), problems.flat_page(self.problem)))
        own, *empty = (re.sub(r'#include"[^"]*/', '#include"', problems.code_of(text)) for text in (self.text, *empty))
        return own in empty


class CompileError(Exception):
    """str() is what the compiler said."""


def find(name):
    """The page to judge that a name stands for: the reader's own first, then a step, a bug or an answer."""
    path = ladder.page_file(name)
    known = ladder.known_names()
    found = ladder.find(name, known) or []
    if path is None and len(found) > 1:
        ladder.usage_error(f"there is no page '{name}'; 'scripts/practice {found[0].kernel}' writes an empty one")
    if path is None and not found:
        ladder.no_such(name, known, pages=True)
    step = found[0] if path is None else ladder.page(path)
    problem = problems.problems().get(step.kernel)
    if problem is None:
        ladder.usage_error(f"{ladder.shown(step.path)}: {step.kernel} is nothing to judge; "
                           "'scripts/practice' lists what is")
    return Page(step.path, problem)


def is_cuda(preset):
    return preset.startswith("gpu")


@functools.lru_cache(maxsize=None)
def prepare(kind, kernel):
    """Builds what a kernel's pages are linked with: the runner of a preset, and on a GPU the library's step; once in a
    process."""
    preset = PRESETS.get(kind, kind)
    if not (ladder.ROOT / "build" / preset / "build.ninja").is_file():
        ladder.say(f"building what pages are linked with, once: build/{preset}")
    ladder.configure(preset)
    skipped = ladder.skipped(preset)
    vendors = [f"step_{step.name}" for step in ladder.kernels()[kernel] if step.is_vendor and step.name not in skipped]
    done = ladder.try_shell("build", preset, *RUNNER["cuda" if is_cuda(preset) else "cpu"], *vendors,
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


def registers_itself(path):
    """As a step, a planted bug and a whiteboard answer do."""
    return bool(re.search(r"^LADDER_STEP\(", path.read_text(errors="replace"), re.MULTILINE))


numbers = itertools.count()


def own_name():
    """Part of a file's name that nobody else has: neither another process nor another thread."""
    return f"{os.getpid()}.{next(numbers)}"


def without_precompiled_header(words):
    """A compile command, of g++ or clang++, without what CMake adds for a precompiled header."""
    text = "\0".join(words)
    text = re.sub(r"\0-Winvalid-pch|\0-Xclang\0-include(-pch)?\0-Xclang\0[^\0]+|\0-include\0[^\0]+", "", text)
    return text.split("\0")


class Builder:
    """`kind`: one of PRESETS, or a preset; `page`: a Page, or a step of any kind."""

    def __init__(self, kind, page):
        preset = PRESETS.get(kind, kind)
        self.build = ladder.ROOT / "build" / preset
        self.cuda = is_cuda(preset)
        self.page = page
        self.folder = self.build / "practice" / f"{page.path.stem}.{own_name()}"
        skipped = ladder.skipped(preset)
        steps = [step for step in ladder.kernels()[page.kernel] if not step.is_vendor and step.name not in skipped]
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
            words = without_precompiled_header(words)  # no header but its own
        if self.cuda:
            words += ["-I", str(source.parent), "-I", str(self.step.path.parent), "-w"]
        else:
            words += ["-iquote", str(source.parent), "-fdiagnostics-color=never", "-w"]
            words.append("-ferror-limit=5" if "clang" in Path(words[0]).name else "-fmax-errors=5")
            words.append("-gdwarf-4")  # of version 5, addr2line takes a page for the file that the translator wrote
        if not self.cuda and shutil.which("objcopy"):
            words = [ladder.ROOT / "common/cmake/private_symbols.sh", "objcopy", *words]
        run_compiler(words, self.build, seconds)

    def registration(self, problem):
        """The object that registers its pages; compiled again only after a change of what it includes."""
        source = self.build / "practice" / f"{problem.kernel}_page.cu"
        output = source.with_suffix(".o")
        text = REGISTRATION.format(header=problem.header, signature=problem.signature, arguments=problem.arguments,
                                   class_name=problem.class_name)
        newest = max(path.stat().st_mtime for path in [*figures.included(problem.header), Path(__file__)])
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
        source, problem = self.page.path, problems.problems().get(self.page.kernel)
        output = self.folder / "page.o"
        if registers_itself(source):
            self.compile(source, output, own=False, seconds=seconds)
            objects = [output]
        elif problem is None:
            raise CompileError(f"{ladder.shown(source)}: error: a file for {self.page.kernel} needs its LADDER_STEP")
        else:
            more = ADAPTER.format(signature=problem.signature, arguments=problem.arguments,
                                  name=ladder.plain_name(source.stem))
            self.compile(source, output, own=True, more=more, seconds=seconds)
            objects = [output, self.registration(problem)]
        program = self.folder / source.stem
        self.link(objects, program, seconds)
        return program

    def link(self, objects, output, seconds):
        run_compiler(ladder.link_command(self.build, self.step, objects, output), self.build, seconds)

    def clean(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def build_page(preset, step):
    """Builds a page's own program and returns it; CompileError if it does not compile."""
    prepare(preset, step.kernel)
    builder = Builder(preset, step)
    try:
        return builder.program().replace(step.program(preset))
    finally:
        builder.clean()


def program_of(preset, step):
    """Builds the program of a step of any kind and returns it; ends the script if that fails."""
    if step.kind != "page":
        ladder.build(preset, [step.target])
        return step.program(preset)
    try:
        return build_page(preset, step)
    except CompileError as error:
        ladder.say(str(error).rstrip())
        ladder.fail(f"{ladder.shown(step.path)} does not compile")
