#!/usr/bin/env python3
"""Translate CUDA C++ into C++ for the CPU backend: cu2cpp.py [-D NAME]... [-I DIR]... SOURCE OUTPUT

Only what a C++ compiler cannot parse is rewritten:

    k<T, 32><<<grid, block, smem, stream>>>(a, b)
        ::cuda_emu::launch("k<T, 32>", [=](auto... cuda_emu_a) { k<T, 32>(cuda_emu_a...); },
                           ::cuda_emu::config(grid, block, smem, stream), a, b)
    __shared__ float As[BM][BK + 1];     auto& As = ::cuda_emu::shared<float[BM][BK + 1]>("As", [] {});
    __shared__ alignas(16) float q[8];   auto& q = ::cuda_emu::shared<float[8], 16>("q", [] {});
    extern __shared__ T x[][33];         auto x = ::cuda_emu::dynamic_shared<T[33]>("x");
    extern __shared__ T x[]; outside a function    static ::cuda_emu::DynamicShared<T> x{"x"};
    __shared__ struct {...} s;           struct s_type {...}; auto& s = ::cuda_emu::shared<s_type>("s", [] {});
    __launch_bounds__(N) void k() {      ... { ::cuda_emu::launch_bounds(N);
    __global__ void k(const int& n) {    ... { ::cuda_emu::reference_parameter("n");
    __constant__ float w[9];             __constant__ float w[9]; static const ::cuda_emu::DeviceImage ...;
    while (*flag == 0);                  while (*flag == 0) { ::cuda_emu::yield(); }
    __noinline__                         __attribute__((noinline))
    (void*)k<T>                          ::cuda_emu::kernel_address(k<T>)

Every edit keeps the newlines it covers, so one #line at the top makes compiler messages, sanitizers,
__FILE__, __LINE__ and gdb name the original file.

Quoted includes are searched first in the folder of the including file, then in each -I DIR; includes in < > in each
-I DIR. A header that needs a change, or includes one that does, is copied to OUTPUT.headers/, which belongs to this
output only, and the include names the copy. Every other include that was found names the original. OUTPUT ends with a
digest of the copies, so it changes even if only a copy has changed.
OUTPUT.d lists the files read, for make or Ninja.

Code that cannot be translated or does not run on a CPU (inline PTX, TMA, clusters, ...) is an error, unless it is
removed by #ifdef CUDA_EMU, #ifndef CUDA_EMU (or a NAME given with -D) or #if 0. A header that the CPU backend does not
have, such as <cub/cub.cuh>, is left out, and each use of one of its names is an error. So is code that nvcc rejects
but a C++ compiler accepts: a kernel called like a function, device code that calls host functions or uses host
variables, host code that calls device functions. In doubt the code is accepted.
"""
import argparse
import hashlib
import os
import re
import sys

# ---------------------------------------------------------------- searchable text

LEXEME = re.compile(
    r'''(?P<comment>//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z))'''
    r'''|(?P<raw>(?<!\w)(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)")'''
    r'''|(?P<literal>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')'''
    r'''|(?P<number>\b\d[\w.]*(?:'[\w.]+)+)''', re.S)  # 1'000: its quote does not start a literal


def spaces(text):
    return re.sub(r'[^\n]', ' ', text)


def blank_lexeme(match):
    if match['comment']:
        return spaces(match[0])
    if match['number']:
        return match[0]
    return match[0][0] + spaces(match[0][1:-1]) + match[0][-1]


def without_comments(text):
    """Returns the text on one line, without comments, with literals."""
    text = LEXEME.sub(lambda m: ' ' if m['comment'] else m[0], text)
    return ' '.join(text.replace('\\\n', ' ').split())


# ---------------------------------------------------------------- preprocessor

DIRECTIVE = re.compile(r'^[ \t]*#[ \t]*(\w*)((?:\\\n|[^\n])*)', re.M)
DEFINED_NAME = re.compile(r'\s*#\s*define\s+(\w+)')
DEFINE_HEAD = re.compile(r'\s*\w+(?:\([^)]*\))?')
DEFINED = re.compile(r'\s*(!?)\s*defined\s*\(?\s*(\w+)\s*\)?\s*$')


def condition(kind, rest, defined):
    """Returns the value of #if/#ifdef/#ifndef if `defined` determines it, else None: both branches are kept."""
    rest = rest.strip()
    if kind in ('ifdef', 'ifndef'):
        return (kind == 'ifdef') if rest in defined else None
    if rest == '0':
        return False
    match = DEFINED.match(rest)
    return not match[1] if match and match[2] in defined else None


class Conditionals:
    """Follows the conditional directives of one file; `active` is False in code they remove."""

    def __init__(self, defined):
        self.defined = defined
        self.stack = []  # per open #if: True, False, None if unknown, 'done' after the branch that is taken

    @property
    def active(self):
        return all(state in (True, None) for state in self.stack)

    def step(self, kind, rest):
        if kind in ('if', 'ifdef', 'ifndef'):
            self.stack.append(condition(kind, rest, self.defined))
        elif kind in ('else', 'elif') and self.stack:
            otherwise = True if kind == 'else' else None
            self.stack[-1] = {True: 'done', False: otherwise}.get(self.stack[-1], self.stack[-1])
        elif kind == 'endif' and self.stack:
            self.stack.pop()


# ---------------------------------------------------------------- scanning

class Untranslatable(Exception):
    pass


CLOSES = {')': '(', ']': '[', '}': '{', '>': '<'}


def find_outside_brackets(code, start, token):
    """Returns the offset of the first `token` at or after `start` that is not inside brackets."""
    depth = 0
    for i in range(start, len(code)):
        if depth == 0 and code.startswith(token, i):
            return i
        if code[i] in '([{':
            depth += 1
        elif code[i] in ')]}':
            depth -= 1
        if depth < 0 or (depth == 0 and code[i] == ';'):
            break
    raise Untranslatable(f"no matching '{token}'")


def split_at_commas(code, start, end):
    """Returns the (start, end) ranges between the commas that are not inside brackets."""
    ranges, depth, begin = [], 0, start
    for i in range(start, end):
        depth += (code[i] in '([{') - (code[i] in ')]}')
        if code[i] == ',' and depth == 0:
            ranges.append((begin, i))
            begin = i + 1
    return ranges + [(begin, end)]


def group_start(code, last):
    """Returns the offset of the bracket closed by the one at `last`. < and > are brackets only directly inside < >."""
    expected = [CLOSES[code[last]]]
    i = last
    while expected and i > 0:
        i -= 1
        if code[i] == expected[-1]:
            expected.pop()
        elif code[i] in ')]}' or (code[i] == '>' and expected[-1] == '<'):
            expected.append(CLOSES[code[i]])
    if expected:
        raise Untranslatable(f"no matching '{expected[0]}'")
    return i


def group_end(code, first, end):
    """Returns the offset just after the bracket that closes the one at `first`."""
    closing = {opening: closing for closing, opening in CLOSES.items()}
    expected = [closing[code[first]]]
    for i in range(first + 1, end):
        if code[i] == expected[-1]:
            expected.pop()
            if not expected:
                return i + 1
        elif code[i] in '([{' or (code[i] == '<' and expected[-1] == '>'):
            expected.append(closing[code[i]])
    raise Untranslatable(f"no matching '{expected[0]}'")


