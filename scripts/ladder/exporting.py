"""Writes a step as one flat .cu file with its own main, and splits a source into declarations."""
import re

import ladder
from ladder import cuda_source

HEADERS = ("<cuda_runtime.h>", "<algorithm>", "<cmath>", "<cstdint>", "<cstdio>", "<cstdlib>", "<limits>",
           "<stdexcept>", "<vector>")

PRELUDE = """\
#define CUDA_CHECK(call)                                                                             \\
  do {                                                                                               \\
    const cudaError_t error = (call);                                                                \\
    if (error != cudaSuccess) {                                                                      \\
      std::fprintf(stderr, "%s:%d: %s: %s\\n", __FILE__, __LINE__, #call, cudaGetErrorString(error)); \\
      std::exit(1);                                                                                  \\
    }                                                                                                \\
  } while (0)
"""

# Replaces the project's scratch memory, which all steps of a program share.
SCRATCH = """\
// Device memory for `count` elements that stays allocated for the next call.
template <typename T, typename Tag = T>
T* scratch(std::size_t count) {
  static DeviceBuffer<T> buffer;
  buffer.reserve(count);
  return buffer.get();
}
"""

CHECK = """\
// Prints PASS, or the first element of got that differs from want by more than its bound. NaN must match NaN.
template <typename T>
bool check(const std::vector<T>& got, const std::vector<double>& want, const std::vector<double>& bound) {
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double value = static_cast<double>(got[i]);
    if (std::isnan(want[i]) ? std::isnan(value) : std::fabs(value - want[i]) <= bound[i]) continue;
    std::printf("FAIL: element %zu is %.9g, want %.9g\\n", i, value, want[i]);
    return false;
  }
  std::printf("PASS\\n");
  return true;
}
"""

TIME = """\
  // Time: the mean of 20 consecutive launches, after the one above.
  cudaEvent_t start, stop;
  CUDA_CHECK(cudaEventCreate(&start));
  CUDA_CHECK(cudaEventCreate(&stop));
  CUDA_CHECK(cudaEventRecord(start));
  for (int i = 0; i < 20; ++i) {{ {call} }}
  CUDA_CHECK(cudaEventRecord(stop));
  CUDA_CHECK(cudaEventSynchronize(stop));
  float ms = 0;
  CUDA_CHECK(cudaEventElapsedTime(&ms, start, stop));
  std::printf("%.4f ms, %.1f {unit}\\n", ms / 20, ({work}) / (ms / 20) * {factor});
  CUDA_CHECK(cudaEventDestroy(start));
  CUDA_CHECK(cudaEventDestroy(stop));
"""
TIME_LINE = re.compile(r"^ *// TIME: (?P<call>.*;) (?P<unit>GB/s|TFLOP/s) of (?P<work>.*)\n", re.MULTILINE)
FACTOR = {"GB/s": "1e-6", "TFLOP/s": "1e-9"}  # of work per ms

FOR_CPU = re.compile(r"^#ifdef CUDA_EMU\n.*?^#else\n(.*?)^#endif\n", re.MULTILINE | re.DOTALL)
# Code that programs for any shape compile for GPUs without an instruction. An export drops it: a step names its GPU.
FOR_OLDER_GPUS = re.compile(r"^#if !defined\(__CUDA_ARCH__\) \|\| [^\n]*\n(.*?)^#else\n.*?^#endif[^\n]*\n",
                            re.MULTILINE | re.DOTALL)

PARENTHESES = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"  # with up to two nested levels
TEMPLATE_HEADS = r"(?:template\s*<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>\s*)*"


def words_of(code):
    """Returns the names in the code, without members and qualified names such as Sum in cub::DeviceReduce::Sum."""
    return set(re.findall(r"(?<!::)(?<!\.)(?<!->)\b[A-Za-z_]\w*", code))


def declared_names(code):
    """Returns the names that a piece of code at namespace scope declares."""
    code = re.sub(TEMPLATE_HEADS, "", code, count=1)
    code = re.sub(rf"\b(?:__launch_bounds__|__cluster_dims__|alignas)\s*{PARENTHESES}", "", code)
    kind = re.match(r"(?:#\s*define|struct|class|union|enum(?:\s+class)?|using)\s+(\w+)", code)
    if kind:  # a plain enum declares its values in the enclosing scope
        values = re.match(r"enum(?!\s+class)[^{]*(\{[^}]*\})", code)
        return {kind[1], *re.findall(r"(\w+)\s*(?:=[^,}]*)?(?=[,}])", values[1] if values else "")}
    head = re.split(r"[({=;]", code, maxsplit=1)[0]
    if code[len(head):].startswith("("):  # a function
        return set(re.findall(r"(\w+)\s*$", head))
    statement = re.sub(r"<[^<>;]*>|\{[^{}]*\}|\[[^\]]*\]|\([^()]*\)", "", code)
    return set(re.findall(r"(\w+)\s*(?:=[^,;]*)?(?=[,;])", statement))


class Declaration:
    """A declaration at namespace scope: its text and comment, the names it declares, the names it uses."""

    def __init__(self, text):
        self.text = text.strip()
        code = cuda_source.blanked(text).strip()
        self.words = words_of(code)
        self.names = self.words if code.startswith("static_assert") else declared_names(code)


