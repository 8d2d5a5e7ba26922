#!/usr/bin/env python3
"""Times PyTorch's rotary embedding, eager and compiled, at the sizes of the ladder's tables, with halves.

One JSON object per line: kernel, shape, microseconds and GB/s of useful bytes. Timed as common/runner/bench.cuh does:
the L2 cache is overwritten before each call, CUDA events around it, medians. Needs PyTorch with CUDA.
"""
import json
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from ladder import torch_timing

ROPE = [(16384, 32, 128), (131072, 8, 64), (64, 32, 128)]
CACHE = [(65536, 8, 128), (262144, 8, 64), (64, 8, 128)]


def rotated(x, position):
    half = x.shape[-1] // 2
    theta = 10000.0 ** (-torch.arange(half, device=x.device, dtype=torch.float32) / half)
    angle = position[:, None, None] * theta
    a, b = x[..., :half].float(), x[..., half:].float()
    return torch.cat((a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()), -1).to(x.dtype)


def append(k, v, position, slot, keys, values):
    keys[slot] = rotated(k, position)
    values[slot] = v


def report(flush, kernel, function, shape, arguments, useful_bytes):
    torch._dynamo.reset()  # else the second shape is compiled with dynamic sizes
    entry = {"kernel": kernel, "shape": shape}
    for name, timed in (("eager", function), ("compiled", torch.compile(function))):
        us = torch_timing.median_us(flush, timed, *arguments)
        entry[name + "_us"] = round(us, 2)
        entry[name + "_gbps"] = round(1e-3 * useful_bytes / us, 1)
    print(json.dumps(entry), flush=True)


def main():
    flush = torch_timing.start()
    for shape in ROPE:
        x = torch.rand(shape, device="cuda") * 2 - 1
        position = torch.randint(2048, (shape[0],), device="cuda")
        report(flush, "rope", rotated, shape, (x, position), 8 * x.numel())
    for shape in CACHE:
        k, v = (torch.rand(shape, device="cuda").bfloat16() for _ in range(2))
        keys, values = (torch.zeros(2 * shape[0] + 1, *shape[1:], device="cuda", dtype=torch.bfloat16)
                        for _ in range(2))
        position = torch.randint(2048, (shape[0],), device="cuda")
        slot = torch.randperm(2 * shape[0] + 1, device="cuda")[:shape[0]]
        report(flush, "rope_cache", append, shape, (k, v, position, slot, keys, values), 8 * k.numel())


if __name__ == "__main__":
    main()