def trim(code, end):
    """Returns `end`, moved back over white space."""
    while end > 0 and code[end - 1].isspace():
        end -= 1
    return end


# ---------------------------------------------------------------- kernel launches

STATEMENT_WORD = re.compile(r'\b(?:return|else|do|if|while|for|switch|case)\s*$')
NAME_BEFORE = re.compile(r'(?:\btemplate\s+)?\b[A-Za-z_]\w*(?:\s*##\s*\w+)*$')
QUALIFIER_BEFORE = re.compile(r'(?:::|\.|->)$')
LONGEST_NAME = 400  # how far back the regular expressions above search


def matches_before(pattern, code, end):
    begin = max(0, end - LONGEST_NAME)
    match = pattern.search(code[begin:end])
    return begin + match.start() if match else None


def continues_to_the_left(code, i):
    """Returns whether the text before i can be part of the same name or call."""
    i = trim(code, i)
    return (i > 0 and (code[i - 1].isalnum() or code[i - 1] in '_>])')
            and matches_before(STATEMENT_WORD, code, i) is None)


def kernel_start(code, end):
    """Returns the start of the kernel expression that ends at `end`: ns::k<...>, p->f, table[i], (*f), get(x)."""
    i = trim(code, end)
    while True:
        while i > 0 and code[i - 1] in '>])':
            i = group_start(code, i - 1)
            parenthesised = code[i] == '(' and (not continues_to_the_left(code, i) or code[trim(code, i) - 1] == ')')
            if parenthesised:
                return i
            i = trim(code, i)
        name = matches_before(NAME_BEFORE, code, i)
        if name is None or matches_before(STATEMENT_WORD, code, i) is not None:
            raise Untranslatable('no kernel name before <<<')
        qualifier = matches_before(QUALIFIER_BEFORE, code, trim(code, name))
        if qualifier is None:
            return name
        i = trim(code, qualifier)
        leading_colons = code[qualifier] == ':' and code[i - 1:i] == ')'  # if (x) ::k<<<...>>>()
        if leading_colons or not continues_to_the_left(code, i):
            return qualifier


def launch_edits(source, opening):
    """Returns the edits for the launch whose <<< is at `opening`."""
    code = source.across_directives()
    closing = find_outside_brackets(code, opening + 3, '>>>')
    if not code[opening + 3:closing].strip():
        raise Untranslatable('no grid and block size between <<< and >>>')
    parenthesis = re.compile(r'\s*\(').match(code, closing + 3)
    if not parenthesis:
        raise Untranslatable("no '(' after >>>")
    first = parenthesis.end()
    last = find_outside_brackets(code, first, ')')
    arguments = [code[a:b].strip() for a, b in split_at_commas(code, first, last)]
    if any(argument.startswith('{') for argument in arguments):
        raise Untranslatable('a braced list cannot be a kernel argument here: name its type, as in float2{1, 2}')
    start = kernel_start(source.code, opening)
    label = ' '.join(code[start:opening].replace('"', ' ').split())
    # passed through the lambda's `auto`, NULL would be a number, which does not convert to a pointer
    pointers = [(a + code[a:b].index('NULL'), a + code[a:b].index('NULL') + 4, 'nullptr')
                for a, b in split_at_commas(code, first, last) if code[a:b].strip() == 'NULL']
    return pointers + [(start, start, f'::cuda_emu::launch("{label}", [=](auto... cuda_emu_a) {{ '),
            (opening, opening + 3, '(cuda_emu_a...); }, ::cuda_emu::config('),
            (closing, closing + 3, ')'),
            (first - 1, first, ', ' if any(arguments) else '')]


# ---------------------------------------------------------------- shared variables

ALIGNMENT = re.compile(r'\b(?:__align__|alignas)\s*(?=\()')
STORAGE = re.compile(r'\b(?:extern|static|__shared__)\b')
QUALIFIERS = re.compile(r'\s*\b(?:const|volatile|typename|struct|class|union|enum)\b')
ARITHMETIC = re.compile(r'\s*\b(?:unsigned|signed|int|char|short|long|float|double|bool)\b')
NAME_PART = re.compile(r'\s*(?:::\s*)?(?:template\s+)?[A-Za-z_]\w*')
DECLARATOR = re.compile(r'((?:[\s*(]|\b(?:const|volatile|__restrict__|__restrict)\b)*)'
                        r'\b([A-Za-z_]\w*)\s*((\)?)\s*(?:\[.*\])?)\s*$', re.S)
TYPE_NAME = re.compile(r'(?:(?:unsigned|signed|char|short|int|long|float|double|bool|size_t)\s*)+$'
                       r'|u?(?:char|short|int|long|longlong|float|double)[1-4]$')
ONE_TYPE_AND_NAMES = '__shared__ declaration: write one named type and plain names or arrays, with no initial value'


def specifier_end(code, start, end):
    """Returns the offset after the type that starts a declaration: qualifiers and one name or arithmetic type."""
    i, named, arithmetic = start, False, False
    while True:
        match = QUALIFIERS.match(code, i, end)
        if not match and not named:
            match = ARITHMETIC.match(code, i, end)
            arithmetic = arithmetic or bool(match)
        if match:
            i = match.end()
            continue
        if named or arithmetic:
            return i
        i = name_end(code, i, end)
        named = True


def name_end(code, start, end):
    """Returns the offset after a::b<...>::c or decltype(...)."""
    match = NAME_PART.match(code, start, end)
    if not match:
        raise Untranslatable(ONE_TYPE_AND_NAMES)
    i = match.end()
    group = re.compile(r'\s*\(' if match[0].strip() == 'decltype' else r'\s*<').match(code, i, end)
    if group:
        i = group_end(code, group.end() - 1, end)
    return name_end(code, i, end) if re.compile(r'\s*::').match(code, i, end) else i


