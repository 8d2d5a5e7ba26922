"""Reads and writes the figures in <kernel>/results/<gpu>.json, and computes the digest of the code they belong to."""
import collections
import datetime
import functools
import hashlib
import itertools
import json
import re
import subprocess

import ladder
from ladder import cuda_source

# Both patterns search the text that code() returns. MEASURED matches device code or a launch, but no function that is
# __host__ __device__, such as ceil_div.
MEASURED = re.compile(r"__global__|(?<!__host__ )__device__|< < <|cudaLaunch")
PROBLEM = re.compile(r"\bkernel \( \) const override")  # only the class of a problem has it
# Kernels limited by arithmetic, and the names of the libraries in text.
IN_TFLOPS = ("sgemm", "sgemm_accuracy", "sgemm_tf32", "gemm_bf16", "linear", "linear_batched", "linear_residual",
             "gemm_int8", "gemm_fp8", "gemm_fp8_blocks", "aat", "conv2d_channels",
             "attention", "attention_bf16", "nms")
LIBRARIES = {"cub": "CUB", "cublas": "cuBLAS", "cublaslt": "cuBLASLt", "cudnn": "cuDNN", "cusparse": "cuSPARSE",
             "thrust": "Thrust", "memcpy": "cudaMemcpy"}
REFERENCE = ("h200", "h100-80gb-hbm3")  # cards of the heads and charts, listed before others
LISTS = ("entries", "counters", "random")  # by scripts/bench, scripts/profile --record, scripts/bench --random
# A generated block of a document, <!-- KIND OPTIONS -->; scripts/tables writes it, and its --help describes it.
BLOCK = re.compile(r"^(<!-- (table|counters|random)\b([^\n]*?) -->\n)(?:(?!<!--).)*^(<!-- end -->)$",
                   re.MULTILINE | re.DOTALL)


# ---- the digest of a step's code

def code(text):
    """Returns a source's code in one line, without comments, includes and #pragma once."""
    text = cuda_source.without_comments(text, " ")
    return cuda_source.words(re.sub(r"(?m)^[ \t]*#[ \t]*(include\b|pragma[ \t]+once\b).*$", "", text))


def digest(path):
    """Returns the digest of the code measured for the step at `path`. It changes with the step and its headers, such
    as those that choose a kernel by shape. Of the problem's and the runner's headers only those with device code or a
    launch count. Comments, white space and file names do not count."""
    texts = {file: code(file.read_text()) for file in cuda_source.included(path)}
    step, *headers = texts
    of_checks = [ladder.ROOT / "common/ladder.cuh"] + [file for file in headers if PROBLEM.search(texts[file])]
    checked = {file for header in of_checks for file in cuda_source.included(header)}
    measured = [texts[file] for file in headers if file not in checked or MEASURED.search(texts[file])]
    return hashlib.sha256("\n".join([texts[step], *sorted(measured)]).encode()).hexdigest()[:12]


@functools.lru_cache(None)
def digest_of(kernel, step_id=None):
    """Returns the digest of a step, or of all steps of a kernel; None if the step no longer exists."""
    steps = ladder.kernels().get(kernel, [])
    if step_id is not None:
        return next((digest(step.path) for step in steps if step.id == step_id), None)
    return hashlib.sha256(" ".join(digest_of(kernel, step.id) for step in steps).encode()).hexdigest()[:12]


def is_current(entry):
    """Returns whether an entry, or a summary of random shapes, was measured with the code as it is now."""
    return entry["code"] == digest_of(entry["kernel"], entry.get("step"))


# ---- results files

def card_name(gpu):
    """Returns the card's name in file names: NVIDIA H100 80GB HBM3 -> h100-80gb-hbm3"""
    return re.sub(r"[^a-z0-9]+", "-", re.sub(r"^nvidia[ -]+", "", gpu.lower())).strip("-")


def short_name(card):
    """Returns the card's name: h100-80gb-hbm3 -> H100, geforce-rtx-4090 -> RTX 4090, a100-80gb-pcie -> A100 PCIE"""
    words = [word for word in card.split("-") if not re.fullmatch(r"geforce|tesla|quadro|\d+gb|hbm\w*|sxm\d*", word)]
    return " ".join(words or [card]).upper()


def read_all():
    """Returns the contents of all results files: {<kernel>/results/<card>.json: its head, and the lists of LISTS}."""
    return {path: json.loads(path.read_text()) for path in sorted(ladder.ROOT.glob("*/*/results/*.json"))}


def to_text(contents):
    """Returns JSON with one entry per line, so that diffs are readable."""
    values = {name: json.dumps(value) if name not in LISTS else
              "[\n" + ",\n".join(f"    {json.dumps(entry)}" for entry in value) + "\n  ]"
              for name, value in contents.items()}
    return "{\n" + ",\n".join(f'  "{name}": {value}' for name, value in values.items()) + "\n}\n"


