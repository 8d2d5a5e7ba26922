#!/usr/bin/env python3
"""Times PyTorch's silu(a) * b in BF16, eager and compiled, at the sizes of the ladder's table.

One JSON object per line: kernel, n, microseconds and GB/s of useful bytes. Timed as common/runner/bench.cuh does: the
L2 cache is overwritten before each call, CUDA events around it, medians. Needs PyTorch with CUDA.
"""
import json
import sys
from pathlib import Path

import torch
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from ladder import torch_timing

SIZES = [2**24, 2**26, 2**28, 2**30]


def swiglu(a, b):
    return functional.silu(a) * b


def main():
    flush = torch_timing.start()
    for n in SIZES:
        a, b = ((torch.rand(n, device="cuda") * 2 - 1).bfloat16() for _ in range(2))
        torch._dynamo.reset()  # else the second size is compiled with dynamic sizes
        entry = {"kernel": "swiglu", "n": n}
        for name, function in (("eager", swiglu), ("compiled", torch.compile(swiglu))):
            us = torch_timing.median_us(flush, function, a, b)
            entry[name + "_us"] = round(us, 2)
            entry[name + "_gbps"] = round(1e-3 * 6 * n / us, 1)
        print(json.dumps(entry), flush=True)


if __name__ == "__main__":
    main()