class SharedDeclaration:
    """The declaration that contains the word __shared__ at `keyword`. Comments in `code` are blanked."""

    def __init__(self, source, keyword):
        code = source.code
        self.source = source
        self.end = find_outside_brackets(code, keyword, ';')
        before = 1 + max(code.rfind(c, 0, keyword) for c in ';{}')
        self.start = before + len(code[before:keyword]) - len(code[before:keyword].lstrip())
        # parsed parts are blanked, so the type and the names remain
        self.rest = code[:self.end]
        self.extern = 'extern' in code[self.start:self.end].split()
        self.alignment = self.take_alignment()
        for match in STORAGE.finditer(code, self.start, self.end):
            self.blank(match.start(), match.end())

    def blank(self, start, end):
        self.rest = self.rest[:start] + ' ' * (end - start) + self.rest[end:]

    def take_alignment(self):
        match = ALIGNMENT.search(self.rest, self.start)
        if not match:
            return ''
        end = group_end(self.rest, match.end(), self.end)
        argument = without_comments(self.source.text[match.end() + 1:end - 1])
        self.blank(match.start(), end)
        if TYPE_NAME.match(argument):
            return f'alignof({argument})'
        return f'({argument})' if re.search('[<>,]', argument) else argument

    def variable(self, type_, start, end, dynamic):
        """Returns the C++ for one declarator."""
        match = DECLARATOR.match(self.rest[start:end])
        if not match or match[1].count('(') != len(match[4]):
            raise Untranslatable(ONE_TYPE_AND_NAMES)
        begin = start + match.start(3)
        suffix = without_comments(self.source.text[begin:end])
        unsized = re.match(r'\[\s*\]', suffix)
        if self.extern and not unsized:
            raise Untranslatable(f'extern __shared__ declares an array without a size: {match[2]}[]')
        if unsized and not self.extern:
            raise Untranslatable(f'__shared__ array without a size: give {match[2]} a size or write extern')
        prefix = ' '.join(match[1].split())
        whole = type_ + (' ' if prefix[:1].isalpha() or prefix[:1] == '(' else '') + prefix
        if self.extern:
            return dynamic.format(name=match[2], type=whole + suffix[unsized.end():].strip())
        alignment = f', {self.alignment}' if self.alignment else ''
        return f'auto& {match[2]} = ::cuda_emu::shared<{whole}{suffix}{alignment}>("{match[2]}", [] {{}})'

    def edits(self, dynamic='auto {name} = ::cuda_emu::dynamic_shared<{type}>("{name}")'):
        split = specifier_end(self.rest, self.start, self.end)
        type_ = ' '.join(self.rest[self.start:split].split())
        if re.search(r'''(?<!\w)['"]''', type_):  # its value is blanked
            raise Untranslatable('__shared__ declaration: give the type with a literal in it a name')
        declarators = split_at_commas(self.rest, split, self.end)
        variables = '; '.join(self.variable(type_, a, b, dynamic) for a, b in declarators)
        # line breaks in a macro keep their backslashes
        breaks = ''.join(re.findall(r'\\?\n', self.source.text[self.start:self.end]))
        return [(self.start, self.end, variables + breaks)]


SCOPE_WITHOUT_SHARED = re.compile(r'\b(?:namespace\b[\w:\s]*|(?:struct|class|union)\b[^;(){}=]*|extern\s*"\s*")$')


def open_braces(code, offset):
    """Returns the offsets of the { that enclose `offset`, outermost first."""
    opened = []
    for match in re.finditer('[{}]', code[:offset]):
        if match[0] == '{':
            opened.append(match.start())
        elif opened:
            opened.pop()
    return opened


def in_function(code, offset):
    """Returns whether the innermost { } around `offset` can be the body of a function."""
    opened = open_braces(code, offset)
    if not opened:
        return False
    head = 1 + max(code.rfind(c, 0, opened[-1]) for c in ';{}')
    return not SCOPE_WITHOUT_SHARED.search(code[head:opened[-1]].rstrip())


NEW_TYPE = re.compile(r'\s*(?:(?:__align__|alignas)\s*\(([^()]*)\)\s*)?\b(struct|union)'
                      r'(?:\s+(?:__align__|alignas)\s*\(([^()]*)\))?'
                      r'(?:\s+([A-Za-z_]\w*))?\s*\{')
ONE_NAME = re.compile(r'\s*([A-Za-z_]\w*)\s*(\[[^;]*\])?\s*;')


def new_type_edits(code, keyword):
    """Returns the edits for `__shared__ struct {...} s[2];`, which defines its type; None for other declarations."""
    begin = NEW_TYPE.match(code, keyword + len('__shared__'))
    if not begin:
        return None
    end = group_end(code, begin.end() - 1, len(code))
    variable = ONE_NAME.match(code, end)
    if not variable:
        raise Untranslatable(ONE_TYPE_AND_NAMES)
    name = begin[4] or f'{variable[1]}_type'
    alignment = f', {begin[1] or begin[3]}' if begin[1] or begin[3] else ''
    breaks = ''.join(c for c in code[keyword:begin.end()] + code[end:variable.end()] if c == '\n')
    shared = f'::cuda_emu::shared<{name}{variable[2] or ""}{alignment}>("{variable[1]}", [] {{}});'
    return [(keyword, begin.end(), f'{begin[2]} {name} {{'),
            (end, variable.end(), f'; auto& {variable[1]} = {shared}{breaks}')]


def shared_edits(source, keyword):
    new_type = new_type_edits(source.code, keyword)
    if source.in_define(keyword) or in_function(source.code, keyword):
        return new_type or SharedDeclaration(source, keyword).edits()
    declaration = None if new_type else SharedDeclaration(source, keyword)
    if not declaration or not declaration.extern:
        raise Untranslatable('__shared__ declaration outside a function: move it into the kernel')
    return declaration.edits('static ::cuda_emu::DynamicShared<{type}> {name}{{"{name}"}}')


# ---------------------------------------------------------------- variables of the device

DEVICE_VARIABLE = re.compile(r'(?<=[;{}])[^;{}()<>=]*\b__(?:constant|device)__\b[^;{}()=]*?([A-Za-z_]\w*)\s*'
                             r'((?:\[[^;{}\]]*\]\s*)*)(?=;|=|\{)')
NO_IMAGE = {'extern', 'const', 'constexpr', 'struct', 'class', 'union', 'typedef', 'using', 'template', 'managed'}


def image_edits(code, functions_of_file):
    """Returns the edits that register device variables, which host code may write only with cudaMemcpyToSymbol."""
    edits = []
    for match in DEVICE_VARIABLE.finditer(';' + code):
        end = match.end() - 1
        words = re.findall(r'\w+', match[0][:match.start(1) - match.start()])
        scope = any(f.body[0] <= end < f.body[1] for f in functions_of_file)
        if scope or NO_IMAGE & set(words) \
                or not [word for word in words if not word.startswith('__') and word not in ('static', 'inline')] \
                or ',' in re.sub(r'<[^;]*>', '', match[0]) or not in_namespace(code, end):
            continue
        try:
            semicolon = find_outside_brackets(code, end, ';')
        except Untranslatable:
            continue
        edits.append((semicolon, semicolon + 1, f'; static const ::cuda_emu::DeviceImage cuda_emu_image_{match[1]}'
                                                f'(&{match[1]}, sizeof {match[1]}, "{match[1]}");'))
    return edits


HOST_VARIABLE = re.compile(r'\s*((?:(?:::\s*)?[A-Za-z_][\w:]*(?:\s*<[^;=(){}]*>)?[\s*]+)+)([A-Za-z_]\w*)\s*'
                           r'((?:\[[^\]]*\]\s*)*)(?:=.*)?\Z', re.S)
ANOTHER = re.compile(r'[\s*]*([A-Za-z_]\w*)\s*((?:\[[^\]]*\]\s*)*)(?:=.*)?\Z', re.S)
NO_VARIABLE = set('typedef using namespace struct class union enum template friend operator static_assert concept asm '
                  '__device__ __constant__ __managed__ __shared__ __global__ __host__'.split())