def write(texts, check=False):
    """Writes the files of {path: text} whose text differs. With `check` it ends with an error instead."""
    changed = {path: text for path, text in texts.items() if not path.exists() or path.read_text() != text}
    if check and changed:
        ladder.fail(f"{len(changed)} files do not match results/; scripts/{ladder.script_name()} writes them: "
                    + " ".join([*map(ladder.shown, changed)][:5]))
    for path, text in changed.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        ladder.say(f"wrote {ladder.shown(path)}")


def merged(old, new):
    """Returns a file's entries with the new ones in place of old ones: a step's figures at all sizes, or its counters
    of the same run. Entries of steps and kernels that no longer exist are dropped."""
    def place(entry):
        return step_name(entry), *((str(entry["size"]), entry["misaligned"]) if "misaligned" in entry else ())

    existing = {step.name for step in ladder.steps()} | ladder.kernels().keys()
    replaced = set(map(place, new))
    kept = [entry for entry in old if step_name(entry) in existing and place(entry) not in replaced]
    return sorted(kept + new, key=lambda entry: (entry["kernel"], entry.get("step", ""),
                                                 [*entry.get("size", {}).values()], entry.get("misaligned", False)))


def update(folder, head, **new):
    """Adds digests of the current code to lists of new entries, and merges them into the file of a kernel's folder for
    the card that `head` names. The rest of the file stays, including the head if only counters and random shapes are
    new."""
    for entry in itertools.chain(*new.values()):
        entry["code"] = digest_of(entry["kernel"], entry.get("step"))
    path = folder / "results" / f"{card_name(head['gpu'])}.json"
    old = json.loads(path.read_text()) if path.exists() else head
    lists = {name: merged(old.get(name, []), new.get(name, [])) for name in LISTS}
    kept = head if "entries" in new else {name: value for name, value in old.items() if name not in LISTS}
    write({path: to_text({**kept, **{name: entries for name, entries in lists.items() if entries}})})


def head(executable):
    """Returns the head of a file for this machine's GPU: gpu, driver, cuda, date."""
    done = subprocess.run([executable, "--device"], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        ladder.fail("the programs find no CUDA device", done.returncode)
    seen = json.loads(done.stdout)
    driver = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], text=True,
                            stdout=subprocess.PIPE, check=True).stdout.split()[0]
    return {"gpu": seen["gpu"], "driver": driver, "cuda": seen["cuda"], "date": datetime.date.today().isoformat()}


def step_name(entry):
    """Returns an entry's step name, or the kernel's name for a summary of random shapes."""
    return f"{entry['kernel']}_{entry['step']}" if "step" in entry else entry["kernel"]


# ---- sizes

def number(value):
    power = value.bit_length() - 1
    return f"2^{power}" if value >= 1 << 20 and value == 1 << power else str(value)


def size_of(entry):
    return tuple(entry["size"].items())


def size_text(size):
    return " ".join(f"{name}={value}" for name, value in size.items())


def labels(entries):
    """Returns the labels of these entries' sizes, in order: {(("n", 16777216),): "2^24"}. A dimension that is the same
    in all of them is left out, and three equal ones are written once. A dimension that some sizes lack is written with
    its name, 2048x2048/causal=1. So are up to three dimensions if only the first is left out."""
    sizes = sorted(set(map(size_of, entries)), key=lambda size: [value for _, value in size])
    names = list(dict.fromkeys(name for size in sizes for name, _ in size))
    optional = [name for name in names if any(name not in dict(size) for size in sizes)]
    shown = [name for name in names if len({dict(size).get(name) for size in sizes}) > 1] or names
    are_named = shown == names[1:] and len(shown) < 4 and not optional
    texts = {}
    for size in sizes:
        values = [number(value) for name, value in size if name in shown and name not in optional]
        if are_named:
            texts[size] = " ".join(f"{name}={value}" for name, value in zip(shown, values))
            continue
        text = values[0] if len(values) == 3 and len(set(values)) == 1 else "x".join(values)
        texts[size] = "/".join([text, *(f"{name}={value}" for name, value in size if name in optional)])
    return texts


# ---- the current figures of all kernels

