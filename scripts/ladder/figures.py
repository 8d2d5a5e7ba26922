"""The figures of <kernel>/results/<gpu>.json: reading and writing them, and the digest of the code they belong to."""
import collections
import datetime
import hashlib
import json
import re
import subprocess
from typing import NamedTuple, Optional

import ladder
from ladder import cuda_source

# Both search the text that code() returns. Device code or a launch; a function that is __host__ __device__, such as
# ceil_div, is neither.
MEASURED = re.compile(r"__global__|(?<!__host__ )__device__|< < <|cudaLaunch")
PROBLEM = re.compile(r"\bkernel \( \) const override")  # the class of a problem names its kernel
# Kernels where arithmetic decides, and what libraries are called in words.
IN_TFLOPS = ("sgemm", "sgemm_accuracy", "sgemm_tf32", "gemm_bf16", "linear", "linear_batched", "linear_residual",
             "gemm_int8", "gemm_fp8", "gemm_fp8_blocks", "aat", "conv2d_channels",
             "attention", "attention_bf16", "nms")
LIBRARIES = {"cub": "CUB", "cublas": "cuBLAS", "cublaslt": "cuBLASLt", "cudnn": "cuDNN", "cusparse": "cuSPARSE",
             "thrust": "Thrust", "memcpy": "cudaMemcpy"}
REFERENCE = ("h200", "h100-80gb-hbm3")  # the cards of the heads and the charts; other cards come after them
# What scripts/tables writes into a document, <!-- KIND OPTIONS -->; it describes them.
BLOCK = re.compile(r"^(<!-- (table|counters|random)\b([^\n]*?) -->\n).*?^(<!-- end -->)$",
                   re.MULTILINE | re.DOTALL)


# ---- the digest of a step's code

def code(text):
    """A source's code in one line: no comments, no includes, no #pragma once, its words and signs one blank apart."""
    text = cuda_source.without_comments(text, " ")
    return cuda_source.words(re.sub(r"(?m)^[ \t]*#[ \t]*(include\b|pragma[ \t]+once\b).*$", "", text))


def sources(path, root=ladder.ROOT):
    """The files whose code is measured with the step: itself, and its headers, such as those that say which kernel
    takes which shape. Of the problem's headers and the runner's only those that hold device code or a launch."""
    step, *headers = cuda_source.included(path, root)
    texts = {file: code(file.read_text()) for file in headers}
    of_checks = [root / "common" / "ladder.cuh"] + [file for file in headers if PROBLEM.search(texts[file])]
    checked = {file for header in of_checks for file in cuda_source.included(header, root)}
    return [step] + [file for file in headers if file not in checked or MEASURED.search(texts[file])]


def digest(path, root=ladder.ROOT):
    """Names the code of the step at `path`, in the project at `root`: the same for as long as no more than comments,
    white space, the names of files and what is not measured (see sources) change."""
    step, *headers = [code(file.read_text()) for file in sources(path, root)]
    return hashlib.sha256("\n".join([step, *sorted(headers)]).encode()).hexdigest()[:12]


# ---- results files

class Results(NamedTuple):
    """One file, what the kernels of a folder took on one GPU."""
    folder: str  # reduce/sum
    card: str  # the file's name, e.g. h100-80gb-hbm3
    head: dict  # gpu, driver, cuda, date
    entries: list  # what scripts/bench measured
    counters: list = []  # what scripts/profile --record counted
    random: list = []  # a summary of scripts/bench --random for each kernel

    @property
    def path(self):
        return ladder.ROOT / self.folder / "results" / f"{self.card}.json"


def card_name(gpu):
    """NVIDIA H100 80GB HBM3 -> h100-80gb-hbm3"""
    return re.sub(r"[^a-z0-9]+", "-", re.sub(r"^nvidia[ -]+", "", gpu.lower())).strip("-")