def host_variables(code, functions_of_file, macros):
    """Returns host variables at namespace scope: {name: whether it is an array of constants}.

    Constant numbers are left out: device code may use them. In constant expressions it may use an element of an array
    of constants, too.
    """
    found, begin = {}, 0
    bodies = {function.body[0]: function.body[1] for function in functions_of_file}
    for match in re.finditer('[{};]', code):
        if match.start() < begin:  # in a body
            continue
        head, begin = code[begin:match.start()], match.end()
        if match[0] == ';':
            found.update(variables_of(head, macros))
        elif match[0] == '{' and not NAMESPACE_BEFORE.search(head):
            try:
                begin = bodies.get(match.start()) or group_end(code, match.start(), len(code))
            except Untranslatable:
                return found
            if match.start() not in bodies:  # perhaps an initial value
                found.update(variables_of(head.rstrip().rstrip('='), macros))
    return found


def variables_of(declaration, macros):
    words = set(re.findall(r'\w+', declaration.split('=')[0]))
    pieces = [declaration[a:b] for a, b in split_at_commas(declaration, 0, len(declaration))]
    first = HOST_VARIABLE.match(pieces[0])
    if not first or words & NO_VARIABLE or words & macros.keys():
        return {}
    constant = bool(re.search(r'\bconst\w*\b', first[1])) and ('*' not in first[1] or 'constexpr' in words)
    matches = [first] + [match for match in map(ANOTHER.match, pieces[1:]) if match]
    return {match.groups()[-2]: constant for match in matches if match.groups()[-1] or not constant}


def host_variable_use(code, begin, end, name, of_constants):
    """Returns the offset at which the device code (begin, end) uses the host variable, or None."""
    pattern = rf'(?<![\w.:])(?<!->){name}\b(?!\s*::)' + r'(?=\s*\[)' * of_constants
    for match in re.compile(pattern).finditer(code, begin, end):
        statement = code[1 + max(code.rfind(c, begin, match.start()) for c in ';{}'):match.start()]
        if not of_constants or not re.search(r'\bconst\w*\b|\bstatic_assert\b|\bcase\b|\w<(?!\s)[^<>;]*\Z', statement):
            return match.start()
    return None


NAMESPACE_BEFORE = re.compile(r'\b(?:namespace\b[\w:\s]*|extern\s*"\s*")\s*\Z')


def in_namespace(code, offset):
    """Returns whether only the { } of namespaces enclose the offset."""
    return all(NAMESPACE_BEFORE.search(code[:start])
               for start in open_braces(code, offset))


# ---------------------------------------------------------------- what the CPU backend does not have

UNSUPPORTED = [(re.compile(pattern), what, instead) for pattern, what, instead in (
    (r'\b(?:asm|__asm__|__asm)\s*(?:(?:volatile|__volatile__|goto)\s*)*\(', 'inline PTX (asm)',
     'call the intrinsic, such as __pipeline_memcpy_async of <cuda_pipeline.h> for cp.async'),
    (r'\bwgmma', 'wgmma', 'compute with float'),
    (r'\bcuda\s*::\s*ptx\b', 'cuda::ptx', 'use cuda::barrier, or __pipeline_memcpy_async of <cuda_pipeline.h>'),
    (r'\b(?:CUtensorMap|cp_async_bulk\w*|cuTensorMapEncode\w*)\b', 'TMA (bulk tensor copy)',
     'copy with __pipeline_memcpy_async of <cuda_pipeline.h>'),
    (r'\b(?:__cluster_dims__|cluster_group|this_cluster)\b', 'thread block clusters',
     'exchange data through global memory'),
    (r'\b(?:tex[123]D\w*\s*[<(]|cudaTextureObject_t|surf[123]D(?:read|write)|cudaSurfaceObject_t|cudaArray_t|'
     r'texture\s*<)',
     'textures and surfaces', 'read global memory, through const __restrict__ pointers or __ldg'),
    (r'\bcudaGraph(?:Exec)?_t\b|\bcudaStreamBeginCapture\b', 'CUDA graphs', 'launch the kernels one after another'),
    (r'\bcublasLtMatmul\b', 'cublasLtMatmul', 'call cublasSgemm or cublasGemmEx'),
    (r'\bcudaIpc\w+\b|\bcudaMemPool\w+\b|\bcuMem\w+\(|\bcudaExternal\w+\b',
     'sharing memory between processes and memory pools', 'use one process and cudaMalloc'))]
# Headers that are left out, and the names that they declare.
UNSUPPORTED_HEADER = [(re.compile(header + '$'), re.compile(names), instead) for header, names, instead in (
    (r'cuda/ptx', r'\bcuda\s*::\s*ptx\b', 'use cuda::barrier, or __pipeline_memcpy_async of <cuda_pipeline.h>'),
    (r'cub/[\w/.]+', r'\bcub\s*::\s*\w+|\bnamespace\s+cub\b', 'write the loop or the kernel yourself'),
    (r'thrust/[\w/.]+', r'\bthrust\s*::\s*\w+|\bnamespace\s+thrust\b', 'write the loop or the kernel yourself'),
    (r'cuda/(?!ptx$)[\w/.]+', r'\bcuda\s*::\s*(?:std\s*::\s*(?:chrono|span|optional|variant|complex|bit_cast|bitset|'
     r'mdspan|expected|inplace_vector|barrier|latch)|annotated_ptr|access_property|latch|(?:counting|binary)_semaphore|'
     r'proclaim_return_type|stream_ref|discard_memory)\b', 'write the loop or the kernel yourself'),
    (r'(?:cute|cutlass)/[\w/.]+', r'\b(?:cute|cutlass)\s*::\s*\w+|\bnamespace\s+(?:cute|cutlass)\b|'
     r'\b(?:CUTE|CUTLASS)_\w+', 'write the kernel without it'),
    (r'curand\w*\.h', r'\bcurand\w*', 'make random numbers on the host, or with a hash of the index'),
    (r'(?:cudnn|cufft|cusparse|cusolver|nccl|npp)\w*\.h', r'\b(?:cudnn|cufft|cusparse|cusolver|nccl|npp)[A-Z]\w*',
     'it is the library for a GPU alone: write the kernel yourself'),
    (r'nvrtc\.h|cudaTypedefs\.h', r'\bnvrtc\w+|\bPFN_\w+', 'compile the kernel with the program'),
    (r'cuda_fp[468]\.h', r'\b__nv_fp[468]\w*|\b__nv_cvt_\w+', 'use __half of <cuda_fp16.h> or __nv_bfloat16 of '
     '<cuda_bf16.h>'),
    (r'nvtx3/[\w/.]+|nvToolsExt\w*\.h', r'\bnvtx\w+', 'leave the marks of the profiler out'),
    (r'cuComplex\.h', r'\bcu(?:Float|Double)?Complex\b|\b(?:cuC|make_cu)\w+', 'write a struct of two floats'),
    (r'(?:cuda_)?(?:texture|surface)_\w+\.h', r'(?!)', 'read global memory'),  # UNSUPPORTED has their names
    (r'(?:nvml|cupti\w*)\.h', r'\b(?:nvml|cupti)[A-Z]\w*', 'leave it out: it is for a GPU alone'),
    (r'(?:torch|ATen|c10)/[\w/.]+', r'\b(?:torch|at|c10)\s*::\s*\w+|\b(?:TORCH|C10|AT)_\w+|\bPYBIND11_MODULE\b',
     'give the kernel a main() or a launch function without PyTorch'))]
