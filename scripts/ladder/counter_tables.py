"""Markdown tables of the counters in <kernel>/results/: a ladder's, and the CPU backend's counts beside a GPU's."""
from ladder import counters, figures

# What is compared, under the same name in both files.
COMPARED = {"global_load_sectors": "global load sectors", "global_store_sectors": "global store sectors",
            "async_copy_sectors": "cp.async sectors", "shared_load_wavefronts": "shared load wavefronts",
            "shared_store_wavefronts": "shared store wavefronts", "global_atomic_sectors": "global atomic sectors"}
JOINED = "joined_load_wavefronts"  # shared loads of neighbours counted as one, as nvcc joins them
TOLERANCE = 0.02


# ---- a ladder

LEGEND = """\
*ld sect*, *st sect*: sectors per global request; *sh ld*, *sh st*: wavefronts per shared access; DRAM, issue slots, FMA
pipe: share of the peak; *warps*: occupancy reached; caches flushed before. `scripts/profile` says each in words."""


def full(entry):
    """Were all counters read, not the exact ones alone?"""
    return "dram_pct" in entry


def counter_table(known, steps, wanted, folder):
    """The counters of a ladder at one size, on the card with most counters: a row for each kernel that a step launches,
    and the columns in which something was counted. `wanted`: [what the size is called]; [] is the size with most steps.
    None if there are none."""
    for card in known.cards:
        sizes = {}
        for entry in known.of(card, steps[0].kernel):
            if full(entry) and not entry["misaligned"]:
                sizes.setdefault(figures.plain_label(figures.size_of(entry)), []).append(entry)
        label = wanted[0] if wanted else max(sizes, key=lambda label: len(sizes[label]), default="")
        if label in sizes:
            return table_of(sizes[label], steps, folder, f"{figures.short_name(card)}, {label}")
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
    """The counts of all functions of each run: {(step, size, misaligned): {counter: value}}."""
    found = {}
    for entry in entries:
        sums = found.setdefault((figures.step_name(entry), figures.size_of(entry), entry["misaligned"]), {})
        for name in (*COMPARED, JOINED):
            if name in entry:
                sums[name] = sums.get(name, 0) + entry[name]
        if "global_atomic_sectors" in entry:  # the hardware counts atomics without a result apart
            sums["global_atomic_sectors"] += entry.get("global_reduction_sectors", 0)
    return found


def compare(known, kernel):
    """[(step, counter, our count, the hardware's)] of the runs that both counted."""
    ours = summed(known.of(figures.TRACE, kernel))
    card = next((card for card in known.cards if known.of(card, kernel)), None)
    found = []
    for run, counts in sorted(summed(known.of(card, kernel)).items(), key=lambda one: (one[0][0], one[0][2])):
        for name, theirs in counts.items() if run in ours else []:
            own = [ours[run].get(key, 0) for key in (name, *[JOINED] * (name == "shared_load_wavefronts"))]
            found.append((run[0], name, min(own, key=lambda count: abs(count - theirs)), theirs))
    return [one for one in found if one[1] in COMPARED and (one[2] or one[3])]


def compared(known, kernels):
    """A row for each kernel: how many totals were compared, how many are equal, and which differ most."""
    lines = ["| kernel | totals | equal | within 2 % | the others |", "|---|--:|--:|--:|---|"]
    for kernel in kernels:
        found, near, beyond = compare(known, kernel), 0, {}
        differ = [one for one in found if one[2] != one[3]]
        for step, name, ours, theirs in differ:
            if theirs and abs(ours / theirs - 1) <= TOLERANCE:
                near += 1
            else:
                how = f"{ours / theirs - 1:+.0%}" if theirs else ""
                beyond.setdefault((COMPARED[name], how), {})[step[len(kernel) + 1:][:2]] = None
        others = "; ".join(f"{title} of {', '.join(numbers)}: {how}" for (title, how), numbers in beyond.items())
        if found:
            lines.append(f"| `{kernel}` | {len(found)} | {len(found) - len(differ)} | {near} | {others} |")
    return "\n".join(lines) if len(lines) > 2 else None


def traced(step):
    """A step of scripts/explain's JSON as an entry of counters."""
    sums = {}
    for launch in step["launches"]:
        for access in launch["accesses"]:
            kind = "async_copy" if access["async"] else f"{access['space']}_{access['op']}"
            name = f"{kind}_{'wavefronts' if access['space'] == 'shared' else 'sectors'}"
            if name in COMPARED:
                sums[name] = sums.get(name, 0) + access["units"]
        loads = launch["totals"].get("shared_load") or {}
        sums[JOINED] = sums.get(JOINED, 0) + loads.get("merged_units", 0)
    return {"family": step["family"], "kernel": step["kernel"], "step": step["step"][len(step["kernel"]) + 1:],
            "size": step["size"], **sums}
