#!/usr/bin/env python3
"""Checks that all scripts behave alike: --help and bad usage, from any folder, and in a checkout whose path has a
space. Every executable file in scripts/ is a script. The test builds nothing."""
import os
import pty
import re
import select
import shutil
import subprocess
import tempfile
import termios
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAMES = sorted(path.name for path in (ROOT / "scripts").iterdir() if path.is_file() and os.access(path, os.X_OK))
LINE = 120


class Scripts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.elsewhere = Path(folder.name).resolve()
        cls.copy = cls.elsewhere / "a check out"
        shutil.copytree(ROOT, cls.copy, symlinks=True, ignore=lambda folder, names: {
            ".git", ".cache", ".deps", "__pycache__", *["build", "practice"] * (Path(folder) == ROOT)})

    def run_script(self, name, *arguments, root=None, folder=None, **environment):
        done = subprocess.run([(root or self.copy) / "scripts" / name, *arguments], cwd=folder or self.elsewhere,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
                              timeout=60, env={**os.environ, "COLUMNS": str(LINE), **environment})
        return done.returncode, done.stdout, done.stderr

    def test_help(self):
        for name in NAMES:
            with self.subTest(name):
                status, text, errors = self.run_script(name, "--help", root=ROOT)
                self.assertEqual((status, errors), (0, ""))
                for pattern in (rf"\Ausage: scripts/{name} ", r"(?m)^options:\n(?:  .*\n)*?  -h, --help ",
                                rf"(?m)^examples?:\n  scripts/{name}\b", r"(?m)^Exit status: 0 ."):
                    self.assertRegex(text, pattern)
                self.assertNotRegex(text, f".{{{LINE + 1}}}")
                self.assertEqual(self.run_script(name, "-h"), (0, text, ""), "in a folder with a space")

    def test_watching_in_a_terminal(self):
        """Keys typed together are all handled: the list, then the end. The terminal's settings are restored."""
        terminal, ours = pty.openpty()
        before, said = termios.tcgetattr(ours), ""
        watch = subprocess.Popen([self.copy / "scripts/practice", "--watch"], stdin=ours, stdout=ours, stderr=ours)
        self.addCleanup(watch.kill)
        for pattern, keys in (("q quit", b"lq"), (r"\n    sum +medium .+\r\n", b"")):
            while not re.search(pattern, said):
                self.assertTrue(select.select([terminal], [], [], 30)[0], said)
                said += os.read(terminal, 1 << 16).decode(errors="replace")
            os.write(terminal, keys)
        self.assertEqual(watch.wait(30), 0)
        self.assertEqual(termios.tcgetattr(ours), before)

    def assert_usage(self, words, name, *arguments):
        """Asserts that bad usage gives one line with these words, and that nothing is built."""
        with self.subTest(name):
            status, text, errors = self.run_script(name, *arguments)
            self.assertEqual((status, text), (2, ""))
            self.assertRegex(errors, rf"\A{name}: [^\n]*{words}[^\n]*\n\Z")
        self.assertFalse((self.copy / "build").exists())

    def test_bad_usage(self):
        for name in NAMES:
            text = self.run_script(name, "--help")[1]
            usage = re.sub(r"\[.*?\]", "", re.match(r"usage: \S+((?:.+\n)+)", text)[1])
            needed = [word if word.startswith("-") else "sum_08_warp_shuffle" for word in usage.split()]
            self.assert_usage("--no-such-option.*--help", name, "--no-such-option", *needed)
            if "--backend cuda|cpu" in text:
                self.assert_usage("--backend", name, "--backend")
                self.assert_usage("'tpu'", name, "--backend", "tpu", *needed)
        for name, *arguments in (("run", "--timeout", "-1"), ("mutate", "--number", "x"),
                                 ("debug", "--block", "1,x", "sum_08_warp_shuffle")):
            self.assert_usage(f"{arguments[0]}.*'{arguments[1]}'", name, *arguments)
        for name in ("run", "debug", "export", "mutate", "sanitize", "bench", "new"):
            self.assert_usage("'sum_8'.*sum_08_", name, "sum_8", *["idea"] * (name == "new"))

    def test_work_in_a_folder_with_a_space(self):
        """The scripts run from another folder, and from inside by a relative path with CDPATH set."""
        for root, folder in ((self.copy, self.elsewhere), (Path(".."), self.copy / "reduce")):
            for words, *command in (("  sum_08_warp_shuffle\n", "run", "--list"),
                                    ("__global__", "export", self.copy / "reduce/sum/sum_08_warp_shuffle.cu")):
                status, text, _ = self.run_script(*command, root=root, folder=folder, CDPATH=str(ROOT))
                self.assertEqual(status, 0)
                self.assertIn(words, text)

    def test_a_file_that_cannot_be_written(self):
        status, text, errors = self.run_script("export", "sum_08_warp_shuffle", "-o", "missing/sum.cu")
        self.assertEqual((status, text), (1, ""))
        self.assertRegex(errors, r"\Aexport: [^\n]*missing/sum\.cu[^\n]*\n\Z")


if __name__ == "__main__":
    unittest.main()
