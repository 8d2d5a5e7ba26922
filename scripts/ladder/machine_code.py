"""Does a step launch the same machine code as an earlier version of it? What scripts/bench --carry asks."""
import io
import re
import subprocess
import tarfile
import tempfile
from pathlib import Path

import ladder
from ladder import figures

ARCHITECTURE = "90a"  # of the reference cards, H100 and H200, with all that steps may use
HOST_LAUNCH = re.compile(r"<<<|cudaLaunch")


# ---- machine code

def compiled(path, root, output):
    """Compiles a step, of the project at `root`, for the reference cards; returns what is wrong, or None."""
    command = ["nvcc", "-std=c++17", f"-gencode=arch=compute_{ARCHITECTURE},code=sm_{ARCHITECTURE}", "-cubin",
               "-I", root / "common", "-o", output, path]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return None if done.returncode == 0 else (done.stdout.strip() or "nvcc failed").splitlines()[0]


def dump(option, cubin):
    done = subprocess.run(["cuobjdump", option, cubin], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def instructions(sass):
    """The functions of cuobjdump -sass: their instructions as bits, in their order, without addresses; by name."""
    functions = {}
    for part in re.split(r"^\s*Function : ", sass, flags=re.MULTILINE)[1:]:
        name, _, body = part.partition("\n")
        functions[name.strip()] = tuple(re.findall(r"/\* (0x[0-9a-f]{16}) \*/", body))
    return functions


def resources(usage):
    """The functions of cuobjdump -res-usage: registers, stack, shared memory and the like; by name."""
    return {name.strip(): tuple(sorted(line.split()))
            for name, line in re.findall(r"^\s*Function ([^\n]*):\n([^\n]*)", usage, flags=re.MULTILINE)}


def machine_code(cubin):
    """The functions of a compiled step, without their names, sorted: their instructions and what they take."""
    taken = resources(dump("-res-usage", cubin))
    return sorted((code, taken.get(name, ())) for name, code in instructions(dump("-sass", cubin)).items())


# ---- host code

def items(text):
    """The declarations and definitions of a source's top level, each in one line of figures.code()."""
    found, depth, start = [], 0, 0
    words = figures.code(text).split(" ")
    for at, word in enumerate(words):
        depth += (word == "{") - (word == "}")
        following = words[at + 1] if at + 1 < len(words) else ""
        if depth == 0 and (word == ";" or (word == "}" and following not in (";", ",", ")"))):
            found.append(" ".join(words[start:at + 1]))
            start = at + 1
    return found + [" ".join(words[start:])] * (start < len(words))


def is_device_code(item):
    head = item.split("{")[0]
    return bool(re.search(r"__global__|(?<!__host__ )__device__", head)) and "(" in head


def names_defined(item):
    """The names that an item of the top level defines."""
    head = item.split("{")[0]
    function = re.match(r"[^=(]*?(\w+) \(", head)
    if function:
        return {function[1]}
    return set(re.findall(r"(\w+) [=\[;,]", head)) | set(re.findall(r"(?:struct|class|using|enum) (\w+)", head))


def launching(code):
    """The items that launch, and those that they use, directly or not. Where nothing of ours is launched, all items.
    The registration is none of them."""
    code = [item for item in code if not item.startswith("LADDER_STEP")]
    used = [item for item in code if HOST_LAUNCH.search(item.replace(" ", ""))]
    if not used:
        return code
    while True:
        words = set(re.findall(r"\w+", " ".join(used)))
        more = [item for item in code if item not in used and names_defined(item) & words]
        if not more:
            return [item for item in code if item in used]
        used += more


def without_types(text):
    """Casts and the types of variables do not count."""
    number = r"(?:unsigned|int|long long|auto|bool|std : : (?:size_t|uint64_t|int64_t|uint32_t))"
    text = re.sub(rf"static_cast < {number} > ", "", text)
    text = re.sub(rf"{number} {{ ([^{{}}]*) }}", r"( \1 )", text)
    before = None
    while text != before:  # brackets round a whole expression
        before = text
        text = re.sub(r"(?<=[=(,{] )\( ((?:[^()]|\([^()]*\))*) \)(?= [),;}])", r"\1", text)
    return re.sub(rf"\b(?:const )?{number} (?=\w+ =)", "auto ", text)


def without_names(text):
    """Each name becomes its number in the order of first use, so that renaming does not count."""
    numbers = {}
    return re.sub(r"\b[A-Za-z_]\w*\b", lambda found: f"n{numbers.setdefault(found[0], len(numbers))}", text)


def host_code(path, root):
    """The host code of a step and of its headers that are measured with it, with names."""
    return [item for file in figures.sources(path, root) for item in items(file.read_text())
            if not is_device_code(item)]


def comparable(code):
    """Host code as it is compared: what leads to launches, without types, casts and names."""
    return without_names("\n".join(map(without_types, launching(code))))


def statements(code):
    """Host code to read: a statement a line."""
    text = re.sub(r"(?<=[;{}]) ", "\n", "\n".join(code))
    return re.sub(r" ?(::|: :|[.,()\[\]<>;]) ?", lambda found: found[1].replace(" ", ""), text).split("\n")


# ---- earlier versions

class History:
    """Earlier versions of the project, from git, each unpacked when it is first asked for."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="ladder-history-")
        done = subprocess.run(["git", "-C", ladder.ROOT, "log", "--format=%H"], stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            ladder.fail("needs the project's git history")
        self.commits = done.stdout.split()
        self.digests = {}  # by commit and path

    def root(self, commit):
        root = Path(self.folder.name) / commit
        if not root.exists():
            archive = subprocess.run(["git", "-C", ladder.ROOT, "archive", commit], stdout=subprocess.PIPE, check=True)
            with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
                files.extractall(root)
        return root

    def find(self, step, digest):
        """The newest version, its commit and folder, in which the step's code has this digest; or None."""
        relative = step.path.relative_to(ladder.ROOT)
        for commit in self.commits:
            path = self.root(commit) / relative
            if (commit, relative) not in self.digests:
                self.digests[commit, relative] = figures.digest(path, self.root(commit)) if path.exists() else None
            if self.digests[commit, relative] == digest:
                return commit, self.root(commit)
        return None


def host_differs(step, old_root):
    before, now = (comparable(host_code(root / step.path.relative_to(ladder.ROOT), root))
                   for root in (old_root, ladder.ROOT))
    return before != now


def difference(path, old_root, root=ladder.ROOT):
    """How the machine code of the step at `path`, from the project's folder, differs between the projects at `old_root`
    and `root`: a line, or None; and how many kernels were added, where that is all."""
    with tempfile.TemporaryDirectory() as folder:
        compiled_code = []
        for version, at in (("before", old_root), ("now", root)):
            cubin = Path(folder) / f"{version}.cubin"
            wrong = compiled(at / path, at, cubin)
            if wrong:
                return f"does not compile {version}: {wrong}", 0
            compiled_code.append(machine_code(cubin))
    before, now = compiled_code
    if before == now:
        return None, 0
    changed = sum(code not in now for code in before)
    if changed == 0 and len(now) > len(before):
        return f"{len(now) - len(before)} kernels were added to {len(before)}", len(now) - len(before)
    return f"the machine code of {changed} of {len(before)} kernels differs ({len(now)} now)", 0