OWN_HEADERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'include')


def is_left_out(header):
    return any(pattern.match(header) for pattern, _, _ in UNSUPPORTED_HEADER) \
        and not os.path.exists(os.path.join(OWN_HEADERS, header))


def advice(what, instead):
    return f'{what}: the CPU backend cannot run this; {instead}, or guard the code with #ifndef CUDA_EMU'


# ---------------------------------------------------------------- one file

INCLUDE = re.compile(r'\s*([<"])([^">\n]+)[">]')


VOID_POINTER = r'(?:const\s+)?void\s*(?:const\s*)?\*\s*'
VOID_CAST = re.compile(rf'\(\s*{VOID_POINTER}\)\s*(?=[&(]?\s*(?:::\s*)?[A-Za-z_])|'
                       rf'\breinterpret_cast\s*<\s*{VOID_POINTER}>\s*(?=\()')
LAUNCH_FUNCTION = re.compile(r'\bcudaLaunch(?:Cooperative)?Kernel\s*\(\s*$')


def kernel_address_edits(code, kernels):
    """Returns the edits for `(void*)kernel`. A launch needs the kernel's type, which the cast removes."""
    edits = []
    for match in VOID_CAST.finditer(code):
        operand = end = re.compile(r'[\s&]*').match(code, match.end()).end()
        try:
            if code[operand] == '(':
                end = group_end(code, operand, len(code))
            else:
                end = name_end(code, operand, len(code))
                while code[end] in '([' or code.startswith(('.', '->'), end):  # table[i], p->kernel
                    end = group_end(code, end, len(code)) if code[end] in '([' else \
                        name_end(code, end + 1 + (code[end] == '-'), len(code))
        except Untranslatable:
            continue
        name = re.search(r'(\w+)\s*(?:<.*>)?[\s)]*$', code[operand:end], re.S)
        if name and name[1] in kernels or matches_before(LAUNCH_FUNCTION, code, match.start()) is not None:
            breaks = spaces(match[0]).replace(' ', '')
            edits += [(match.start(), match.end(), '::cuda_emu::kernel_address(' + breaks), (end, end, ')')]
    return edits


class Source:
    """One file: its text, the same text made searchable, and the edits."""

    def __init__(self, path, defined):
        self.path = path
        with open(path, encoding='utf-8-sig', errors='surrogateescape') as file:
            self.text = file.read()
        self.errors = []
        self.edits = []
        self.directives = []  # offsets of the ';' that `code` has in place of each
        self.defines = []   # ranges of #define lines
        self.includes = []  # (start, end, name, whether in quotes)
        self.found = []     # (start, end, path) of the includes that were found
        self.code = self.searchable(defined)
        self.translate()

    def searchable(self, defined):
        """Returns the text with the same offsets, and spaces for comments, literals, directives and removed code.

        A directive and the end of a macro's body become ';', because no declaration extends across them.
        """
        code = LEXEME.sub(blank_lexeme, self.text)
        conditionals = Conditionals(defined)
        pieces, done = [], 0
        for match in DIRECTIVE.finditer(code):
            between = code[done:match.start()]
            pieces.append(between if conditionals.active else spaces(between))
            conditionals.step(match[1], match[2])
            pieces.append(self.directive(match) if conditionals.active else spaces(match[0]))
            done = match.end()
            if match[1] == 'define' and done < len(code):
                pieces.append(';')  # replaces the line break
                done += 1
        pieces.append(code[done:] if conditionals.active else spaces(code[done:]))
        return ''.join(pieces).replace('\\\n', ' \n')

    def directive(self, match):
        """Returns the text that `searchable` puts in place of an active directive."""
        if match[1] == 'include':
            self.include(match.start(2), match.end(2))
        self.directives.append(match.start())
        if match[1] != 'define':
            return ';' + spaces(match[0])[1:]
        self.defines.append((match.start(), match.end()))
        head = DEFINE_HEAD.match(match[2])
        body = match[2][head.end() if head else 0:]
        return ';' + spaces(match[0][:len(match[0]) - len(body)])[1:] + body

    def include(self, start, end):
        match = INCLUDE.match(self.text, start, end)
        if match:
            self.includes.append((match.start(1), match.end(2) + 1, match[2], match[1] == '"'))

    def leave_out(self, start, end):
        """Removes the #include whose header is named at (start, end)."""
        start = self.text.rindex('#', 0, start)
        self.edits.append((start, end, spaces(self.text[start:end])))

    def in_define(self, offset):
        return any(start <= offset < end for start, end in self.defines)

    def across_directives(self):
        """Returns `code` without the ';' of directives other than #define: argument lists may contain directives."""
        code = list(self.code)
        for start in set(self.directives) - {start for start, _ in self.defines}:
            code[start] = ' '
        return ''.join(code)

    def line(self, offset):
        return self.text.count('\n', 0, offset) + 1

    def error(self, offset, message):
        line, column = self.line(offset), offset - self.text.rfind('\n', 0, offset)
        self.errors.append((line, column, f'{self.path}:{line}:{column}: error: {message}'))

    def attempt(self, offset, make_edits, *arguments):
        try:
            self.edits += make_edits(*arguments)
        except Untranslatable as problem:
            kind = 'kernel launch: ' if make_edits is launch_edits else ''
            self.error(offset, f'{kind}{problem}')

    def translate(self):
        for match in re.finditer('<<<', self.code):
            self.attempt(match.start(), launch_edits, self, match.start())
        handled = 0  # end of the last declaration, which may contain `__shared__` twice
        for match in re.finditer(r'\b__shared__\b', self.code):
            if match.start() >= handled:
                self.attempt(match.start(), shared_edits, self, match.start())
                handled = match.end()
        # inside an attribute __noinline__ needs no change
        for match in re.finditer(r'__attribute__\s*\(\(.*?\)\)|\b__noinline__\b', self.code):
            if match[0] == '__noinline__':
                self.edits.append((match.start(), match.end(), '__attribute__((noinline))'))

    def rewritten(self, edits):
        pieces, done = [], 0
        for start, end, replacement in sorted(edits):
            pieces += [self.text[done:start], replacement]
            done = end
        escaped = self.path.replace('\\', '\\\\').replace('"', '\\"')
        return f'#line 1 "{escaped}"\n' + ''.join(pieces) + self.text[done:]


# ---------------------------------------------------------------- functions

NOT_A_FUNCTION = re.compile(r'\b(?:namespace|struct|class|union|enum|operator)\b|=')
PARENTHESES = re.compile(r'\([^()]*\)')
SKIPPED_GROUP = re.compile(r'\b(?:__launch_bounds__|__attribute__|__declspec|alignas|__align__|__maxnreg__|decltype|'
                           r'noexcept)\s*\(')
