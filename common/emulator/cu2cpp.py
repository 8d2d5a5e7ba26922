#!/usr/bin/env python3
"""Translate CUDA C++ into C++ for the CPU backend: cu2cpp.py [-D NAME]... [-I DIR]... SOURCE OUTPUT

Only what a C++ compiler cannot parse is rewritten:

    k<T, 32><<<grid, block, smem, stream>>>(a, b)
        ::cuda_emu::launch("k<T, 32>", [&](auto... cuda_emu_a) { k<T, 32>(cuda_emu_a...); },
                           ::cuda_emu::config(grid, block, smem, stream), a, b)
    __shared__ float As[BM][BK + 1];     auto& As = ::cuda_emu::shared<float[BM][BK + 1]>([] {});
    __shared__ alignas(16) float q[8];   auto& q = ::cuda_emu::shared<float[8], 16>([] {});
    extern __shared__ T x[][33];         auto x = ::cuda_emu::dynamic_shared<T[33]>();
    __noinline__                         __attribute__((noinline))

Every edit keeps the newlines it covers, so one #line at the top makes compiler messages, sanitizers,
__FILE__, __LINE__ and gdb name the original file.

Quoted includes of .cu and .cuh files are followed, first beside the including file, then in each -I DIR.
A header that needs a change, or includes one that does, is copied to OUTPUT.headers/, a folder no other
output shares, and the include names the copy; every other include that was found names the original. OUTPUT ends
with a digest of the copies, so that it changes where only a copy does.
OUTPUT.d lists the files read, for make or Ninja.

What cannot be translated or does not run on a CPU (inline PTX, TMA, clusters, ...) is an error, except in
code that #ifdef CUDA_EMU, #ifndef CUDA_EMU (or a NAME given with -D) or #if 0 removes.
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
    r'''|(?P<number>\b\d[\w.]*(?:'[\w.]+)+)''', re.S)  # 1'000, whose quote starts no literal


def spaces(text):
    return re.sub(r'[^\n]', ' ', text)


def blank_lexeme(match):
    if match['comment']:
        return spaces(match[0])
    if match['number']:
        return match[0]
    return match[0][0] + spaces(match[0][1:-1]) + match[0][-1]


def without_comments(text):
    """The text on one line, literals kept."""
    text = LEXEME.sub(lambda m: ' ' if m['comment'] else m[0], text)
    return ' '.join(text.replace('\\\n', ' ').split())


# ---------------------------------------------------------------- preprocessor

DIRECTIVE = re.compile(r'^[ \t]*#[ \t]*(\w*)((?:\\\n|[^\n])*)', re.M)
DEFINE_HEAD = re.compile(r'\s*\w+(?:\([^)]*\))?')
DEFINED = re.compile(r'\s*(!?)\s*defined\s*\(?\s*(\w+)\s*\)?\s*$')


def condition(kind, rest, defined):
    """True or False where #if/#ifdef/#ifndef can be told from `defined` alone, else None: keep both branches."""
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
        self.stack = []  # per open #if: True, False, None where unknown, 'done' after the branch that is taken

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
    """Offset of the first `token` from `start` on that no bracket encloses."""
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
    """The (start, end) ranges between commas that no bracket encloses."""
    ranges, depth, begin = [], 0, start
    for i in range(start, end):
        depth += (code[i] in '([{') - (code[i] in ')]}')
        if code[i] == ',' and depth == 0:
            ranges.append((begin, i))
            begin = i + 1
    return ranges + [(begin, end)]


def group_start(code, last):
    """Offset of the bracket that the one at `last` closes. < and > are brackets only directly inside < >."""
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
    """Offset just after the bracket that closes the one at `first`."""
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
    """`end` moved back over white space."""
    while end > 0 and code[end - 1].isspace():
        end -= 1
    return end


# ---------------------------------------------------------------- kernel launches

STATEMENT_WORD = re.compile(r'\b(?:return|else|do|if|while|for|switch|case)\s*$')
NAME_BEFORE = re.compile(r'(?:\btemplate\s+)?\b[A-Za-z_]\w*$')
QUALIFIER_BEFORE = re.compile(r'(?:::|\.|->)$')
LONGEST_NAME = 400  # how far back the regular expressions above look


def matches_before(pattern, code, end):
    begin = max(0, end - LONGEST_NAME)
    match = pattern.search(code[begin:end])
    return begin + match.start() if match else None


def continues_to_the_left(code, i):
    """Whether the text before i can be part of the same name or call."""
    i = trim(code, i)
    return i > 0 and (code[i - 1].isalnum() or code[i - 1] in '_>])') and matches_before(STATEMENT_WORD, code, i) is None


def kernel_start(code, end):
    """Start of the expression that ends at `end` and names the kernel: ns::k<...>, p->f, table[i], (*f), get(x)."""
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


