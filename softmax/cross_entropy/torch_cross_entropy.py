#!/usr/bin/env python3
"""Times PyTorch's cross_entropy per row, eager and compiled, at the sizes of the ladder table.

One JSON object per line: kernel, shape, microseconds and GB/s of the logits' bytes. Timed as common/runner/bench.cuh
does: the L2 cache is overwritten before each call, CUDA events around it, medians. Needs PyTorch with CUDA.
"""
import json
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from ladder import torch_timing

SHAPES = [(32768, 1024), (16384, 4096), (4096, 50257), (1024, 128256)]


def cross_entropy(x, target):
    return torch.nn.functional.cross_entropy(x, target, reduction="none")


def main():
    flush = torch_timing.start()
    for shape in SHAPES:
        x = torch.rand(shape, device="cuda") * 16 - 8
        target = torch.randint(shape[1], shape[:1], device="cuda")
        torch._dynamo.reset()  # else the second shape is compiled with dynamic sizes
        entry = {"kernel": "cross_entropy", "shape": shape}
        for name, function in (("eager", cross_entropy), ("compiled", torch.compile(cross_entropy))):
            us = torch_timing.median_us(flush, function, x, target)
            entry[name + "_us"] = round(us, 2)
            entry[name + "_gbps"] = round(4e-3 * x.numel() / us, 1)
        print(json.dumps(entry), flush=True)
        del x


if __name__ == "__main__":
    main()