LAUNCH_BOUNDS = re.compile(r'\b__launch_bounds__\s*(?=\()')
# Functions that kernels often use although nvcc 13.0 rejects them in device code. constexpr functions are included,
# because we do not compile with --expt-relaxed-constexpr. std::move, std::forward, type traits and <cmath> are allowed.
HOST_ONLY = [(re.compile(pattern), instead) for pattern, instead in (
    (r'(?<!:)\bstd\s*::\s*(?:max|min)\b(?=\s*[<(])', 'write max, min, fmaxf or fminf without std::'),
    (r'(?<!:)\bstd\s*::\s*clamp\b', 'write min(max(x, low), high)'),
    (r'(?<!:)\bstd\s*::\s*(?:swap|exchange)\b', 'assign by way of a variable'),
    (r'(?<!:)\bstd\s*::\s*numeric_limits\s*<[^;<>]*>\s*::\s*'
     r'(?:max|min|lowest|infinity|quiet_NaN|epsilon|denorm_min)\b(?=\s*\()',
     'use INFINITY or NAN, the constants of <cfloat> and <climits>, or cuda::std::numeric_limits of <cuda/std/limits>'),
    (r'(?<!:)\bstd\s*::\s*(?:pair|tuple|complex|plus|minus|multiplies|less|greater|equal_to|bitset|optional)\b\s*'
     r'(?:<[^;(){}]*>)?\s*(?:\b[A-Za-z_]\w*\s*)?[({;]', 'write a struct or a function of your own'),
    (r'(?<!:)\bstd\s*::\s*(?:make_pair|make_tuple|tie|get|array|begin|end|size|data|distance|gcd|lcm|addressof|'
     r'as_const)\b(?=\s*[<(])', 'use arrays and plain code'),
    (r'(?<!:)\bstd\s*::\s*(?:vector|string|cout|cerr|endl|map|set|unordered_map|unordered_set|list|deque|function|'
     r'sort|stable_sort|nth_element|partial_sort|accumulate|reduce|inner_product|iota|fill|fill_n|copy|copy_n|reverse|'
     r'transform|for_each|lower_bound|upper_bound|minmax|max_element|min_element|unique_ptr|shared_ptr|make_unique|'
     r'make_shared|thread|mutex|atomic|mt19937|random_device|rand|exit|abort)\b|\b(?:throw|try)\b',
     'use arrays and plain code'))]
# Functions of C, without std::.
HOST_ONLY_C = {'fprintf': 'use printf', 'puts': 'use printf', 'exit': 'call __trap()', 'abort': 'call __trap()',
               'strlen': 'use arrays and plain code', 'rand': 'hash the index, or make random numbers on the host'}
# Names of library functions for host and device. A call may be to these even if the program defines an overload.
LIBRARY = set('max min swap abs clamp exchange move sort fill copy reduce accumulate sqrt rsqrt cbrt exp exp2 log log2 '
              'pow sin cos tan tanh erf floor ceil round fabs fma fmod hypot isnan isinf'.split())
OTHER_NAMES = re.compile(r'\busing\s+namespace\s+(?!std\b|cooperative_groups\b|cg\b|nvcuda\b)')
UNEVALUATED = re.compile(r'\b(?:sizeof|decltype|noexcept|alignof)\s*(?=\()')


def without_unevaluated(code, begin, end):
    """Returns `code` with sizeof(...) and the like blanked from `begin` to `end`: nvcc accepts any name in them."""
    for match in UNEVALUATED.finditer(code, begin, end):
        try:
            after = group_end(code, match.end(), end)
        except Untranslatable:  # branches of #if
            continue
        code = code[:match.start()] + spaces(code[match.start():after]) + code[after:]
    return code


REFERENCE = re.compile(r'[^(=]*?(?:&\s*(?:__restrict__\s*)?([A-Za-z_]\w*)|\(\s*&+\s*([A-Za-z_]\w*)\s*\))')


def without_template(head):
    """Returns the head of a function or class without `template <...>`."""
    while match := re.match(r'\s*template\s*(?=<)', head):
        head = head[group_end(head, match.end(), len(head)):]
    return head


class Function:
    """A function definition. `head` and `body` are ranges of the source's code."""

    def __init__(self, code, head, body, macros):
        self.head, self.body = head, body
        text = code[head[0]:head[1]]
        words = set(re.findall(r'\w+', text))
        self.qualifiers = words & {'__global__', '__device__', '__host__', 'constexpr'}
        for word in words & macros.keys():
            self.qualifiers |= macros[word]
        plain = without_template(text)
        while SKIPPED_GROUP.search(plain):
            group = SKIPPED_GROUP.search(plain)
            plain = plain[:group.start()] + plain[group_end(plain, group.end() - 1, len(plain)):]
        match = re.search(r'([A-Za-z_]\w*)\s*\(', plain)
        self.name = match[1] if match and match[1] != 'constexpr' and not STATEMENT_WORD.match(match[1]) else ''
        self.kernel = '__global__' in self.qualifiers
        self.device = '__device__' in self.qualifiers or self.kernel

    @property
    def device_only(self):
        return self.device and '__host__' not in self.qualifiers


def reference_parameters(head, name):
    """Returns the names of the reference parameters of function `name`."""
    opening = re.search(rf'\b{name}\s*\(', head).end() - 1
    parameters = head[opening + 1:group_end(head, opening, len(head)) - 1]
    while re.search(r'<[^<>]*>', parameters):
        parameters = re.sub(r'<[^<>]*>', '', parameters)
    found = []
    for start, end in split_at_commas(parameters, 0, len(parameters)):
        match = REFERENCE.match(parameters, start, end)
        found += [match[1] or match[2]] if match else []
    return found


def functions(code, macros):
    """Returns the functions that `code`, without the bodies of macros, defines; not those in classes or functions."""
    found, scopes, begin, body = [], [], 0, None
    for match in re.finditer(r'[{};]|^[ \t]*(?:public|private|protected)\s*:', code, re.M):
        if match[0] == '{':
            try:
                head = without_template(code[begin:match.start()])
            except Untranslatable:
                head = ''
            while PARENTHESES.search(head):  # default arguments, struct S* s
                head = PARENTHESES.sub('[]', head)
            if body is None and '[]' in head and not NOT_A_FUNCTION.search(head) and 'class' not in scopes:
                body = (len(scopes), begin, match.start())
            scopes.append('class' if re.search(r'\b(?:struct|class|union|enum)\b', head) else 'other')
        elif match[0] == '}' and scopes:
            scopes.pop()
            if body is not None and body[0] == len(scopes):
                try:
                    function = Function(code, body[1:], (body[2], match.end()), macros)
                    found += [function] * bool(function.name)
                except Untranslatable:
                    pass
                body = None
        begin = match.end()
    return found


TYPE_BEFORE = re.compile(r'\s*(?:(?:::\s*)?[A-Za-z_][\w:]*(?:\s*<[^;(){}]*>)?(?:\s*\([\w\s]*\))?[\s*&]+)+\Z')
NO_TYPE = re.compile(r'\s*(?:return|else|do|case|goto|throw)\b')
BINDS = re.compile(r'\b(?:for|if|while|switch|catch)\s*\Z|\]\s*\Z')  # before the ( or [ of a declaration


