"""Markdown tables of the counters in <kernel>/results/: a ladder's, and the CPU backend's counts beside a GPU's."""
from ladder import counters, figures

# What is compared, under the same name in both files.
COMPARED = {"global_load_sectors": "global load sectors", "global_store_sectors": "global store sectors",
            "async_copy_sectors": "cp.async sectors", "shared_load_wavefronts": "shared load wavefronts",
            "shared_store_wavefronts": "shared store wavefronts", "global_atomic_sectors": "global atomic sectors"}
JOINED = {"shared_load_wavefronts": "joined_load_wavefronts"}  # neighbouring loads counted as one, as nvcc joins them
TOLERANCE = 0.02


def run_of(entry):
    return figures.step_name(entry), figures.size_of(entry), entry["misaligned"]


# ---- a ladder

LEGEND = """\
*ld sect*, *st sect*: sectors per global request; *sh ld*, *sh st*: wavefronts per shared access; DRAM, issue slots, FMA
pipe: share of the peak; *warps*: occupancy reached; caches flushed before. `scripts/profile` says each in words."""


def full(entry):
    """Were all counters read, not the exact ones alone?"""
    return "dram_pct" in entry


def choose_size(entries, wanted, name_of):
    """The entries at the size that is called so; of the size with most steps if none is wanted."""
    sizes = {}
    for entry in entries:
        sizes.setdefault(figures.size_of(entry), []).append(entry)
    if wanted:
        return next((same for size, same in sizes.items() if name_of(size) == wanted), [])
    return max(sizes.values(), key=len, default=[])


def counter_table(known, steps, wanted, folder, name_of):
    """The counters of a ladder at one size, on the card with most counters: a row for each kernel that a step launches,
    and the columns in which something was counted. None if there are none."""
    for card in known.cards:
        entries = [entry for entry in known.of(card, steps[0].kernel) if full(entry) and not entry["misaligned"]]
        chosen = choose_size(entries, wanted, name_of)
        if chosen:
            return table_of(chosen, steps, folder, f"{figures.short_name(card)}, {name_of(figures.size_of(chosen[0]))}")
    return None


def table_of(entries, steps, folder, title):
    columns = [column for column in counters.COLUMNS if any(column[1](entry) for entry in entries)]
    lines = [f"| {title} | " + " | ".join(name for name, _, _ in columns) + " | most waiting |",
             "|---|" + "--:|" * len(columns) + "---|"]
    for step in steps:
        same = [entry for entry in entries if entry["step"] == step.id]
        for entry in same:
            link = f"[{step.id}]({step.path.relative_to(folder).as_posix()})"
            name = f"{link}, `{entry['function']}`" if len(same) > 1 else link
            cells = ["" if cell == "-" else cell for cell in counters.cells(entry, columns)]
            lines.append(f"| {' | '.join([name, *cells, counters.main_stall(entry) or ''])} |")
    return "\n".join([*lines, "", LEGEND])


# ---- ours and the hardware's

def summed(entries):
    """The counts of all functions of each run: {run: {counter: value}}."""
    found = {}
    for entry in entries:
        sums = found.setdefault(run_of(entry), {})
        for name in (*COMPARED, *JOINED.values()):
            if name in entry:
                sums[name] = sums.get(name, 0) + entry[name]
        if "global_atomic_sectors" in entry:  # the hardware counts atomics without a result apart
            sums["global_atomic_sectors"] += entry.get("global_reduction_sectors", 0)
    return found


def difference(ours, theirs):
    """Relative to the hardware's; None where one alone is 0."""
    if ours == theirs:
        return 0.0
    return ours / theirs - 1 if theirs else None


def closer(ours, theirs, name):
    """Our count: of the accesses as the source has them, or of joined ones where that is nearer to the hardware's."""
    counts = [ours[key] for key in (name, JOINED.get(name)) if key in ours]
    return min(counts, key=lambda count: abs(count - theirs), default=0)


def compare(known, kernels):
    """[(run, {counter: (ours, theirs)})] of the runs that both counted, steps in their order, aligned first."""
    found = []
    for kernel in kernels:
        ours = summed(known.of(figures.TRACE, kernel))
        for card in known.cards:
            theirs = summed(known.of(card, kernel))
            for run in sorted(set(ours) & set(theirs), key=lambda run: (run[0], run[2])):
                counted = {name: count for name, count in theirs[run].items() if name in COMPARED}
                found.append((run, {name: (closer(ours[run], count, name), count) for name, count in counted.items()}))
            if theirs:
                break
    return found


def compared(known, kernels):
    """A row for each kernel: how many totals were compared, how many are equal, and which differ most."""
    lines = ["| kernel | totals | equal | within 2 % | the others |", "|---|--:|--:|--:|---|"]
    for kernel in kernels:
        found = [(name, COMPARED[counter], ours, theirs) for (name, _, _), counts in compare(known, [kernel])
                 for counter, (ours, theirs) in counts.items() if ours or theirs]
        if not found:
            continue
        differ = [(name, title, difference(ours, theirs)) for name, title, ours, theirs in found if ours != theirs]
        beyond = {}
        for name, title, how in differ:
            if how is None or abs(how) > TOLERANCE:
                beyond.setdefault((title, "" if how is None else f"{how:+.0%}"), {})[name[len(kernel) + 1:][:2]] = None
        others = "; ".join(f"{title} of {', '.join(numbers)}: {how}" for (title, how), numbers in beyond.items())
        count = sum(1 for _, _, how in differ if how is not None and abs(how) <= TOLERANCE)
        lines.append(f"| `{kernel}` | {len(found)} | {len(found) - len(differ)} | {count} | {others} |")
    return "\n".join(lines) if len(lines) > 2 else None


def traced(step):
    """A step of scripts/explain's JSON as an entry of counters."""
    sums = {}

    def add(name, more):
        sums[name] = sums.get(name, 0) + more

    for launch in step["launches"]:
        for access in launch["accesses"]:
            space, op = access["space"], access["op"]
            if space == "constant" or (space, op) == ("shared", "atomic"):
                continue
            unit = "wavefronts" if space == "shared" else "sectors"
            kind = "async_copy" if access["async"] else f"{space}_{op}"
            add(f"{kind}_{unit}", access["units"])
            add(f"{kind}_requests", access["requests"])
        loads = launch["totals"].get("shared_load") or {}
        add("joined_load_wavefronts", loads.get("merged_units", 0))
        add("joined_load_requests", loads.get("merged_requests", 0))
    return {"family": step["family"], "kernel": step["kernel"], "step": step["step"][len(step["kernel"]) + 1:],
            "size": step["size"], **sums}
