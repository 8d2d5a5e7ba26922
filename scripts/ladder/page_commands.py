"""Commands on a page: do the scripts, programs, names, options, presets and metrics in them exist? Nothing is run but
the scripts' --help."""
import json
import re
import shlex
import subprocess
from functools import lru_cache

import ladder
from ladder import counters, cuda_source
from ladder import document as pages

METRICS = ladder.ROOT / "scripts/ladder/ncu_metrics.txt"
METRIC = re.compile(r"(?:sm|smsp|l1tex|lts|dram|gpu|gpc|launch|pcie|nvlrx|nvltx|fbpa|idc)__\w+(?:\.\w+)*")
STEP_NAME = re.compile(r"[a-z][a-z0-9_]*_\d\d_[a-z0-9_]+")
METAVARIABLE = re.compile(r"<|\b[A-Z][A-Z_]*\b|\.\.\.")  # STEP, <kernel>, ...
SEPARATORS = {"|", "||", "&&", ";", "&"}
# Programs of others that a page may call; the paths among their arguments are checked.
OTHERS = {"apt-get", "bash", "cat", "cd", "cmake", "code", "compute-sanitizer", "ctest", "cuda-gdb", "cuobjdump",
          "cut", "docker", "echo", "export", "gdb", "git", "grep", "head", "less", "ls", "ncu", "ncu-ui", "ninja",
          "nsys", "nvcc", "nvdisasm", "nvidia-smi", "pip", "python3", "sed", "sort", "tail", "watch"}
SUFFIXES = (".cu", ".cuh", ".cpp", ".hpp", ".py", ".md", ".json", ".txt", ".cmake", ".gdb", ".svg", ".sh")


# ---- what there is