def declares(name, head, body):
    """Returns whether a function may declare the name itself, as a parameter, a variable or an enumerator."""
    if re.search(rf'\b{name}\b', head) or re.search(rf'\benum\b[^;{{}}]*\{{[^{{}}]*\b{name}\b|'
                                                    rf'\bauto\b[\s&]*\[[^\]]*\b{name}\b[^\]]*\]', body):
        return True
    for match in re.finditer(rf'\b{name}\b', body):
        begin, depth = match.start(), 0
        while begin > 0 and (depth > 0 or body[begin - 1] not in ';{}([') and body[begin - 1] != ';':
            begin -= 1
            depth += (body[begin] in ')]') - (body[begin] in '([')
        if body[begin - 1:begin] in ('(', '[') and not BINDS.search(body[max(0, begin - 20):begin - 1]):
            continue
        pieces = [body[a:b] for a, b in split_at_commas(body, begin, match.start())]
        first, last = re.split('=(?!=)', pieces[0])[0] + ' ', pieces[-1]
        several = len(pieces) > 1 and not last.strip(' \n*&') and TYPE_BEFORE.match(re.sub(r'\[.*', '', first))
        if (several and len(first.split()) > 1 or TYPE_BEFORE.match(last)) and not NO_TYPE.match(pieces[0]):
            return True
    return False


WHILE = re.compile(r'\bwhile\s*(?=\()')
EMPTY_BODY = re.compile(r'\s*(?:;|\{(?:\s*(?:__threadfence\w*\s*\(\s*\)|continue)\s*;)*\s*\})')


def spin_edits(code, begin, end):
    """Returns the edits for loops that only wait, `while (*flag == 0);`. They must let other threads run."""
    edits = []
    for match in WHILE.finditer(code, begin, end):
        after = group_end(code, match.end(), end)
        before = trim(code, match.start())
        if code[before - 1] == '}' and re.search(r'\bdo\s*$', code[begin:group_start(code, before - 1)]):
            body = group_start(code, before - 1)
            if re.search(r'\bvolatile\b|\b__ldc[vg]\b', code[body:after]):
                edits.append((body, body + 1, '{ ::cuda_emu::yield();'))
            continue
        body = EMPTY_BODY.match(code, after, end)
        if body and body[0].strip() == ';':
            edits.append((body.end() - 1, body.end(), ' { ::cuda_emu::yield(); }'))
        elif body:
            opening = code.index('{', after)
            edits.append((opening, opening + 1, '{ ::cuda_emu::yield();'))
    return edits


# ---------------------------------------------------------------- a program: one source and its headers

CALL = re.compile(r'(?<![\w.:>&#])([A-Za-z_]\w*)\s*(?:<[^<>;{}()]*>\s*)?\(')
DECLARED = re.compile(r'\w\s+\Z')
CUDA_WORD = re.compile(r'<<<|__shared__|__global__|__device__|__launch_bounds__|__noinline__')
INCLUDE_LINE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^">\n]+)[">]', re.M)