class Figures:
    """The figures of all cards and kernels. Shown are current figures, and older ones whose commit is known. An older
    one has "at", such as " at 5d3f697", which follows the card's or the step's name."""

    def __init__(self, results, current=is_current, kernels=None):
        self.kernels = kernels or ladder.kernels()  # {kernel: [Step]}
        self.entries = collections.defaultdict(list)  # of all steps, including figures not shown: {kernel: [entry]}
        self.shown = {kind: collections.defaultdict(list) for kind in LISTS}  # {kind: {(kernel, card): [entry]}}
        self.stale = {}  # {card: {step name, or kernel for its random shapes: None}}, in the order of the files
        for (path, contents), kind in itertools.product(results.items(), LISTS):
            for entry in contents.get(kind, []):
                self.entries[entry["kernel"]] += [entry] * (kind == "entries")
                if not current(entry):
                    self.stale.setdefault(path.stem, {})[step_name(entry)] = None
                    if kind == "counters" or "commit" not in entry:
                        continue
                    entry = {**entry, "at": f" at {entry['commit']}"}
                self.shown[kind][entry["kernel"], path.stem].append(entry)
        self.cards = sorted({path.stem for path in results}, key=lambda card: (
            REFERENCE.index(card) if card in REFERENCE else len(REFERENCE), card))
        self.labels = {kernel: labels(entries) for kernel, entries in self.entries.items()}

    def measured(self, kernel):
        """Returns the steps that have figures for any card, stale ones included. A reader's own step has none."""
        known = {entry["step"] for entry in self.entries[kernel]}
        return [step for step in self.kernels[kernel] if step.id in known]

    def of(self, kernel, card):
        """Returns {(step id, size): entry}."""
        return {(entry["step"], size_of(entry)): entry for entry in self.shown["entries"][kernel, card]}

    def cards_of(self, kernel):
        return [card for card in self.cards if self.shown["entries"][kernel, card]]

    def sizes(self, kernel, named):
        """Returns the sizes with these labels."""
        known = {label: size for size, label in self.labels[kernel].items()}
        for label in named:
            if label not in known:
                ladder.fail(f"{kernel}: no figures at size {label}; there are {', '.join(known)}")
        return [known[label] for label in named]

    def head_size(self, kernel, options):
        """Returns the one size at which a kernel's steps are compared, or None if nothing is measured."""
        sizes = self.sizes(kernel, options["head"]) or list(self.labels.get(kernel, []))
        even = [size for size in sizes if all(value % 2 == 0 for _, value in size)] or sizes
        return even[:3][-1] if sizes else None


def rate(entry):
    """Returns a step's rate: TFLOP/s for kernels limited by arithmetic, else useful GB/s."""
    return entry["tflops" if entry["kernel"] in IN_TFLOPS else "gbps"]


def unit(kernel):
    return "GB/s" if kernel not in IN_TFLOPS else "TOP/s" if kernel == "gemm_int8" else "TFLOP/s"


def time_text(us):
    return f"{us / 1e3:.3g} ms" if us >= 5000 else f"{us:.0f} us" if us >= 100 else f"{us:.1f} us"


def ratio(value):
    return f"{value:.0f}x" if value >= 20 else f"{value:.1f}x" if value >= 10 else \
        f"{value:.2f}x" if value >= 0.095 else f"{value:.2g}x"


def name_in_text(step_id):
    """Returns a step's name in a sentence: step 07, any_shape."""
    return f"step {step_id[:2]}" if step_id[:2].isdigit() else step_id


def rate_text(entry):
    return f"{rate(entry):.1f}" if entry["kernel"] in IN_TFLOPS or rate(entry) < 10 else f"{rate(entry):.0f}"


def library(steps):
    """Returns the name of the library that step 00 of these steps calls, or None if there is no step 00."""
    idea = steps[0].id[len("00_"):]
    return LIBRARIES.get(idea, idea) if steps[0].is_vendor else None


def ceiling_name(step):
    """Returns the name of what bounds the step's kernel, as the problem's class or a base defines it."""
    name = re.search(r"LADDER_STEP\(\s*(\w+)", step.path.read_text())[1]
    for _, body in cuda_source.chain(name, {file: file.read_text() for file in cuda_source.included(step.path)}):
        own = re.search(r'ceiling_name\(\) const override { return "(\w+)"|Ceiling::(read)', body)
        if own:
            return own[1] or own[2]
    return "copy"


# ---- what the chapters show of them

def documents():
    """Returns all pages that are checked. NOTES.md files are not among them."""
    patterns = "*.md", "docs/**/*.md", "*/README.md", "*/*/README.md"
    return [path for pattern in patterns for path in sorted(ladder.ROOT.glob(pattern))]


def options_of(words):
    """Returns the sizes that a table's line names, as labels."""
    found = {"shown": [], "head": [], "chart": []}
    for word in words:
        option, listed = re.fullmatch(r"(?:(head|chart)=)?(.*)", word).groups()
        found[option or "shown"] += listed.split(",")
    return found


def options_of_tables():
    """Returns the same for each kernel's table: {kernel: {"head": ["2^28"], ...}}, empty lists without one."""
    blocks = [block for path in documents() for block in BLOCK.finditer(path.read_text()) if block[2] == "table"]
    found = {kernel: options_of(words) for kernel, *words in (block[3].split() for block in blocks)}
    return collections.defaultdict(lambda: options_of([]), found)
