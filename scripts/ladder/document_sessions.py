"""Sessions on a page: runs the commands of console blocks as on a machine without a GPU, and compares what they print
on standard output. Standard error, where progress and compilers' output go, is not compared."""
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import ladder
from ladder import document, document_checks

SECONDS = 300  # for one command
ADDRESS = re.compile(r"0x[0-9a-f]+")
PROMPT = "(gdb) "


def environment(folder):
    """Of a machine without a GPU: scripts find a nvidia-smi that shows none."""
    path = Path(folder) / "nvidia-smi"
    path.write_text("#!/bin/sh\nexit 9\n")
    path.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "120", "LC_ALL": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1"}


def parts(block):
    """The commands of a console block with the output shown: [(line of the command, command, line of the output's
    first line, its lines)]."""
    commands, lines = document_checks.commands_of(block), block.text.splitlines()
    ends = [line for line, *_ in commands[1:]] + [block.line + len(lines)]
    return [(line, command, after, lines[after - block.line:end - block.line])
            for (line, command, after), end in zip(commands, ends)]


def build(command):
    """What a command names in build/."""
    for preset, name in re.findall(r"\bbuild/([\w-]+)/([\w/]+)", command):
        steps, target = ladder.find(name, document_checks.known_names()), name.split("/")[-1]
        if steps:
            target = f"ladder_{target}" if target == steps[0].kernel else steps[0].target
        ladder.configure(preset)
        ladder.build(preset, [target])


def check(pages):
    """Runs all sessions, of a translation the original's. Returns how many, and the names of those skipped."""
    count, skipped = 0, []
    with tempfile.TemporaryDirectory() as folder:
        env = environment(folder)
        blocks = [(page, block) for page in pages for block in page.of_kind("code")
                  if block.language == "console" and "seen on" not in block.marks
                  and page.path == document_checks.original_of(page.path) and page.path.name != "NOTES.md"]
        for page, block in blocks:
            if "interactive" in block.marks and not shutil.which("gdb"):
                skipped.append(f"{page.name}:{block.line} needs gdb")
            else:
                check_session(page, block, env)
                count += 1
    return count, skipped


def check_session(page, block, env):
    """In a session of gdb, which echoes nothing, what follows each prompt is given to it, and addresses may differ."""
    if not block.text.startswith("$ "):
        page.error(block.line, "a console block starts with a line '$ command'")
    for line, command, start, shown in parts(block):
        ladder.say(f"{page.name}:{line}: {command}")
        build(command)
        given = []
        if "interactive" in block.marks:
            given = [one[len(PROMPT):] + "\n" for one in shown if one.startswith(PROMPT)]
            env = {**env, "COLUMNS": "9999"}  # gdb breaks lines where it likes
        done = subprocess.run(["timeout", str(SECONDS), "bash", "-c", command], cwd=ladder.ROOT, env=env, text=True,
                              errors="replace", input="".join(given), capture_output=True)
        printed = done.stdout
        if done.returncode in (2, ladder.TIMED_OUT, 126, 127):
            why = ladder.describe_exit(done.returncode)
            page.error(line, f"'{command}' {why}: {done.stderr.strip().splitlines()[-1:]}")
            continue
        if given:
            first, *others = printed.split(PROMPT)
            printed = first + "".join(PROMPT + one + text for one, text in zip(given, others))
            printed = ADDRESS.sub("0x...", printed).replace(f"{ladder.ROOT}/", "")
            shown = [ADDRESS.sub("0x...", one) for one in shown]
        compare(page, start, shown, printed)


def compare(page, line, shown, printed):
    """Is `printed` what is shown from a line of the page on? Empty lines at the end do not count."""
    wanted, got = ([one.expandtabs().rstrip() for one in lines] for lines in (shown, printed.splitlines()))
    for lines in (wanted, got):
        while lines and not lines[-1]:
            lines.pop()
    wrong = document.first_difference(wanted, got)
    if wrong:
        place, at = wrong
        printed = f"prints '{got[at]}'" if at < len(got) else "prints no more"
        shown = f"'{wanted[place]}'" if place < len(wanted) else "no more"
        page.error(line + min(place, max(0, len(wanted) - 1)), f"shown is {shown}; the command {printed}")
