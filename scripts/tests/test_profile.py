#!/usr/bin/env python3
"""Tests scripts/profile on made-up output of ncu, without a GPU or ncu."""
import json
import subprocess
import unittest

from helpers import Case, ladder, outcome, steps
from ladder import counters

script = ladder.load_script("profile")

SECTORS, REQUESTS = counters.ALL["global_store_sectors"], counters.ALL["global_store_requests"]
TIME, DRAM, STALL = counters.ALL["time_ns"], counters.ALL["dram_pct"], counters.ALL["stall_barrier"]

# The log of `ncu --csv --page raw --print-units base`: messages, the head, the units, the launches.
LOG = f"""\
==PROF== Connected to process 4711 (/a/program)
==PROF== Profiling "transpose_naive": 0%....50%....100% - 9 passes
==PROF== Disconnected from process 4711
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC",\
"{DRAM}","{TIME}","{REQUESTS}","{SECTORS}","{STALL}"
"","","","","","","","","","","","%","ns","request","sector","inst"
"0","4711","program","127.0.0.1","transpose_naive","1","7","(32, 8, 1)","(49, 33, 1)","0","9.0",\
"12.5","3,000","50,721","1,578,499","n/a"
"1","4711","program","127.0.0.1","profile_next_step","1","7","(1, 1, 1)","(1, 1, 1)","0","9.0","0","900","0","0","0"
"2","4711","program","127.0.0.1","zero","1","7","(32, 1, 1)","(1, 1, 1)","0","9.0","4","1000","1","4","0.25"
"3","4711","program","127.0.0.1","add","1","7","(32, 1, 1)","(1, 1, 1)","0","9.0","10","1000","1","4","1"
"4","4711","program","127.0.0.1","add","1","7","(32, 1, 1)","(1, 1, 1)","0","9.0","50","3000","3","12","2"
"""

RAN = "".join(json.dumps({"family": "reduce", "kernel": "sum", "step": step, "size": {"n": 8}}) + "\n"
              for step in ("01_atomic", "02_tree"))
STEPS = steps("01_atomic", "02_tree")


class Run(Case):
    def profile(self, log=LOG, lacking=None, done=(0, RAN, ""), options=()):
        def ncu(command, **_):
            metrics, path = (command[command.index(option) + 1] for option in ("--metrics", "--log-file"))
            path.write_text(f"==ERROR== Failed to find metric {lacking}\n" if lacking and lacking in metrics else log)
            return subprocess.CompletedProcess(command, *done)

        self.patch(subprocess, "run", ncu)
        return script.profile(STEPS, "sum", list(options))

    def test_entries(self):
        """A marker separates steps. Counts are added, rates averaged by time; what was not counted is absent."""
        common = {"family": "reduce", "kernel": "sum", "size": {"n": 8}, "misaligned": True}
        first = {**common, "step": "01_atomic", "function": "transpose_naive", "launches": 1, "grid": [49, 33, 1],
                 "block": [32, 8, 1], "dram_pct": 12.5, "time_ns": 3000, "global_store_requests": 50721,
                 "global_store_sectors": 1578499}
        common.update(step="02_tree", grid=[1, 1, 1], block=[32, 1, 1])
        found = self.profile(options=["--misaligned"])
        self.assertEqual(found, [
            first,
            {**common, "function": "zero", "launches": 1, "dram_pct": 4, "time_ns": 1000, "global_store_requests": 1,
             "global_store_sectors": 4, "stall_barrier": 0.25},
            {**common, "function": "add", "launches": 2, "dram_pct": 40, "time_ns": 4000, "global_store_requests": 4,
             "global_store_sectors": 16, "stall_barrier": 1.75}])
        self.assertIn("31.12 sectors per request", outcome(script.print_step, found[:1])[0])
        self.assertIn("02_tree add", outcome(script.print_ladder, found)[0])
        self.assertEqual(len(self.profile(lacking="sm__inst_executed_pipe_tensor")), 3)

    def test_failures(self):
        for status, words, log, *done in (
                (1, r"(?s)ERR_NVGPUCTRPERM.*sudo.*--cap-add=SYS_ADMIN.*scripts/explain sum_01_atomic",
                 "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n"),
                (1, r"(?s)LibraryNotLoaded.*scripts/explain", "==ERROR== LibraryNotLoaded\n"),
                (1, "of 0 steps, 2 ran", "==PROF== Connected\n"),
                (1, "of 1 steps, 2 ran", LOG[:LOG.index('"1","4711"')]),
                (2, "unknown option", "", (2, "", "program: unknown option"))):
            self.assertRegex(self.assert_ends(status, self.profile, log, None, *done), words)


if __name__ == "__main__":
    unittest.main()
