#!/usr/bin/env python3
"""Times torchvision's nms at the sizes of the ladder's table, on the ladder's kind of boxes, and the sort in it.

One JSON object per line: kernel, shape, microseconds. torchvision sorts by score first; the ladder's boxes come sorted,
so subtract sort_us. Timed as common/runner/bench.cuh does: the L2 cache is overwritten before each call, CUDA events
around it, medians. Needs PyTorch and torchvision with CUDA.
"""
import json
import sys
from pathlib import Path

import torch
import torchvision

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from ladder import torch_timing

SIZES = [1024, 4096, 16384, 65536]
THRESHOLD = 0.5


def detections(n):
    """Eight boxes for each object of 1000 x 1000 pixels."""
    objects = torch.rand(n // 8 + 1, 4, device="cuda")
    place = objects[torch.randint(len(objects), (n,), device="cuda")]
    size = 20 + 40 * place[:, 2:]
    corner = 1000 * place[:, :2] + 0.4 * size * torch.rand(n, 2, device="cuda")
    return torch.cat((corner, corner + size * (0.8 + 0.4 * torch.rand(n, 2, device="cuda"))), 1)


def main():
    flush = torch_timing.start()
    for n in SIZES:
        boxes, scores = detections(n), torch.rand(n, device="cuda")
        entry = {"kernel": "nms", "shape": [n]}
        entry["nms_us"] = round(torch_timing.median_us(flush, torchvision.ops.nms, boxes, scores, THRESHOLD), 2)
        entry["sort_us"] = round(torch_timing.median_us(
            flush, lambda s, b: b.index_select(0, s.sort(dim=0, descending=True, stable=True)[1]), scores, boxes), 2)
        print(json.dumps(entry), flush=True)


if __name__ == "__main__":
    main()
