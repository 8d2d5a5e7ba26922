"""The code of scripts/run: builds steps, runs them, and reports what passed."""
import collections
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import ladder
from ladder import candidates, checked_run, diagnosis

DESCRIPTION = """\
Builds and runs the ladder of each kernel: checks all its steps and, on a GPU, times them.
It uses a GPU if nvcc and a GPU are found, else the CPU backend, which prints no times.

Names are kernels, families, steps, planted bugs, whiteboard answers, and their files, or files of practice/. The output
of kernels is shown. A step that does not compile, crashes or never ends fails; the others still get their verdicts.
"""
EPILOG = """\
examples:
  scripts/run                        every kernel
  scripts/run transpose/             a family: all its kernels
  scripts/run sum_08_warp_shuffle    a step, with its own program: build/<preset>/reduce/sum/sum_08_warp_shuffle
  scripts/run reduce/sum/bugs/sum_early_return.cu
  scripts/run reduce/sum/whiteboard.cu
  scripts/run practice/sum.cu        a file of your own; scripts/judge reports more about it
  scripts/run sum -- --n=2^20        with options for the programs; 'scripts/run sum -- --help' lists them
"""
BAD_USAGE = 2  # a program's exit status for bad usage


class Verdict(NamedTuple):
    word: str  # PASS, FAIL, skipped or left out
    reason: str = ""
    is_cuda_error: bool = False

    def __str__(self):
        return f"{self.word}, {self.reason}" if self.reason else self.word


def verdict_in(record):
    """Returns the Verdict in a program's record (common/runner/record.hpp), or None if it has none."""
    if "verified" in record:
        failure, word = record.get("failure", {}), "PASS" if record["verified"] else "FAIL"
        return Verdict(word, failure.get("text", ""), failure.get("what") == "error")
    words = {"skipped": "skipped", "left_out": "left out", "failed": "FAIL"}
    return next((Verdict(word, record[key]) for key, word in words.items() if key in record), None)


class Tally(dict):
    """The verdicts of all steps: {name: Verdict}."""

    def say(self, name, verdict):
        self[name] = verdict
        print(f"{name}: {verdict}", flush=True)

    def note(self, records, steps):
        """Adds the verdicts of a program's records. A step fails if it fails at any size."""
        names = {step.name for step in steps}
        for record in records:
            name = record.get("name") or "_".join(filter(None, (record.get("kernel"), record.get("step"))))
            verdict = verdict_in(record)
            if verdict and name in names - self.failed().keys():
                self[name] = verdict

    def failed(self):
        return {name: verdict for name, verdict in self.items() if verdict.word == "FAIL"}

    def summary(self):
        count = collections.Counter(verdict.word for verdict in self.values())
        text = (f"{count['PASS']} step{'s' * (count['PASS'] != 1)} passed, {count['FAIL']} failed, "
                f"{count['skipped']} skipped" + f", {count['left out']} left out" * (count["left out"] > 0))
        failed = [f"  {name}: {verdict.reason or 'see above'}" for name, verdict in self.failed().items()]
        return "\n".join([text] + ["failed:"] * bool(failed) + failed)


def recorded(command):
    """Runs a program and shows its output. Returns its exit status and its records."""
    with tempfile.TemporaryDirectory(prefix="run-") as folder:
        record = Path(folder, "record")
        status = subprocess.run([*command, f"--record={record}"]).returncode
        return status, checked_run.records_in(record)


def run(programs, options, tally):
    """Runs programs, [(command, its steps)]. Ends the script if all steps refuse the options. A step that alone
    refuses them, for example because of a size, is skipped."""
    refused = [step for command, steps in programs if run_program(command, steps, options, tally) == BAD_USAGE
               for step in steps]
    if len(refused) == sum(len(steps) for _, steps in programs):
        sys.exit(BAD_USAGE)
    for step in refused:
        tally.say(step.name, Verdict("skipped", "refuses these options"))


def run_program(command, steps, options, tally):
    """Runs a program, gives its steps their verdicts, and returns its exit status. A ladder's program has all steps,
    so that they are timed side by side. There, a step that crashes ends the following ones too, and after a CUDA error
    all later calls fail. Those steps are run again, one by one."""
    status, records = recorded([*command, *options])
    if status == BAD_USAGE:
        return status
    tally.note(records, steps)
    fatal = [report for record in records for report in record.get("reports", []) if report["fatal"]]
    ended = Verdict("FAIL", diagnosis.told(fatal[0]).replace("\n", ", ") if fatal else
                    ladder.describe_exit(status) if status else "printed no verdict")
    unclear = [step for step in steps if step.name not in tally or tally[step.name].is_cuda_error]
    if status in (0, ladder.NO_DEVICE) or len(steps) == 1 or not unclear:
        for step in steps:
            if step.name not in tally:
                tally.say(step.name, Verdict("skipped", "no CUDA device") if status == ladder.NO_DEVICE else ended)
            elif step.name in tally.failed() and len(steps) == 1 and fatal:
                tally[step.name] = ended
        return status
    print("Running the steps without a verdict of their own again, one by one:", flush=True)
    before = {step: tally.pop(step.name, ended) for step in unclear}
    run([([*command, f"--only={step.name}"], [step]) for step in unclear], options, tally)
    if not tally.failed().keys() & {step.name for step in steps}:
        for step, verdict in before.items():
            tally.say(step.name, Verdict("FAIL", f"passes alone, fails in the ladder: {verdict.reason}"))
    return status


