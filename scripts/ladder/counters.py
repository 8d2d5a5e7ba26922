"""The hardware counters that scripts/profile reads with ncu: their names, ncu's output format, and their meaning."""
import csv
import re

STALLS = {  # why warps do not issue
    "barrier": "wait for other warps at __syncthreads()",
    "branch_resolving": "wait for a branch's target",
    "dispatch_stall": "wait for the dispatcher",
    "drain": "have ended, and their stores have not arrived",
    "gmma": "wait for wgmma",
    "imc_miss": "wait for a constant that the cache lacks",
    "lg_throttle": "wait: too many global or local accesses are queued",
    "long_scoreboard": "wait for a load from global or local memory",
    "math_pipe_throttle": "wait for a busy arithmetic pipe",
    "membar": "wait at a memory fence",
    "mio_throttle": "wait: too many shared-memory accesses or shuffles are queued",
    "no_instruction": "wait for the instruction cache",
    "not_selected": "are ready, but another warp was chosen",
    "short_scoreboard": "wait for shared memory, a shuffle or a special function",
    "sleeping": "sleep",
    "tex_throttle": "wait: too many texture accesses are queued",
    "wait": "wait a fixed number of cycles for their last instruction",
}
# {name in results/<gpu>.json: ncu's metric}. The smsp__sass_* counts are exact and the same in every run. On an H200
# l1tex__data_pipe_lsu_wavefronts_mem_shared_* would include up to 10 % of arbitration, and
# smsp__inst_executed_op_shared_* would include instructions that are predicated off.
ALL = {
    "global_load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global_load_sectors": "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global_store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "global_store_sectors": "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st.sum",
    "shared_load_instructions": "smsp__sass_inst_executed_op_shared_ld.sum",
    "shared_load_wavefronts": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_store_instructions": "smsp__sass_inst_executed_op_shared_st.sum",
    "shared_store_wavefronts": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "async_copy_instructions": "smsp__sass_inst_executed_op_ldgsts.sum",  # cp.async
    "time_ns": "gpu__time_duration.sum",
    "dram_pct": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "dram_read_bytes": "dram__bytes_read.sum",
    "dram_write_bytes": "dram__bytes_write.sum",
    "l2_pct": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "l2_hit_pct": "lts__t_sector_hit_rate.pct",
    "l1_pct": "l1tex__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1_hit_pct": "l1tex__t_sector_hit_rate.pct",
    "fma_pct": "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active",
    "tensor_pct": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "issue_pct": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "eligible_warps": "smsp__warps_eligible.avg.per_cycle_active",
    "lanes_per_instruction": "smsp__average_thread_inst_executed_per_inst_executed.ratio",
    "lanes_on_per_instruction": "smsp__average_thread_inst_executed_pred_on_per_inst_executed.ratio",
    "divergent_branches": "smsp__sass_branch_targets_threads_divergent.sum",
    "ffma_lanes": "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
    "wide_accesses": "sm__sass_inst_executed_op_memory_128b.sum",
    "load_bytes_used_pct": "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct",
    "store_bytes_used_pct": "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct",
    "local_load_instructions": "smsp__sass_inst_executed_op_local_ld.sum",
    "local_store_instructions": "smsp__sass_inst_executed_op_local_st.sum",
    "global_reductions": "smsp__inst_executed_op_global_red.sum",  # atomics without a result
    "global_atomics": "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
    "shared_atomics": "smsp__inst_executed_op_shared_atom.sum",
    "tensor_instructions": "sm__inst_executed_pipe_tensor.sum",
    "tma_load_bytes": "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum",
    "warps_pct": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "warps_possible_pct": "sm__maximum_warps_per_active_cycle_pct",
    "limit_registers": "launch__occupancy_limit_registers",
    "limit_shared": "launch__occupancy_limit_shared_mem",
    "limit_blocks": "launch__occupancy_limit_blocks",
    "limit_warps": "launch__occupancy_limit_warps",
    "registers": "launch__registers_per_thread",
    "waves": "launch__waves_per_multiprocessor",
    **{f"stall_{name}": f"smsp__average_warps_issue_stalled_{name}_per_issue_active.ratio" for name in STALLS},
}
ATOMICS = {"global_reductions": "global atomics without a result", "global_atomics": "global atomics with a result",
           "shared_atomics": "shared atomics"}
LIMITS = {"limit_registers": "registers", "limit_shared": "shared memory", "limit_blocks": "the number of blocks",
          "limit_warps": "the number of warps"}
MARKER = "profile_next_step"  # the kernel that a program launches between two steps, see common/runner/profile.cuh


# ---- what ncu prints

def number(text):
    """Parses a number of ncu: 1,578,499 -> 1578499; None if ncu could not count it."""
    text = text.replace(",", "").strip()
    if not re.fullmatch(r"-?\d+(\.\d+)?([eE][-+]?\d+)?", text):
        return None
    value = float(text)
    return int(value) if value.is_integer() else value


