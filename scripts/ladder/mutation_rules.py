"""Makes the mutants of a .cu or .cuh file. Each is one small change, made by a rule, in a kernel or in the host code
that launches one."""
import itertools
import re
import sys
from typing import NamedTuple

import ladder

sys.path.insert(0, str(ladder.ROOT / "common/emulator"))
import cu2cpp


class Mutant(NamedTuple):
    file: str  # relative to the top folder
    start: int
    end: int
    text: str  # replaces the file's [start, end)
    rule: str

    def apply(self, source):
        removed = source[self.start:self.end]
        missing = removed.count("\n") - self.text.count("\n")  # keeps the numbers of later lines
        return source[:self.start] + self.text + "\n" * missing + source[self.end:]

    def describe(self, source=None):
        """Returns the line's number, the code line above it, the line, and the changed line."""
        source = source or (ladder.ROOT / self.file).read_text()
        number = source.count("\n", 0, self.start)
        lines = source.splitlines()
        above = next((line.strip() for line in reversed(lines[:number]) if line.strip()), "")
        return number + 1, above, lines[number].strip(), self.apply(source).splitlines()[number].strip()


# Host functions of a step that do not belong to its launch: error bounds and output.
HOST_ONLY = re.compile(r"\b(?:\w*height|\w*roundings|arrivals|figures|touch_pages)\s*\($")
NO_FUNCTION = re.compile(r"(?:template\s*<.*>\s*)?(?:namespace|class|struct|union|enum)\b|LADDER_STEP|.*\)\s*,")
# A header's host code belongs to the steps' launches if it launches, copies or waits.
LAUNCHES = re.compile(r"<<<|\bcuda\w+Async\(|\bscratch<|\b(?:launch_)?pass\(")


def mutable_ranges(code, is_step):
    """Returns (start, end) of the bodies of kernels and of the functions that launch them."""
    open_blocks, head_start = [], 0
    for match in re.finditer(r"[;{}]", code):
        if match[0] == "{":
            head = " ".join(code[head_start:match.start()].split())
            open_blocks.append((head, match.end(), "(" in head and not NO_FUNCTION.match(head)))
        elif match[0] == "}" and open_blocks:
            head, start, is_function = open_blocks.pop()
            if is_function and not any(outer for _, _, outer in open_blocks):
                name = head[:head.find("(", re.search(r"__launch_bounds__\(.*?\)|", head).end()) + 1]
                in_class = "::" in name or any("class " in outer for outer, _, _ in open_blocks)
                launches = is_step or not in_class and LAUNCHES.search(code, start, match.start())
                if "__global__" in head or "__device__" in head or launches and not HOST_ONLY.search(name):
                    yield start, match.start()
        head_start = match.end()


def swap(*pairs):
    """Returns a replacement that exchanges the words of each pair wherever the pattern matches one."""
    table = {a: b for pair in pairs for a, b in (pair, reversed(pair))}
    return lambda match: [match[0].replace(match[1], table[match[1]])]


def line_of(code, offset):
    return code[code.rfind("\n", 0, offset) + 1:code.find("\n", offset)]


def off_by_one(match):
    value, suffix = int(match[1]), match[2]
    line = line_of(match.string, match.start())
    if re.search(r"\bconstexpr\b|\bstatic_assert\b", line):  # tile sizes: other ones are right too, or do not compile
        return []
    if "__shared__" in line:  # a larger array is right too, as is one without padding
        return [] if match.string[:match.start()].endswith(" + ") else [f"{value - 1}{suffix}"]
    return [f"{changed}{suffix}" for changed in (value - 1, value + 1) if changed >= 0]


