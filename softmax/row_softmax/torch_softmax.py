#!/usr/bin/env python3
"""Times PyTorch's softmax, eager and compiled, at the sizes of the ladder tables.

One JSON object per line: kernel, shape, microseconds and GB/s of useful bytes. Timed as common/runner/bench.cuh does: the L2
cache is overwritten before each call, CUDA events around it, medians. Needs PyTorch with CUDA.
"""
import json
import statistics
import sys

import torch

SHAPES = {
    "row_softmax": [(65536, 128), (32768, 1024), (16384, 4096), (4096, 32768), (1024, 131072), (64, 1 << 20)],
    "softmax": [(1, 1 << 20), (1, 1 << 24), (1, 1 << 28)],
    "col_softmax": [(4096, 4096), (16384, 4096), (65536, 128)],
}
SAMPLES = 30
BUDGET_MS = 300
HOLD_CYCLES = 100000  # keeps the stream busy until the call is queued


def median_us(call, flush):
    for _ in range(3):
        call()
    times = []
    while len(times) < SAMPLES and sum(times) < BUDGET_MS or len(times) < 3:
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        flush.zero_()
        torch.cuda._sleep(HOLD_CYCLES)
        start.record()
        call()
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop))
    return 1e3 * statistics.median(times)


def main():
    if not torch.cuda.is_available():
        sys.exit("no CUDA device")
    print(json.dumps({"gpu": torch.cuda.get_device_name(), "torch": torch.__version__}))
    l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size
    flush = torch.empty(l2_bytes, dtype=torch.uint8, device="cuda")
    for kernel, shapes in SHAPES.items():
        dim = 0 if kernel == "col_softmax" else 1
        for shape in shapes:
            x = torch.rand(shape, device="cuda") * 16 - 8

            def softmax(t):
                return torch.softmax(t, dim)

            torch._dynamo.reset()  # else the second shape is compiled with dynamic sizes
            variants = {"eager": softmax, "compiled": torch.compile(softmax)}
            entry = {"kernel": kernel, "shape": shape}
            for name, function in variants.items():
                us = median_us(lambda: function(x), flush)
                entry[name + "_us"] = round(us, 2)
                entry[name + "_gbps"] = round(8e-3 * x.numel() / us, 1)
            print(json.dumps(entry), flush=True)
            del x


if __name__ == "__main__":
    main()
