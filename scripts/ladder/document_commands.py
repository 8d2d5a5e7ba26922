"""Commands and names on a page: do the scripts, options, programs, steps and files in them exist? Nothing is run but
the scripts' --help."""
import functools
import re
import shlex
import subprocess

import ladder
from ladder import document

STEP_NAME = re.compile(r"[a-z][a-z0-9_]*_\d\d_[a-z0-9_]+")
METAVARIABLE = re.compile(r"<|\b[A-Z][A-Z_]*\b|\.\.\.")  # STEP, <kernel>, ...
SUFFIXES = (".cu", ".cuh", ".cpp", ".hpp", ".py", ".md", ".json", ".txt", ".cmake", ".gdb", ".svg", ".sh")


@functools.lru_cache(None)
def help_of(script):
    return subprocess.run([ladder.ROOT / script, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout


@functools.lru_cache(None)
def known_names():
    return ladder.known_names()


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
        own = [re.sub(r"^\./", "", word) for word in words[start:at]]
        is_script = own and own[0].startswith("scripts/")
        found += errors_of_script(*own) if is_script else [error for word in own for error in errors_of_path(word)]
        start = at + 1
    return found


def errors_of_path(word):
    """Of a path that starts in a folder of ours; a word that is none has no errors."""
    if word.startswith("-") or METAVARIABLE.search(word):
        return []
    built = re.fullmatch(r"build/[\w-]+/(.+)", word)
    if built:
        made = [name for name in (built[1], f"{built[1]}.cpp") if is_path(name)]
        return [] if made or built[1] == "compile_commands.json" else [f"no build makes '{word}'"]
    return no_such(word) if "/" in word and word.split("/")[0] in files()[1] and not is_path(word) else []


def errors_of_script(script, *arguments):
    path = ladder.ROOT / script
    if not path.is_file() or path.suffix or path.parent.name != "scripts":  # a file, and no script
        return [] if is_path(script) else no_such(script)
    arguments = arguments[:arguments.index("--")] if "--" in arguments else arguments  # the rest is the program's
    found = []
    for place, word in enumerate(arguments):
        name = word.partition("=")[0]
        named = re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", help_of(script))
        if re.match(r"-\D", word):
            found += [] if named else [f"{script} --help has no '{name}'"]
        elif not (named or is_path(word) or word.startswith("practice/") or METAVARIABLE.search(word)
                  or word.isdigit() or (script == "scripts/new" and place == 1)):
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
    """The commands of an sh or console block, lines that end in \\ joined: [(line, command, line after it)]."""
    prompt = r"\$ " if block.language == "console" else ""
    found = []
    for one in re.finditer(rf"^{prompt}((?:.*\\\n)*.*)$", block.text, re.MULTILINE):
        if one[1].strip() and not one[1].lstrip().startswith("#"):
            command = re.sub(r"\\\n\s*", " ", one[1])
            found.append((block.line_at(one.start()), command, block.line_at(one.end()) + 1))
    return found


def check(page):
    ideas = "|".join(re.findall(r"\bscripts/new \S+ ([a-z0-9_]+)", "\n".join(page.lines))) or "-"
    for block in page.of_kind("code"):
        for line, command, _ in commands_of(block) if block.language in ("sh", "console") else []:
            for error in errors_of(re.sub(rf"\b\w+_\d\d_(?:{ideas})\b", "STEP", command)):  # a step made on the page
                page.error(line, error)
    for piece in page.of_kind("heading", "text", "table"):
        text = document.blanked(piece.text, document.COMMENT)
        for found in document.CODE_SPAN.finditer(text):
            error = error_of_span(found[2], page.path.parent)
            if error:
                page.error(piece.line_at(found.start()), error)