def short_name(card):
    """h100-80gb-hbm3 -> H100, geforce-rtx-4090 -> RTX 4090, a100-80gb-pcie -> A100 PCIE"""
    words = [word for word in card.split("-") if not re.fullmatch(r"geforce|tesla|quadro|\d+gb|hbm\w*|sxm\d*", word)]
    return " ".join(words or [card]).upper()


def read(path):
    contents = json.loads(path.read_text())
    entries, counters, random = contents.pop("entries"), contents.pop("counters", []), contents.pop("random", [])
    return Results("/".join(path.parts[-4:-2]), path.stem, contents, entries, counters, random)


def read_all():
    """All results files, by folder and card."""
    return [read(path) for path in sorted(ladder.ROOT.glob("*/*/results/*.json"))]


def to_text(results):
    """JSON with one entry a line, so that diffs read well."""
    head = [f"  {json.dumps(key)}: {json.dumps(value)}," for key, value in results.head.items()]
    more = {"counters": results.counters, "random": results.random}
    lists = {"entries": results.entries, **{name: one for name, one in more.items() if one}}
    texts = [f'  "{name}": [\n' + ",\n".join(f"    {json.dumps(entry)}" for entry in entries) + "\n  ]"
             for name, entries in lists.items()]
    return "{\n" + "\n".join(head) + "\n" + ",\n".join(texts) + "\n}\n"


def write(results):
    results.path.parent.mkdir(exist_ok=True)
    results.path.write_text(to_text(results))
    ladder.say(f"wrote {ladder.shown(results.path)}")


def head(executable):
    """The head of a file of this machine's GPU: gpu, driver, cuda, date."""
    done = subprocess.run([executable, "--device"], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        ladder.fail("the programs find no CUDA device", done.returncode)
    seen = json.loads(done.stdout)
    driver = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], text=True,
                            stdout=subprocess.PIPE, check=True).stdout.split()[0]
    return {"gpu": seen["gpu"], "driver": driver, "cuda": seen["cuda"], "date": datetime.date.today().isoformat()}


def sort_key(entry):
    return entry["kernel"], entry["step"], list(entry["size"].values())


def step_name(entry):
    return f"{entry['kernel']}_{entry['step']}"


class Digests:
    """The digests of the steps as they are now, by name; computed when first asked for."""

    def __init__(self):
        self.paths = {step.name: step.path for step in ladder.steps()}
        self.known = {}

    def of(self, name):
        """None for a step that there is no more."""
        if name not in self.known:
            self.known[name] = digest(self.paths[name]) if name in self.paths else None
        return self.known[name]

    def current(self, entry):
        """Was this entry measured with the code as it is now?"""
        return entry.get("code") is not None and entry["code"] == self.of(step_name(entry))


# ---- sizes

def number(value):
    power = value.bit_length() - 1
    return f"2^{power}" if value >= 1 << 20 and value == 1 << power else str(value)


def size_of(entry):
    return tuple(entry["size"].items())


def size_text(size):
    return " ".join(f"{name}={value}" for name, value in size.items())


def labels(entries):
    """What to call the sizes of these entries, in their order: {(("n", 16777216),): "2^24"}. Dimensions that are the
    same in all of them are left out, and three equal ones are said once. One that some of them lack is named,
    2048x2048/causal=1, and so are up to three if only the first is left out."""
    sizes = sorted(set(map(size_of, entries)), key=lambda size: [value for _, value in size])
    if not sizes:
        return {}
    names = list(dict.fromkeys(name for size in sizes for name, _ in size))
    optional = [name for name in names if any(name not in dict(size) for size in sizes)]
    varying = [name for name in names if len({dict(size).get(name) for size in sizes}) > 1]
    shown = varying or names
    if shown == names[1:] and len(shown) < 4 and not optional:
        return {size: " ".join(f"{name}={number(dict(size)[name])}" for name in shown) for size in sizes}
    texts = {}
    for size in sizes:
        values = [number(dict(size)[name]) for name in shown if name not in optional]
        text = values[0] if len(set(values)) == 1 and len(values) == 3 else "x".join(values)
        texts[size] = "/".join([text] + [f"{name}={value}" for name, value in size if name in optional])
    return texts


