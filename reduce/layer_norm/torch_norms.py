#!/usr/bin/env python3
"""Times PyTorch's layer_norm, rms_norm and an addition with rms_norm, eager and compiled, at the sizes of the ladder
table.

One JSON object per line: kernel, shape, microseconds and GB/s of useful bytes. Timed as common/runner/bench.cuh does:
the L2 cache is overwritten before each call, CUDA events around it, medians. Needs PyTorch with CUDA.
"""
import json
import sys
from pathlib import Path

import torch
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from ladder import torch_timing

SHAPES = [(65536, 128), (32768, 1024), (16384, 4096), (8192, 8192), (4096, 32768), (1024, 131072)]
EPSILON = 1e-5


def layer_norm(x, gamma, beta, _):
    return functional.layer_norm(x, gamma.shape, gamma, beta, EPSILON)


def rms_norm(x, gamma, _beta, _residual):
    return functional.rms_norm(x, gamma.shape, gamma, EPSILON)


def add_rms_norm(x, gamma, _beta, residual):
    residual += x
    return functional.rms_norm(residual, gamma.shape, gamma, EPSILON)


# bytes per element of x
KERNELS = {layer_norm: 8, rms_norm: 8, add_rms_norm: 16}


def main():
    flush = torch_timing.start()
    for kernel, bytes_each in KERNELS.items():
        for shape in SHAPES:
            x, residual = (torch.rand(shape, device="cuda") * 2 - 1 for _ in range(2))
            gamma, beta = (torch.rand(shape[1], device="cuda") * 2 - 1 for _ in range(2))
            torch._dynamo.reset()  # else the second shape is compiled with dynamic sizes
            entry = {"kernel": kernel.__name__, "shape": shape}
            for name, function in (("eager", kernel), ("compiled", torch.compile(kernel))):
                us = torch_timing.median_us(flush, function, x, gamma, beta, residual)
                entry[name + "_us"] = round(us, 2)
                entry[name + "_gbps"] = round(1e-3 * bytes_each * x.numel() / us, 1)
            print(json.dumps(entry), flush=True)
            del x, residual


if __name__ == "__main__":
    main()
