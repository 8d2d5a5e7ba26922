"""Checks the pages; scripts/readme --help lists what must hold. Each check adds its errors to the page. Only the
scripts' --help is run, and the commands of sessions."""
import functools
import itertools
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

import ladder
from ladder import document

PROSE = "heading", "text", "table"
LANGUAGES = "cpp", "console", "sh", "text"
OWN_FOLDER = re.compile(r"(?<![\w./~-])/(?:home|root|Users)/")
STEP_NAME = re.compile(r"[a-z][a-z0-9_]*_\d\d_[a-z0-9_]+(\.cu)?")
METAVARIABLE = re.compile(r"<|\b(?!README|LICENSE|NOTES|CONTRIBUTING)[A-Z][A-Z_]*\b|\.\.\.")  # STEP, <kernel>, ...
FILE_NAME = re.compile(r"[\w-][\w.-]*\.(cuh?|[ch]pp|py|md|json|txt|cmake|gdb|svg|sh)")
MEASURED = re.compile(r"(?<![\w.^])(?:\d[\d,.]*\s?(?:[GT]B/s|[GT]FLOP/s|[mun]s)(?![A-Za-z])|\d+(?:\.\d+)?x(?![\w^]))")
PROMPT = "(gdb) "
NUMBER = re.compile(r"(?<![A-Za-z0-9_.])\d+(?:[,.^]\d+)*")


@functools.lru_cache(None)
def page_at(path):
    return document.Document(path)


def check(page):
    check_links(page)
    if page.path.name != "NOTES.md":
        check_blocks(page)
        check_names(page)
        check_numbers(page)
        check_translation(page)


# ---- links and code blocks

def check_links(page):
    for line, target, path, part in page.links():
        is_there = path.exists() and not target.startswith("/")
        if is_there and part and path.suffix == ".md":  # scripts/tables --check checks links to .json
            is_there = part in (page if path == page.path else page_at(path)).anchors()
        if not is_there and not re.match(r"https?://[^/?#]*\.", target):
            page.error(line, f"the link leads to '{target}', which is not there")
    for number, text in enumerate(page.lines, 1):
        if OWN_FOLDER.search(text):
            page.error(number, "an absolute path of somebody's machine")


def check_blocks(page):
    """Checks the languages of code blocks, and that cpp blocks stand in their source, indentation aside."""
    for block in page.of_kind("code"):
        name = block.marks.get("source", "")
        source = ladder.ROOT / name
        if block.language not in LANGUAGES:
            page.error(block.line - 1, f"a code block of language '{block.language}', not {', '.join(LANGUAGES)}")
        elif block.language == "text" and not block.marks.get("not a session"):
            page.error(block.line - 1, "a text block without <!-- not a session: why --> before it; what a command "
                                       "prints is a console block")
        elif block.language == "cpp" and not source.is_file():
            page.error(block.line - 1, f"a cpp block needs <!-- source: FILE --> before it; '{name}' is no file")
        elif block.language == "cpp":
            shown = [line.strip() for line in block.text.replace("// ...", "...").splitlines()]
            lines = [line.strip() for line in source.read_text().splitlines()]
            wrong = document.first_difference(["...", *shown, "..."], lines)
            if wrong:
                page.error(block.line + wrong[0] - 1, f"not in {name}, or not at this place: '{shown[wrong[0] - 1]}'")


# ---- commands and names

