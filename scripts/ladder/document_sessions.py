"""Sessions on a page: runs the commands of console blocks as on a machine without a GPU, and compares what they print
on standard output. Standard error, where progress and compilers' output go, is not compared."""
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import ladder
from ladder import document_commands

SECONDS = 300  # for one command
ADDRESS = re.compile(r"0x[0-9a-f]+")
PROMPT = "(gdb) "


# ---- comparing

def first_difference(wanted, got):
    """Where the two first differ: (place in wanted, place in got); None if they are the same. A wanted line ... stands
    for any lines, or none."""
    places = {0}  # how many lines of `got` may have been read
    for place, line in enumerate(wanted):
        if line.strip() == "...":
            places = set(range(min(places), len(got) + 1))
            continue
        after = {at + 1 for at in places if at < len(got) and got[at] == line}
        if not after:
            return place, max(places)
        places = after
    return None if len(got) in places else (len(wanted), max(places))


def compare(page, line, shown, printed):
    """Is `printed` what is shown from a line of the page on? Empty lines at the start and end do not count."""
    line += next((number for number, text in enumerate(shown) if text.strip()), 0)
    wanted, got = ([one.expandtabs().rstrip() for one in text.strip("\n").splitlines()]
                   for text in ("\n".join(shown), printed))
    wrong = first_difference(wanted, got)
    if wrong is not None:
        place, at = wrong
        printed = f"prints '{got[at]}'" if at < len(got) else "prints no more"
        shown = f"'{wanted[place]}'" if place < len(wanted) else "no more"
        page.error(line + min(place, max(0, len(wanted) - 1)), f"shown is {shown}; the command {printed}")


# ---- running

def environment(folder):
    """Of a machine without a GPU: scripts find a nvidia-smi that shows none."""
    path = Path(folder) / "nvidia-smi"
    path.write_text("#!/bin/sh\nexit 9\n")
    path.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "120", "LC_ALL": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1"}


def run(command, env, given=""):
    """Runs a command; its exit status is ladder.TIMED_OUT if it did not end."""
    return subprocess.run(["timeout", str(SECONDS), "bash", "-c", command], cwd=ladder.ROOT, env=env, text=True,
                          errors="replace", input=given, capture_output=True)


def parts(block):
    """The commands of a console block with the output shown: [(line of the command, command, line of the output's
    first line, its lines)]."""
    commands = document_commands.commands_of(block)
    ends = [line for line, *_ in commands[1:]] + [block.line + len(block.lines)]
    return [(line, command, after, block.lines[after - block.line:end - block.line])
            for (line, command, after), end in zip(commands, ends)]


def targets(command):
    """What must be built before: {preset: {target}}."""
    found = {}
    for preset, name in re.findall(r"\bbuild/([\w-]+)/([\w/]+)", command):
        steps = ladder.find(name, document_commands.known_names())
        target = name.split("/")[-1]
        if steps:
            target = f"ladder_{target}" if target == steps[0].kernel else steps[0].target
        found.setdefault(preset, set()).add(target)
    return found


def check(pages):
    """Runs all sessions. Returns how many, and the names of those skipped."""
    count, skipped = 0, []
    with tempfile.TemporaryDirectory() as folder:
        env = environment(folder)
        for page in pages:
            for block in page.of_kind("code"):
                if block.language != "console" or block.mark("seen on") is not None:
                    continue
                if block.mark("interactive") is not None and not shutil.which("gdb"):
                    skipped.append(f"{page.name}:{block.line} needs gdb")
                    continue
                errors = list(why_not(block))
                if errors:
                    page.errors += errors
                else:
                    check_session(page, block, env)
                    count += 1
    return count, skipped


def why_not(block):
    """What keeps a session from being run: [(line, text)]."""
    found = parts(block)
    if not found or found[0][0] != block.line:
        yield block.line, "a console block starts with a line '$ command'"
    for line, command, _, _ in found:
        if re.search(r"\bbuild/gpu|--backend[ =]cuda|\b(ncu|cuda-gdb|compute-sanitizer|nvcc)\b", command):
            yield line, "this needs a GPU: say <!-- seen on: CARD --> before the block"
        elif re.search(r"scripts/(new|practice|tables|plot|bench)(?!.*--check)", command):
            yield line, "this writes into the tree: make it an sh block"


def check_session(page, block, env):
    """In a session of gdb, which echoes nothing, what follows each prompt is given to it, and addresses may differ."""
    for line, command, start, lines in parts(block):
        ladder.say(f"{page.name}:{line}: {command}")
        for preset, names in targets(command).items():
            ladder.configure(preset)
            ladder.build(preset, sorted(names))
        given = []
        if block.mark("interactive") is not None:
            given = [one[len(PROMPT):] + "\n" for one in lines if one.startswith(PROMPT)]
            env = {**env, "COLUMNS": "9999"}  # gdb breaks lines where it likes
        done = run(command, env, "".join(given))
        printed = done.stdout
        if done.returncode in (2, ladder.TIMED_OUT, 126, 127):
            why = ladder.describe_exit(done.returncode)
            page.error(line, f"'{command}' {why}: {done.stderr.strip().splitlines()[-1:]}")
            continue
        if given:
            first, *others = printed.split(PROMPT)
            printed = masked(first + "".join(PROMPT + one + text for one, text in zip(given, others)))
            lines = [masked(one) for one in lines]
        compare(page, start, lines, printed)


def masked(text):
    return ADDRESS.sub("0x...", text).replace(f"{ladder.ROOT}/", "")