INTEGER = r"(?:long long|std::size_t|std::u?int64_t|ptrdiff_t)"
PATTERNS = (
    ("barrier removed", r"__syncthreads\(\)(?=;)|\b\w+(?:\.|->)sync\(\)(?=;)", [""]),
    ("warp barrier removed", r"__syncwarp\(\w*\)(?=;)", [""]),
    ("fence removed", r"__threadfence(?:_block|_system)?\(\)(?=;)", [""]),
    ("wait removed", r"__pipeline_wait_prior\([^;]*\)(?=;)"
     r"|CUDA_CHECK\(cuda(?:StreamWaitEvent|(?:Stream|Event|Device)Synchronize)\([^;]*\)\)(?=;)", [""]),
    ("comparison", r" (<=|<|>=|>) ", swap(("<", "<="), (">", ">="))),
    ("equality", r" (==|!=) ", swap(("==", "!="))),
    ("logic", r" (&&|\|\|) ", swap(("&&", "||"))),
    ("negation removed", r"!(?=[\w(])", [""]),
    ("sign", r" (\+=?|-=?) ", swap(("+", "-"), ("+=", "-="))),
    ("sign", r"(?<=[(,=?:] )-(?=[\w(])|(?<=[(\[])-(?=[\w(])", [""]),
    ("accumulation", r" [-+|^*]= ", [" = "]),
    ("factor", r" (\*=?|/=?) ", swap(("*", "/"), ("*=", "/="))),
    ("factor", r" % ", [" / "]),
    ("bits", r" (<<=?|>>=?) ", swap(("<<", ">>"), ("<<=", ">>="))),
    ("bits", r" (&|\^) ", [" | "]),
    ("off by one", r"(?<![\w.])(\d+)([uUlL]*)(?![\w.])", off_by_one),
    ("start value", r"(?<![\w.])0\.0f\b|\b0\.f\b", ["1.0f"]),
    ("start value", r"-INFINITY\b", ["0.0f"]),
    ("factor", r"(?<![\w.])(?!0\.0?f)(\d+\.\d*f)\b", lambda match: [f"1.01f * {match[1]}"]),
    ("extremum", r"\b(fmaxf|fminf|std::max|std::min|(?<!::)max|(?<!::)min)(?=[(<])",
     swap(("fmaxf", "fminf"), ("std::max", "std::min"), ("max", "min"))),
    ("axis", r"\b(?:threadIdx|blockIdx|blockDim|gridDim)(\.[xy])\b", swap((".x", ".y"))),
    ("axis", r"\b(?:threadIdx|blockIdx|blockDim|gridDim)\.z\b", lambda match: [match[0][:-1] + "y"]),
    ("shuffle", r"\b__shfl_(up|down)_sync\b", swap(("up", "down"))),
    ("shuffle", r"\b__shfl_xor_sync\b", ["__shfl_down_sync"]),
    ("shuffle", r"\b0xffffffffu?\b", ["0x0000ffff", "0x7fffffff"]),
    ("alignment weakened", r"\baligned_for<float4>", ["aligned_for<float2>", "aligned_for<float>"]),
    ("alignment weakened", r"\baligned_for<float2>", ["aligned_for<float>"]),
    ("alignment weakened", r"% (?:4|8|16) == 0", lambda match: [f"% {int(match[0][2:-5]) // 2} == 0"]),
    ("32 bits", rf"\bstatic_cast<{INTEGER}>", ["static_cast<int>"]),
    ("32 bits", rf"(?<=[\s(]){INTEGER}(?= \w+ =)", ["int"]),
    ("special case removed", r"\b(?:alpha|beta) == 0(?:\.0f)?", ["false"]),
    ("truth", r"\b(true|false)\b", swap(("true", "false"))),
)


def by_pattern(code, start, end):
    for rule, pattern, replacements in PATTERNS:
        for match in re.compile(pattern).finditer(code, start, end):
            for text in replacements(match) if callable(replacements) else replacements:
                yield match.start(), match.end(), text, rule