@lru_cache(None)
def help_of(script):
    done = subprocess.run([ladder.ROOT / script, "--help"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout if done.returncode == 0 else ""


def options_in(text):
    """The options that a --help names, each with whether a value follows it: {"--backend": True}."""
    found = {}
    for match in re.finditer(r"(?<![\w-])(--?[a-zA-Z][\w-]*)(?:([ =])([A-Z{X][\w{},\[\]|.]*|[a-z]+\|[a-z|]+))?", text):
        found[match[1]] = found.get(match[1], False) or match[3] is not None
    return found


@lru_cache(None)
def known_names():
    return ladder.known_names()


@lru_cache(None)
def presets(kind):
    contents = json.loads((ladder.ROOT / "CMakePresets.json").read_text())
    return {preset["name"] for preset in contents[kind] if not preset.get("hidden")}


@lru_cache(None)
def program_options(path):
    """The options of a step's program: those of the runner, and its problem's dimensions and scalars."""
    runner = (ladder.ROOT / "common/runner/options.hpp").read_text()
    found = set(re.findall(r'"(--[a-z][\w-]*)"', runner)) | {"-h"}
    for file in cuda_source.included(path):
        for body in re.findall(r"\b(?:dims|scalars)\(\) const[^{]*\{(.*?)\n  ?\}", file.read_text(), re.DOTALL):
            found |= {f"--{name}" for name in re.findall(r'\{"(\w+)",', body)}
    return found


@lru_cache(None)
def metrics():
    """Those of scripts/profile, and a list of more."""
    lines = METRICS.read_text().splitlines()
    return set(counters.ALL.values()) | {line.split("#")[0].strip() for line in lines} - {""}


NEW_STEP = re.compile(r"\bscripts/new (\S+) ([a-z0-9_]+)")
made = {}  # what commands on this page make: {"sum_12_my_idea": steps like it}


def steps_made(text):
    """{"reduce/sum/sum_12_my_idea": [the step it is like]}: the steps that a page makes with scripts/new."""
    found = {}
    for name, idea in NEW_STEP.findall(text):
        like = [step for step in known_names().get(name, []) if step.number.isdigit()][-1:]
        for step in like:
            new = f"{step.kernel}_{int(step.number) + 1:02}_{idea}"
            found[new] = found[f"{ladder.shown(step.folder)}/{new}"] = like
    return found


def find_steps(name):
    """The steps of a name or of a path from the top folder; None if there is none."""
    return ladder.find(name, known_names()) or made.get(re.sub(r"\.cu$", "", name))


def built_programs():
    """The sources of what build/<preset>/ holds, by its path there: {"reduce/sum": path of a step, ...}."""
    found = {}
    for step in [*ladder.steps(), *ladder.bugs(), *ladder.answers()]:
        found[step.label] = step.path
        if step.kind == "step":
            found.setdefault(f"{ladder.shown(step.folder)}/{step.kernel}", step.path)
    for path in [*ladder.ROOT.glob("*/*/*_cpu.cpp"), *ladder.ROOT.glob("*/test_*.cpp")]:
        found[ladder.shown(path.with_suffix(""))] = None
    for path in (ladder.ROOT / "common/runner/tests").glob("test_*.cpp"):
        found[f"common/{path.stem}"] = None
    return found


# ---- one command

def split(command):
    """The simple commands of a line of shell: lists of words. Raises ValueError."""
    command = re.sub(r"(?<=\s)\d?(?:>{1,2}|<)\s*(?:&\d|[^\s;|&]+)", " ", command)  # redirections
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|&;")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    found, words = [], []
    for word in lexer:
        if word in SEPARATORS:
            found.append(words)
            words = []
        else:
            words.append(word)
    return [words for words in [*found, words] if words]


def errors_of(command):
    """What is wrong with a line of shell, as texts."""
    try:
        parts = split(command)
    except ValueError as error:
        return [f"'{command}' cannot be read: {error}"]
    found = []
    for words in parts:
        while words and re.match(r"[A-Z_][A-Z0-9_]*=", words[0]):
            words = words[1:]
        if words and words[0] == "sudo":
            words = words[1:]
        if words:
            found += errors_of_words(words)
    return found


def errors_of_words(words):
    program, arguments = re.sub(r"^\./", "", words[0]), words[1:]
    if program.startswith("scripts/"):
        return errors_of_script(program, arguments)
    if program.startswith("build/"):
        return errors_of_program(program, arguments)
    if program not in OTHERS and not (words[0].startswith("./") and "/" not in program):
        return [f"'{program}' is no script or program of ours, nor a known one of others"]
    found = []
    if program in ("cmake", "ctest"):
        found += errors_of_preset(program, arguments)
    if program == "ncu":
        found += [f"'{name}' is not in {ladder.shown(METRICS)}" for word in arguments
                  for name in METRIC.findall(word) if not is_metric(name)]
    for place, word in enumerate(arguments):
        if re.match(r"(\./)?build/", word):
            if program in ("ncu", "cuda-gdb", "gdb", "compute-sanitizer", "nsys"):
                return found + errors_of_program(re.sub(r"^\./", "", word), arguments[place + 1:])
            found += errors_of_program(re.sub(r"^\./", "", word), [])
        elif not word.startswith("-") and not exists(word):
            found.append(f"there is no '{word}'")
    return found


def is_metric(name):
    """A metric may be named without its last parts: dram__throughput."""
    return name in metrics() or any(known.startswith(name + ".") for known in metrics())


def errors_of_preset(program, arguments):
    kind = "testPresets" if program == "ctest" else "buildPresets" if "--build" in arguments else "configurePresets"
    for place, word in enumerate(arguments):
        name = word[len("--preset="):] if word.startswith("--preset=") else \
            arguments[place + 1] if word == "--preset" and place + 1 < len(arguments) else None
        if name is not None and name not in presets(kind) and not METAVARIABLE.search(name):
            return [f"CMakePresets.json has no '{name}' among its {kind}"]
    return []


def errors_of_script(script, arguments):
    if not is_path(script):
        return [f"there is no '{script}'"]
    if script.count("/") > 1 or script.endswith(".sh"):  # a file, and no script
        return []
    text = help_of(script)
    known = options_in(text)
    rest = None
    if "--" in arguments:
        at = arguments.index("--")
        arguments, rest = arguments[:at], arguments[at + 1:]
    found, chosen, skip = [], [], False
    for word in arguments:
        name, equals, _ = word.partition("=")
        if skip:
            skip = False
        elif word.startswith("-") and not re.fullmatch(r"-\d+", word):
            if name in known or (re.match(r"-\w\d+$", name) and name[:2] in known):
                skip = known.get(name, False) and not equals
            elif script == "scripts/test" and re.fullmatch(r"-[A-Z]+|--[a-z-]+", name):
                skip = name in ("-R", "-E", "-L")  # of ctest
            else:
                found.append(f"{script} --help has no '{name}'")
        else:
            steps = find_steps(word)
            chosen += steps or []
            if script == "scripts/new" and re.fullmatch(r"[a-z0-9_]+", word) and len(chosen) > 0 and not steps:
                continue  # the name of an idea
            in_help = re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text)
            if not (steps or in_help or METAVARIABLE.search(word) or re.fullmatch(r"\d+", word) or is_path(word)):
                near = ladder.near_names(word, known_names())
                found.append(f"there is no '{word}'" + (f"; did you mean {', '.join(near)}?" if near else ""))
    for option in rest or []:
        found += errors_of_option(option, [step.path for step in chosen] or [step.path for step in ladder.steps()])
    return found


def errors_of_option(word, paths):
    """Of a program's option, which one of the programs built from these sources must have."""
    name = word.partition("=")[0]
    if not name.startswith("-") or METAVARIABLE.search(name) or any(name in program_options(path) for path in paths):
        return []
    return [f"the program has no option '{name}'"]


def errors_of_program(program, arguments):
    parts = program.split("/", 2)
    if len(parts) < 2 or METAVARIABLE.search(parts[1]):
        return []
    if parts[1] not in presets("configurePresets"):
        return [f"CMakePresets.json has no '{parts[1]}'"]
    if len(parts) < 3 or not parts[2] or METAVARIABLE.search(parts[2]) or parts[2] in ("compile_commands.json",):
        return []
    programs = {**built_programs(), **{name: steps[0].path for name, steps in made.items() if "/" in name}}
    if parts[2] not in programs:
        near = ladder.near_names(parts[2], known_names())
        return [f"no build makes '{program}'" + (f"; did you mean {', '.join(near)}?" if near else "")]
    source = programs[parts[2]]
    if source is None:
        return []
    return [error for word in arguments for error in errors_of_option(word, [source])]


# ---- names in text

@lru_cache(None)
def tops():
    return {path.name for path in ladder.ROOT.iterdir()} - {"build", "practice"}


@lru_cache(None)
def file_names():
    return {path.name for top in ladder.ROOT.iterdir() if top.name not in ("build", ".git", "practice")
            for path in ([top] if top.is_file() else top.rglob("*"))}


def is_path(word):
    word = re.sub(r":\d+$", "", word)
    if any(letter in word for letter in "*?["):
        return any(True for _ in ladder.ROOT.glob(word))
    return (ladder.ROOT / word).exists() or find_steps(word) is not None


def exists(word):
    """Is this word no path of the tree, or one that is there?"""
    first = re.sub(r"^\./", "", word).split("/")[0]
    return "/" not in word or first not in tops() or METAVARIABLE.search(word) is not None or is_path(word)


def error_of_span(text, folder):
    """What is wrong with `text`, a span of code on a page of `folder`; None if nothing is, or it names nothing."""
    text = " ".join(text.split())
    if re.match(r"scripts/\w|build/\w|(cmake|ctest|ncu) -", text):
        found = errors_of(text)
        return found[0] if found else None
    words = text.split()
    if words and STEP_NAME.fullmatch(re.sub(r"\.cu$", "", words[0])):
        if not find_steps(words[0]):
            near = ladder.near_names(words[0], known_names())
            return f"there is no '{words[0]}'" + (f"; did you mean {', '.join(near)}?" if near else "")
        found = [one for word in words[1:] for one in errors_of_option(word, [find_steps(words[0])[0].path])]
        return found[0] if found else None
    if METRIC.fullmatch(text):
        return None if is_metric(text) else f"'{text}' is not in {ladder.shown(METRICS)}"
    if len(words) != 1 or METAVARIABLE.search(re.sub(r"README|LICENSE|CMake\w+|CONTRIBUTING", "", text)):
        return None
    if re.search(r"[(){}=;,&]|::|->", text):
        return None
    if "/" in text:
        first = text.split("/")[0]
        if first != ladder.PRACTICE.name and (first in tops() or (folder / first).exists()):
            here = re.sub(r":\d+$", "", text).rstrip("/")
            return None if is_path(text) or any(True for _ in folder.glob(here)) else f"there is no '{text}'"
    elif text.endswith(SUFFIXES) and text not in SUFFIXES and re.match(r"[\w.-]+$", text):
        return None if text in file_names() else f"there is no file '{text}'"
    return None


# ---- a page

def commands_of(block):
    """The command lines of an sh or console block, lines that end in \\ joined: [(line, command)]."""
    found, number = [], 0
    while number < len(block.lines):
        line, first = block.lines[number], number
        number += 1
        if block.language == "console":
            if not line.startswith("$ "):
                continue
            line = line[2:]
        while line.endswith("\\") and number < len(block.lines):
            line = line[:-1] + " " + block.lines[number].strip()
            number += 1
        if line.strip() and not line.lstrip().startswith("#"):
            found.append((block.line + first, line))
    return found


def check(page):
    made.clear()
    made.update(steps_made("\n".join(page.lines)))
    for block in page.of_kind("code"):
        if block.language in ("sh", "console"):
            for line, command in commands_of(block):
                for error in errors_of(command):
                    page.error(line, error)
    for piece in page.of_kind("heading", "text", "table"):
        text = pages.blanked(piece.text, pages.COMMENT)
        for found in pages.CODE_SPAN.finditer(text):
            error = error_of_span(found[2], page.path.parent)
            if error:
                page.error(piece.line_at(found.start()), error)
