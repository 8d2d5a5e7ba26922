#!/usr/bin/env python3
"""Times torchvision's rgb_to_grayscale on interleaved images of the sizes of the ladder's table.

One JSON object per line: kernel, shape, microseconds and GB/s of useful bytes. Its weights are 0.2989, 0.587 and 0.114,
and it cuts off the fraction, so its pixels differ. Timed as common/runner/bench.cuh does: the L2 cache is overwritten
before each call, CUDA events around it, medians. Needs PyTorch and torchvision with CUDA.
"""
import json
import sys
from pathlib import Path

import torch
from torchvision.transforms.functional import rgb_to_grayscale

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from ladder import torch_timing

SIZES = [(1080, 1920), (4096, 4096), (8192, 8192), (16384, 16384)]


def main():
    flush = torch_timing.start()
    for height, width in SIZES:
        image = torch.randint(256, (height, width, 3), dtype=torch.uint8, device="cuda")
        us = torch_timing.median_us(flush, rgb_to_grayscale, image.permute(2, 0, 1))
        print(json.dumps({"kernel": "rgb_to_gray", "shape": [height, width], "us": round(us, 2),
                          "gbps": round(4e-3 * height * width / us, 1)}), flush=True)


if __name__ == "__main__":
    main()
