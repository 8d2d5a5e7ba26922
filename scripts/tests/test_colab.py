#!/usr/bin/env python3
"""Runs docs/colab.ipynb on the CPU backend, in this checkout instead of a clone. The kernel that it writes goes to a
temporary folder. The exit status is 77 if nbclient or ipykernel is missing."""
import importlib.util
import json
import os
import re
import sys
import unittest
from unittest import mock

from helpers import ROOT, Case, executable

NOTEBOOK = ROOT / "docs" / "colab.ipynb"
NEEDED = "nbclient", "nbformat", "ipykernel"
SECONDS = 1500  # for a cell; the first one builds


class Committed(Case):
    def test_it_has_no_outputs_and_its_address_is_one_variable(self):
        cells = json.loads(NOTEBOOK.read_text())["cells"]
        for cell in cells:
            self.assertFalse(cell.get("outputs") or cell.get("execution_count"), cell["id"])
        source = "".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        self.assertEqual(len(re.findall(r'^REPOSITORY = "[^"]+"', source, re.MULTILINE)), 1)
        self.assertNotRegex(re.sub(r"REPOSITORY = .*", "", source), "https?://")


class Executed(Case):
    def test_on_the_cpu_backend(self):
        import nbclient
        import nbformat

        here = self.folder(prefix="colab-")
        (here / "ladder").symlink_to(ROOT)  # so that it clones nothing
        (here / "practice").mkdir()
        executable(here / "nvidia-smi", "#!/bin/sh\nexit 9\n")
        notebook = nbformat.read(NOTEBOOK, as_version=4)
        for cell in notebook.cells:
            cell.source = re.sub(r"\bpractice\b(?=/add\.cu|$)", str(here / "practice"), cell.source)
        with mock.patch.dict(os.environ, PATH=f"{here}{os.pathsep}{os.environ['PATH']}"):
            nbclient.NotebookClient(notebook, timeout=SECONDS, kernel_name="python3",
                                    resources={"metadata": {"path": str(here)}}).execute()
        shown = {cell.id: "".join(str(text) for output in cell.outputs
                                  for text in (output.get("text", ""), *output.get("data", {}).values()))
                 for cell in notebook.cells if cell.cell_type == "code"}
        for cell, pattern in (
                ("skipped", r"^sgemm_tf32_01_wmma: needs sm_80$"), ("ladders", r"^add_03_float4 +PASS$"),
                ("ladders", r"^copy_01_scalar +PASS$"), ("ladders", r"^sum_08_warp_shuffle +PASS$"),
                ("ladders", r"^add_00_thrust: skipped, needs gpu$"), ("judge", "^Solved, level: "),
                ("ladders", r"^\d+ steps passed, 0 failed, \d+ skipped$"), ("chart", "steps are right"),
                ("chart", "<svg")):
            self.assertRegex(shown[cell], f"(?m){pattern}")
        self.assertNotIn("needs sm_75", shown["skipped"])


if __name__ == "__main__":
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing and "Committed" not in sys.argv:
        print(f"skipped: needs {', '.join(missing)}")
        sys.exit(77)
    unittest.main()
