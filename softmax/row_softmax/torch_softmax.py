#!/usr/bin/env python3
"""Times PyTorch's softmax, eager and compiled, at the sizes of the ladder tables.

One JSON object per line: kernel, shape, microseconds and GB/s of useful bytes. Timed as common/runner/bench.cuh does:
the L2 cache is overwritten before each call, CUDA events around it, medians. Needs PyTorch with CUDA.
"""
import json
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from ladder import torch_timing

SHAPES = {
    "row_softmax": [(65536, 128), (32768, 1024), (16384, 4096), (4096, 32768), (1024, 131072), (64, 1 << 20)],
    "softmax": [(1, 1 << 20), (1, 1 << 24), (1, 1 << 28)],
    "col_softmax": [(4096, 4096), (16384, 4096), (65536, 128)],
}


def main():
    flush = torch_timing.start()
    for kernel, shapes in SHAPES.items():
        dim = 0 if kernel == "col_softmax" else 1
        for shape in shapes:
            x = torch.rand(shape, device="cuda") * 16 - 8

            def softmax(t):
                return torch.softmax(t, dim)

            torch._dynamo.reset()  # else the second shape is compiled with dynamic sizes
            variants = {"eager": softmax, "compiled": torch.compile(softmax)}
            entry = {"kernel": kernel, "shape": shape}
            for name, function in variants.items():
                us = torch_timing.median_us(flush, function, x)
                entry[name + "_us"] = round(us, 2)
                entry[name + "_gbps"] = round(8e-3 * x.numel() / us, 1)
            print(json.dumps(entry), flush=True)
            del x


if __name__ == "__main__":
    main()
