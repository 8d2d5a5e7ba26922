#!/usr/bin/env python3
"""Times PyTorch's scaled_dot_product_attention of one query per sequence, BF16 with grouped heads, at the sizes of the
ladder's table whose sequences have equal lengths.

One JSON object per line: shape (sequences, KV heads, query heads per KV head, keys), microseconds and GB/s of K and V.
PyTorch chooses the kernel; its output is BF16. Timed as common/runner/bench.cuh does: the L2 cache is overwritten
before each call, CUDA events around it, medians. Needs PyTorch 2.5 or later, with CUDA.
"""
import json
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from ladder import torch_timing

SIZES = [(64, 8, 4, 4096), (64, 8, 8, 4096), (64, 32, 1, 1024), (1, 8, 4, 131072), (4, 8, 4, 4096)]
D = 128


def main():
    flush = torch_timing.start()
    for sequences, kv_heads, groups, keys in SIZES:
        q = torch.rand(sequences, kv_heads * groups, 1, D, device="cuda").bfloat16()
        # heads within tokens, as the cache is written
        k, v = (torch.rand(sequences, keys, kv_heads, D, device="cuda").bfloat16().transpose(1, 2) for _ in range(2))

        def attention():
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)

        us = torch_timing.median_us(flush, attention)
        print(json.dumps({"kernel": "attention_decode", "shape": (sequences, kv_heads, groups, keys),
                          "us": round(us, 2), "gbps": round(1e-3 * 4 * k.numel() / us, 1)}), flush=True)


if __name__ == "__main__":
    main()
