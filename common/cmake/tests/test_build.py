#!/usr/bin/env python3
"""Builds a small checkout, as a reader does with scripts/run, edits it, and sees that the edits are what runs.

usage: test_build.py cpu|cuda [unittest options]
"""
import fcntl
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True
import ladder

KERNEL = Path(__file__).resolve().parent / "twice"
BACKEND = sys.argv.pop(1)
PRESET = {"cpu": "cpu", "cuda": "gpu"}[BACKEND]


def edit(path, before, after):
    text = path.read_text()
    assert before in text, f"{path}: no '{before}'"
    path.write_text(text.replace(before, after))


def verdicts_in(output):
    return dict(re.findall(r"^twice_(\w+) +(PASS|FAIL)", output, re.MULTILINE))


class Build(unittest.TestCase):
    """The tests follow each other in one checkout, by number: a build takes most of their time."""

    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="ladder_build_")
        cls.addClassCleanup(temporary.cleanup)
        cls.checkout = Path(temporary.name) / "a checkout"
        cls.build = cls.checkout / "build" / PRESET
        for folder in ("common", "scripts"):
            shutil.copytree(ROOT / folder, cls.checkout / folder, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(KERNEL, cls.checkout / "family" / "twice")
        for name in ("CMakeLists.txt", "CMakePresets.json"):
            shutil.copy(ROOT / name, cls.checkout)
        presets = cls.checkout / "CMakePresets.json"
        # Not optimised, which is done sooner; and without tests, which name steps that are not here.
        presets.write_text(re.sub('"LADDER_BACKEND"', '"LADDER_TESTS": "OFF", "LADDER_BACKEND"',
                                  presets.read_text().replace('"RelWithDebInfo"', '"None"')))
        (cls.checkout / "practice").mkdir()
        (cls.checkout / "practice" / "mine_01_draft.cu").write_text("not even C++\n")

    def script(self, name, *arguments, checkout=None):
        return subprocess.run([(checkout or self.checkout) / "scripts" / name, *arguments], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run_twice(self, checkout=None):
        """The verdict of each step of `twice`, and all that was printed."""
        done = self.script("run", "--backend", BACKEND, "twice", checkout=checkout)
        return verdicts_in(done.stdout), done.stdout

    def expect(self, verdicts, checkout=None):
        found, output = self.run_twice(checkout)
        self.assertEqual(found, verdicts, output)
        return output

    def test_1_a_folder_with_steps_is_a_kernel_and_practice_is_none(self):
        self.expect({"01_plain": "PASS", "02_template": "PASS"})
        self.assertEqual(self.script("run", "--backend", BACKEND, "mine").returncode, 2)

    def test_2_a_copied_step_is_a_world_of_its_own(self):
        folder = self.checkout / "family" / "twice"
        shutil.copy(folder / "twice_01_plain.cu", folder / "twice_03_copy.cu")
        edit(folder / "twice_03_copy.cu", "2.0f * x[i]", "3.0f * x[i]")
        shutil.copy(folder / "twice_02_template.cu", folder / "twice_04_copy.cu")
        edit(folder / "twice_04_copy.cu", '#include "scale.cuh"', '#define FACTOR 3.0f\n#include "scale.cuh"')
        verdicts = {"01_plain": "PASS", "02_template": "PASS", "03_copy": "FAIL", "04_copy": "FAIL"}
        self.expect(verdicts)

        # All in one program, and what one object throws, another catches all the same.
        program = self.build / "family" / "twice" / "twice"
        together = subprocess.run([program], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(verdicts_in(together.stdout), verdicts, together.stdout)
        refused = subprocess.run([program, "--n=13"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(refused.returncode, 2, refused.stdout)
        self.assertIn("13 is refused", refused.stdout)

    def test_2_a_planted_bug(self):
        bug = self.checkout / "family" / "twice" / "bugs" / "twice_tripled.cu"
        bug.parent.mkdir()
        text = (bug.parent.parent / "twice_01_plain.cu").read_text().replace("twice.cuh", "../twice.cuh")
        bug.write_text(text.replace("2.0f * x[i]", "3.0f * x[i]"))
        done = self.script("run", "--backend", BACKEND, "family/twice/bugs/")
        self.assertEqual(verdicts_in(done.stdout), {"tripled": "FAIL"}, done.stdout)
        self.assertTrue((self.build / "family" / "twice" / "bugs" / "twice_tripled").is_file())

    def test_3_scripts_new(self):
        folder = self.checkout / "family" / "twice"
        (folder / "twice_03_copy.cu").unlink()
        (folder / "twice_04_copy.cu").unlink()
        made = self.script("new", "twice", "mine")
        self.assertEqual(made.returncode, 0, made.stdout)
        text = (folder / "twice_03_mine.cu").read_text()
        for line in (r"Problem: .*\b02\b", "Idea:", "Expect:", "Next:"):
            self.assertRegex(text, f"(?m)^// {line}")
        self.assertNotIn((folder / "twice_02_template.cu").read_text().splitlines()[0], text)  # the old head
        self.expect({"01_plain": "PASS", "02_template": "PASS", "03_mine": "PASS"})

        again = self.script("new", "twice", "mine")
        self.assertEqual(again.returncode, 2, again.stdout)
        self.assertEqual(self.script("new", "twice", "../mine").returncode, 2)
        self.assertEqual(self.script("new", "thrice", "mine").returncode, 2)
        self.assertEqual(len(list(self.checkout.glob("**/*mine*.cu"))), 2)  # it, and the one in practice/

    def test_4_an_edited_header_is_compiled_by_the_next_build(self):
        edit(self.checkout / "family" / "twice" / "scale.cuh", "return FACTOR", "return 5 * FACTOR")
        self.expect({"01_plain": "PASS", "02_template": "FAIL", "03_mine": "FAIL"})
        edit(self.checkout / "family" / "twice" / "scale.cuh", "return 5 * FACTOR", "return FACTOR")

    def test_4_what_a_step_needs_is_read_again_by_the_next_build(self):
        plain = self.checkout / "family" / "twice" / "twice_01_plain.cu"
        text = plain.read_text()
        plain.write_text(f"// needs: gpu\n{text}")
        output = self.expect({"02_template": "PASS", "03_mine": "PASS"})
        self.assertRegex(output, "twice_01_plain: .*needs gpu")
        plain.write_text(text)

    def test_5_builds_wait_for_each_other(self):
        with open(f"{self.build}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            print("scripts/other (process 123)", file=lock, flush=True)
            command = [self.checkout / "scripts" / "run", "--backend", BACKEND, "twice"]
            with subprocess.Popen(command, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as waiting:
                for line in waiting.stderr:
                    if "waiting" in line:
                        break
                self.assertIn("scripts/other (process 123)", line)
                self.assertIsNone(waiting.poll())
                fcntl.flock(lock, fcntl.LOCK_UN)
                self.assertNotIn("waiting", waiting.stderr.read())
            self.assertEqual(waiting.returncode, 0)

    def test_6_a_copied_checkout_builds_its_own_files(self):
        copy = self.checkout.with_name("copy")
        shutil.copytree(self.checkout, copy, symlinks=True)
        (copy / "family" / "twice" / "twice_03_mine.cu").unlink()
        edit(copy / "family" / "twice" / "twice_01_plain.cu", "2.0f * x[i]", "3.0f * x[i]")

        misnamed = copy / "family" / "twice" / "misnamed.cu"
        misnamed.write_text("")
        failed = self.script("run", "--backend", BACKEND, "twice", checkout=copy)
        self.assertEqual(failed.returncode, 1, failed.stdout)
        self.assertIn("misnamed.cu", failed.stdout)
        self.assertIn(str(self.checkout), failed.stdout)  # whose build folder it was
        misnamed.unlink()

        output = self.expect({"01_plain": "FAIL", "02_template": "PASS"}, checkout=copy)
        self.assertNotIn(str(self.checkout), output)
        self.expect({"01_plain": "PASS", "02_template": "PASS", "03_mine": "PASS"})


if __name__ == "__main__":
    if BACKEND == "cuda":
        ladder.require_gpu()
    unittest.main()