class Group(NamedTuple):
    """Steps of a kernel that run together, or its planted bugs, its whiteboard answers, or submissions."""
    kernel: str
    steps: list
    is_whole: bool  # all steps of the kernel, as in the ladder's program

    def targets(self, unbuilt):
        built = [step.target for step in self.steps if step.name not in unbuilt and step.kind != "submission"]
        return [f"ladder_{self.kernel}"] if built and self.is_whole else built

    def run(self, preset, unbuilt, options, tally):
        steps = [step for step in self.steps if step.name not in unbuilt]
        if steps:
            run([([steps[0].ladder_program(preset)], steps)] if self.is_whole else
                [([step.program(preset)], [step]) for step in steps], options, tally)
        for step in self.steps:
            if step.name in unbuilt:
                tally.say(step.name, unbuilt[step.name])


def groups_of(steps):
    grouped = {}
    for step in steps:
        grouped.setdefault((step.kernel, step.kind), []).append(step)
    return [Group(kernel, members, set(members) == set(ladder.kernels()[kernel]))
            for (kernel, _), members in grouped.items()]


def build(preset, groups, unbuilt):
    """Builds the groups' programs, without the steps in `unbuilt`, {name: Verdict}. Adds the steps that do not compile
    to `unbuilt`. Returns the groups; a group whose ladder cannot be built is run as single steps."""
    steps = {step.name: step for group in groups for step in group.steps}
    broken = {name: build_submission(preset, step) for name, step in steps.items() if step.kind == "submission"}
    failed = ladder.build_what_compiles(preset, [target for group in groups for target in group.targets(unbuilt)])
    others = sorted(failed.keys() - steps.keys() - {group.kernel for group in groups})
    if others:
        ladder.fail(f"{others[0]} does not build: {failed[others[0]]}")
    if failed:
        groups = [group._replace(is_whole=group.is_whole and not failed.keys() & {
            group.kernel, *(step.name for step in group.steps)}) for group in groups]
        failed.update(ladder.build_what_compiles(preset, [target for group in groups if not group.is_whole
                                                          for target in group.targets({*unbuilt, *failed})]))
    unbuilt.update((name, Verdict("FAIL", f"does not build: {reason}"))
                   for name, reason in {**failed, **broken}.items() if reason and name in steps)
    return groups


def build_submission(preset, submission):
    """Builds a submission's program. Returns the error, or an empty text."""
    ladder.say(f"Building {ladder.shown(submission.path)} for build/{preset}")
    try:
        candidates.build_submission(preset, submission)
    except candidates.CompileError as error:
        ladder.say(str(error).rstrip())
        return ladder.first_error(str(error))
    return ""


def main():
    parser = ladder.ArgumentParser(DESCRIPTION, EPILOG, usage="%(prog)s [options] [NAME...] [-- OPTIONS]")
    parser.add_backend()
    parser.add_argument("--list", action="store_true", help="list what there is to run, and stop")
    parser.add_argument("--timeout", type=ladder.at_least(0), default=300, metavar="S",
                        help="a step whose check takes longer fails; default %(default)s, 0 for no limit. "
                             "The CPU backend also ends endless loops, after CUDA_EMU_TIMEOUT seconds, default 60")
    parser.add_argument("names", metavar="NAME", nargs="*",
                        help="a kernel, family, step, planted bug, whiteboard answer or file; default all "
                             "kernels; softmax is the kernel, softmax/ the family")
    arguments, options = parser.parse_with_rest()
    options = options or []
    if arguments.list:
        for kernel, steps in ladder.kernels().items():
            print(ladder.shown(steps[0].folder / kernel), *(f"  {step.name}" for step in steps), sep="\n")
        return print(*(other.label for other in ladder.bugs() + ladder.answers()), sep="\n")
    if any(option.startswith("--only") for option in options):
        ladder.usage_error("--only is for programs; here name the steps: scripts/run STEP...")
    groups = groups_of(ladder.resolve(arguments.names, submissions=True) if arguments.names else ladder.steps())
    backend = ladder.choose_backend(arguments.backend)
    preset = {"cuda": "gpu", "cpu": "cpu"}[backend]
    steps, names = [step for group in groups for step in group.steps], dict.fromkeys(group.kernel for group in groups)
    what = steps[0].label if len(steps) == 1 else f"{len(steps)} steps of {', '.join(names)}"
    ladder.say(f"scripts/run: {what}, on {'a GPU' if backend == 'cuda' else 'the CPU backend'}")

    ladder.configure(preset)
    unbuilt = {name: Verdict("skipped", f"needs {what}") for name, what in ladder.skipped(preset).items()}
    if {"--help", "-h", "--device"} & set(options):  # these options give no verdicts
        step = next((step for step in steps if step.name not in unbuilt), None)
        if step is None:
            ladder.fail("none of these can be built here")
        sys.exit(subprocess.run([candidates.program_of(preset, step), *options]).returncode)
    groups, tally = build(preset, groups, unbuilt), Tally()
    for number, group in enumerate(groups, 1):
        print(f"\n[{number}/{len(groups)}] {group.kernel}", flush=True)
        group.run(preset, unbuilt, [f"--timeout={arguments.timeout}", *options], tally)
    print("\n" + tally.summary())
    sys.exit(1 if tally.failed() else 0)