def declarations(text):
    """Splits a text into Declarations: preprocessor lines, and texts that end in ; or } outside of brackets."""
    found, lines, code, depth = [], [], "", 0
    for line, blanked in zip(text.splitlines(), cuda_source.blanked(text).splitlines()):
        lines.append(line)
        code = f"{code}{blanked}\n".lstrip()
        depth += sum(map(blanked.count, "([{")) - sum(map(blanked.count, ")]}"))
        ends = code.startswith("#") or code.rstrip().endswith((";", "}"))
        if depth == 0 and ends and not line.endswith("\\"):
            found.append(Declaration("\n".join(lines)))
            lines, code = [], ""
    return found


def declarations_of(step):
    """Returns (the declarations of a step's file and its headers, the headers included as <...>)."""
    found, system, seen = [], set(HEADERS), set()

    def read(path, text):
        seen.add(path)
        for declaration in declarations(FOR_CPU.sub(r"\1", FOR_OLDER_GPUS.sub(r"\1", text))):
            include = re.search(r'^#include ([<"])(.*)[>"]', declaration.text, re.MULTILINE)
            if not include:
                found.append(declaration)
            elif include[1] == "<":
                system.add(f"<{include[2]}>")
            else:
                header = cuda_source.header(include[2], path) or ladder.folder_of(step.kernel) / include[2]
                if header not in seen and header.name != "problem.hpp" and header.parent.name != "runner":
                    read(header, header.read_text())

    read(step.path, step.path.read_text()[len(cuda_source.head(step.path)):])  # without its head, written first
    found = [Declaration(SCRATCH) if "scratch" in one.names else one for one in found]
    harness = {"ladder", "LADDER_STEP"}
    return [one for one in found if not one.words & harness and not one.text.endswith("#pragma once")], system


def needed_by(main, found):
    """Returns the declarations that main uses, directly or indirectly."""
    own = {"CUDA_CHECK"}.union(*(declaration.names for declaration in declarations(main)))
    words, chosen, size = words_of(cuda_source.blanked(main)), set(), -1
    while len(chosen) > size:
        size = len(chosen)
        chosen |= {one for one in found if one.names & words and not one.names & own}
        words.update(*(declaration.words for declaration in chosen))
    return [declaration for declaration in found if declaration in chosen]


def main_of(step):
    """Returns the main for a step, or None. It comes from export*.inc in the kernel's folder or, for several kernels,
    in the family's folder. The file is the one with a line '// kernel: KERNEL [| NAME = text]...' or '// step: STEP
    ...'. Lines '// torch: ...' stay at its beginning (torch_export.py)."""
    for path in sorted(path for folder in (step.folder, step.folder.parent) for path in folder.glob("export*.inc")):
        text = path.read_text()
        found = re.search(rf"^// (?:kernel: {step.kernel}|step: {step.name})(?: \| (.*))?$", text, re.MULTILINE)
        if not found:
            continue
        text = re.sub(r"^// (?:kernel|step): .*\n", "", text, flags=re.MULTILINE)
        launch = re.search(r"^LADDER_STEP\(\w+, ([\w:]+)", step.path.read_text(), re.MULTILINE)
        if launch:  # a step may register a function from a header
            text = re.sub(r"\blaunch(?=\()", launch[1], text)
        for setting in filter(None, (found[1] or "").split(" | ")):
            name, value = setting.split(" = ", 1)
            text = re.sub(rf"\b{name}\b", lambda _: value, text)
        return text.strip("\n") + "\n"
    return None


def build_options(step):
    """Returns (the architecture, or "" for any; the libraries) as options of nvcc."""
    text = step.path.read_text()
    needs = re.search(r"^// needs: sm_(\d+a)", text, re.MULTILINE)  # code for one architecture only
    arch = f"-gencode=arch=compute_{needs[1]},code=sm_{needs[1]}" if needs else ""
    return arch, [f"-l{name}" for name in re.findall(r"^// links: (\w+)", text, re.MULTILINE)]


def code_for(step, main, prelude):
    """Returns the step's head without the lines that the build reads, then its includes, CUDA_CHECK, and the code that
    main uses. A blank line separates declarations of more than one line."""
    found, system = declarations_of(step)
    head = re.sub(r"^// (needs|links): .*\n", "", cuda_source.head(step.path), flags=re.MULTILINE)
    includes = "".join(f"#include {header}\n" for header in sorted(system))
    texts = [one.text for one in needed_by(main, found)]
    code = texts[0] + "".join(("\n\n" if "\n" in before + after else "\n") + after
                              for before, after in zip(texts, texts[1:]))
    return "\n".join([head, includes, prelude, code + "\n"])


def flat(step):
    """Returns the text of the flat file."""
    main = main_of(step)
    if main is None:
        ladder.fail(f"no export*.inc has a main for {step.kernel}")
    arch, libraries = build_options(step)
    command = " ".join(["// nvcc -O3 -std=c++17", arch or "-arch=native", f"{step.name}.cu -o {step.name}", *libraries])
    main = re.sub(r"^// torch: .*\n", "", main, flags=re.MULTILINE)
    timed = TIME_LINE.sub(lambda found: TIME.format(**found.groupdict(), factor=FACTOR[found["unit"]]), main)
    return "\n".join([f"{command} && ./{step.name}\n//\n" + code_for(step, main, PRELUDE),
                      *[CHECK] * ("check(" in main), timed])