def plain_label(size):
    """What to call one size: 8192x8192."""
    return labels([{"size": dict(size)}])[size]


def telling(sizes):
    """The size for the heads, where no table names one."""
    even = [size for size in sizes if all(value % 2 == 0 for _, value in size)] or list(sizes)
    return even[min(2, len(even) - 1)]


# ---- the current figures of all kernels

def by_number(count):
    """The cards, that with most entries first, a newer one before an older one."""
    return sorted(sorted(count, reverse=True), key=lambda card: -count[card])


class Counters:
    """All current counters, of scripts/profile: {(card, kernel): [entry]}."""

    def __init__(self, results, current):
        self.of_card = {}
        for one in results:
            for entry in filter(current, one.counters):
                self.of_card.setdefault((one.card, entry["kernel"]), []).append(entry)
        cards = collections.Counter(card for (card, _), entries in self.of_card.items() for _ in entries)
        self.cards = by_number(cards)

    def of(self, card, kernel):
        return self.of_card.get((card, kernel), [])


class Figures:
    """All figures: which cards there are, and what is shown of each kernel: the current figures, and older ones whose
    commit is known."""

    def __init__(self, results, current, kernels, ladder_code=None):
        self.kernels = kernels  # {kernel: [Step]}
        self.random = {}  # summaries of random shapes: {(kernel, card): summary}
        self.stale_random = {}  # the kernels of those that are stale: {card: [kernel]}
        self.entries = {}  # all: {kernel: [entry]}
        self.shown = {}  # {(kernel, card): {(step id, size): entry}}
        self.commits = {}  # of the stale ones: {(kernel, card, step id): commit}
        self.stale = {}  # {card: {step name: None}}, in the order of the files
        count = collections.Counter()
        for one in results:
            for entry in one.entries:
                self.entries.setdefault(entry["kernel"], []).append(entry)
                is_current = current(entry)
                if is_current or "commit" in entry:
                    count[one.card] += is_current
                    self.shown.setdefault((entry["kernel"], one.card), {})[entry["step"], size_of(entry)] = entry
                if not is_current:
                    self.commits[entry["kernel"], one.card, entry["step"]] = entry.get("commit")
            for found in one.random if ladder_code else []:
                is_current = found["code"] == ladder_code(found["kernel"], kernels.get(found["kernel"], []))
                if is_current or "commit" in found:
                    self.random[found["kernel"], one.card] = found
                if not is_current:
                    self.stale_random.setdefault(one.card, []).append(found["kernel"])
            for entry in [*one.entries, *one.counters]:
                if not current(entry):
                    self.stale.setdefault(one.card, {})[step_name(entry)] = None
        self.cards = sorted(by_number(count), key=lambda card: card not in REFERENCE)
        self.labels = {kernel: labels(entries) for kernel, entries in self.entries.items()}
        self.counters = Counters(results, current)

    def measured(self, kernel):
        """The steps with figures of any card, stale ones too: a reader's own step has none."""
        known = {entry["step"] for entry in self.entries.get(kernel, ())}
        return [step for step in self.kernels[kernel] if step.id in known]

    def of(self, kernel, card):
        return self.shown.get((kernel, card), {})

    def card_text(self, kernel, card, step_id):
        """The card that a step's figures are of, and the commit if they are stale: H100, or H100 at 5d3f697."""
        commit = self.commits.get((kernel, card, step_id))
        return short_name(card) + (f" at {commit}" if commit else "")

    def cards_of(self, kernel, only_reference=False):
        return [card for card in self.cards
                if self.of(kernel, card) and (card in REFERENCE or not only_reference)]

    def sizes(self, kernel, wanted):
        """The sizes that are called so; all of them if none is wanted."""
        named = {label: size for size, label in self.labels[kernel].items()}
        for label in wanted:
            if label not in named:
                ladder.fail(f"{kernel}: no figures at size {label}; there are {', '.join(named)}")
        return [named[label] for label in wanted or named]


