#!/usr/bin/env python3
"""Times PyTorch's embedding and its gradient at the sizes of the ladder's tables. The gradient's time has its sort.

One JSON object per line: kernel, shape, microseconds and GB/s of useful bytes. Timed as common/runner/bench.cuh does:
the L2 cache is overwritten before each call, CUDA events around it, medians. Needs PyTorch with CUDA.
"""
import json
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from ladder import torch_timing

GATHER = [(32768, 262144, 1024), (262144, 1048576, 128), (8192, 131072, 4096), (256, 131072, 4096)]
GRAD = [(65536, 50304, 1024), (16384, 131072, 4096), (1048576, 1048576, 128), (65536, 256, 1024)]


def gradient(grad, ids, vocab):
    return torch.ops.aten.embedding_dense_backward(grad, ids, vocab, -1, False)


def report(flush, kernel, function, shape, arguments, useful_bytes):
    us = torch_timing.median_us(flush, function, *arguments)
    print(json.dumps({"kernel": kernel, "shape": shape, "us": round(us, 2),
                      "gbps": round(1e-3 * useful_bytes / us, 1)}), flush=True)


def main():
    flush = torch_timing.start()
    for tokens, vocab, dim in GATHER:
        table = torch.rand(vocab, dim, device="cuda")
        ids = torch.randint(vocab, (tokens,), device="cuda")
        report(flush, "embedding", torch.nn.functional.embedding, (tokens, vocab, dim), (ids, table),
               tokens * (8 * dim + 8))
    for tokens, vocab, dim in GRAD:
        grad = torch.rand(tokens, dim, device="cuda") - 0.5
        ids = torch.randint(vocab, (tokens,), device="cuda")
        report(flush, "embedding_grad", gradient, (tokens, vocab, dim), (grad, ids, vocab),
               tokens * (4 * dim + 8) + 4 * vocab * dim)


if __name__ == "__main__":
    main()