def guards(code, start, end):
    """Yields mutants of conditions of if, while, for and ?: with the condition replaced, or without one operand."""
    for match in re.compile(r"\b(if|while|for) \(| (\?) ").finditer(code, start, end):
        begin, stop = match.end(), match.start()
        if match[2]:
            begin = ternary_start(code, stop)
        else:
            stop = cu2cpp.group_end(code, begin - 1, end) - 1
        if match[1] == "for":
            parts = code[begin:stop].split(";")
            if len(parts) != 3 or not parts[1].strip():
                continue
            stop = begin + len(f"{parts[0]};{parts[1]}")
            begin = stop - len(parts[1].lstrip())
            yield begin, stop, "false", "loop dropped"
        else:
            yield begin, stop, "true", "guard removed"
            yield begin, stop, "false", "guard removed"
        parts = operands(code[begin:stop])
        if len(parts) > 1:
            for rest in itertools.combinations(parts, len(parts) - 1):
                yield begin, stop, " && ".join(map(str.strip, rest)), "guard removed"


def ternary_start(code, end):
    depth = 0
    for i in range(end - 1, 0, -1):
        if code[i] in ")]}":
            depth += 1
        elif code[i] in "([{" and depth:
            depth -= 1
        elif not depth and (code[i] in "([{,;?:" or code.startswith(("= ", "return "), i) and code[i - 1] in " +-*/"):
            begin = i + (7 if code[i] == "r" else 1)
            return begin + len(code[begin:end]) - len(code[begin:end].lstrip())
    raise ValueError("no start of a condition")


def operands(condition):
    """Returns the texts between && that are outside of brackets."""
    found = [""]
    for part in condition.split(" && "):
        found[-1] += part
        if len(re.findall(r"[(\[{]", found[-1])) == len(re.findall(r"[)\]}]", found[-1])):
            found.append("")
        else:
            found[-1] += " && "
    return found[:-1]


def calls(code, start, end):
    called = re.compile(r"\b(aligned_for<\w+>|ceil_div|dim3 \w+|dim3|atomic(?:Add|Max|Min))\(")
    for match in called.finditer(code, start, end):
        after = cu2cpp.group_end(code, match.end() - 1, end)
        texts = [code[a:b].strip() for a, b in cu2cpp.split_at_commas(code, match.end(), after - 1)]
        head = match[0]
        if head.startswith("aligned_for") and len(texts) > 1:
            for i in range(len(texts)):
                yield match.start(), after, f"{head}{', '.join(texts[:i] + texts[i + 1:])})", "alignment weakened"
        elif head == "ceil_div(":
            yield match.start(), after, f"(({texts[0]}) / ({texts[1]}))", "tail dropped"
        elif head.startswith("dim3") and len(texts) > 1:
            yield match.start(), after, f"{head}{', '.join([texts[1], texts[0]] + texts[2:])})", "axis"
        elif head == "atomicAdd(":
            yield match.start(), after, f"((*({texts[0]}) += {texts[1]}) - {texts[1]})", "atomic weakened"
        elif head.startswith("atomic"):
            yield match.start(), after, f"(*({texts[0]}) = {head[6:9].lower()}(*({texts[0]}), {texts[1]}))", \
                "atomic weakened"


def subscripts(code, start, end):
    for match in re.compile(r"\w\[").finditer(code, start, end):
        first = match.end() - 1
        second = cu2cpp.group_end(code, first, end)
        if code[second:second + 1] == "[":
            after = cu2cpp.group_end(code, second, end)
            if code[first:second] != code[second:after] and "__shared__" not in code[code.rfind(";", 0, first):first]:
                yield first, after, code[second:after] + code[first:second], "subscripts swapped"


def mutants(path, root=ladder.ROOT):
    """Returns all mutants of a file below `root`, in the order of the file."""
    source = cu2cpp.Source(str(path), {"CUDA_EMU"})
    name = str(path.relative_to(root))
    found = {}
    for start, end in mutable_ranges(source.code, path.suffix == ".cu"):
        for make in (by_pattern, guards, calls, subscripts):
            for begin, stop, text, rule in make(source.code, start, end):
                measures = "clock64" in line_of(source.code, begin)  # no check covers measured times
                if source.text[begin:stop] != text and not measures:
                    found.setdefault((begin, stop, text), Mutant(name, begin, stop, text, rule))
    return [found[key] for key in sorted(found)]
