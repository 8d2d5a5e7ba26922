"""The figures of <family>/results/<gpu>.json: reading and writing them, and the digest of the code they belong to."""
import datetime
import hashlib
import json
import re
import subprocess
from typing import NamedTuple

import ladder

# What makes a header part of the measured code: device code or a launch. A function that is __host__ __device__ alone,
# such as ceil_div, does not.
MEASURED = re.compile(r"__global__|(?<!__host__ )__device__|<<<|cudaLaunch")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)
LITERAL_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', re.DOTALL)


# ---- the digest of a step's code

def without_comments(text):
    return LITERAL_OR_COMMENT.sub(lambda found: " " if found[0].startswith("/") else found[0], text)


def code(text):
    """A source's code in one line: no comments, no includes, no #pragma once, its words and signs one blank apart."""
    text = re.sub(r"(?m)^[ \t]*#[ \t]*(include\b|pragma[ \t]+once\b).*$", "", without_comments(text))
    return " ".join(re.findall(r"\w+|[^\w\s]", text))


def included(path, root=ladder.ROOT):
    """The step at `path` and all headers of ours that it includes, directly or not."""
    def visit(file):
        if file in seen:
            return
        seen.append(file)
        for name in INCLUDE.findall(without_comments(file.read_text())):
            for folder in (file.parent, root / "common"):
                if (folder / name).exists():
                    visit(folder / name)
                    break

    seen = []
    visit(path)
    return seen


def sources(path, root=ladder.ROOT):
    """The files whose code is measured with the step: itself, and its headers that hold device code or a launch."""
    step, *headers = included(path, root)
    return [step] + [file for file in headers if MEASURED.search(code(file.read_text()))]


def digest(path, root=ladder.ROOT):
    """Names the code of the step at `path`, in the project at `root`: the same for as long as no more than comments,
    white space, the names of files and what is not measured (problem headers, checks, runner) change."""
    step, *headers = [code(file.read_text()) for file in sources(path, root)]
    return hashlib.sha256("\n".join([step, *sorted(headers)]).encode()).hexdigest()[:12]


# ---- results files

class Results(NamedTuple):
    """One file, what a family's kernels took on one GPU."""
    family: str
    card: str  # the file's name, e.g. h100-80gb-hbm3
    head: dict  # gpu, driver, cuda, date
    entries: list  # what scripts/bench measured
    counters: list = []  # what scripts/profile --record counted

    @property
    def path(self):
        return ladder.ROOT / self.family / "results" / f"{self.card}.json"


def card_name(gpu):
    """NVIDIA H100 80GB HBM3 -> h100-80gb-hbm3"""
    return re.sub(r"[^a-z0-9]+", "-", re.sub(r"^nvidia[ -]+", "", gpu.lower())).strip("-")


def short_name(card):
    """h100-80gb-hbm3 -> H100"""
    return card.split("-")[0].upper()


def read(path):
    contents = json.loads(path.read_text())
    entries, counters = contents.pop("entries"), contents.pop("counters", [])
    return Results(path.parent.parent.name, path.stem, contents, entries, counters)


def read_all():
    """All results files, by family and card."""
    return [read(path) for path in sorted(ladder.ROOT.glob("*/results/*.json"))]


def to_text(results):
    """JSON with one entry a line, so that diffs read well."""
    head = [f"  {json.dumps(key)}: {json.dumps(value)}," for key, value in results.head.items()]
    lists = {"entries": results.entries, **({"counters": results.counters} if results.counters else {})}
    texts = [f'  "{name}": [\n' + ",\n".join(f"    {json.dumps(entry)}" for entry in entries) + "\n  ]"
             for name, entries in lists.items()]
    return "{\n" + "\n".join(head) + "\n" + ",\n".join(texts) + "\n}\n"


def write(results):
    results.path.parent.mkdir(exist_ok=True)
    results.path.write_text(to_text(results))
    ladder.say(f"wrote {results.path.relative_to(ladder.ROOT)}")


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
