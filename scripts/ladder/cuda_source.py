"""Reads C++ and CUDA sources: comments, includes, heads, kernels."""
import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LEXEME = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', re.DOTALL)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)  # a quoted include


def without_comments(text, instead=""):
    return LEXEME.sub(lambda found: instead if found[0].startswith("/") else found[0], text)


def blanked(text):
    """Returns the text with comments and literals replaced by spaces, at the same length."""
    return LEXEME.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def words(text):
    """Returns the code in one line, its tokens separated by one blank, so that layout doesn't count."""
    return " ".join(re.findall(r"\w+|[^\w\s]", without_comments(text, " ")))


def header(name, includer, root=ROOT):
    """Returns the project's file that a quoted include names, or None."""
    for folder in (includer.parent, root / "common"):
        if (folder / name).is_file():
            return Path(os.path.normpath(folder / name))
    return None


def included(path, root=ROOT):
    """Returns the file at `path` and all the project's headers that it includes, directly or indirectly."""
    found = [path]
    for file in found:
        headers = [header(name, file, root) for name in INCLUDE.findall(without_comments(file.read_text(), " "))]
        found += [one for one in dict.fromkeys(headers) if one and one not in found]
    return found


def head(path):
    """Returns the comment at the beginning of a file."""
    return re.match(r"(?:[ \t]*(?://.*)?\n)*", path.read_text(errors="replace"))[0]


def idea(path):
    """Returns the text of the head's "Idea:", or the whole head if it has no labels."""
    text = head(path)
    labelled = re.search(r"^// Idea: *(.*\n(?://  .*\n)*)", text, re.MULTILINE)
    text = labelled[1] if labelled else re.sub(r"(?m)^// (needs|links|(?:not )?caught by): .*\n", "", text)
    return " ".join(re.sub(r"(?m)^//", "", text).split())


def chain(class_name, texts):
    """Yields (header, body) of a class and its bases, as far as the headers {path: text} define them."""
    definition = rf"^class {class_name}(?: final)?(?: : public (?:ladder::)?([\w:]+))? \{{\n(.*?)^\}};"
    for path, text in texts.items():
        match = re.search(definition, text, re.M | re.S)
        if match:
            yield path, match[2]
            yield from chain(match[1], texts)


def kernel_names(path):
    """Returns the names of the __global__ functions in a file."""
    text = without_comments(path.read_text(), " ")
    text = re.sub(r"__(?:launch_bounds|cluster_dims|maxnreg)__\s*\((?:[^()]|\([^()]*\))*\)", "", text)
    return re.findall(r"__global__\s[^;{()]*?(\w+)\s*\(", text)
