#!/usr/bin/env python3
"""Times the gradient of PyTorch's layer_norm at the sizes of the ladder table.

One JSON object per line: kernel, shape, microseconds and GB/s of useful bytes. Timed as common/runner/bench.cuh does:
the L2 cache is overwritten before each call, CUDA events around it, medians. Needs PyTorch with CUDA.
"""
import json
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from ladder import torch_timing

SHAPES = [(32768, 1024), (16384, 4096), (8192, 8192), (262144, 128)]


def gradient(dy, x, mean, rstd, gamma, beta):
    return torch.ops.aten.native_layer_norm_backward(dy, x, gamma.shape, mean, rstd, gamma, beta, [True] * 3)


def main():
    flush = torch_timing.start()
    for shape in SHAPES:
        x, dy = (torch.rand(shape, device="cuda") * 2 - 1 for _ in range(2))
        gamma, beta = (torch.rand(shape[1], device="cuda") * 2 - 1 for _ in range(2))
        _, mean, rstd = torch.ops.aten.native_layer_norm(x, gamma.shape, gamma, beta, 1e-5)
        us = torch_timing.median_us(flush, gradient, dy, x, mean, rstd, gamma, beta)
        print(json.dumps({"kernel": "layer_norm_grad", "shape": shape, "us": round(us, 2),
                          "gbps": round(12e-3 * x.numel() / us, 1)}), flush=True)
        del x, dy


if __name__ == "__main__":
    main()
