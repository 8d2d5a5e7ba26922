"""Times PyTorch for scripts that compare it with a ladder, in the way of common/runner/bench.cuh."""
import json
import statistics
import sys

import torch

SAMPLES = 30
BUDGET_MS = 300
HOLD_CYCLES = 100000  # keeps the stream busy until the call is queued


def start():
    """Prints a line with the GPU and the PyTorch version. Returns an array as large as the L2 cache, for median_us."""
    if not torch.cuda.is_available():
        sys.exit("no CUDA device")
    print(json.dumps({"gpu": torch.cuda.get_device_name(), "torch": torch.__version__}))
    return torch.empty(torch.cuda.get_device_properties(0).L2_cache_size, dtype=torch.uint8, device="cuda")


def median_us(flush, function, *arguments):
    """Returns the median time of a call in microseconds. The L2 cache is overwritten before each call."""
    for _ in range(3):
        function(*arguments)
    times = []
    while len(times) < SAMPLES and sum(times) < BUDGET_MS or len(times) < 3:
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        flush.zero_()
        torch.cuda._sleep(HOLD_CYCLES)
        begin.record()
        function(*arguments)
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return 1e3 * statistics.median(times)
