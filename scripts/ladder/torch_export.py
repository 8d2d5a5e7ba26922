"""Writes a step as one Python file that compiles it, compares it with PyTorch's operator and times both."""
import json
import keyword
import re
import string
from pathlib import Path

import ladder
from ladder import exporting, problems

# {C++ type: PyTorch's name for it}
TYPES = {"float": "Float32", "__half": "Float16", "__nv_bfloat16": "BFloat16", "int": "Int32", "std::int64_t": "Int64",
         "std::uint8_t": "UInt8"}

# Macros that PyTorch defines for its own code, and that steps do not expect.
UNDEFINED = [f"-U__CUDA_NO_{words}__" for words in ("HALF_OPERATORS", "HALF_CONVERSIONS", "HALF2_OPERATORS",
                                                    "BFLOAT16_CONVERSIONS")]

PRELUDE = """\
#include <c10/cuda/CUDAException.h>
#define CUDA_CHECK C10_CUDA_CHECK
"""
BINDING = """\
#include <c10/cuda/CUDAGuard.h>

// Returns a tensor's elements. It must have this type and size, be contiguous, and be on the current GPU.
template <typename T>
T* elements(const char* name, const torch::Tensor& tensor, torch::ScalarType type, std::size_t bytes) {
  TORCH_CHECK(tensor.get_device() == c10::cuda::current_device(), name, " is not on the GPU of the first tensor");
  TORCH_CHECK(tensor.is_contiguous(), name, " is not contiguous");
  TORCH_CHECK(tensor.scalar_type() == type, name, " holds ", tensor.scalar_type(), ", not ", type);
  TORCH_CHECK(tensor.nbytes() == bytes, name, " has ", tensor.nbytes(), " bytes; sizes like these need ", bytes);
  return static_cast<T*>(tensor.data_ptr());
}

$prototype {
  TORCH_CHECK($first.is_cuda(), "the tensors are not on a GPU");
  const c10::cuda::CUDAGuard guard($first.device());
  const cudaStream_t current = c10::cuda::getCurrentCUDAStream();
  if (current) CUDA_CHECK(cudaStreamSynchronize(current));  // the step uses the default stream
$call  if (current) CUDA_CHECK(cudaStreamSynchronize(nullptr));
}
"""

FILE = string.Template('''\
"""Compiles $name with PyTorch, compares it with PyTorch's own operator, and times both.

    python $name.py [$sizes]

Needs PyTorch with CUDA, nvcc and ninja. The step uses the default stream: where PyTorch's current stream is another
one, the call waits for the GPU before and after the step.
Each time is the median of calls between two CUDA events, the L2 cache overwritten before each.
"""
$timing

KERNEL = r"""
$kernel"""

BINDING = r"""
$binding"""

TOLERANCE = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 1e-2}  # of the largest; integers are exact


def data(*shape):
    """Multiples of 1/8 from -1 to 1: FP32 adds millions of them, or of their products, without rounding."""
    return torch.randint(-8, 9, shape) / 8


[$sizes] = [*map(int, sys.argv[1:]), *[$defaults][len(sys.argv) - 1:]]
flush = start()
extension = load_inline("$name", functions=["run"], cuda_sources=[KERNEL, BINDING],
$options                        cpp_sources="""
$prototype;""")
with torch.device("cuda"):
$inputs


def operator():
    return $operator


def step():
    extension.run($arguments)


wants = $wants
${outputs}step()
for got, want in zip([$got], wants):
    got, want = got.flatten()[:want.numel()], want.flatten().to(got.dtype)
    share = TOLERANCE.get(got.dtype, 0)
    torch.testing.assert_close(got, want, rtol=share, atol=share * float(want.abs().max()))
times = [median_us(flush, function) for function in (step, operator)]
print("PASS; {:.1f} us, PyTorch's {:.1f} us".format(*times))
''')


def operator_lines(step):
    """Returns the lines '// torch: ...' of the kernel's main: Python code that makes the inputs, with the operator in
    the last line. Returns [] if PyTorch has no such operator."""
    lines = re.findall(r"^// torch: (.*)", exporting.main_of(step) or "", re.MULTILINE)
    return [] if "OPERATOR" in "".join(lines) else lines


def with_operator():
    """Returns the kernels that have an operator in PyTorch."""
    return [kernel for kernel, steps in ladder.kernels().items() if operator_lines(steps[-1])]


def split(text):
    """Splits a text at commas outside of brackets."""
    return [part.strip() for part in re.findall(rf"(?:[^,(){{}}]|{exporting.PARENTHESES}|\{{[^}}]*\}})+", text)]


def constants(main):
    """Returns the constants that a main declares before its launch: {name: (type, value)}."""
    return {name: (kind, value) for kind, values in
            re.findall(r"^  (?:const|constexpr) ([\w:]+) ([^;]*=[^;]*);", main, re.MULTILINE)
            for name, value in (part.split(" = ", 1) for part in split(values) if " = " in part)}


