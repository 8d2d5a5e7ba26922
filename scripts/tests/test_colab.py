#!/usr/bin/env python3
"""Runs docs/colab.ipynb on the CPU backend, in this checkout instead of a clone; the kernel that it writes goes to a
folder of its own. Exit status 77 where nbclient or ipykernel is missing."""
import importlib.util
import json
import os
import re
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "docs" / "colab.ipynb"
SKIPPED = 77
NEEDED = ("nbclient", "nbformat", "ipykernel")
SECONDS = 1500  # for a cell; the first builds


def cells():
    return json.loads(NOTEBOOK.read_text())["cells"]


def text_of(cell):
    """All that a cell that was run printed and showed."""
    shown = []
    for output in cell["outputs"]:
        shown += [output.get("text", ""), *output.get("data", {}).values()]
    return "".join(map(str, shown))


class Committed(unittest.TestCase):
    def test_it_has_no_outputs(self):
        for cell in cells():
            self.assertFalse(cell.get("outputs") or cell.get("execution_count"), cell["id"])

    def test_its_address_is_one_variable(self):
        source = "".join("".join(cell["source"]) for cell in cells() if cell["cell_type"] == "code")
        self.assertEqual(len(re.findall(r'^REPOSITORY = "[^"]+"', source, re.MULTILINE)), 1)
        self.assertNotRegex(re.sub(r"REPOSITORY = .*", "", source), "https?://")


class Executed(unittest.TestCase):
    def test_on_the_cpu_backend(self):
        import nbclient
        import nbformat

        folder = tempfile.TemporaryDirectory(prefix="colab-")
        self.addCleanup(folder.cleanup)
        here = Path(folder.name).resolve()
        (here / "ladder").symlink_to(ROOT)  # so there is nothing to clone
        (here / "practice").mkdir()
        (here / "bin").mkdir()
        no_gpu = here / "bin" / "nvidia-smi"
        no_gpu.write_text("#!/bin/sh\nexit 9\n")
        no_gpu.chmod(0o755)
        path = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", path)
        os.environ["PATH"] = f"{here / 'bin'}{os.pathsep}{path}"

        notebook = nbformat.read(NOTEBOOK, as_version=4)
        for cell in notebook.cells:
            cell.source = re.sub(r"\bpractice\b(?=/add\.cu|$)", str(here / "practice"), cell.source)
        nbclient.NotebookClient(notebook, timeout=SECONDS, kernel_name="python3",
                                resources={"metadata": {"path": str(here)}}).execute()
        shown = {cell.id: text_of(cell) for cell in notebook.cells if cell.cell_type == "code"}
        self.assertRegex(shown["skipped"], r"(?m)^sgemm_tf32_01_wmma: needs sm_80$")
        self.assertNotIn("needs sm_75", shown["skipped"])
        for step in ("add_03_float4", "copy_01_scalar", "sum_08_warp_shuffle"):
            self.assertRegex(shown["ladders"], rf"(?m)^{step} +PASS$")
        self.assertRegex(shown["ladders"], r"(?m)^add_00_thrust: skipped, needs gpu$")
        self.assertRegex(shown["ladders"], r"(?m)^\d+ steps passed, 0 failed, \d+ skipped$")
        self.assertRegex(shown["judge"], r"(?m)^Solved, level: ")
        self.assertIn("steps are right", shown["chart"])
        self.assertIn("<svg", shown["chart"])


if __name__ == "__main__":
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing and "Committed" not in sys.argv:
        print(f"skipped: needs {', '.join(missing)}")
        sys.exit(SKIPPED)
    unittest.main()
