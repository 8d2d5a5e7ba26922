#!/usr/bin/env python3
"""Checks that all scripts look alike from outside: --help, bad usage; from any folder, and in a checkout whose
path has a space. Whatever is executable in scripts/ is a script. Builds nothing."""
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
        cls.copy = Path(folder.name).resolve() / "a check out"
        left_out = shutil.ignore_patterns("build", ".git", ".cache", ".deps", "__pycache__")
        shutil.copytree(ROOT, cls.copy, symlinks=True, ignore=lambda folder, names: left_out(folder, names) | (
            {"practice"} if Path(folder) == ROOT else set()))
        cls.elsewhere = cls.copy.parent

    def run_script(self, name, *arguments, root=None, folder=None, **environment):
        command = [(root or self.copy) / "scripts" / name, *arguments]
        done = subprocess.run(command, cwd=folder or self.elsewhere, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, stdin=subprocess.DEVNULL, timeout=60,
                              env={**os.environ, "COLUMNS": str(LINE), **environment})
        return done.returncode, done.stdout, done.stderr

    def test_help(self):
        for name in NAMES:
            with self.subTest(name):
                status, text, errors = self.run_script(name, "--help", root=ROOT)
                self.assertEqual((status, errors), (0, ""))
                self.assertTrue(text.startswith(f"usage: scripts/{name} "), text.splitlines()[0])
                self.assertRegex(text, r"(?m)^options:\n(?:  .*\n)*?  -h, --help ")
                self.assertRegex(text, rf"(?m)^examples?:\n  scripts/{name}\b")
                self.assertRegex(text, r"(?m)^Exit status: 0 .")
                self.assertEqual([line for line in text.splitlines() if len(line) > LINE], [])
                self.assertEqual(self.run_script(name, "-h"), (0, text, ""), "in a folder with a space")

    def test_watching_in_a_terminal(self):
        """Keys that were typed together are all seen: the list, and then the end. The terminal is as it was before."""
        terminal, ours = pty.openpty()
        self.addCleanup(os.close, terminal)
        before = termios.tcgetattr(ours)
        watch = subprocess.Popen([self.copy / "scripts/practice", "--watch"], stdin=ours, stdout=ours, stderr=ours)
        said = b""
        try:
            while b"q quit" not in said:
                self.assertTrue(select.select([terminal], [], [], 30)[0], said)
                said += os.read(terminal, 1 << 16)
            os.write(terminal, b"lq")
            self.assertEqual(watch.wait(30), 0)
        finally:
            watch.kill()
            watch.wait()
        while select.select([terminal], [], [], 0)[0]:
            said += os.read(terminal, 1 << 16)
        self.assertEqual(termios.tcgetattr(ours), before)
        os.close(ours)
        self.assertRegex(said.decode(), r"\n    sum +medium .+\r\n")

    def assert_usage(self, name, arguments, words):
        """Bad usage gets one line with these words, and nothing is built."""
        with self.subTest(name):
            status, text, errors = self.run_script(name, *arguments)
            self.assertEqual((status, text), (2, ""))
            self.assertRegex(errors, rf"\A{name}: [^\n]*{words}[^\n]*\n\Z")
        self.assertFalse((self.copy / "build").exists())

    def test_bad_usage(self):
        for name in NAMES:
            needed = self.needed(name)
            self.assert_usage(name, ["--no-such-option", *needed], "--no-such-option.*--help")
            if "--backend cuda|cpu" in self.run_script(name, "--help")[1]:
                self.assert_usage(name, ["--backend"], "--backend")
                self.assert_usage(name, ["--backend", "tpu", *needed], "'tpu'")
        for name, *arguments in (("run", "--timeout", "-1"), ("mutate", "--jobs", "0"), ("mutate", "--number", "x"),
                                 ("sanitize", "--jobs", "0"), ("debug", "--block", "1,x", "sum_08_warp_shuffle")):
            self.assert_usage(name, arguments, f"{arguments[0]}.*'{arguments[1]}'")
        for name in ("run", "debug", "export", "mutate", "sanitize", "bench", "new"):
            self.assert_usage(name, ["sum_8", *["idea"] * (name == "new")], "'sum_8'.*sum_08_")

    def needed(self, name):
        """What must be there: options, and a value for each argument."""
        usage = re.match(r"usage: ((?:.+\n)+)", self.run_script(name, "--help")[1])[1]
        words = re.sub(r"\[.*?\]", "", usage).split()[1:]
        return [word if word.startswith("-") else "sum_08_warp_shuffle" for word in words]

    def test_work_in_a_folder_with_a_space(self):
        """From elsewhere, and from inside, by a relative path and with CDPATH set."""
        for folder in (self.elsewhere, self.copy / "reduce"):
            status, text, errors = self.run_script("run", "--list", folder=folder, CDPATH=str(ROOT))
            self.assertEqual((status, errors), (0, ""))
            self.assertIn("  sum_08_warp_shuffle\n", text)
            status, text, _ = self.run_script("export", self.copy / "reduce/sum/sum_08_warp_shuffle.cu", folder=folder)
            self.assertEqual(status, 0)
            self.assertIn("__global__", text)
        done = subprocess.run(["../scripts/new", "sum", "of_a_test"], cwd=self.copy / "reduce", text=True,
                              stdout=subprocess.PIPE)
        self.assertEqual(done.returncode, 0)
        written = self.copy / done.stdout.split(",")[0]
        self.assertTrue(written.name.endswith("_of_a_test.cu"))
        written.unlink()
        self.assertTrue(self.run_script("mutate", "--list", "--number", "2", "add_01_scalar")[1])

    def test_a_file_that_cannot_be_written(self):
        status, text, errors = self.run_script("export", "sum_08_warp_shuffle", "-o", "missing/sum.cu")
        self.assertEqual((status, text), (1, ""))
        self.assertRegex(errors, r"\Aexport: [^\n]*missing/sum\.cu[^\n]*\n\Z")


if __name__ == "__main__":
    unittest.main()