@functools.lru_cache(None)
def help_of(script):
    return subprocess.run([ladder.ROOT / script, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout


@functools.lru_cache(None)
def files():
    """Returns the names of all files and of the top folders."""
    tops = {path.name for path in ladder.ROOT.iterdir()} - {"build", "practice", ".git"}
    return {path.name for top in tops for path in [ladder.ROOT / top, *(ladder.ROOT / top).rglob("*")]}, tops


def is_there(word, folder=ladder.ROOT):
    word = re.sub(r":\d+$|\.random$", "", word).rstrip("/")  # without a line number, or the suffix of a test's name
    return word in files()[0] or ladder.find(word, ladder.known_names()) is not None or any(
        True for root in (folder, ladder.ROOT) for _ in root.glob(word.lstrip("/") or "-"))


def missing_name(word, folder=ladder.ROOT):
    """Returns [error] if the word names a step, file, folder or program that doesn't exist, else []."""
    top, slash, rest = word.partition("/")
    names, is_ours = [word], STEP_NAME.fullmatch(word) or FILE_NAME.fullmatch(word)
    if METAVARIABLE.search(word) or re.search(r"^-|[(){}=;,&]|::|->", word):
        return []
    if top == "build":
        built = rest.partition("/")[2]
        names, is_ours = [built, f"{built}.cpp"], built not in ("", "compile_commands.json")
    elif slash:
        is_ours = top in files()[1] or (top not in ("", "practice") and (folder / top).exists())
    return [f"there is no '{word}'"] if is_ours and not any(is_there(name, folder) for name in names) else []


def missing_in_script(script, *arguments):
    """Returns what a call of a script names that the script's --help or the source tree does not have."""
    path = ladder.ROOT / script
    if not path.is_file() or path.suffix or path.parent.name != "scripts":  # not a script
        return missing_name(script)
    arguments = arguments[:arguments.index("--")] if "--" in arguments else arguments  # the rest is for the program
    unknown = [word for place, word in enumerate(arguments) if not (
        re.search(rf"(?<![\w-]){re.escape(word.partition('=')[0])}(?![\w-])", help_of(script)) or word.isdigit()
        or word.startswith("practice/") or METAVARIABLE.search(word) or (script == "scripts/new" and place == 1)
        or (word[0] != "-" and is_there(word)))]
    return [f"{script} does not know '{word}'" for word in unknown]


def missing(command):
    """Returns the errors in a line of shell."""
    command = re.sub(r"(?<=\s)\d?(?:>{1,2}|<)\s*(?:&\d|[^\s;|&]+)", " ", command)  # redirections
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|&;")
    lexer.whitespace_split = True
    try:
        all_words, found = list(lexer), []
    except ValueError as error:  # for example a missing closing quote
        return [f"'{command}': {error}"]
    for is_sign, group in itertools.groupby(all_words, key=lambda word: set(word) <= set("|&;")):
        words = [re.sub(r"^\./", "", word) for word in group]
        if words[0].startswith("scripts/"):
            found += missing_in_script(*words)
        elif not is_sign:
            found += [error for word in words for error in missing_name(word)]
    return found


def commands_of(block):
    """Returns the commands of an sh or console block, lines that end in \\ joined, with the output shown below each:
    [(line, command, line after it, lines up to the next command)]."""
    prompt = r"\$ " if block.language == "console" else ""
    found = [one for one in re.finditer(rf"^{prompt}((?:.*\\\n)*.*)$", block.text, re.MULTILINE)
             if one[1].strip() and not one[1].lstrip().startswith("#")]
    ends = [one.start() for one in found[1:]] + [len(block.text)]
    return [(block.line_at(one.start()), re.sub(r"\\\n\s*", " ", one[1]), block.line_at(one.end()) + 1,
             block.text[one.end() + 1:end].splitlines()) for one, end in zip(found, ends)]


def check_names(page):
    made = "|".join(re.findall(r"\bscripts/new \S+ ([a-z0-9_]+)", "\n".join(page.lines))) or "-"  # steps made on it
    for block in page.of_kind("code"):
        for line, command, *_ in commands_of(block) if block.language in ("sh", "console") else []:
            for error in missing(re.sub(rf"\b\w+_\d\d_(?:{made})\b", "STEP", command)):
                page.error(line, error)
    for piece in page.of_kind(*PROSE):
        for found in document.CODE_SPAN.finditer(document.blanked(piece.text, document.COMMENT)):
            words = found[1].split()
            errors = missing(" ".join(words)) if re.match(r"scripts/\w|build/\w", found[1]) else \
                missing_name(words[0], page.path.parent) if len(words) == 1 else []
            for error in errors:
                page.error(piece.line_at(found.start()), error)


# ---- numbers and translations

def check_numbers(page):
    """Checks that measured numbers in sentences are links. scripts/tables --check checks the links themselves."""
    for piece in page.of_kind("text"):
        words = document.blanked(piece.text, document.CODE_SPAN, document.LINK, document.COMMENT)
        for found in MEASURED.finditer(words) if not piece.marks.keys() & {"computed", "cited"} else ():
            page.error(piece.line_at(found.start()), f"'{' '.join(found[0].split())}' in a sentence: link it to "
                       "results/ as [1.19x](results/h200.json#sum_07,2^20,vs_00), or write <!-- computed --> or "
                       "<!-- cited --> on the line before this paragraph or list")


def original_of(path):
    """Returns the page that a translation translates: README.md for README.zh-CN.md, docs/X.md for docs/zh-CN/X.md.
    Returns the path itself for a page that is no translation."""
    return Path(re.sub(r"\.[a-z]{2}-[A-Z]{2}(?=\.md$)|/[a-z]{2}-[A-Z]{2}(?=/[^/]+$)", "", str(path)))


def held(page):
    """Returns what a page and its translation must have in common: {what: [text]}. Of a link to a heading only the
    page counts, because the heading's name is in the page's language."""
    words = document.blanked("\n\n".join(piece.text for piece in page.of_kind(*PROSE)), document.COMMENT,
                             document.CODE_SPAN, re.compile(r"\]\([^)]*\)|<[^>]*>"))
    return {"headings": [piece.text.split(" ")[0] for piece in page.of_kind("heading")],
            "code blocks": [f"{piece.language} {piece.marks} {piece.text}" for piece in page.of_kind("code")],
            "numbers": NUMBER.findall(words),
            "links": [target if ":" in target else f"{original_of(path)}#{part if path.suffix == '.json' else ''}"
                      for _, target, path, part in page.links()]}


def check_translation(page):
    """Reports what a translation lacks, and what it has in addition to its original."""
    original = held(page_at(original_of(page.path))) if original_of(page.path) != page.path else {}
    for what, expected in original.items():
        expected, found = Counter(expected), Counter(held(page)[what])
        if expected != found:
            page.error(1, f"{what}: the page lacks {sorted(expected - found)} of its original, "
                          f"has also {sorted(found - expected)}")


# ---- sessions: what their commands print on standard output, on a machine without a GPU

def environment(folder):
    """Returns the environment of a machine without a GPU; gdb breaks lines at COLUMNS."""
    path = Path(folder) / "nvidia-smi"
    path.write_text("#!/bin/sh\nexit 9\n")
    path.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "9999", "LC_ALL": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1"}


def run_sessions(pages):
    """Runs all sessions but those of translations, reports skipped ones, and returns how many were run."""
    blocks = [(page, block) for page in pages for block in page.of_kind("code")
              if block.language == "console" and "seen on" not in block.marks
              and page.path == original_of(page.path) and page.path.name != "NOTES.md"]
    skipped = [one for one in blocks if "interactive" in one[1].marks and not shutil.which("gdb")]
    with tempfile.TemporaryDirectory() as folder:
        env = environment(folder)
        for page, block in blocks:
            if (page, block) in skipped:
                print(f"skipped: {page.name}:{block.line} needs gdb")
            else:
                run_session(page, block, env)
    return len(blocks) - len(skipped)


def run_session(page, block, env):
    """Builds the programs in build/ that the session names, then runs it. In a session of gdb, which does not echo its
    input, the text after each prompt is the input."""
    if not block.text.startswith("$ "):
        page.error(block.line, "a console block starts with a line '$ command'")
    for line, command, start, shown in commands_of(block):
        ladder.say(f"{page.name}:{line}: {command}")
        for preset, name in re.findall(r"\bbuild/([\w-]+)/([\w/]+)", command):
            steps, target = ladder.find(name, ladder.known_names()), name.split("/")[-1]
            if steps:
                target = f"ladder_{target}" if target == steps[0].kernel else steps[0].target
            ladder.configure(preset)
            ladder.build(preset, [target])
        given = [one[len(PROMPT):] + "\n" for one in shown if one.startswith(PROMPT) and "interactive" in block.marks]
        done = subprocess.run(["timeout", "300", "bash", "-c", command], cwd=ladder.ROOT, env=env, text=True,
                              errors="replace", input="".join(given), capture_output=True)
        if done.returncode in (2, ladder.TIMED_OUT, 126, 127):
            why = ladder.describe_exit(done.returncode)
            page.error(line, f"'{command}' {why}: {done.stderr.strip().splitlines()[-1:]}")
            continue
        first, *others = done.stdout.split(PROMPT) if given else [done.stdout]
        compare(page, start, shown, first + "".join(PROMPT + one + text for one, text in zip(given, others)))


def compare(page, line, shown, printed):
    """Compares `printed` with the lines shown from a line of the page on, ignoring trailing blanks."""
    wanted, got = ("\n".join(one.expandtabs().rstrip() for one in lines).rstrip("\n").split("\n")
                   for lines in (shown, printed.splitlines()))
    wrong = document.first_difference(wanted, got)
    if wrong:
        shown, printed = (f"'{lines[at]}'" if at < len(lines) else "no more" for at, lines in zip(wrong, (wanted, got)))
        page.error(line + min(wrong[0], len(wanted) - 1), f"shown is {shown}; the command prints {printed}")
