#!/usr/bin/env python3
"""Times the gradient of PyTorch's cross entropy, eager and compiled, at the sizes of the ladder table.

Eager: the backward of log_softmax, which reads its saved result. Compiled: softmax of the logits minus the one hot
vector, as the ladder computes it. One JSON object per line: kernel, shape, microseconds and GB/s of useful bytes. Timed
as common/runner/bench.cuh does: the L2 cache is overwritten before each call, CUDA events around it, medians. Needs
PyTorch with CUDA.
"""
import json
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from ladder import torch_timing

SHAPES = [(32768, 1024), (16384, 4096), (4096, 50257), (1024, 128256)]


def backward(loss, x):
    return torch.autograd.grad(loss, x, retain_graph=True)


def gradient(x, target):
    columns = torch.arange(x.shape[1], device=x.device)
    return (torch.softmax(x, 1) - (columns == target[:, None]).float()) / x.shape[0]


def main():
    flush = torch_timing.start()
    for shape in SHAPES:
        x = (torch.rand(shape, device="cuda") * 16 - 8).requires_grad_()
        target = torch.randint(shape[1], shape[:1], device="cuda")
        loss = torch.nn.functional.cross_entropy(x, target)
        torch._dynamo.reset()  # else the second shape is compiled with dynamic sizes
        entry = {"kernel": "cross_entropy_grad", "shape": shape}
        for name, function, arguments in (("eager", backward, (loss, x)),
                                          ("compiled", torch.compile(gradient), (x.detach(), target))):
            us = torch_timing.median_us(flush, function, *arguments)
            entry[name + "_us"] = round(us, 2)
            entry[name + "_gbps"] = round(8e-3 * x.numel() / us, 1)
        print(json.dumps(entry), flush=True)
        del x, loss


if __name__ == "__main__":
    main()
