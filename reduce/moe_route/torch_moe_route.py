#!/usr/bin/env python3
"""Times PyTorch's routing of tokens to experts at the sizes of the ladder's table: top-k, softmax, and a stable sort.

One JSON object per line: kernel, shape, microseconds of the top-k and its softmax, of the sort with its counts, and of
both. Timed as common/runner/bench.cuh does: the L2 cache is overwritten before each call, CUDA events around it,
medians. Needs PyTorch with CUDA.
"""
import json
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from ladder import torch_timing

SIZES = [(262144, 256, 8), (1 << 20, 64, 2), (16384, 128, 8), (256, 256, 8)]


def choose(logits, k):
    values, chosen = logits.topk(k)
    return chosen, values.softmax(1)


def place(chosen, experts):
    flat = chosen.flatten()
    order = flat.sort(stable=True)[1]
    places = torch.empty_like(order)
    places[order] = torch.arange(len(order), device="cuda")
    return places, torch.bincount(flat, minlength=experts).cumsum(0)


def route(logits, k):
    return place(choose(logits, k)[0], logits.shape[1])


def main():
    flush = torch_timing.start()
    for tokens, experts, k in SIZES:
        logits = torch.rand(tokens, experts, device="cuda")
        chosen = choose(logits, k)[0]
        entry = {"kernel": "moe_route", "shape": [tokens, experts, k]}
        entry["choose_us"] = round(torch_timing.median_us(flush, choose, logits, k), 2)
        entry["place_us"] = round(torch_timing.median_us(flush, place, chosen, experts), 2)
        entry["us"] = round(torch_timing.median_us(flush, route, logits, k), 2)
        print(json.dumps(entry), flush=True)


if __name__ == "__main__":
    main()