def rate(entry):
    """What a step is measured by: TFLOP/s where arithmetic decides, else useful GB/s."""
    return entry["tflops" if entry["kernel"] in IN_TFLOPS else "gbps"]


def number_of(entry):
    """That of an entry's step: "07"; "any" of a program for any shape."""
    return entry["step"].partition("_")[0]


def unit(kernel):
    return "TFLOP/s" if kernel in IN_TFLOPS else "GB/s"


def time_text(us):
    return f"{us / 1e3:.3g} ms" if us >= 5000 else f"{us:.0f} us" if us >= 100 else f"{us:.1f} us"


def ratio(value):
    return f"{value:.0f}x" if value >= 20 else f"{value:.1f}x" if value >= 10 else \
        f"{value:.2f}x" if value >= 0.095 else f"{value:.2g}x"


def name_in_text(step_id):
    """What a step is called in a sentence: step 07, any_shape."""
    return f"step {step_id[:2]}" if step_id[:2].isdigit() else step_id


def rate_text(entry):
    return f"{rate(entry):.1f}" if entry["kernel"] in IN_TFLOPS or rate(entry) < 10 else f"{rate(entry):.0f}"


def library(steps):
    """What the library is called that step 00 of these steps calls; None where there is no step 00."""
    idea = steps[0].id[len("00_"):]
    return LIBRARIES.get(idea, idea) if steps[0].is_vendor else None


def ceiling_name(step):
    """What bounds the step's kernel, as the class of its problem says, or else the nearest of its bases that does."""
    name = re.search(r"LADDER_STEP\(\s*(\w+)", step.path.read_text())[1]
    for _, body in cuda_source.chain(name, {file: file.read_text() for file in cuda_source.included(step.path)}):
        own = re.search(r'ceiling_name\(\) const override { return "(\w+)"|Ceiling::(read)', body)
        if own:
            return own[1] or own[2]
    return "copy"


# ---- what the chapters show of them

class Wanted(NamedTuple):
    """What the line of a table asks for, by labels of sizes."""
    sizes: list  # of the table; empty: all
    head: Optional[str]  # the size for the heads
    chart: list  # the sizes for the chart; empty: that of the heads


def wanted(text):
    options = dict(word.split("=", 1) for word in text.split() if re.match("(head|chart)=", word))
    named = [word for word in text.split() if not re.match("(head|chart)=", word)]
    return Wanted(named, options.get("head"), options["chart"].split(",") if "chart" in options else [])


def chapters():
    """The families' and the kernels'."""
    families = {step.family: None for step in ladder.steps()}
    return [path for family in families for path in (ladder.ROOT / family / "README.md", *sorted(
        ladder.ROOT.glob(f"{family}/*/README.md"))) if path.is_file()]


def documents():
    """All that are checked: README.md and what it leads to, in both languages, and the chapters; not the notes beside
    them."""
    found = [ladder.ROOT.glob(pattern) for pattern in ("README.md", "README.*.md", "docs/*.md", "docs/*/*.md",
                                                       "scripts/README.md", "common/README.md")]
    return [path for paths in found for path in sorted(paths)] + chapters()


def wanted_by_kernel():
    """The same of every kernel with a table: {kernel: Wanted}; the last one that names a head counts."""
    found = {}
    for path in documents():
        for match in BLOCK.finditer(path.read_text()):
            if match[2] == "table":
                kernel, _, options = match[3].strip().partition(" ")
                new, old = wanted(options), found.get(kernel)
                if not old or new.head or not old.head:
                    found[kernel] = new
    return found


def head_size(known, kernel, asked):
    """The one size at which a kernel's steps are compared; None where nothing is measured."""
    if not known.labels.get(kernel):
        return None
    if asked and asked.head:
        return known.sizes(kernel, [asked.head])[0]
    return telling(list(known.labels[kernel]))