def launch_edits(code, opening):
    """Edits for the launch whose <<< is at `opening`."""
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
    start = kernel_start(code, opening)
    label = ' '.join(code[start:opening].replace('"', ' ').split())
    return [(start, start, f'::cuda_emu::launch("{label}", [&](auto... cuda_emu_a) {{ '),
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
    """Offset after the type that a declaration starts with: qualifiers and one name or arithmetic type."""
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
    """Offset after a::b<...>::c or decltype(...)."""
    match = NAME_PART.match(code, start, end)
    if not match:
        raise Untranslatable(ONE_TYPE_AND_NAMES)
    i = match.end()
    group = re.compile(r'\s*\(' if match[0].strip() == 'decltype' else r'\s*<').match(code, i, end)
    if group:
        i = group_end(code, group.end() - 1, end)
    return name_end(code, i, end) if re.compile(r'\s*::').match(code, i, end) else i


class SharedDeclaration:
    """One declaration around the word __shared__ at `keyword`, in `code` with comments blanked."""

    def __init__(self, source, keyword):
        code = source.code
        self.source = source
        self.end = find_outside_brackets(code, keyword, ';')
        before = 1 + max(code.rfind(c, 0, keyword) for c in ';{}')
        self.start = before + len(code[before:keyword]) - len(code[before:keyword].lstrip())
        # what has been understood is blanked, so that type and names remain
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

    def variable(self, type_, start, end):
        """The C++ for one declarator."""
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
            return f'auto {match[2]} = ::cuda_emu::dynamic_shared<{whole}{suffix[unsized.end():].strip()}>()'
        alignment = f', {self.alignment}' if self.alignment else ''
        return f'auto& {match[2]} = ::cuda_emu::shared<{whole}{suffix}{alignment}>([] {{}})'

    def edits(self):
        split = specifier_end(self.rest, self.start, self.end)
        type_ = ' '.join(self.rest[self.start:split].split())
        if re.search(r'''(?<!\w)['"]''', type_):  # its value is blanked
            raise Untranslatable('__shared__ declaration: give the type with a literal in it a name')
        declarators = split_at_commas(self.rest, split, self.end)
        variables = '; '.join(self.variable(type_, a, b) for a, b in declarators)
        # in a macro the line breaks need their backslashes
        breaks = ''.join(re.findall(r'\\?\n', self.source.text[self.start:self.end]))
        return [(self.start, self.end, variables + breaks)]


SCOPE_WITHOUT_SHARED = re.compile(r'\b(?:namespace\b[\w:\s]*|(?:struct|class|union)\b[^;(){}=]*|extern\s*"\s*")$')


def in_function(code, offset):
    """Whether the innermost { } around `offset` can be the body of a function."""
    opened = []
    for match in re.finditer('[{}]', code[:offset]):
        if match[0] == '{':
            opened.append(match.start())
        elif opened:
            opened.pop()
    if not opened:
        return False
    head = 1 + max(code.rfind(c, 0, opened[-1]) for c in ';{}')
    return not SCOPE_WITHOUT_SHARED.search(code[head:opened[-1]].rstrip())


def shared_edits(source, keyword):
    if not source.in_define(keyword) and not in_function(source.code, keyword):
        raise Untranslatable('__shared__ declaration outside a function: move it into the kernel')
    return SharedDeclaration(source, keyword).edits()


# ---------------------------------------------------------------- what the CPU backend does not have

UNSUPPORTED = [(re.compile(pattern), what) for pattern, what in (
    (r'\b(?:asm|__asm__|__asm)\s*(?:(?:volatile|__volatile__|goto)\s*)*\(', 'inline PTX (asm)'),
    (r'\bwgmma', 'wgmma'),
    (r'\bcuda\s*::\s*ptx\b', 'cuda::ptx'),
    (r'\b(?:CUtensorMap|cp_async_bulk\w*|cuTensorMapEncode\w*)\b', 'TMA (bulk tensor copy)'),
    (r'\bcuda\s*::\s*(?:barrier|pipeline)\b', 'cuda::barrier and cuda::pipeline'),
    (r'\b(?:__cluster_dims__|cluster_group|this_cluster)\b', 'thread block clusters'),
    (r'\b(?:tex[123]D\w*\s*[<(]|cudaTextureObject_t|surf[123]D(?:read|write)|cudaSurfaceObject_t)', 'textures and surfaces'))]
UNSUPPORTED_HEADER = re.compile(r'\s*<\s*(cuda/(?:barrier|pipeline|ptx))\s*>')


def advice(what):
    return (f"{what}: not supported by the CPU backend; mark the step '// needs: sm_90a' (or '// needs: gpu'), "
            'or guard the code with #ifndef CUDA_EMU')


# ---------------------------------------------------------------- one file

INCLUDE = re.compile(r'\s*"([^"\n]+)"')


class Source:
    """One file: its text, the same text made searchable, and what must change in it."""

    def __init__(self, path, defined):
        self.path = path
        with open(path, encoding='utf-8-sig', errors='surrogateescape') as file:
            self.text = file.read()
        self.errors = []
        self.edits = []
        self.defines = []   # ranges of #define lines
        self.includes = []  # (start, end, name) of quoted includes
        self.found = []     # (start, end, path) of those that name a file
        self.code = self.searchable(defined)
        self.translate()

    def searchable(self, defined):
        """The text, offsets unchanged: comments, literals, directives and removed code are spaces.

        A directive and the end of a macro's body read as ';', since no declaration reaches across them.
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
                pieces.append(';')  # for the line break
                done += 1
        pieces.append(code[done:] if conditionals.active else spaces(code[done:]))
        return ''.join(pieces).replace('\\\n', ' \n')

    def directive(self, match):
        """What `searchable` puts in place of an active directive."""
        if match[1] == 'include':
            self.include(match.start(2), match.end(2))
        if match[1] != 'define':
            return ';' + spaces(match[0])[1:]
        self.defines.append((match.start(), match.end()))
        head = DEFINE_HEAD.match(match[2])
        body = match[2][head.end() if head else 0:]
        return ';' + spaces(match[0][:len(match[0]) - len(body)])[1:] + body

    def include(self, start, end):
        match = INCLUDE.match(self.text, start, end)
        if match:
            self.includes.append((match.start(1) - 1, match.end(1) + 1, match[1]))
        match = UNSUPPORTED_HEADER.match(self.text, start, end)
        if match:
            self.error(start, advice(f'<{match[1]}>'))

    def in_define(self, offset):
        return any(start <= offset < end for start, end in self.defines)

    def line(self, offset):
        return self.text.count('\n', 0, offset) + 1

    def error(self, offset, message):
        self.errors.append((self.line(offset), f'{self.path}:{self.line(offset)}: error: {message}'))

    def attempt(self, offset, make_edits, *arguments):
        try:
            self.edits += make_edits(*arguments)
        except Untranslatable as problem:
            kind = 'kernel launch: ' if make_edits is launch_edits else ''
            self.error(offset, f'{kind}{problem}')

    def translate(self):
        for pattern, what in UNSUPPORTED:
            for match in pattern.finditer(self.code):
                self.error(match.start(), advice(what))
        for match in re.finditer('<<<', self.code):
            self.attempt(match.start(), launch_edits, self.code, match.start())
        handled = 0  # end of the last declaration: `__shared__` may be written twice in one
        for match in re.finditer(r'\b__shared__\b', self.code):
            if match.start() >= handled:
                self.attempt(match.start(), shared_edits, self, match.start())
                handled = match.end()
        # already right inside an attribute
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


# ---------------------------------------------------------------- a program: one source and its headers

class Program:
    def __init__(self, source, output, defined, include_dirs):
        self.output = output
        self.defined = defined
        self.include_dirs = include_dirs
        self.sources = {}  # by real path, in the order found; the program's own source first
        self.main = self.load(source)

    def load(self, path):
        """Read `path` and the .cu and .cuh files it includes; returns its real path."""
        key = os.path.realpath(path)
        if key in self.sources:
            return key
        source = self.sources[key] = Source(path, self.defined)
        for start, end, name in source.includes:
            header = self.find(name, path)
            if header:
                source.found.append((start, end, header))
                if header.endswith(('.cu', '.cuh')):
                    self.load(header)
        return key

    def find(self, name, includer):
        for directory in [os.path.dirname(includer)] + self.include_dirs:
            path = os.path.normpath(os.path.join(directory, name))
            if os.path.isfile(path):
                return path
        return None

    def copied(self):
        """Real paths of the headers that need a translated copy: a change in one reaches all that include it."""
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
        # nvcc includes this header by itself. The last line changes with the copied headers: Ninja has looked at their
        # times before this translation runs, and would compile only if the output changes too.
        write_if_changed(self.output, '#include <cuda_runtime.h>\n' + translated(self.sources[self.main]) +
                         (f'\n// headers: {digest.hexdigest()}\n' if place else ''))
        write_if_changed(self.output + '.d', self.depfile())

    def depfile(self):
        def escape(path):
            return path.replace('\\', '\\\\').replace(' ', '\\ ').replace('#', '\\#').replace('$', '$$')
        files = [source.path for source in self.sources.values()]
        return f'{escape(self.output)}:' + ''.join(f' \\\n  {escape(path)}' for path in files) + '\n'

    def errors(self):
        return [message for source in self.sources.values() for _, message in sorted(source.errors)]


def write_if_changed(path, text):
    """Write in one step, so that nobody reads half a file."""
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
                        help='a macro that the compiler will define; CUDA_EMU always is')
    parser.add_argument('-I', dest='include_dirs', action='append', default=[], metavar='DIR',
                        help='where quoted includes are searched after the folder of the including file')
    parser.add_argument('source', help='the .cu file')
    parser.add_argument('output', help='the C++ file to write; OUTPUT.d and OUTPUT.headers/ go beside it')
    options = parser.parse_args(arguments)
    defined = {'CUDA_EMU'} | {name.split('=')[0] for name in options.defined}
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
