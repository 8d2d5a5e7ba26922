#!/usr/bin/env python3
"""Tests of the source translator: python3 test_cu2cpp.py"""
import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

TRANSLATOR = pathlib.Path(__file__).resolve().parent.parent / 'cu2cpp.py'
sys.path.insert(0, str(TRANSLATOR.parent))
sys.dont_write_bytecode = True
import cu2cpp  # noqa: E402


class Folder(unittest.TestCase):
    """Tests that write files, each in a fresh folder."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def write_file(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def read(self, name):
        return (self.folder / name).read_text()

    def run_translator(self, *arguments):
        """Runs the translator in this process, because starting Python takes longer than most tests."""
        stderr, before = io.StringIO(), os.getcwd()
        os.chdir(self.folder)
        try:
            with contextlib.redirect_stderr(stderr):
                code = cu2cpp.main([str(argument) for argument in arguments])
        finally:
            os.chdir(before)
        return subprocess.CompletedProcess(arguments, code, stderr=stderr.getvalue())

    def body(self, text, *options):
        """Returns the translation of `text` without its first two lines."""
        self.write_file('a.cu', text)
        done = self.run_translator(*options, 'a.cu', 'out.cpp')
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        first, second, rest = self.read('out.cpp').split('\n', 2)
        self.assertEqual((first, second), ('#include <cuda_runtime.h>', '#line 1 "a.cu"'))
        self.assertEqual(rest.count('\n'), text.count('\n'), 'every newline is kept')
        return rest

    def errors(self, text, *options):
        self.write_file('a.cu', text)
        done = self.run_translator(*options, 'a.cu', 'out.cpp')
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertFalse((self.folder / 'out.cpp').exists())
        return [re.sub(r'^(\S+:\d+):\d+: ', r'\1: ', line) for line in done.stderr.splitlines()]  # without the column


def launch(kernel, configuration, arguments='', label=None):
    return (f'::cuda_emu::launch("{label or " ".join(kernel.split())}", [=](auto... cuda_emu_a) {{ {kernel}(cuda_emu_a...); }}, '
            f'::cuda_emu::config({configuration}){", " + arguments if arguments else ""})')


class Launches(Folder):
    def check(self, text, expected):
        self.assertEqual(self.body(text), expected)

    def test_forms_of_the_kernel(self):
        for kernel in ('k', 'ns::k', '::k', '::ns::k', 'k<T, 32>', 'ns::k<float, (3 > 2 ? 8 : 9)>', 'k<(8 >> 1)>',
                       '::ns::k<std::array<int, 1>::value_type, 1>', 'k<A<B<int>>>', 'table[1]', 'table[i][j]', 'f.kernel', 'p->kernel',
                       '(*f)', 'get(1)', 'get<int>(1)', 'o.template k<T>', 'k<decltype(p->x)>', 'k<a[(1 > 0)]>'):
            with self.subTest(kernel=kernel):
                self.check(f'void f() {{ {kernel}<<<g, b>>>(x, 1); }}\n', f'void f() {{ {launch(kernel, "g, b", "x, 1")}; }}\n')

    def test_what_may_come_before(self):
        for before in ('', 'if (n) ', 'if (n) x; else ', 'for (;;) ', 'while (n > 0) ', 'do ', 'return ', 'x = 1; ', 'L: ', '(void)n, ', 'case 1: '):
            for kernel in ('k', '::k', 'ns::k<1>', '(*f)', 't[0]', 'f(1)'):
                with self.subTest(before=before, kernel=kernel):
                    self.check(f'{before}{kernel}<<<1, 2>>>(x);', f'{before}{launch(kernel, "1, 2", "x")};')

    def test_configuration_and_arguments(self):
        for configuration in ('1, 2, 3, s', 'dim3(1, 2), dim3{3, 4}', '8 >> 3, 1 << 5', 'f<int>(1), g[h(2)]', '[&] { return 1; }(), 2'):
            self.check(f'k<<<{configuration}>>>(x);', launch('k', configuration, 'x') + ';')
        for arguments in ('a, b', 'f(a, b), c', 'float2{1, 2}', '"text"', "'c'", 'x < y, z > w', '[] { return 1; }()'):
            self.check(f'k<<<1, 2>>>({arguments});', launch('k', '1, 2', arguments) + ';')
        self.check('k<<<1, 2>>>();', launch('k', '1, 2') + ';')
        self.check('k<<<1, 2>>>( /* none */ );', launch('k', '1, 2').rstrip(')') + ') /* none */ );')

    def test_several_lines(self):
        self.check('ns::k<int,\n  2>\n  <<<dim3(1,\n 2), // <<<\n 3>>>\n  (a,\n b);\n',
                   '::cuda_emu::launch("ns::k<int, 2>", [=](auto... cuda_emu_a) { ns::k<int,\n  2>\n  (cuda_emu_a...); }, '
                   '::cuda_emu::config(dim3(1,\n 2), // <<<\n 3)\n  , a,\n b);\n')

    def test_macros(self):
        self.check('#define RUN(N) ns::k<N> \\\n  <<<1, N>>>(d, \\\n    7)\nRUN(3);\n',
                   '#define RUN(N) ::cuda_emu::launch("ns::k<N>", [=](auto... cuda_emu_a) { ns::k<N> \\\n  (cuda_emu_a...); }, '
                   '::cuda_emu::config(1, N), d, \\\n    7)\nRUN(3);\n')
        self.check('CHECK(k<<<1, 2>>>(a, b));', f'CHECK({launch("k", "1, 2", "a, b")});')
        self.check('RUN((k<<<1, 2>>>(a)));', f'RUN(({launch("k", "1, 2", "a")}));')
        self.check('auto f = [&](int n) { k<<<n, 2>>>(a); };', f'auto f = [&](int n) {{ {launch("k", "n, 2", "a")}; }};')

    def test_pasted_names(self):
        self.check('#define RUN(v) k##v<<<1, 2>>>(a)\n', f'#define RUN(v) {launch("k##v", "1, 2", "a")}\n')
        self.check('#define RUN(v) k_ ## v ## _x<T><<<1, 2>>>(a)\n', f'#define RUN(v) {launch("k_ ## v ## _x<T>", "1, 2", "a")}\n')

    def test_null_is_a_pointer(self):
        self.check('k<<<1, 2>>>(NULL, x, NULL);', launch('k', '1, 2', 'nullptr, x, nullptr') + ';')

    def test_kernel_cast_to_void(self):
        address = '::cuda_emu::kernel_address('
        for cast in ('(void*)', '(const void *)', '(void const*)'):
            for kernel in ('k', '&k', '(k)', 'ns::k<T, 32>', '(k<T>)', 'table[i]', '(i ? k : l)', 'o.k', 'p->k<T>'):
                self.check(f'cudaLaunchKernel({cast}{kernel}, g, b, a);', f'cudaLaunchKernel({address}{kernel}), g, b, a);')
        for cast in ('reinterpret_cast<void*>', 'reinterpret_cast<const void *>'):
            self.check(f'cudaLaunchCooperativeKernel({cast}(k<T>), g);', f'cudaLaunchCooperativeKernel({address}(k<T>)), g);')
        kernel = 'template <class T> __global__ void k(T* p) {}\n'
        self.check(kernel + 'const void* f = (void*)&k<int>;\nvoid* g = (void*)x;', f'{kernel}const void* f = {address}&k<int>);\nvoid* g = (void*)x;')
        self.check('cudaMalloc((void**)&x, n); f((void*)x);', 'cudaMalloc((void**)&x, n); f((void*)x);')

    def test_directives_among_the_arguments(self):
        self.check('k<<<g, b>>>(a,\n#ifdef A\n  b,\n#endif\n  c);', launch('k', 'g, b', 'a,\n#ifdef A\n  b,\n#endif\n  c') + ';')

    def test_two_on_a_line(self):
        self.check('a<<<1, 2>>>(x); b<<<3, 4>>>();', f'{launch("a", "1, 2", "x")}; {launch("b", "3, 4")};')

    def test_text_that_is_no_launch(self):
        for text in ('// k<<<1, 2>>>(x)\n', '/* k<<<1,\n 2>>>(x) */\n', '// k \\\n<<<1, 2>>>(x)\n', 'const char* s = "k<<<1, 2>>>(x) \\" ";\n',
                     'auto s = R"x(k<<<1, 2>>>("))x";\n', "const char c = '\"'; int n = 1'000'000; // '\n", 'int n = 1 << 3 >> 2;\n',
                     'std::vector<std::vector<std::vector<int>>> v;\n', '#error don\'t k\n', '#pragma unroll\n', ''):
            self.check(text, text)

    def test_quotes_do_not_hide_a_launch(self):
        self.check("int n = 1'000; char q = '\"'; k<<<1, 2>>>(n);", f"int n = 1'000; char q = '\"'; {launch('k', '1, 2', 'n')};")

    def test_errors(self):
        for text, line, message in (('\nk<<<1, 2>>>;', 2, "kernel launch: no '(' after >>>"),
                                    ('k<<<1, 2(x);\n', 1, "kernel launch: no matching '>>>'"),
                                    ('\n\n= <<<1, 2>>>(x);', 3, 'kernel launch: no kernel name before <<<'),
                                    ('return <<<1, 2>>>(x);', 1, 'kernel launch: no kernel name before <<<'),
                                    ('k<<<>>>(x);', 1, 'kernel launch: no grid and block size between <<< and >>>'),
                                    ('k<<<1, 2>>>(x;', 1, "kernel launch: no matching ')'"),
                                    ('k<<<1, 2>>>(x, {1, 2});', 1, 'kernel launch: a braced list cannot be a kernel argument here: '
                                                                    'name its type, as in float2{1, 2}')):
            with self.subTest(text=text):
                self.assertEqual(self.errors(text), [f'a.cu:{line}: error: {message}'])


def in_kernel(text):
    return 'void f() { ' + text + ' }\n'


class SharedVariables(Folder):
    def check(self, declaration, *variables):
        expected = '; '.join(variables) + ';'
        self.assertEqual(self.body(in_kernel(declaration)), in_kernel(expected), declaration)

    def static(self, name, type_):
        return f'auto& {name} = ::cuda_emu::shared<{type_}>("{name}", [] {{}})'

    def dynamic(self, name, type_):
        return f'auto {name} = ::cuda_emu::dynamic_shared<{type_}>("{name}")'

    def test_one_variable(self):
        for declaration, type_ in (
                ('__shared__ float x;', 'float'), ('__shared__ T x;', 'T'), ('__shared__ unsigned long long x;', 'unsigned long long'),
                ('__shared__ float x[4];', 'float[4]'), ('__shared__ float x[BM][BK + 1];', 'float[BM][BK + 1]'),
                ('__shared__ float x[(A > B ? A : B)];', 'float[(A > B ? A : B)]'), ('__shared__ float x[f<1, 2>()];', 'float[f<1, 2>()]'),
                ('volatile __shared__ int x[4];', 'volatile int[4]'), ('__shared__ volatile float x[32];', 'volatile float[32]'),
                ('__shared__ float volatile x[32];', 'float volatile[32]'), ('static __shared__ int x;', 'int'),
                ('__shared__ static int x;', 'int'), ('__shared__ const float x[2];', 'const float[2]'),
                ('__shared__ typename S<T>::Type x;', 'typename S<T>::Type'), ('__shared__ ::a::b<int, 2>::c x[2];', '::a::b<int, 2>::c[2]'),
                ('__shared__ typename S<T>::template R<2>::Type x;', 'typename S<T>::template R<2>::Type'),
                ('__shared__ struct point x[2];', 'struct point[2]'), ('__shared__ std::array<float, (4 > 3)> x;', 'std::array<float, (4 > 3)>'),
                ('__shared__ decltype(a + b) x[2];', 'decltype(a + b)[2]'),
                ('__shared__ T *x;', 'T*'), ('__shared__ T* x[4];', 'T*[4]'), ('__shared__ const T *const x;', 'const T*const'),
                ('__shared__ float (*x)[33];', 'float (*)[33]'), ('float __shared__ x[4];', 'float[4]'),
                ('unsigned int __shared__ x;', 'unsigned int'), ('volatile float __shared__ x[4];', 'volatile float[4]')):
            with self.subTest(declaration=declaration):
                self.check(declaration, self.static('x', type_))

    def test_alignment(self):
        for declaration, type_ in (
                ('__shared__ alignas(16) float x[8];', 'float[8], 16'), ('__shared__ __align__(16) float x[8];', 'float[8], 16'),
                ('__shared__ float __align__(16) x[8];', 'float[8], 16'), ('alignas(16) __shared__ float x[8];', 'float[8], 16'),
                ('static __shared__ __align__(128) float4 x[8];', 'float4[8], 128'), ('__shared__ alignas(alignof(T)) float x[8];', 'float[8], alignof(T)'),
                ('__shared__ alignas(alignof(S<T, 2>)) float x;', 'float, (alignof(S<T, 2>))'), ('__shared__ alignas(float4) float x[8];', 'float[8], alignof(float4)'),
                ('__shared__ alignas(double) float x[8];', 'float[8], alignof(double)'), ('alignas(16) float __shared__ x[8];', 'float[8], 16')):
            with self.subTest(declaration=declaration):
                self.check(declaration, self.static('x', type_))

    def test_several_variables(self):
        self.check('__shared__ float As[BM][BK + 1], Bs[64];', self.static('As', 'float[BM][BK + 1]'), self.static('Bs', 'float[64]'))
        self.check('__shared__ unsigned int v[f(1, 2)], w, *p;', self.static('v', 'unsigned int[f(1, 2)]'),
                   self.static('w', 'unsigned int'), self.static('p', 'unsigned int*'))

    def test_dynamic(self):
        for declaration, type_ in (
                ('extern __shared__ float x[];', 'float'), ('extern __shared__ T x[][33];', 'T[33]'), ('extern __shared__ T x[][A][B + 1];', 'T[A][B + 1]'),
                ('extern __shared__ __align__(16) unsigned char x[];', 'unsigned char'), ('extern __shared__ alignas(alignof(T)) char x[];', 'char'),
                ('extern volatile __shared__ float x[];', 'volatile float'), ('extern float __shared__ x[];', 'float'),
                ('__shared__ extern float x[];', 'float'), ('extern __shared__ float* x[];', 'float*')):
            with self.subTest(declaration=declaration):
                self.check(declaration, self.dynamic('x', type_))

    def test_several_lines(self):
        self.assertEqual(self.body('void f() {\n  __shared__ float // a comment\n      x[BM]\n       [2];\n}\n'),
                         f'void f() {{\n  {self.static("x", "float[BM] [2]")}\n\n;\n}}\n')
        self.assertEqual(self.body('void f() {\n  extern\n    __shared__ float x[];\n}\n'),
                         f'void f() {{\n  {self.dynamic("x", "float")}\n;\n}}\n')

    def test_macros(self):
        self.assertEqual(self.body('#define TILE(n) \\\n  __shared__ float \\\n tile[n]\nint after;\n'),
                         f'#define TILE(n) \\\n  {self.static("tile", "float[n]")}\\\n\nint after;\n')
        self.assertEqual(self.body('#define TILE __shared__ float a; int b;\n'), f'#define TILE {self.static("a", "float")}; int b;\n')

    def test_new_types(self):
        for declaration, expected in (
                ('__shared__ struct { int a; } x;', 'struct x_type { int a; }; auto& x = ::cuda_emu::shared<x_type>("x", [] {});'),
                ('__shared__ union U { int a; float b; } x[2];', 'union U { int a; float b; }; auto& x = ::cuda_emu::shared<U[2]>("x", [] {});'),
                ('__shared__ struct alignas(16) { int a[4]; } x;', 'struct x_type { int a[4]; }; auto& x = ::cuda_emu::shared<x_type, 16>("x", [] {});')):
            with self.subTest(declaration=declaration):
                self.assertEqual(self.body(in_kernel(declaration)), in_kernel(expected))
        self.assertEqual(self.body('void f() { __shared__ struct\n{ int a;\n} x;\n}\n').count('shared<x_type>'), 1)

    def test_dynamic_outside_a_function(self):
        for before, after in (('', ''), ('namespace n { ', ' }'), ('extern "C" { ', ' }')):
            self.assertEqual(self.body(f'{before}extern __shared__ float x[];{after}\n'),
                             f'{before}static ::cuda_emu::DynamicShared<float> x{{"x"}};{after}\n')

    def test_after_other_lines(self):
        for before in ('x;\n', '#pragma unroll\n', '#define A 1\n', '// c\n', '{ }\n', '#if A\n'):
            self.assertEqual(self.body(in_kernel('\n' + before + '__shared__ float a;')), in_kernel('\n' + before + self.static('a', 'float') + ';'))

    def test_inside(self):
        for head in ('template <class T> __global__ void k(T* p)', 'namespace n { __global__ void k()', 'struct S { void k()', 'extern "C" void k()'):
            self.assertEqual(self.body(head + ' { __shared__ int a; }'), head + ' { ' + self.static('a', 'int') + '; }')

    def test_text_that_is_no_declaration(self):
        for text in ('// __shared__ int x;\n', 'auto s = "__shared__ int x;";\n', 'int my__shared__x;\n'):
            self.assertEqual(self.body(text), text)

    def test_errors(self):
        plain = cu2cpp.ONE_TYPE_AND_NAMES
        outside = '__shared__ declaration outside a function: move it into the kernel'
        for text, line, message in (
                ('void f() {\n __shared__ float x = 0; }', 2, plain), ('void f() { __shared__ float x{}; }', 1, plain),
                ('void f() { __shared__ float& x; }', 1, plain), ('void f() { __shared__ x; }', 1, plain),
                ('void f() {\n\n __shared__ struct { int a; } x, y; }', 3, plain),
                ('void f() { __shared__ float x[]; }', 1, '__shared__ array without a size: give x a size or write extern'),
                ('void f() { extern __shared__ float x; }', 1, 'extern __shared__ declares an array without a size: x[]'),
                ('void f() { extern __shared__ float x[4]; }', 1, 'extern __shared__ declares an array without a size: x[]'),
                ('void f() { __shared__ float x[4 }', 1, "no matching ';'"),
                ('__shared__ float x;', 1, outside), ('namespace a {\n__shared__ float x;\n}', 2, outside),
                ('__shared__ struct { int a; } x;', 1, outside), ('struct S { __shared__ float x; };', 1, outside)):
            with self.subTest(text=text):
                self.assertEqual(self.errors(text), [f'a.cu:{line}: error: {message}'])


class OtherEdits(Folder):
    def test_noinline(self):
        self.assertEqual(self.body('__device__ __noinline__ float f();\n'), '__device__ __attribute__((noinline)) float f();\n')
        for text in ('__attribute__((__noinline__)) void f();\n', '// __noinline__\n', 'int a__noinline__;\n'):
            self.assertEqual(self.body(text), text)

    def test_launch_bounds(self):
        for bounds in ('256', 'kThreads, 2', '(A > B ? A : B), 1', 'Shape<N, 4>::kThreads, Shape<N, 4>::kBlocks'):
            head = f'template <int N> __global__ void __launch_bounds__({bounds}) k(int* p) '
            self.assertEqual(self.body(head + '{ }\n'), head + f'{{ ::cuda_emu::launch_bounds({bounds}); }}\n')

    def test_reference_parameters(self):
        for parameters, names in (('const int& n', ['n']), ('float* p, T &a, const S<X&, 2>& b', ['a', 'b']), ('T&& a', ['a']),
                                  ('const float (&x)[4], int k', ['x']), ('T& __restrict__ a', ['a']),
                                  ('int n = A & B, void (*f)(int&), S<int&> s', [])):
            head = f'template <class T> __global__ void k({parameters}) '
            checks = ''.join(f' ::cuda_emu::reference_parameter("{name}");' for name in names)
            self.assertEqual(self.body(head + '{ }\n'), head + '{' + checks + ' }\n')
        self.assertEqual(self.body('__device__ void f(int& n) { }\n'), '__device__ void f(int& n) { }\n')
        head = '__global__ void __launch_bounds__(64) k(const int& n) '
        self.assertEqual(self.body(head + '{ }\n'),
                         head + '{ ::cuda_emu::launch_bounds(64); ::cuda_emu::reference_parameter("n"); }\n')

    def test_device_variables(self):
        for declaration, name in (('__constant__ float w[9];', 'w'), ('static __device__ int n;', 'n'), ('__device__ unsigned int a[2][3];', 'a'),
                                  ('__constant__ __device__ S s = {1, 2};', 's'), ('__device__ volatile int v = 0;', 'v')):
            for before, after in (('', ''), ('int x;\n', ''), ('namespace {\n', '}'), ('namespace n {', '}'), ('#define A 1\n', '')):
                with self.subTest(declaration=declaration, before=before):
                    image = f' static const ::cuda_emu::DeviceImage cuda_emu_image_{name}(&{name}, sizeof {name}, "{name}");'
                    self.assertEqual(self.body(f'{before}{declaration}\n{after}'), f'{before}{declaration}{image}\n{after}')
        for text in ('__device__ float f();\n', '__device__ float f() { return 1; }\n', 'struct S { __device__ int f() { return n; } };\n',
                     'extern __device__ int n;\n', '__constant__ const int c = 3;\n', 'template <class T> __device__ T t;\n',
                     '__device__ constexpr int c = 1;\n', '__global__ void k() { static __device__ int n; }\n', 'struct __device__ S;\n',
                     '__device__ inline T* f(int n = 1) { return 0; }\n', '#define D __device__ int x;\n'):
            self.assertEqual(self.body(text), text)

    def test_all_errors_of_a_file_in_order(self):
        self.write_file('a.cu', 'k<<<1>>>;\nvoid f() { asm("x"); }\n  j<<<1>>>; asm("y");\n')
        lines = self.run_translator('a.cu', 'out.cpp').stderr.splitlines()
        self.assertEqual([line.split(' ')[0] for line in lines], ['a.cu:1:2:', 'a.cu:2:12:', 'a.cu:3:4:', 'a.cu:3:13:'])


class Unsupported(Folder):
    """Everything that is rejected. Each message is one sentence that says what to do instead."""
    ASM, TMA, TEXTURES = 'inline PTX (asm)', 'TMA (bulk tensor copy)', 'textures and surfaces'
    SNIPPETS = (('asm("mov.u32 %0, %laneid;" : "=r"(x));', ASM), ('asm volatile (\n"x");', ASM),
                ('__asm__ __volatile__("x");', ASM), ('wgmma_fence();', 'wgmma'), ('cuda::ptx::mbarrier_init(a);', 'cuda::ptx'),
                ('namespace p = cuda::ptx;', 'cuda::ptx'), ('const CUtensorMap map;', TMA), ('cp_async_bulk_wait_group();', TMA),
                ('void __cluster_dims__(2) k();', 'thread block clusters'), ('cg::cluster_group c = cg::this_cluster();', 'thread block clusters'),
                ('float v = tex2D<float>(t, x, y);', TEXTURES), ('cudaTextureObject_t t;', TEXTURES), ('cudaArray_t a;', TEXTURES),
                ('cudaGraph_t g;', 'CUDA graphs'), ('cudaStreamBeginCapture(s, m);', 'CUDA graphs'),
                ('cublasLtMatmul(h, d);', 'cublasLtMatmul'), ('cudaIpcMemHandle_t h;', 'sharing memory between processes and memory pools'))
    HEADERS = (('thrust/device_vector.h', 'thrust::device_vector'), ('cub/cub.cuh', 'cub::BlockReduce'), ('cuda/std/chrono', 'cuda::std::chrono'),
               ('cute/tensor.hpp', 'cute::Tensor'), ('cutlass/gemm/device/gemm.h', 'cutlass::gemm'), ('curand.h', 'curandGenerator_t'),
               ('curand_kernel.h', 'curand_init'), ('cudnn.h', 'cudnnHandle_t'), ('cufft.h', 'cufftHandle'), ('cusparse.h', 'cusparseHandle_t'),
               ('cusolverDn.h', 'cusolverDnHandle_t'), ('nccl.h', 'ncclComm_t'), ('nvrtc.h', 'nvrtcProgram'), ('cuda_fp8.h', '__nv_fp8_e4m3'),
               ('cuda_fp4.h', '__nv_fp4_e2m1'), ('nvtx3/nvToolsExt.h', 'nvtxRangePush'), ('nvToolsExt.h', 'nvtxRangePop'),
               ('torch/extension.h', 'torch::Tensor'), ('torch/types.h', 'TORCH_CHECK'), ('ATen/ATen.h', 'at::Tensor'),
               ('c10/cuda/CUDAException.h', 'C10_CUDA_CHECK'), ('cuComplex.h', 'cuFloatComplex'), ('cupti.h', 'cuptiActivityEnable'))

    def test_reported_with_line_and_advice(self):
        for code, what in self.SNIPPETS:
            with self.subTest(code=code):
                line = self.errors('\n\n' + code)[0]
                self.assertRegex(line, '^' + re.escape(f'a.cu:3: error: {what}: the CPU backend cannot run this; ') +
                                 '[a-z].{15,}, or guard the code with #ifndef CUDA_EMU$')

    def test_an_unused_header_is_left_out(self):
        for header, _ in self.HEADERS + (('cuda/ptx', ''), ('cuda/annotated_ptr', ''), ('texture_fetch_functions.h', ''),
                                         ('cuda_surface_types.h', '')):
            for text in (f'<{header}>', f'"{header}"'):
                include = f'#  include {text}'
                self.assertEqual(self.body(f'\n{include} // why\nint x;\n'), f'\n{" " * len(include)} // why\nint x;\n')

    def test_a_name_of_a_header_is_refused(self):
        for header, name in self.HEADERS:
            with self.subTest(header=header):
                line, = self.errors(f'#include <{header}>\n\nvoid f() {{ {name} x; }}\nvoid g() {{ {name} x; }}\n')
                self.assertRegex(line, '^' + re.escape(f'a.cu:3: error: {name} of <{header}>: the CPU backend cannot run this; ') +
                                 '[a-z].{15,}, or guard the code with #ifndef CUDA_EMU$')

    def test_a_name_of_a_header_that_another_file_includes(self):
        self.write_file('x.h', '#include <cub/cub.cuh>\n')
        line, = self.errors('#include "x.h"\nusing Reduce = cub::BlockReduce<float, 32>;\n')
        self.assertIn('a.cu:2: error: cub::BlockReduce of <cub/cub.cuh>: the CPU backend cannot run this', line)

    def test_a_header_of_the_program_is_kept(self):
        self.write_file('cub/cub.cuh', 'namespace cub { int n; }\n')
        self.assertIn('cub/cub.cuh"', self.body('#include "cub/cub.cuh"\nint x = cub::n;\n'))
        self.assertEqual(self.body('#include <cuda/std/limits>\n'), '#include <cuda/std/limits>\n')

    def test_silent_in_comments_and_strings(self):
        for code, _ in self.SNIPPETS:
            self.body('// ' + code.replace('\n', ' ') + '\n')
            self.body('/* ' + code + ' */\n')
            self.body('auto s = R"(' + code + ')";\n')

    def test_silent_where_guarded(self):
        asm = 'asm("x");\nk<<<1>>>;\n#include <cub/cub.cuh>\ncub::Sum s;\n'
        for text in (f'#ifndef CUDA_EMU\n{asm}#endif\n', f'#ifdef CUDA_EMU\n#else\n{asm}#endif\n', f'#if !defined(CUDA_EMU)\n{asm}#endif\n',
                     f'# ifndef CUDA_EMU // why\n#if A\n{asm}#else\n{asm}#endif\n#endif\n', f'#if 0\n{asm}#endif\n',
                     f'#ifdef CUDA_EMU\n#elif A\n{asm}#else\n{asm}#endif\n'):
            with self.subTest(text=text):
                self.assertEqual(self.body(text), text)
        self.assertEqual(self.body(f'#ifndef TRACE\n{asm}#endif\n', '-D', 'TRACE=1'), f'#ifndef TRACE\n{asm}#endif\n')

    def test_silent_in_a_macro_that_is_not_used(self):
        self.write_file('m.cuh', '#define F asm("x")\n')
        self.assertEqual(self.errors('#include "m.cuh"\nvoid f() { F; }\n')[0][:27], 'm.cuh:1: error: inline PTX ')
        text = '#include <cuda_fp8.h>\n#define F(x) \\\n  asm volatile("x" :: "r"(x))\n#define G __nv_fp8_e4m3\n// F and G\n'
        self.assertEqual(self.body(text), text.replace('#include <cuda_fp8.h>', ' ' * 21))

    def test_reported_where_not_guarded(self):
        for text in ('#ifdef CUDA_EMU\nasm("x");\n#endif\n', '#ifndef CUDA_EMU\n#else\nasm("x");\n#endif\n', '#if A\nasm("x");\n#endif\n',
                     '#ifndef CUDA_EMU\n#endif\nasm("x");\n', '#define F asm("x")\nvoid f() { F; }\n', '#ifndef A\nasm("x");\n#endif\n'):
            with self.subTest(text=text):
                self.assertEqual(len(self.errors(text)), 1)


class NvccRejects(Folder):
    """Code that a C++ compiler accepts and nvcc does not, and similar code that both accept."""

    def test_rejected(self):
        call = 'is called like a function: launch it, k<<<grid, block>>>(...)'
        for text, message in (
                ('__global__ void k(int* p) {}\nvoid f() { k(p); }', f'kernel k {call}'),
                ('template <class T> __global__ void k(T* p) {}\nvoid f() { if (p) k<int>(p); }', f'kernel k {call}'),
                ('float h(float x) { return x; }\n__global__ void k(float* p) { *p = h(1); }',
                 'k runs on the device and calls h, a function of the host: write __device__ before h'),
                ('template <class T>\nT h(T x) { return x; } __device__ float d() { return 1 + h<float>(1); }',
                 'd runs on the device and calls h, a function of the host: write __device__ before h'),
                ('\n__global__ void k(int* p) { std::vector<int> v; }', 'k runs on the device, where std::vector does not exist: '
                                                                       'use arrays and plain code'),
                ('\n__device__ void d() { std :: cout << 1; }', 'd runs on the device, where std::cout does not exist: use arrays and plain code'),
                ('\n__global__ int k() { return 1; }', 'kernel k: a kernel returns void'),
                ('int h(int x) { return x; }\nextern "C" __global__ void k(int* p, int n = 1) { if (n) { *p = h(1); } }',
                 'k runs on the device and calls h, a function of the host: write __device__ before h'),
                ('constexpr int h(int x) { return x; }\n__global__ void k(int* p) { int a[h(1)]; }',
                 'k runs on the device and calls h, a function of the host: write __device__ before h'),
                ('__device__ int d(int n) { return n; }\nvoid f(int n) { k<<<d(n), 32>>>(n); }',
                 'f runs on the host and calls d, a function of the device: write __host__ __device__ before d'),
                ('template <class T> __device__ T d(T n) { return n; }\nint f(int n) { if (n) return d<int>(n); return sizeof(d(n)); }',
                 'f runs on the host and calls d, a function of the device: write __host__ __device__ before d')):
            with self.subTest(text=text):
                self.assertEqual(self.errors(text), [f'a.cu:2: error: {message}'])

    def test_host_functions_of_the_library(self):
        """The same rules as nvcc 13.0 without --expt-relaxed-constexpr."""
        for code, name in (('std::max(p[0], 1.f)', 'std::max'), ('std::min<int>(n, 1)', 'std::min'), ('std::clamp(n, 0, 1)', 'std::clamp'),
                           ('std::swap(p[0], p[1])', 'std::swap'), ('std::exchange(n, 1)', 'std::exchange'), ('std::array<float, 4> a', 'std::array'),
                           ('-std::numeric_limits<float>::infinity()', 'std::numeric_limits<float>::infinity'),
                           ('constexpr int m = std::numeric_limits<int>::max()', 'std::numeric_limits<int>::max'),
                           ('std::pair<float, int> a(1.f, 2)', 'std::pair'), ('auto m = std::make_pair(1, 2)', 'std::make_pair'),
                           ('std::plus<float>()(p[0], p[1])', 'std::plus'), ('std::fill(p, p + n, 0.f)', 'std::fill'),
                           ('std::accumulate(p, p + n, 0.f)', 'std::accumulate'), ('std::sort(p, p + n)', 'std::sort'),
                           ('fprintf(stderr, "x")', 'fprintf'), ('if (n) exit(1)', 'exit'), ('p[0] = rand()', 'rand')):
            with self.subTest(code=code):
                line, = self.errors(f'__global__ void k(float* p, int n) {{\n  {code}; }}\n')
                self.assertRegex(line, f'^a.cu:2: error: k runs on the device, where {re.escape(name)} does not exist: [a-z].*')
        for code in ('std::sqrt(p[0])', 'std::abs(n)', 'std::fmax(p[0], 1.f)', 'std::pow(p[0], 2)', 'std::isnan(p[0])', 'std::move(n)',
                     'std::forward<int>(n)', 'std::is_same<int, std::plus<int>>::value', 'std::numeric_limits<float>::digits', 'std::size_t i = n',
                     'std::memcpy(p, q, 4)', 'std::printf("x")', 'std::pair<float, int>* a = q', 'sizeof(std::max(1, 2))',
                     'decltype(std::max(n, 2)) v', 'cuda::std::max(n, 1)', 'max(n, 1)'):
            with self.subTest(code=code):
                self.body(f'__global__ void k(float* p, int n) {{ {code}; }}\n')
                self.body(f'__host__ __device__ void k(float* p, int n) {{ {code}; std::max(n, 1); }}\n')

    VARIABLES = ('float v = 2;', 'static float v[4];', 'int* v;', 'const char* v = "x";', 'namespace { float v{1}; }', 'int u, v = 3;', 'extern int v;',
                 'thread_local unsigned long long v;', 'std::vector<int> v = {1, 2};', 'dim3 v = dim3{1, 2};')

    def test_variables_of_the_host(self):
        for declaration in self.VARIABLES:
            for use in ('*p = v;', 'p[0] = n * v;', 'return f(n, v);', 'v = n;', 'float x = v[n];', 'if (n < v) x = 1;', 'int i = f(1, 2), j = v;'):
                with self.subTest(declaration=declaration, use=use):
                    line, = self.errors(f'{declaration}\n__global__ void k(float* p, int n) {{ {use} }}\n')
                    self.assertEqual(line, 'a.cu:2: error: k runs on the device, where v does not exist, a variable of the host: '
                                           'pass its value to the kernel')
        for declaration in ('constexpr float v[3] = {1, 2, 3};', 'static const int v[] = {1, 2};'):
            line, = self.errors(f'{declaration}\n__device__ float d(int n) {{ return 2 * v[n]; }}\n')
            self.assertEqual(line, 'a.cu:2: error: d runs on the device, where v does not exist, a variable of the host: '
                                   'write __constant__ before it')

    def test_variables_that_device_code_may_use(self):
        for declaration in self.VARIABLES:
            for head, body in (('int v', '*p = v;'), ('', 'int v = 1; *p = v;'), ('', 'const auto* v = p; *p = v[0];'), ('', 'int a = f(1, 2), v = 2; *p = v;'),
                               ('', 'for (int v = 0; v < 3; ++v) *p = v;'), ('', 'auto f = [](int a, float v) { return v; };'),
                               ('', 'auto [u, v] = g(); *p = v;'), ('', 'enum { u, v }; *p = v;'), ('', '__shared__ float v[4]; v[0] = 1;'),
                               ('S s', '*p = s.v + S::v + t->v;'), ('', '*p = sizeof(v) / sizeof(v[0]);'), ('', 'decltype(v) x;')):
                with self.subTest(declaration=declaration, body=body):
                    self.body(f'{declaration}\n__global__ void k({head}) {{ {body} }}\nvoid h() {{ v = 1; }}\n')
        for declaration in ('constexpr int v = 3;', 'const float v = 2.f;', 'static const int v = sizeof(int);', '__device__ float v;', '__constant__ int v[4];',
                            '__managed__ int u, v;', '#define V __device__\nV int v;', 'enum { v };', 'enum E { u, v };', 'struct v { int i; };',
                            'typedef int v;', 'using v = int;', 'struct S { int v; };', 'int v(int);', 'template <class T> int v = 3;',
                            '#ifdef X\n__constant__ int v[4];\n#else\nint v[4];\n#endif', 'constexpr const char* v = "x";', 'void g() { int v; }',
                            'constexpr int u[2] = {1, 2}; constexpr int v = u[1];'):
            with self.subTest(declaration=declaration):
                self.write_file('a.cu', f'{declaration}\n__global__ void k(int* p) {{ *p = v; v x = f(3, v); }}\n')
                done = self.run_translator('a.cu', 'out.cpp')
                self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.body('constexpr int v[2] = {1, 2};\n__global__ void k(int* p) { constexpr int w = v[1]; S<v[0]> s; *p = w; }\n')

    def test_a_header_s_function(self):
        self.write_file('h.cuh', 'inline int h(int x) { return x; }\n')
        self.assertEqual(len(self.errors('#include "h.cuh"\n__global__ void k(int* p) { *p = h(1); }\n')), 1)

    def test_taken(self):
        for text in ('__global__ void k(int* p);\nvoid f() { cudaFuncSetAttribute(k, a, 1); auto g = &k; }\n',
                     '__host__ __device__ float h(float x) { return x; }\n__global__ void k(float* p) { *p = h(1); }\n',
                     '__host__ __device__ constexpr int h(int x) { return x; }\n__global__ void k(int* p) { *p = h(1); }\n',
                     'int h(int x) { return x; }\n__global__ void k(int* p) { *p = sizeof(h(1)); decltype(h(1)) x; }\n',
                     '#define h(x) (x)\nint h(int x) { return x; }\n__global__ void k(int* p) { *p = h(1); }\n',
                     '__device__ int d(int x) { return x; }\nint d(float x) { return x; }\nint f() { return d(1.f); }\n',
                     '__device__ int d(int x) { return x; }\nint f(S d) { return d(1) + s.d(1) + n::d(1); }\n',
                     '__device__ int d(int x) { return x; }\n__host__ __device__ int f() { return d(1); }\n',
                     '__device__ int d(int x) { return x; }\nint f() { auto d = [](int x) { return x; }; return d(1); }\n',
                     '__device__ int d(int x) { return x; }\nvoid f() { g([=] __device__(int x) { return d(x); }); }\n',
                     '__device__ void swap(int& a, int& b) {}\nvoid f(std::vector<int> v) { swap(v, v); }\n',
                     'template <class T> T rsqrt(T x) { return 1 / sqrt(x); }\n__global__ void k(float* p) { *p = rsqrt(*p); }\n',
                     '__device__ int rand(int x) { return x; }\n__global__ void k(int* p) { *p = rand(1); s.exit(1); }\n',
                     '__device__ int d(int x) { return x; }\nusing namespace n;\nint f() { return d(1); }\n',
                     '__device__ int d(int x) { return x; }\nextern "C" __global__ void k(int* p) { while (p) { *p = d(1); } }\n',
                     '__device__ int d(int x) { return x; }\n__device__ bool operator<(S a, S b) { if (d(a.x)) { return d(1); } }\n',
                     '__device__ int d(int x) { return x; }\n__device__ void e(struct S s, int n = 1) { if (n) { d(n); } }\n',
                     '#define DEVICE __device__\n__device__ int d(int);\nint d(int x) { return x; }\nint f() { return d(1); }\n',
                     'int h(int x) { return x; }\n__device__ float h(float x) { return x; }\n__global__ void k(float* p) { *p = h(1.f); }\n',
                     '__device__ int h(int x);\nint h(int x) { return x; }\n__global__ void k(int* p) { *p = h(1); }\n',
                     '#define DEVICE __device__ inline\nDEVICE int h(int x) { return x; }\n__global__ void k(int* p) { *p = h(1); }\n',
                     'int h(int x) { return x; }\n__global__ void k(int* p, int h) { float h2(h); int (h); }\n',
                     'int h(int x) { return x; }\ntemplate <class F> __global__ void k(F h) { h(1); }\n',
                     'int sum(int x) { return x; }\n__global__ void k(int* p) { float sum(0); *p = sum; }\n',
                     'int h(int x) { return x; }\n__global__ void k(S s) { s.h(1); S::h(2); t->h(3); }\n',
                     'struct S { int h(int x) { return x; } };\n__global__ void k(S s) { h(1); }\n',
                     'int h(int x) { return x; }\n__host__ __device__ int g(int x) { return h(x); }\n',
                     '#ifdef X\n__host__ __device__\n#endif\nint h(int x) { return x; }\n__global__ void k(int* p) { *p = h(1); }\n',
                     '__global__ void k(int* p) {}\nvoid k(int* p, int n) {}\nvoid f(int* p) { k(p, 1); }\n',
                     'void f() { std::vector<int> v; try { throw 1; } catch (int) {} }\n'):
            with self.subTest(text=text):
                self.assertEqual(self.body(text), text)


LAUNCHES = '#pragma once\ninline void go() { k<<<1, 2>>>(); }\n'
PLAIN = '#pragma once\nint plain;\n'


class Headers(Folder):
    def translate(self, source, output='build/a.cpp', *options):
        done = self.run_translator(*options, source, output)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        return self.read(output)

    def included(self, text):
        return [line.split('"')[1] for line in text.splitlines() if line.startswith('#include "')]

    def test_a_header_to_change_is_copied_and_others_are_not(self):
        self.write_file('a.cu', '#include "change.cuh"\n#include "plain.cuh"\n#include "other.hpp"\n#include "nowhere.h"\n#include <x.cuh>\n')
        self.write_file('change.cuh', LAUNCHES)
        self.write_file('plain.cuh', PLAIN)
        self.write_file('other.hpp', 'int k;\n')
        copy, plain, other, nowhere = self.included(self.translate('a.cu'))
        self.assertEqual(pathlib.Path(copy).parent, self.folder / 'build/a.cpp.headers')
        self.assertEqual(pathlib.Path(copy).read_text().split('\n', 1)[0], '#line 1 "change.cuh"')
        self.assertIn('::cuda_emu::launch("k"', pathlib.Path(copy).read_text())
        self.assertEqual((plain, other, nowhere), (str(self.folder / 'plain.cuh'), str(self.folder / 'other.hpp'), 'nowhere.h'))
        self.assertEqual(len(os.listdir(self.folder / 'build/a.cpp.headers')), 1)

    def test_headers_by_any_name(self):
        self.write_file('a.cu', '#include "kernels.h"\n#include "plain.h"\n#include <shared.cuh>\n#include <vector>\n')
        self.write_file('kernels.h', LAUNCHES)
        self.write_file('plain.h', '#include "inner.hpp"\n')
        self.write_file('inner.hpp', LAUNCHES)
        self.write_file('lib/shared.cuh', LAUNCHES)
        kernels, plain, shared = self.included(self.translate('a.cu', 'build/a.cpp', '-I', 'lib'))
        for path in (kernels, self.included(pathlib.Path(plain).read_text())[0], shared):
            self.assertIn('::cuda_emu::launch', pathlib.Path(path).read_text())
        self.assertIn('inner.hpp', self.read('build/a.cpp.d'))

    def test_a_change_reaches_the_headers_that_include_it(self):
        self.write_file('a.cu', '#include "outer.cuh"\n')
        self.write_file('outer.cuh', PLAIN + '#include "sub/middle.cuh"\n')
        self.write_file('sub/middle.cuh', '#pragma once\n#include "../deep.cuh"\n#include "leaf.h"\n')
        self.write_file('sub/leaf.h', '')
        self.write_file('deep.cuh', LAUNCHES)
        outer = pathlib.Path(self.included(self.translate('a.cu'))[0]).read_text()
        middle = pathlib.Path(self.included(outer)[0]).read_text()
        deep, leaf = self.included(middle)
        self.assertIn('::cuda_emu::launch', pathlib.Path(deep).read_text())
        self.assertEqual(leaf, str(self.folder / 'sub/leaf.h'))
        self.assertTrue(middle.startswith('#line 1 "sub/middle.cuh"\n'))

    def test_search_order_and_paths(self):
        self.write_file('reduce/sum/bugs/a.cu', '#include "../sum.cuh"\n#include "ladder.cuh"\n')
        self.write_file('reduce/sum/sum.cuh', '#include "ladder.cuh"\n' + LAUNCHES)
        self.write_file('common/ladder.cuh', LAUNCHES)
        self.write_file('later/ladder.cuh', PLAIN)
        text = self.translate('reduce/sum/bugs/a.cu', 'build/a.cpp', '-I', 'common', '-Ilater')
        self.assertIn('#line 1 "reduce/sum/bugs/a.cu"', text)
        sum_, ladder = self.included(text)
        self.assertEqual(self.included(pathlib.Path(sum_).read_text()), [ladder], 'one copy of a header')
        self.assertTrue(pathlib.Path(sum_).read_text().startswith('#line 1 "reduce/sum/sum.cuh"'))
        self.assertTrue(pathlib.Path(ladder).read_text().startswith('#line 1 "common/ladder.cuh"'))

    def test_same_name_in_two_folders(self):
        self.write_file('a.cu', '#include "x/h.cuh"\n#include "y/h.cuh"\n')
        for folder in 'xy':
            self.write_file(f'{folder}/h.cuh', f'inline void {folder}() {{ k<<<1, 2>>>(); }}\n')
        first, second = self.included(self.translate('a.cu'))
        self.assertIn('void x()', pathlib.Path(first).read_text())
        self.assertIn('void y()', pathlib.Path(second).read_text())

    def test_cycle(self):
        self.write_file('a.cu', '#include "x.cuh"\n')
        self.write_file('x.cuh', '#pragma once\n#include "y.cuh"\n')
        self.write_file('y.cuh', '#include "x.cuh"\n' + LAUNCHES)
        x = self.included(self.translate('a.cu'))[0]
        y = self.included(pathlib.Path(x).read_text())[0]
        self.assertEqual(self.included(pathlib.Path(y).read_text()), [x])

    def test_include_in_removed_code_or_comment(self):
        self.write_file('a.cu', '#ifndef CUDA_EMU\n#include "x.cuh"\n#endif\n// #include "x.cuh"\n/*\n#include "x.cuh"\n*/\n')
        self.write_file('x.cuh', 'k<<<1>>>;\n')
        self.assertEqual(self.translate('a.cu').count('"x.cuh"'), 3)

    def test_errors_name_the_header(self):
        self.write_file('a.cu', '#include "sub/x.cuh"\n')
        self.write_file('sub/x.cuh', '\nk<<<1, 2>>>;\n')
        done = self.run_translator('a.cu', 'a.cpp')
        self.assertEqual((done.returncode, done.stderr), (1, "sub/x.cuh:2:2: error: kernel launch: no '(' after >>>\n"))

    def test_missing_source(self):
        done = self.run_translator('none.cu', 'a.cpp')
        self.assertEqual((done.returncode, done.stderr), (1, 'none.cu: error: No such file or directory\n'))


class Files(Folder):
    def test_depfile(self):
        self.write_file('a b.cu', '#include "x.cuh"\n#include "y.cuh"\n')
        self.write_file('x.cuh', LAUNCHES)
        self.write_file('y.cuh', PLAIN)
        self.run_translator('a b.cu', 'out/a.cpp')
        self.assertEqual(self.read('out/a.cpp.d'), 'out/a.cpp: \\\n  a\\ b.cu \\\n  x.cuh \\\n  y.cuh\n')

    def test_written_only_if_changed(self):
        self.write_file('a.cu', '#include "x.cuh"\nint a;\n')
        self.write_file('x.cuh', LAUNCHES)
        outputs = ['a.cpp', 'a.cpp.d', 'a.cpp.headers/1_x.cuh']
        self.run_translator('a.cu', 'a.cpp')
        for name in outputs:
            os.utime(self.folder / name, (1, 1))
        self.run_translator('a.cu', 'a.cpp')
        self.assertEqual([os.stat(self.folder / name).st_mtime for name in outputs], [1, 1, 1])
        # A changed copy changes the output, too: only by that does Ninja know that it must compile.
        self.write_file('x.cuh', LAUNCHES + '\n')
        self.run_translator('a.cu', 'a.cpp')
        self.assertEqual([os.stat(self.folder / name).st_mtime == 1 for name in outputs], [False, True, False])
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ['a.cpp', 'a.cpp.d', 'a.cpp.headers', 'a.cu', 'x.cuh'])

    def test_parallel(self):
        """Several runs at once, of one program and of two that share a header."""
        self.write_file('x.cuh', LAUNCHES * 200)
        for name in 'ab':
            self.write_file(f'{name}.cu', f'#include "x.cuh"\nint {name};\n')
        command = [sys.executable, str(TRANSLATOR)]
        running = [subprocess.Popen(command + [f'{name}.cu', f'build/{name}.cpp'], cwd=self.folder) for name in 'abababab']
        self.assertEqual([process.wait(60) for process in running], [0] * 8)
        for name in 'ab':
            self.assertIn(f'int {name};', self.read(f'build/{name}.cpp'))
            self.assertEqual(self.read(f'build/{name}.cpp.headers/1_x.cuh').count('::cuda_emu::launch'), 200)

    def test_any_bytes(self):
        (self.folder / 'a.cu').write_bytes(b'\xef\xbb\xbfint a; // \xff\r\nk<<<1, 2>>>();\r\n')
        self.run_translator('a.cu', 'a.cpp')
        self.assertIn(b'int a; // \xff\n::cuda_emu::launch', (self.folder / 'a.cpp').read_bytes())

    def test_speed(self):
        text = ''.join(f'__global__ void k{i}(float* p) {{\n  __shared__ float s[32];\n  // a comment\n  s[threadIdx.x] = p[{i}];\n}}\n'
                       f'void f{i}() {{ k{i}<<<1, 32>>>(p); }}\n' for i in range(60))
        self.write_file('a.cu', text)
        seconds = []
        for _ in range(3):
            start = time.perf_counter()
            subprocess.run([sys.executable, str(TRANSLATOR), 'a.cu', 'a.cpp'], cwd=self.folder, check=True)
            seconds.append(time.perf_counter() - start)
        self.assertLess(min(seconds), 1.0)  # 0.1 s; the rest is for a busy machine


if __name__ == '__main__':
    unittest.main()