def by_step(output):
    """Returns the launches in the output of `ncu --csv --page raw`, one list for each step; the marker kernel ends a
    step: [[{"function", "grid", "block", counter: value, ...}]]."""
    groups = [[]]
    for row in csv.DictReader(line for line in output.splitlines() if line.startswith('"')):
        if MARKER in row["Kernel Name"]:
            groups.append([])
        elif row["ID"]:  # the line of units has no ID
            values = {name: number(row.get(metric) or "") for name, metric in ALL.items()}
            grid, block = (list(map(int, re.findall(r"\d+", row[what]))) for what in ("Grid Size", "Block Size"))
            groups[-1].append({"function": row["Kernel Name"], "grid": grid, "block": block,
                               **{name: value for name, value in values.items() if value is not None}})
    return groups


def merged(group):
    """Merges a step's launches, one entry per function: counts are added, rates averaged by time."""
    functions, entries = {}, []
    for launch in group:
        functions.setdefault((launch["function"], *launch["block"]), []).append(launch)
    for same in functions.values():
        first = same[0]
        entry = {"function": first["function"], "launches": len(same), "grid": first["grid"], "block": first["block"]}
        for name, metric in ALL.items():
            found = [launch for launch in same if name in launch]
            if found and (name == "time_ns" or metric.endswith(".sum")):
                entry[name] = sum(launch[name] for launch in found)
            elif found:
                times = [launch.get("time_ns", 1) for launch in found]
                total = sum(launch[name] * time for launch, time in zip(found, times))
                entry[name] = round(total / sum(times), 3)
        entries.append(entry)
    return entries


# ---- what the counters say

def ratio(entry, above, below):
    """Returns entry[above] / entry[below], or None if either was not counted."""
    return entry[above] / entry[below] if entry.get(above) and entry.get(below) else None


def hits(entry, name):
    """Returns a hit rate in percent, or None above 100: other traffic dominates a cache that saw little."""
    return entry[name] if entry.get(name, 101) <= 100 else None


def kilo(value):
    unit, size = next((one for one in (("G", 1e9), ("M", 1e6), ("k", 1e3)) if value >= one[1]), ("", 1))
    return f"{value / size:.3g} {unit}"


def stalls(entry):
    """Returns the reasons why warps did not issue, as shares of all waiting, the largest first: [("barrier", 0.4)]."""
    found = {name: entry[f"stall_{name}"] for name in STALLS if entry.get(f"stall_{name}")}
    total = sum(found.values())
    return sorted(((name, value / total) for name, value in found.items()), key=lambda item: -item[1])


def occupancy(entry):
    """Describes how many warps are possible, and what limits the blocks on an SM most."""
    parts = [f"{entry['warps_possible_pct']:.0f} % are possible"] if "warps_possible_pct" in entry else []
    least = min((entry[name] for name in LIMITS if name in entry), default=None)
    if least is not None:
        names = " and ".join(words for name, words in LIMITS.items() if entry.get(name) == least)
        parts.append(f"{least:.0f} blocks per SM, limited by {names}")
    return "; ".join(parts)


def coalesced(share):
    if share is None:
        return ""
    return f"{share:.0f} % of the bytes of those sectors were asked for" + (
        ": coalesced" if share >= 95 else ": a request touches more sectors than its bytes need")


def conflicts(passes):
    return "no bank conflicts" if passes and passes < 1.05 else \
        "4 are ideal for 16-byte accesses, 2 for 8-byte ones, 1 for others: more is bank conflicts"


