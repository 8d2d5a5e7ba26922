"""The problems to practise, read from their headers, steps and the README, and the template of each."""
import functools
import re
import tempfile
import textwrap
from pathlib import Path
from typing import NamedTuple

import ladder
from ladder import cuda_source, exporting

FIRST = "add"  # the first problem for a newcomer
FIELDS = re.compile(r"// (?P<description>.+)\.\n(?://.*\n)*?"
                    r"// practice: (?P<difficulty>easy|medium|hard), next (?P<next>\w+)\n")


class Problem(NamedTuple):
    kernel: str
    family: str
    header: Path
    description: str  # the header's first line, without the full stop
    difficulty: str  # easy, medium or hard
    next: str  # the kernel to practise after it; the chain visits all kernels and returns
    class_name: str
    parameters: tuple  # parameters of launch: ("const float* x", ...)
    statement: str  # what to compute, in the header's words
    contract: str  # what launch receives
    steps: tuple  # without step 00

    @property
    def signature(self):
        return ", ".join(self.parameters)

    @property
    def arguments(self):
        return ", ".join(parameter.rsplit(" ", 1)[1] for parameter in self.parameters)

    @property
    def submission(self):
        """The path of its submission."""
        return ladder.PRACTICE / f"{self.kernel}.cu"

    @property
    def asked(self):
        """How often the family is asked, from the README's table."""
        readme = (ladder.ROOT / "README.md").read_text()
        row = re.search(rf"^\| \[{self.family}\]\([^)]*\) \| ((?:none|\d+ of)[^|]+) \|", readme, re.MULTILINE)
        return row[1].strip() if row else ""

    def section(self, name):
        """Returns where a heading of the guide, or of this problem's chapter, is."""
        chapter = self.header.with_name("README.md")
        if name == "chapter#traps" and "\n## Traps\n" not in chapter.read_text():
            return ladder.shown(chapter)
        return name.replace("chapter#", f"{ladder.shown(chapter)}#")

    def hints(self):
        """Returns the ideas of the steps, in order: [(step, text)]."""
        return [(step, cuda_source.idea(step.path)) for step in self.steps if not step.is_any_shape]


def comment_text(text):
    """Returns the text of lines that begin with //, without the field that says how to practise the problem."""
    return "\n".join(re.sub(r"^\s*// ?", "", line) for line in text.splitlines() if not line.startswith("// practice:"))


def parse(kernel, steps):
    """Returns the problem of a kernel, or None if one launch function cannot solve it."""
    header = steps[0].path.with_name(f"{kernel}.cuh")
    steps = tuple(step for step in steps if not step.is_vendor)
    registered = re.search(r"^LADDER_STEP\((\w+), launch", "\n".join(step.path.read_text() for step in steps), re.M)
    if not registered or not header.is_file():
        return None
    texts = {path: path.read_text() for path in cuda_source.included(header) if path.suffix == ".cuh"}
    fields = FIELDS.match(texts[header])
    if not fields:
        ladder.fail(f"{ladder.shown(header)}: its first line must be a sentence, and another line of the first comment "
                    "'// practice: easy, next transpose', or medium or hard")
    classes = list(cuda_source.chain(registered[1], texts))
    launch = re.search(r"((?:^  //.*\n)*)  using Launch = void \(\*\)\(([^;]*)\);",
                       "".join(body for _, body in classes), re.M)
    if not launch:
        return None
    heads = {path: comment_text(cuda_source.head(path)) for path in [header, *(path for path, _ in classes)]}
    statement = [text for path, text in heads.items() if path == header or " = " in text]  # a formula that it uses
    return Problem(kernel, steps[0].family, header, class_name=registered[1], statement="\n\n".join(statement),
                   parameters=tuple(" ".join(text.split()) for text in launch[2].split(",")),
                   contract=comment_text(launch[1]), steps=steps, **fields.groupdict())


@functools.lru_cache(maxsize=None)
def problems():
    """Returns all problems: {kernel: Problem}."""
    found = {kernel: parse(kernel, steps) for kernel, steps in ladder.kernels().items()}
    return {kernel: problem for kernel, problem in found.items() if problem}


def named(name):
    """Returns the problem of a kernel. Ends the script if there is none."""
    known = problems()
    wanted = name.rstrip("/").split("/")[-1]
    if wanted in known:
        return known[wanted]
    ladder.no_such(wanted, known, "'scripts/practice' lists what there is")


def suggestion(solved, begin=FIRST):
    """Returns the first unsolved problem from the kernel `begin` on, or None."""
    known, name = problems(), begin
    for _ in known:
        if name not in solved:
            return known[name]
        name = known[name].next


def wrapped_call(start, arguments, end):
    """Returns `start(arguments)end` in lines of at most 120 characters, as clang-format breaks them."""
    unbroken = ", ".join(argument.replace(" ", "\0") for argument in arguments.split(", "))
    lines = textwrap.wrap(unbroken, 119 - len(start) - len(end))
    return (start + f"\n{' ' * len(start)}".join(lines) + end).replace("\0", " ")


def stated(problem):
    """Returns the problem's statement as comments."""
    text = f"{problem.kernel} ({problem.family})\n\n{problem.statement}\n\n{problem.contract}"
    return "".join(f"// {line}".rstrip() + "\n" for line in text.split("\n"))


def include_name(header):
    """Returns the name with which a submission includes a header: relative to practice/, or with -I common."""
    return f"../{header.relative_to(ladder.ROOT).as_posix()}"


def template(problem, include=None):
    """Returns the text of an empty submission."""
    name = f"{problem.kernel}_kernel"
    by_value = ", ".join(re.sub(r"^const (\w+)& ", r"\1 ", parameter) for parameter in problem.parameters)
    return (stated(problem) + f"//\n// scripts/judge practice/{problem.kernel}.cu says whether it is right.\n"
              f"// scripts/practice {problem.kernel} --hint 1 gives a first idea.\n"
            + f'#include "{include or include_name(problem.header)}"\n\n'
            + wrapped_call(f"__global__ void {name}(", by_value, ") {")
            + "\n  // one thread's work\n}\n\n"
            + wrapped_call("void launch(", problem.signature, ") {") + "\n"
            + "  // which grid, which block? Nothing is to be done for a size of 0 unless the problem says so.\n"
            + wrapped_call(f"  {name}<<<1, 1>>>(", problem.arguments, ");")
            + "\n  CUDA_CHECK(cudaGetLastError());\n}\n")


def flat_template(problem):
    """Returns an empty submission without the project's headers and with the main of scripts/export."""
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder) / "draft.cu"
        draft.write_text(template(problem, problem.header))
        return exporting.flat(ladder.Step(problem.family, problem.kernel, "", problem.kernel, draft, "submission"))
