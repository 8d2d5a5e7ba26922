#!/usr/bin/env python3
"""Times PyTorch's linear layer in BF16, batch 1, at the sizes of the ladder's table: what int8 weights are to beat.

One JSON object per line: kernel, shape, microseconds and GB/s of BF16 weights. Timed as common/runner/bench.cuh does:
the L2 cache is overwritten before each call, CUDA events around it, medians. Needs PyTorch with CUDA.
"""
import json
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from ladder import torch_timing

SIZES = [(4096, 4096), (8192, 8192), (28672, 4096), (4096, 14336), (128256, 4096)]


def main():
    flush = torch_timing.start()
    for n, k in SIZES:
        weights = torch.rand(n, k, device="cuda").bfloat16()
        x = torch.rand(1, k, device="cuda").bfloat16()
        us = torch_timing.median_us(flush, torch.nn.functional.linear, x, weights)
        print(json.dumps({"kernel": "gemv_bf16", "shape": [n, k], "us": round(us, 2),
                          "gbps": round(2e-3 * n * k / us, 1)}), flush=True)


if __name__ == "__main__":
    main()
