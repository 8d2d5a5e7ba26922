"""Commands and names on a page: do the scripts, options, programs, steps and files in them exist? Nothing is run but
the scripts' --help."""
import functools
import json
import re
import shlex
import subprocess

import ladder
from ladder import document

STEP_NAME = re.compile(r"[a-z][a-z0-9_]*_\d\d_[a-z0-9_]+")
METAVARIABLE = re.compile(r"<|\b[A-Z][A-Z_]*\b|\.\.\.")  # STEP, <kernel>, ...
OTHERS = {"apt-get", "bash", "cat", "cd", "cmake", "code", "compute-sanitizer", "ctest", "cuda-gdb", "cuobjdump",
          "cut", "docker", "echo", "export", "gdb", "git", "grep", "head", "less", "ls", "ncu", "ncu-ui", "ninja",
          "nsys", "nvcc", "nvdisasm", "nvidia-smi", "pip", "python3", "sed", "sort", "tail", "watch"}
SUFFIXES = (".cu", ".cuh", ".cpp", ".hpp", ".py", ".md", ".json", ".txt", ".cmake", ".gdb", ".svg", ".sh")


# ---- what there is

@functools.lru_cache(None)
def help_of(script):
    return subprocess.run([ladder.ROOT / script, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout


@functools.lru_cache(None)
def options_of(script):
    """The options that a --help names, each with whether a value follows it: {"--backend": True}."""
    found = {}
    for option in re.finditer(r"(?<![\w-])(--?[a-zA-Z][\w-]*)(?:[ =]([A-Z{X][\w{},\[\]|.]*|[a-z]+\|[a-z|]+))?",
                              help_of(script)):
        found[option[1]] = found.get(option[1], False) or option[2] is not None
    return found


@functools.lru_cache(None)
def known_names():
    return ladder.known_names()


@functools.lru_cache(None)
def presets():
    contents = json.loads((ladder.ROOT / "CMakePresets.json").read_text())
    return {preset["name"] for preset in contents["configurePresets"]}


@functools.lru_cache(None)
def files():
    """The names of all files, and those of the folders at the top."""
    tops = {path.name for path in ladder.ROOT.iterdir()} - {"build", "practice", ".git"}
    return {path.name for top in tops for path in [ladder.ROOT / top, *(ladder.ROOT / top).rglob("*")]}, tops


def is_path(word, folder=ladder.ROOT):
    word = re.sub(r":\d+$|\.random$", "", word).rstrip("/")  # a line; a test's name
    return any(True for root in (folder, ladder.ROOT) for _ in root.glob(word.lstrip("/") or "-")) or \
        ladder.find(word, known_names()) is not None


def no_such(word):
    near = ladder.near_names(word, known_names())
    return [f"there is no '{word}'" + (f"; did you mean {', '.join(near)}?" if near else "")]


# ---- one command

def errors_of(command):
    """What is wrong with a line of shell, as texts."""
    command = re.sub(r"(?<=\s)\d?(?:>{1,2}|<)\s*(?:&\d|[^\s;|&]+)", " ", command)  # redirections
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|&;")
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError as error:
        return [f"'{command}' cannot be read: {error}"]
    found, start = [], 0
    for at in [*(place for place, word in enumerate(words) if set(word) <= set("|&;")), len(words)]:
        found += errors_of_words(words[start:at])
        start = at + 1
    return found


def errors_of_words(words):
    while words and (re.match(r"[A-Z_][A-Z0-9_]*=", words[0]) or words[0] == "sudo"):
        words = words[1:]
    if not words:
        return []
    if re.match(r"(\./)?scripts/", words[0]):
        return errors_of_script(re.sub(r"^\./", "", words[0]), words[1:])
    if words[0] not in OTHERS and "/" not in words[0]:
        return [f"'{words[0]}' is no script or program of ours, nor a known one of others"]
    return [error for word in words for error in errors_of_path(re.sub(r"^\./", "", word))]


def errors_of_path(word):
    """Of a path that starts in a folder of ours; a word that is none has no errors."""
    top, _, rest = word.partition("/")
    if not rest or word.startswith("-") or METAVARIABLE.search(word):
        return []
    if top == "build":
        preset, _, program = rest.partition("/")
        if preset not in presets():
            return [f"CMakePresets.json has no '{preset}'"]
        made = program in ("", "compile_commands.json") or is_path(program) or is_path(f"{program}.cpp")
        return [] if made else [f"no build makes '{word}'"]
    return no_such(word) if top in files()[1] and not is_path(word) else []


def errors_of_script(script, arguments):
    path = ladder.ROOT / script
    if not path.is_file() or path.suffix or path.parent.name != "scripts":  # a file, and no script
        return [] if is_path(script) else no_such(script)
    arguments = arguments[:arguments.index("--")] if "--" in arguments else arguments  # the rest is the program's
    known, found, skip = options_of(script), [], False
    for place, word in enumerate(arguments):
        name, equals, _ = word.partition("=")
        if skip:
            skip = False
        elif re.match(r"-\D", word):
            if name not in known:
                found.append(f"{script} --help has no '{name}'")
            skip = known.get(name, False) and not equals
        elif not (is_path(word) or word.startswith("practice/") or METAVARIABLE.search(word) or word.isdigit()
                  or (script == "scripts/new" and place == 1) or re.search(
                      rf"(?<![\w-]){re.escape(word)}(?![\w-])", help_of(script))):
            found += no_such(word)
    return found


# ---- names in text

def error_of_span(text, folder):
    """What is wrong with `text`, a span of code on a page of `folder`; None if nothing is, or it names nothing."""
    words, found = text.split(), []
    if re.match(r"scripts/\w|build/\w", text):
        found = errors_of(" ".join(words))
    elif words and STEP_NAME.fullmatch(re.sub(r"\.cu$", "", words[0])):
        found = [] if is_path(words[0]) else no_such(words[0])
    elif len(words) != 1 or re.search(r"[(){}=;,&]|::|->", text) or METAVARIABLE.search(
            re.sub(r"README|LICENSE|NOTES|CMake\w+|CONTRIBUTING", "", text)):
        pass
    elif "/" in text:
        top = text.split("/")[0]
        known = top in files()[1] or top not in ("", "practice") and (folder / top).exists()
        found = no_such(text) if known and not is_path(text, folder) else []
    elif re.fullmatch(r"[\w.-]+", text) and text.endswith(SUFFIXES) and text not in SUFFIXES:
        found = [] if text in files()[0] else no_such(text)
    return found[0] if found else None


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
    ideas = "|".join(re.findall(r"\bscripts/new \S+ ([a-z0-9_]+)", "\n".join(page.lines))) or "-"
    for block in page.of_kind("code"):
        for line, command in commands_of(block) if block.language in ("sh", "console") else []:
            for error in errors_of(re.sub(rf"\b\w+_\d\d_(?:{ideas})\b", "STEP", command)):  # a step made on the page
                page.error(line, error)
    for piece in page.of_kind("heading", "text", "table"):
        text = document.blanked(piece.text, document.COMMENT)
        for found in document.CODE_SPAN.finditer(text):
            error = error_of_span(found[2], page.path.parent)
            if error:
                page.error(piece.line_at(found.start()), error)