def pointers(main):
    """Returns the arrays of a main and their element types: {name: type}."""
    return {name: kind for kind, names in re.findall(r"^  ([\w:]+) ?(\*[^;()]*);", main, re.MULTILINE)
            for name in re.findall(r"\* ?(\w+)", names)}


def bytes_of(main):
    """Returns the size that a main allocates for each array: {name: expression of sizes and constants}."""
    counts = {}  # {vector on the host: its size}
    for declared in re.findall(r"^  std::vector<[\w:]+> (h_[^;]*);", main, re.MULTILINE):
        counts |= dict(found.groups() for found in (re.fullmatch(r"(h_\w+)\((.*)\)", one) for one in split(declared))
                       if found)
    return {name: re.sub(r"\b(h_\w+)\.size\(\)", lambda found: f"({counts.get(found[1], found[0])})", value)
            for name, value in re.findall(r"cudaMalloc\(&(\w+), (.*)\)\);", main)}


def extension(step, main):
    """Returns the fields of FILE that compile the step and call it."""
    call = exporting.TIME_LINE.search(main)["call"]
    types, values, allocated = pointers(main), constants(main), bytes_of(main)
    sizes = {name: value.rsplit(" : ", 1)[1] for name, (_, value) in values.items() if "argc" in value}
    code = {**allocated, **{name: value for name, (_, value) in values.items() if name not in sizes}}
    words = exporting.words_of(call)
    for name in [*reversed(code)] * 2:  # a constant may hold arrays, and their sizes may be constants
        words |= exporting.words_of(code[name]) if name in words else set()
    needed = {name: re.sub(r"\bh_(\w+)\.size\(\)", r"\1_.numel()", code[name])
              for name in values if name in words and name in code}
    tensors, passed = [name for name in types if name in words], [name for name in sizes if name in words]
    parameters = [f"torch::Tensor {name}_" for name in tensors] + [f"{values[name][0]} {name}" for name in passed]
    prototype = problems.wrapped_call("void run(", ", ".join(parameters), ") {")[:-2]

    parts = "; ".join([call, *needed.values(), *allocated.values()])
    reached = main[:main.index("int main(")] + f"void run() {{ {parts}; }}"
    lines = []
    for name in tensors:
        size = f"{name}_.nbytes()" if "h_" in allocated[name] else allocated[name]
        arguments = f'"{name}", {name}_, torch::k{TYPES[types[name]]}, {size}'
        lines.append(problems.wrapped_call(f"  {types[name]}* {name} = elements<{types[name]}>(", arguments, ");"))
    for name, value in reversed(needed.items()):  # constants that hold arrays follow the arrays, others precede them
        line = problems.wrapped_call(f"  const {values[name][0]} {name} = ", value, ";")
        lines.insert(len(lines) if exporting.words_of(value) & {*tensors} else 0, line)
    body = "\n".join([*lines, f"  {call}\n"])
    arch, libraries = exporting.build_options(step)
    flags = ", ".join(f'"{flag}"' for flag in [*[arch] * bool(arch), *UNDEFINED])
    options = problems.wrapped_call(f"{' ' * 24}extra_cuda_cflags=[", flags, "],") + "\n"
    options += f"{' ' * 24}extra_ldflags={json.dumps(libraries)},\n" * bool(libraries)
    return {
        "kernel": exporting.code_for(step, reached, PRELUDE), "prototype": prototype, "options": options,
        "binding": string.Template(BINDING).substitute(prototype=prototype, first=f"{tensors[0]}_", call=body),
        "arguments": ", ".join(name + "_" * keyword.iskeyword(name) for name in [*tensors, *passed]),
        "sizes": ", ".join(sizes), "defaults": ", ".join(map(str.capitalize, sizes.values()))}


def text(step):
    """Returns the text of the Python file."""
    lines, main = operator_lines(step), exporting.main_of(step)
    if not lines:
        ladder.usage_error(f"PyTorch has no operator like {step.kernel}; it has one like " + ", ".join(with_operator()))
    timing = Path(__file__).with_name("torch_timing.py").read_text().split('"""\n', 1)[1].strip()
    imports = "from torch.nn import functional as F\n" * ("F." in "".join(lines))
    imports += "from torch.utils.cpp_extension import load_inline\n"
    names, operator = re.fullmatch(r"([\w, ]+) = (.*)", lines[-1]).groups()
    outputs, types = names.split(", "), pointers(main)
    made = re.findall(r"\w+", " ".join(line.split(" = ")[0] for line in lines[:-1]))
    return FILE.substitute(
        extension(step, main), name=step.name, operator=operator,
        timing=timing.replace("import torch\n", "import torch\n" + imports, 1),
        inputs="\n".join(f"    {line}" for line in lines[:-1]),
        wants="[operator()]" if len(outputs) == 1 else "operator()", got=", ".join(outputs),
        outputs="".join(f"{name} = torch.full(wants[{i}].shape, 77, dtype=torch.{TYPES[types[name]].lower()}, "
                        'device="cuda")\n' for i, name in enumerate(outputs) if name not in made))