class Program:
    def __init__(self, source, output, defined, include_dirs):
        self.output = output
        self.defined = defined
        self.include_dirs = include_dirs
        self.sources = {}  # by real path, in the order found; the main source first
        self.cuda_headers = {}  # real path of a header not named .cuh -> whether it must be read
        self.left_out = []  # names of headers that the CPU backend does not have
        self.main = self.load(source)
        self.check_unsupported()
        self.check_functions()

    def check_unsupported(self):
        for source in self.sources.values():
            for pattern, what, instead in UNSUPPORTED:
                for match in pattern.finditer(source.code):
                    if self.is_used(source, match.start()):
                        source.error(match.start(), advice(what, instead))
        for pattern, names, instead in UNSUPPORTED_HEADER:
            header = next((name for name in self.left_out if pattern.match(name)), None)
            for source in self.sources.values() if header else ():
                seen = {}
                for match in names.finditer(source.code):
                    if self.is_used(source, match.start()):
                        seen.setdefault(re.sub(r'\s*::\s*', '::', ' '.join(match[0].split())), match.start())
                for name, at in seen.items():
                    source.error(at, advice(f'{name} of <{header}>', instead))

    def is_used(self, source, offset):
        """Returns whether the code at the offset is outside of macros, or in a macro that is used."""
        for start, end in source.defines:
            if start <= offset < end:
                name = re.compile(rf'\b{DEFINED_NAME.match(source.text, start)[1]}\b')
                return any(name.search(other.code) for other in self.sources.values())
        return True

    def check_functions(self):
        """Reports code that only nvcc would reject, and adds the first statements of kernels (launch bounds etc.)."""
        macros, defined, declared, of_device = {}, {}, set(), set()
        for source in self.sources.values():
            for start, end in source.defines:
                text = source.text[start:end]
                name = DEFINED_NAME.match(text)
                macros[name[1]] = set(re.findall(r'\b(?:__global__|__device__|__host__|constexpr)\b', text))
        for source in self.sources.values():
            code = list(source.code)
            for start, end in source.defines:
                code[start:end] = spaces(source.code[start:end])
            for start in source.directives:
                code[start] = ' '
            source.plain = code = ''.join(code)
            defined[source] = functions(code, macros)
            declared |= set(re.findall(r'__(?:device|global)__[^;{}()]*?\b(\w+)\s*\(', code))
            of_device |= set(re.findall(r'\b(\w+)\s*(?=[;=,\[{])', ' '.join(
                re.findall(r'\b__(?:constant|device|managed|shared)__\b[^;(){}]*[;{=]', code))))
        every = [function for found in defined.values() for function in found]
        self.names = names = {function.name for function in every} | declared | macros.keys()
        # a function that launches a kernel often has its name
        kernels = {f.name for f in every if f.kernel}
        self.kernels = kernels - {f.name for f in every if not f.kernel}
        device = {f.name for f in every if f.device}
        self.of_host = {f.name for f in every} - device - declared - macros.keys() - LIBRARY
        self.of_device = device - {f.name for f in every if f.kernel or not f.device_only} - macros.keys() - LIBRARY
        self.variables = {}
        for source, found in defined.items():
            self.variables.update(host_variables(source.plain, found, macros))
        for name in names | of_device:
            self.variables.pop(name, None)
        for source, found in defined.items():
            source.edits += image_edits(source.plain, found) + kernel_address_edits(source.code, kernels)
            for function in found:
                self.check_function(source, function)

    def check_function(self, source, function):
        code, (begin, end) = source.plain, function.body
        head = code[function.head[0]:function.head[1]]
        if function.kernel and not re.search(r'\b(?:void|auto)\b', head):
            source.error(function.head[1], f'kernel {function.name}: a kernel returns void')
        bounds, first_statements = LAUNCH_BOUNDS.search(head), ''
        if bounds and function.kernel:
            first = function.head[0] + bounds.end()
            # All arguments together, because a comma may belong to a template: Shape<D, 4>::kThreads.
            arguments = ' '.join(code[first + 1:group_end(code, first, function.head[1]) - 1].split())
            first_statements = f' ::cuda_emu::launch_bounds({arguments});'
        if function.kernel:
            first_statements += ''.join(f' ::cuda_emu::reference_parameter("{name}");'
                                        for name in reference_parameters(head, function.name))
        if first_statements:
            source.edits.append((begin, begin + 1, '{' + first_statements))
        if function.device:
            source.edits += spin_edits(code, begin, end)
        code = without_unevaluated(code, begin, end)
        local = head + code[begin:end]

        def calls(names):
            for match in CALL.finditer(code, begin, end):
                name = match[1]
                if name not in names:
                    continue
                before = code[max(begin, match.start() - LONGEST_NAME):match.start()]
                declared = before[-1:].isspace() and DECLARED.search(before)
                if declared and matches_before(STATEMENT_WORD, code, trim(code, match.start())) is None:
                    continue
                if not re.search(rf'\w[\s*&]+{name}\s*[=;,)\[{{]', local):  # a parameter or a variable
                    yield match.start(), name

        for at, name in calls(self.kernels):
            source.error(at, f'kernel {name} is called like a function: launch it, {name}<<<grid, block>>>(...)')
        elsewhere = re.search(r'__(?:device|global)__', local) or OTHER_NAMES.search(code)
        if not function.device and not elsewhere:
            for at, name in calls(self.of_device):
                source.error(at, f'{function.name} runs on the host and calls {name}, a function of the device: '
                                 f'write __host__ __device__ before {name}')
        if not function.device_only:
            return
        for at, name in calls(self.of_host):
            source.error(at, f'{function.name} runs on the device and calls {name}, a function of the host: '
                             f'write __device__ before {name}')
        here = f'{function.name} runs on the device, where'
        for pattern, instead in HOST_ONLY:
            for match in pattern.finditer(code, begin, end):
                what = re.sub(r'[^>]*[({;]$|<.*>(?!:)', '', ''.join(match[0].split()))
                source.error(match.start(), f'{here} {what} does not exist: {instead}')
        for at, name in calls(HOST_ONLY_C.keys() - self.names):
            source.error(at, f'{here} {name} does not exist: {HOST_ONLY_C[name]}')
        for name, of_constants in self.variables.items():
            use = host_variable_use(code, begin, end, name, of_constants)
            if use and not declares(name, head, code[begin:end]):
                source.error(use, f'{here} {name} does not exist, a variable of the host: ' +
                             ('write __constant__ before it' if of_constants else 'pass its value to the kernel'))

    def load(self, path):
        """Reads `path` and the .cu and .cuh files that it includes. Returns its real path."""
        key = os.path.realpath(path)
        if key in self.sources:
            return key
        source = self.sources[key] = Source(path, self.defined)
        for start, end, name, quoted in source.includes:
            header = self.find(name, path, quoted)
            if header and (header.endswith(('.cu', '.cuh')) or self.has_cuda(header)):
                source.found.append((start, end, header))
                self.load(header)
            elif header and quoted:
                source.found.append((start, end, header))
            elif not header and is_left_out(name):
                source.leave_out(start, end)
                self.left_out.append(name)
        return key

    def has_cuda(self, header):
        """Returns whether a header not named .cuh needs translation, or includes one that does."""
        key = os.path.realpath(header)
        if key not in self.cuda_headers:
            self.cuda_headers[key] = False  # if it includes itself
            with open(header, encoding='utf-8', errors='surrogateescape') as file:
                text = file.read()
            included = [(name, self.find(name, header, quote == '"')) for quote, name in INCLUDE_LINE.findall(text)]
            self.cuda_headers[key] = bool(CUDA_WORD.search(text)) or any(
                path.endswith(('.cu', '.cuh')) or self.has_cuda(path) if path else is_left_out(name)
                for name, path in included)
        return self.cuda_headers[key]

    def find(self, name, includer, quoted):
        for directory in [os.path.dirname(includer)] * quoted + self.include_dirs:
            path = os.path.normpath(os.path.join(directory, name))
            if os.path.isfile(path):
                return path
        return None

    def copied(self):
        """Returns the real paths of the headers that need a translated copy: those with edits, and their includers."""
        copies = {key for key, source in self.sources.items() if source.edits} - {self.main}
        while True:
            more = {key for key, source in self.sources.items()
                    if any(os.path.realpath(header) in copies for _, _, header in source.found)}
            if more <= copies | {self.main}:
                return copies
            copies |= more - {self.main}

    def write(self):
        copies = self.copied()
        folder = os.path.abspath(self.output) + '.headers'
        place = {key: os.path.join(folder, f'{number}_{os.path.basename(key)}')  # two headers may share a name
                 for number, key in enumerate(self.sources) if key in copies}

        def translated(source):
            includes = [(start, end, f'"{place.get(os.path.realpath(header), os.path.abspath(header))}"')
                        for start, end, header in source.found]
            return source.rewritten(source.edits + includes)

        digest = hashlib.sha256()
        for key in place:
            header = translated(self.sources[key])
            digest.update(header.encode('utf-8', 'surrogateescape'))
            write_if_changed(place[key], header)
        # nvcc includes this header implicitly. The last line changes with the copied headers: Ninja has read their
        # times before this translation runs, so it would compile only if the output changes, too.
        write_if_changed(self.output, '#include <cuda_runtime.h>\n' + translated(self.sources[self.main]) +
                         (f'\n// headers: {digest.hexdigest()}\n' if place else ''))
        write_if_changed(self.output + '.d', self.depfile())

    def depfile(self):
        def escape(path):
            return path.replace('\\', '\\\\').replace(' ', '\\ ').replace('#', '\\#').replace('$', '$$')
        files = [source.path for source in self.sources.values()]
        return f'{escape(self.output)}:' + ''.join(f' \\\n  {escape(path)}' for path in files) + '\n'

    def errors(self):
        return [message for source in self.sources.values() for _, _, message in sorted(source.errors)]


def write_if_changed(path, text):
    """Writes the file in one step, so no process reads half of it."""
    data = text.encode('utf-8', 'surrogateescape')
    try:
        with open(path, 'rb') as file:
            if file.read() == data:
                return
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path) or '.', exist_ok=True)
    temporary = f'{path}.{os.getpid()}'
    with open(temporary, 'wb') as file:
        file.write(data)
    os.replace(temporary, path)


def main(arguments=None):
    parser = argparse.ArgumentParser(description='Translate a .cu file into C++ for the CPU backend.')
    parser.add_argument('-D', dest='defined', action='append', default=[], metavar='NAME',
                        help='a macro that the compiler will define; CUDA_EMU and those of nvcc always are')
    parser.add_argument('-I', dest='include_dirs', action='append', default=[], metavar='DIR',
                        help='where quoted includes are searched after the folder of the including file')
    parser.add_argument('source', help='the .cu file')
    parser.add_argument('output', help='the C++ file to write; OUTPUT.d and OUTPUT.headers/ go beside it')
    options = parser.parse_args(arguments)
    defined = {'CUDA_EMU', '__CUDACC__', '__NVCC__', '__CUDA_ARCH__'} | {name.split('=')[0] for name in options.defined}
    try:
        program = Program(options.source, options.output, defined, options.include_dirs)
        errors = program.errors()
        if not errors:
            program.write()
    except OSError as problem:
        errors = [f'{problem.filename}: error: {problem.strerror}']
    for message in errors:
        print(message, file=sys.stderr)
    return 1 if errors else 0


if __name__ == '__main__':
    sys.exit(main())
