"""Builds a submission, a candidate's .cu file, into a program with the runner's checks. Only the submission is
compiled; it is linked with the objects in the build folder."""
import functools
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import ladder
from ladder import cuda_source, outside, problems
from ladder.outside import COMPILE_S, CompileError, run_compiler

OWN_MAIN = "-Dmain=ladder_main_of_the_page"  # a submission's own main is not called

# Appended to the submission: a function that calls its launch, which may return nothing or a cudaError_t, and the
# submission's name and needs for the runner.
ADAPTER = """
#line 1 "what the judge adds"
#include <cstddef>
#include <cstdint>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#ifndef LADDER_NEEDS
#define LADDER_NEEDS ""
#endif
struct LadderDone {{ operator int() const {{ return 0; }} }};
inline int operator,(cudaError_t error, LadderDone) {{ return static_cast<int>(error); }}
#pragma GCC visibility push(default)  // other symbols stay in this object
extern "C" {{
int ladder_page({signature}) {{ return (launch({arguments}), LadderDone{{}}); }}
const char* ladder_page_names[2] = {{"{name}.cu", LADDER_NEEDS}};
}}
#pragma GCC visibility pop
"""
# Compiled to an object of its own, with the problem's header: registers that function with the checks. An error
# that the submission left unread counts as the launch's.
REGISTRATION = """\
#include "{header}"
#line 1 "launch"
extern "C" int ladder_page({signature});
extern "C" const char* ladder_page_names[2];
static void run_page({signature}) {{
  CUDA_CHECK(static_cast<cudaError_t>(ladder_page({arguments})));
  CUDA_CHECK(cudaGetLastError());
}}
static const ladder::Registration registration(std::unique_ptr<ladder::Problem>(new {class_name}(run_page)),
                                               ladder_page_names[0], ladder_page_names[1]);
"""


def find(name):
    """Returns the step that a name stands for: the reader's own file, else a step, a bug or an answer."""
    path = ladder.submission_file(name)
    step = ladder.submission(path) if path else ladder.resolve_one(name, submissions=True)
    problems.named(step.kernel)  # ends the script if there is no such problem
    return step


@functools.lru_cache(maxsize=None)
def prepare(preset, kernel):
    """Builds, once per process, the runner that submissions are linked with and, on a GPU, the library's step."""
    if not (ladder.ROOT / "build" / preset / "build.ninja").is_file():
        ladder.say(f"building the runner and the backend in build/{preset}, which kernels are linked with: once, "
                   "about a minute on two cores")
    ladder.configure(preset)
    name = outside.Builder(ladder.ROOT / "build" / preset).name(kernel)
    done = ladder.try_build(preset, [f"outside_{name}"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        ladder.fail(f"the runner does not build:\n{done.stdout[-2000:]}")


def registers_itself(path):
    """Returns whether the file has a LADDER_STEP line, as steps, planted bugs and whiteboard answers do."""
    return bool(re.search(r"^LADDER_STEP\(", path.read_text(errors="replace"), re.MULTILINE))


CONVERSIONS = ["-Wno-all", "-Wno-extra", "-Wno-error", "-Wconversion"]  # only the warnings that NARROWED matches
NARROWED = re.compile(r"^(?P<file>[^:\n]+):(?P<line>\d+):\d+: warning: (?:conversion from|implicit conversion loses "
                      r"integer precision:) [^\n]*long[^\n]* to ['\u2018]int['\u2019]", re.MULTILINE)


class Builder(outside.Builder):
    """Builds one submission, a step of any kind, into `folder`."""

    def __init__(self, preset, submission, folder):
        super().__init__(ladder.ROOT / "build" / preset)
        self.submission, self.folder = submission, folder
        self.narrowed = 0  # first line that converts a 64-bit value to int without a cast; 0 if none

    def registration(self, problem):
        """Returns the object that registers the problem's submissions, recompiled if an include has changed."""
        source = self.build / "practice" / f"{problem.kernel}_page.cu"
        output = source.with_suffix(".o")
        text = REGISTRATION.format(header=problem.header, signature=problem.signature, arguments=problem.arguments,
                                   class_name=problem.class_name)
        newest = max(path.stat().st_mtime for path in [*cuda_source.included(problem.header), Path(__file__)])
        if not output.is_file() or output.stat().st_mtime < newest:
            source.parent.mkdir(exist_ok=True)
            source.write_text(text)
            compiled = self.folder / output.name
            self.compile(source, compiled, includes=[problem.header.parent])
            compiled.replace(output)
        return output

    def program(self):
        """Compiles and links the submission. Raises CompileError if that fails."""
        self.folder.mkdir(parents=True, exist_ok=True)
        source = self.submission.path
        output, includes = self.folder / "page.o", [ladder.folder_of(self.submission.kernel)]
        options = CONVERSIONS if self.known["translate"] else []
        if registers_itself(source):
            warnings = self.compile(source, output, includes=includes, options=options)
            objects = [output]
        else:
            problem = problems.named(self.submission.kernel)
            more = ADAPTER.format(signature=problem.signature, arguments=problem.arguments,
                                  name=ladder.plain_name(source.stem))
            warnings = self.compile(source, output, "own", includes, more, [OWN_MAIN, *options])
            objects = [output, self.registration(problem)]
        self.narrowed = min((int(found["line"]) for found in NARROWED.finditer(warnings)
                             if os.path.basename(found["file"]) == source.name), default=0)
        program = self.folder / source.stem
        self.link(self.submission.kernel, objects, program)
        return program


def check_with_nvcc(submission):
    """Raises CompileError if nvcc is installed and rejects the submission: the CPU backend accepts more."""
    host_variable = "20094"  # number of the warning that a kernel reads a host variable
    if shutil.which("nvcc"):
        run_compiler(["nvcc", "-std=c++17", "-arch=compute_90a", "-I", ladder.ROOT / "common", "-I",
                      ladder.folder_of(submission.kernel), "-diag-error", host_variable, OWN_MAIN,
                      "-fdevice-syntax-only", "-cuda", "-o", os.devnull, submission.path],
                     submission.path.parent, COMPILE_S)


def build_submission(preset, step):
    """Builds a submission's own program and returns its path. Raises CompileError if it does not compile."""
    prepare(preset, step.kernel)
    with tempfile.TemporaryDirectory(dir=ladder.ROOT / "build" / preset) as folder:
        program = step.program(preset)
        program.parent.mkdir(exist_ok=True)
        return Builder(preset, step, Path(folder)).program().replace(program)


def program_of(preset, step):
    """Builds the program of a step of any kind and returns its path. Ends the script if that fails."""
    if step.kind != "submission":
        ladder.build(preset, [step.target])
        return step.program(preset)
    try:
        return build_submission(preset, step)
    except CompileError as error:
        ladder.say(str(error).rstrip())
        ladder.fail(f"{ladder.shown(step.path)} does not compile")
