#!/usr/bin/env python3
"""Times PyTorch's topk per row at the sizes of the ladder table.

One JSON object per line: kernel, shape, k, microseconds and GB/s of the rows' bytes. Timed as common/runner/bench.cuh
does: the L2 cache is overwritten before each call, CUDA events around it, medians. Needs PyTorch with CUDA.
"""
import json
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from ladder import torch_timing

SIZES = [(65536, 1024, 8), (4096, 50257, 8), (4096, 50257, 64), (1, 1 << 24, 32)]


def main():
    flush = torch_timing.start()
    for rows, cols, k in SIZES:
        x = torch.rand((rows, cols), device="cuda") * 2 - 1
        us = torch_timing.median_us(flush, torch.topk, x, k)
        entry = {"kernel": "top_k", "shape": (rows, cols), "k": k, "us": round(us, 2)}
        print(json.dumps({**entry, "gbps": round(4e-3 * x.numel() / us, 1)}), flush=True)
        del x


if __name__ == "__main__":
    main()
