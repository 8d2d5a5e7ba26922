"""Builds files outside the source tree, such as submissions and mutants, as the build folder builds its own files.
CMake has one sample of each (ladder_outside in common/cmake/ladder.cmake). The build system's commands for the sample
are run here with other file names."""
import functools
import os
import re
import shlex
import subprocess

import ladder
from ladder import sandbox

COMPILE_S = 50  # CPU time


class CompileError(Exception):
    """Raised with the compiler's output."""


def run_compiler(words, cwd, seconds):
    """Runs a compiler and returns its output. Raises CompileError if it fails."""
    done = sandbox.run(words, seconds, folder=cwd, file_size=1 << 28)
    if done.stopped:
        raise CompileError(f"the compiler was stopped: over the limit on {done.stopped}")
    if done.status != 0:
        raise CompileError(done.output.replace(f"{ladder.ROOT}/", ""))
    return done.output


@functools.lru_cache(maxsize=None)
def command(build, output):
    """Returns the words of the command that makes a file of a build folder."""
    done = subprocess.run(["ninja", "-t", "commands", "-s", output], cwd=build, check=True, text=True,
                          stdout=subprocess.PIPE)
    return shlex.split(done.stdout.strip().removeprefix(": && ").removesuffix(" && :"))


class Builder:
    """Builds for a build folder that is configured."""

    def __init__(self, build):
        self.build = build
        lines = (build / "outside.txt").read_text().splitlines()
        self.known = {name: words for name, *words in (line.split(";") for line in lines)}

    def name(self, kernel):
        """Returns the name of the program that stands for this kernel's; outside_<name> builds what it needs."""
        return kernel if kernel in self.known["programs"] else "page"

    def object(self, kind):
        return os.path.relpath(self.known[kind][1], self.build)

    def run(self, words):
        return run_compiler(words, self.build, COMPILE_S)

    def compile(self, source, output, kind="step", includes=(), more="", options=()):
        """Compiles a .cu file, with `more` appended, or a .cpp file to an object; returns the warnings. `kind` is
        step, or own: only with the headers that the file includes itself. `includes` are folders searched before
        common/."""
        includes = [word for folder in (source.parent, *includes) for word in ("-I", folder)]
        compiled = source
        if source.suffix == ".cpp":
            kind = "host"
        elif self.known["translate"]:
            compiled = output.with_suffix(".cpp")
            self.run([*self.known["translate"], *includes, "-I", ladder.ROOT / "common", source, compiled])
            with compiled.open("a") as file:
                file.write(more)
        elif more:
            compiled = output.with_suffix(".cu")
            compiled.write_text(f'#include "{source}"\n{more}')
        need = re.search(r"^// needs: (sm_.*)", source.read_text(errors="replace"), re.MULTILINE)
        if need and need[1] in self.known:
            kind = need[1]
        known = self.object(kind)
        names = {self.known[kind][0]: compiled, known: output, f"{known}.d": f"{output}.d"}
        words = [names.get(word, word) for word in command(self.build, known)]
        if "-Wconversion" in options:
            words = [word for word in words if word != "-w"]
        return self.run([*words, *includes, *options])

    def link(self, kernel, objects, output):
        """Links a kernel's program from these objects."""
        program = f"outside/{self.name(kernel)}"
        names = {self.object("step"): objects, program: [output]}
        self.run([name for word in command(self.build, program) for name in names.get(word, [word])])
