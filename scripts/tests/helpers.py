"""Shared by the tests of the scripts: the top folder, temporary folders and programs, made-up figures."""
import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True
import ladder
from ladder import figures


class Case(unittest.TestCase):
    def folder(self, **options):
        """Returns a folder that is deleted after the test."""
        made = tempfile.TemporaryDirectory(**options)
        self.addCleanup(made.cleanup)
        return Path(made.name).resolve()

    def patch(self, target, name, *value, **options):
        patch = mock.patch.object(target, name, *value, **options)
        self.addCleanup(patch.stop)
        return patch.start()

    def assert_ends(self, status, call, *arguments, **options):
        """Asserts that the call ends the script with this status. Returns what it printed."""
        said, found = outcome(call, *arguments, **options)
        self.assertEqual(found, status, said)
        return said


def outcome(call, *arguments, **options):
    """Returns (what a call printed on both streams, what it returned or the exit status that it ended with)."""
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(said):
        try:
            found = call(*arguments, **options)
        except SystemExit as end:
            found = end.code
    return said.getvalue(), found


def executable(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


def steps(*ids):
    """Returns steps of sum, such as 02_tree. Their files need not exist."""
    folder = ROOT / "reduce" / "sum"
    return [ladder.Step("reduce", "sum", one[:2], f"sum_{one}", folder / f"sum_{one}.cu") for one in ids]


def entry(step, n, cold_us, **more):
    """Returns a measured entry of a step of sum."""
    return {"family": "reduce", "kernel": "sum", "step": step, "size": {"n": n}, "gbps": 4e-3 * n / cold_us,
            "cold_us": cold_us, "code": "now", "of_ceiling": 0.5, **more}


def known(ids=("00_cub", "01_atomic", "02_tree"), members=None, **entries_of_card):
    """Returns the Figures of these steps. An entry whose code is not "now" is stale."""
    results = {ROOT / f"reduce/sum/results/{card.replace('_', '-')}.json": {"entries": entries}
               for card, entries in entries_of_card.items()}
    return figures.Figures(results, lambda one: one["code"] == "now", {"sum": members or steps(*ids)})
