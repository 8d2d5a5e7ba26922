#!/usr/bin/env python3
"""Tests scripts/export --torch without PyTorch. The names that the files use must be defined. If nvcc is installed, it
compiles the CUDA code of some files with declarations of the PyTorch functions in use."""
import ast
import builtins
import re
import shutil
import subprocess
import sys
import unittest

from helpers import Case, ladder
from ladder import torch_export

PYTORCH = """\
#include <cstdint>
namespace torch {
enum ScalarType { kFloat32, kFloat16, kBFloat16, kInt32, kInt64, kUInt8 };
struct Tensor {
  int device() const, get_device() const;
  bool is_contiguous() const, is_cuda() const;
  ScalarType scalar_type() const;
  void* data_ptr() const;
  std::int64_t numel() const;
  std::size_t nbytes() const;
};
}  // namespace torch
#define TORCH_CHECK(condition, ...) if (!(condition)) throw 0
#define C10_CUDA_CHECK(call) TORCH_CHECK((call) == cudaSuccess)
namespace c10::cuda {
int current_device();
cudaStream_t getCurrentCUDAStream();
struct CUDAGuard { explicit CUDAGuard(int); };
}  // namespace c10::cuda
"""
COMPILED = ["sum_08_warp_shuffle", "row_softmax_05_online", "transpose_05_padded", "gemv_02_warp_per_row",
            "sgemm_01_naive", "swiglu_02_eight", "blur_01_wrong_axis", "spmv_02_warp_per_row", "vec3_norm_02_padded"]


def step(name):
    return ladder.resolve_one(name, only_steps=True)


def literals(text):
    """Returns the strings that a file assigns to names at its top level."""
    return {node.targets[0].id: node.value.value for node in ast.parse(text).body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)}


class Files(Case):
    def test_every_name_is_defined(self):
        kernels = torch_export.with_operator()
        self.assertGreater(len(kernels), 50)
        for one in (step for kernel in kernels for step in ladder.kernels()[kernel] if not step.is_any_shape):
            tree = list(ast.walk(ast.parse(torch_export.text(one))))
            names = [node for node in tree if isinstance(node, ast.Name)]
            known = {node.id for node in names if isinstance(node.ctx, ast.Store)}
            bound = [node for node in tree if isinstance(node, (ast.arg, ast.FunctionDef, ast.alias))]
            known |= {getattr(node, field, None) for node in bound for field in ("arg", "name", "asname")}
            self.assertFalse({node.id for node in names} - known - set(dir(builtins)), one.name)
        self.assertIn("row_softmax", self.assert_ends(2, torch_export.text, step("lock_01_spin")))

    def test_what_is_checked_and_waited_for(self):
        text = literals(torch_export.text(step("spmv_02_warp_per_row")))["BINDING"]
        self.assertEqual(re.findall(r"(\w+)_, torch::k(.*)\);", text),
                         [("offsets", "Int32, (rows + 1) * sizeof(int)"), ("columns", "Int32, nnz * sizeof(int)"),
                          ("values", "Float32, nnz * sizeof(float)"), ("x", "Float32, cols * sizeof(float)"),
                          ("y", "Float32, rows * sizeof(float)")])
        self.assertRegex(text, r"(?s)Synchronize\(current\)\);.*launch\(.*Synchronize\(nullptr\)\);")


class Compiled(Case):
    def test_nvcc_compiles_them(self):
        folder = self.folder()
        (folder / "c10/cuda").mkdir(parents=True)
        (folder / "c10/cuda/CUDAException.h").write_text(PYTORCH)
        (folder / "c10/cuda/CUDAGuard.h").touch()
        for name in COMPILED:
            source = folder / f"{name}.cu"
            found = literals(torch_export.text(step(name)))
            source.write_text(found["KERNEL"] + found["BINDING"])
            done = subprocess.run(["nvcc", "-std=c++17", "-arch=compute_75", "-ptx", f"-I{folder}", source, "-o",
                                   folder / "out.ptx"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    if "Compiled" in sys.argv and not shutil.which("nvcc"):
        print("skipped: no nvcc")
        sys.exit(ladder.NO_DEVICE)
    unittest.main()