def readings(entry):
    """Explains the counters of one kernel: [(what, value, meaning)], only for what the kernel does."""
    get, ops = entry.get, ("load", "store")
    sectors = {op: ratio(entry, f"global_{op}_sectors", f"global_{op}_requests") for op in ops}
    passes = {op: ratio(entry, f"shared_{op}_wavefronts", f"shared_{op}_instructions") for op in ops}
    spills = get("local_load_instructions", 0) + get("local_store_instructions", 0)

    def some(name):
        return kilo(get(name, 0))

    def share_of_hits(name, of):
        return "" if hits(entry, name) is None else f"{entry[name]:.0f} % of its {of} were hits"

    rows = [
        ("time", get("time_ns", 0) / 1e3, "{:.2f} us", "under the profiler, caches flushed; scripts/run times it"),
        *((f"global {op}s", sectors[op], "{:.2f} sectors per request", coalesced(get(f"{op}_bytes_used_pct")))
          for op in ops),
        ("16-byte accesses", get("wide_accesses") or None, "{kilo}instructions",
         "vectorised: 16 sectors per request are ideal"),
        *((f"shared {op}s", passes[op], "{:.2f} wavefronts per instruction", conflicts(passes[op])) for op in ops),
        ("cp.async", get("async_copy_instructions") or None, "{kilo}instructions",
         "copies to shared memory past the registers"),
        ("TMA", get("tma_load_bytes") or None, "{kilo}bytes", "loaded by bulk tensor copies"),
        *((words, get(name) or None, "{kilo}requests", "atomics on one address run one after another")
          for name, words in ATOMICS.items()),
        ("DRAM", get("dram_pct"), "{:.0f} % of its peak",
         f"{some('dram_read_bytes')}bytes read, {some('dram_write_bytes')}bytes written"),
        ("L2", get("l2_pct"), "{:.0f} % of its peak", share_of_hits("l2_hit_pct", "sectors")),
        ("L1 and shared memory", get("l1_pct"), "{:.0f} % of its peak", share_of_hits("l1_hit_pct", "global sectors")),
        ("issue slots", get("issue_pct"), "{:.0f} % used",
         f"{get('eligible_warps', 0):.2f} warps per scheduler are ready on average"),
        ("lanes per instruction", get("lanes_on_per_instruction"), "{:.1f} of 32",
         f"{get('lanes_per_instruction', 0):.1f} without counting predicates as off; "
         f"{some('divergent_branches')}divergent branches"),
        ("FMA pipe", get("fma_pct") or None, "{:.0f} % busy", f"{some('ffma_lanes')}FP32 multiply-adds"),
        ("tensor cores", get("tensor_pct", 0) if get("tensor_instructions") else None, "{:.0f} % busy",
         f"{some('tensor_instructions')}instructions"),
        ("occupancy", get("warps_pct"), "{:.0f} % of the warps", occupancy(entry)),
        ("registers", get("registers"), "{:.0f} per thread", "no spills" if not spills else
         f"{kilo(spills)}accesses to local memory: spills, or arrays indexed at run time"),
        ("waves", get("waves"), "{:.2f}", "full loads of blocks for all SMs; the last, partial one leaves SMs idle"),
        *(("stall" if name != "not_selected" else "no stall", share, "{:.0%} of waiting", f"warps {STALLS[name]}")
          for name, share in stalls(entry)[:3])]
    return [(what, style.format(value, kilo=kilo(value)), meaning) for what, value, style, meaning in rows
            if value is not None]


# ---- a ladder's table

# A page shows these columns only if a step exceeds the value. Code without tensor cores still counts a few per cent of
# tensor, because nvcc sets constants with HFMA2.MMA.
SHOWN_FROM = {"FMA %": 20, "tensor %": 5}
COLUMNS = [  # of a ladder's table: title, value, format, meaning
    ("ld sect", lambda e: ratio(e, "global_load_sectors", "global_load_requests"), "{:.1f}",
     "sectors per load request to global memory"),
    ("st sect", lambda e: ratio(e, "global_store_sectors", "global_store_requests"), "{:.1f}",
     "sectors per store request"),
    ("sh ld", lambda e: ratio(e, "shared_load_wavefronts", "shared_load_instructions"), "{:.1f}",
     "wavefronts per load from shared memory"),
    ("sh st", lambda e: ratio(e, "shared_store_wavefronts", "shared_store_instructions"), "{:.1f}",
     "wavefronts per store to it"),
    ("atomics", lambda e: sum(e.get(kind, 0) for kind in ATOMICS) or None, "{:,}", "atomic instructions of all warps"),
    ("DRAM %", lambda e: e.get("dram_pct"), "{:.0f}", "DRAM traffic, of its peak"),
    ("L2 hit %", lambda e: hits(e, "l2_hit_pct"), "{:.0f}", "sectors that L2 already held, all stores included"),
    ("L1 hit %", lambda e: hits(e, "l1_hit_pct"), "{:.0f}", "the same for L1"),
    ("issue %", lambda e: e.get("issue_pct"), "{:.0f}", "issue slots used"),
    ("FMA %", lambda e: e.get("fma_pct"), "{:.0f}",
     "time that the multiply-add units, which also compute addresses, were busy"),
    ("tensor %", lambda e: e["tensor_pct"] if e.get("tensor_instructions") else None, "{:.0f}",
     "time that the tensor cores were busy"),
    ("warps %", lambda e: e.get("warps_pct"), "{:.0f}", "warps resident, of 64 per SM, while it has blocks"),
    ("regs", lambda e: e.get("registers"), "{:.0f}", "registers per thread"),
]


def cells(entry, columns=COLUMNS, nothing="-"):
    """Returns the texts of the columns, `nothing` for a value that was not counted."""
    values = ((value_of(entry), style) for _, value_of, style, _ in columns)
    return [nothing if value is None else style.format(value) for value, style in values]


def main_stall(entry):
    """Returns the most frequent stall and its share, or None if stalls were not counted."""
    waits = [f"{name} {share:.0%}" for name, share in stalls(entry) if name != "not_selected"]
    return waits[0] if waits else None
