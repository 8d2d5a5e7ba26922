#!/usr/bin/env python3
"""Times PyTorch's scaled_dot_product_attention in FP32 and BF16 at the sizes of the ladder table, kernel by kernel.

One JSON object per size and kernel: microseconds, TFLOP/s, and the largest error against double on a few rows.
"efficient" computes FP32 products by three TF32 ones on tensor cores; "math" stores the scores. "flash" is
FlashAttention 2, "cudnn" cuDNN's kernel, both for BF16 alone. Causal FLOP are counted as the half that is needed. Timed
as common/runner/bench.cuh does: the L2 cache is overwritten before each call, CUDA events around it, medians. Needs
PyTorch with CUDA.
"""
import itertools
import json
import sys
from pathlib import Path

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from ladder import torch_timing

SIZES = [(64, 1024, 64, False), (64, 2048, 64, False), (64, 2048, 64, True), (64, 4096, 64, False),
         (64, 2048, 128, False), (64, 2048, 128, True)]
KERNELS = {"attention": {"efficient": SDPBackend.EFFICIENT_ATTENTION, "math": SDPBackend.MATH},
           "attention_bf16": {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}}
TYPES = {"attention": torch.float32, "attention_bf16": torch.bfloat16}


def reference(q, k, v, causal, rows):
    """The rows of the first head, in double."""
    q, k, v = (x[0, 0].double() for x in (q, k, v))
    scores = q[rows] @ k.T / q.shape[1] ** 0.5
    if causal:
        scores.masked_fill_(torch.arange(len(k), device=k.device) > rows[:, None], -torch.inf)
    return torch.softmax(scores, 1) @ v


def main():
    flush = torch_timing.start()
    for kernel, (heads, length, d, causal) in itertools.product(KERNELS, SIZES):
        q, k, v = (torch.rand(4, heads // 4, length, d, device="cuda") * 2 - 1 for _ in range(3))
        q, k, v = (x.to(TYPES[kernel]) for x in (q * 8, k, v))  # as the ladder's random data
        rows = torch.arange(0, length, max(1, length // 64), device="cuda")
        want = reference(q, k, v, causal, rows)
        for name, backend in KERNELS[kernel].items():
            def attention():
                return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

            with sdpa_kernel(backend):
                error = (attention()[0, 0][rows] - want).abs().max().item()
                us = torch_timing.median_us(flush, attention)
            pairs = length * (length + 1) / 2 if causal else length * length
            print(json.dumps({"kernel": kernel, "backend": name, "heads": heads, "queries": length, "keys": length,
                              "d": d, "causal": causal, "us": round(us, 2),
                              "tflops": round(4e-6 * heads * pairs * d / us, 2), "max_error": error}), flush=True)


if __name__ == "__main__":
    main()
