#!/usr/bin/env python3
"""Checks what every step file must have: a header that teaches, a page's length, and a small step from the one
before."""
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import ladder
from ladder import figures

diff = ladder.load_script("diff")

MOST_LINES = 150  # a page
MOST_LINES_ANY_SHAPE = 600
MOST_NEW_LINES = 40  # that a step adds or changes, as scripts/diff --stat counts them

# Steps that may be longer or add more, and why.
LARGE_STEPS = {
    "add_rms_norm_02_registers": "one kernel of float4 and scalar loads and stores in place of two of one loop each",
    "argmax_03_find_again": "another algorithm: the tiles' maxima, then the place within one tile",
    "argmax_04_loads_in_flight": "step 02 with loads in flight and the last block, which the sum takes one by one",
    "attention_02_tiled": "tiles in both products",
    "attention_04_flash": "tiles in shared memory, and all scores of a tile before its maximum",
    "attention_05_register_tiles": "another mapping, by warps, in both products",
    "attention_07_float4": "float4 in both products, aligned or not, and two shapes of a block",
    "attention_09_3xtf32": "tensor cores: products of fragments in the place of multiply-adds",
    "attention_10_split_keys": "another mapping, and a second kernel that merges the splits",
    "attention_bf16_02_mma": "fragments in registers from one product to the next, and a pipeline of copies",
    "attention_bf16_03_wgmma_tma": "another instruction and another copy engine, warpgroups that take turns",
    "attention_bf16_04_split_keys": "another mapping, fragments from memory, a kernel that merges the splits",
    "blur_06_texture": "a texture object, and copies of images that a texture cannot describe",
    "blur_07_register_window": "a kernel of its own for shapes whose rows are not aligned",
    "col_softmax_03_registers": "one exp for each element, and a merge over lanes that share a column",
    "col_softmax_04_cluster": "a pipeline of tiles, and merges over lanes, warps and blocks",
    "col_softmax_05_blocks_per_tile": "a mapping of its own, and pairs through global memory",
    "cross_entropy_03_any_alignment":
        "what is in front of and behind the float4, groups of four, and the rule for blocks",
    "cross_entropy_04_by_shape":
        "the kernel for long rows and their parts, the merge of parts, and the rule that picks",
    "compact_08_items_per_thread": "four rows of float4 per thread, and one scan of their counts in a word",
    "conv1d_causal_02_register_window": "float4 and scalar loads and stores of rows that start anywhere",
    "conv2d_04_register_blocking": "a kernel of its own for shapes whose rows are not aligned",
    "conv2d_05_by_filter": "a kernel for small filters, one for large ones, one for rows that are not aligned",
    "dot_03_last_block": "loads in flight, peeled head and last block at once; the sum's ladder takes them one by one",
    "quantize_03_vector": "float4 and char4, kept in registers, and what stands in front of and behind them",
    "gemm_bf16_02_mma": "other fragments, loads of 16 bytes, swizzled tiles and larger ones",
    "gemm_bf16_03_cp_async": "a pipeline of copies, and two sets of fragments",
    "quantize_04_by_shape": "threads by row length, and kernels for parts of rows",
    "gemv_07_by_shape": "the kernel for all shapes, and the rule that picks",
    "gemv_t_04_tall_tile": "float4 and scalar loads, and the sums of the tiles, in one launch",
    "gemv_t_05_by_shape": "the kernel for all shapes, and the rule that picks",
    "gemm_bf16_04_wgmma_tma": "another instruction and another copy engine",
    "gemm_bf16_06_persistent": "two ways to store C through shared memory, by TMA and by threads",
    "gemm_bf16_07_multicast": "step 06, whose two ways to store C are long",
    "heat3d_03_march": "another loop, and float4 and scalar accesses",
    "heat3d_04_temporal_blocking": "two time steps in one march, and loads and stores that end at the domain's border",
    "jacobi2d_03_float4_tile": "float4 and scalar loads of a larger tile, and tiles numbered in gridDim.x",
    "jacobi2d_04_register_tile": "a kernel of its own for shapes whose rows are not aligned",
    "jacobi2d_05_temporal_blocking": "another mapping, by warps, and a pipeline of time steps",
    "layer_norm_06_registers":
        "float4 and scalar loads and stores in place of one loop, and the remainder of longer rows",
    "layer_norm_07_shared": "the sum over a block, the row's chunks in shared memory and how many there are",
    "layer_norm_08_persistent":
        "a kernel of its own for long rows: copies, gamma and beta in shared memory, a cluster's launch",
    "row_softmax_06_registers": "float4 and scalar loads and stores, written out where they are introduced",
    "overlap_06_graph": "capturing, and the key that says when to capture again",
    "rope_cache_03_eight": "16-byte accesses for pairs and for halves, and scalar ones for the rest",
    "row_softmax_08_cluster": "the merge over the cluster, and a launch of at most 2^27 rows",
    "row_softmax_09_relay": "nothing is kept: another kernel, in which blocks take numbers and wait for pairs",
    "row_sum_04_by_shape": "the kernel for all shapes, and the rule that picks",
    "scan_08_look_back": "the protocol, written out where it is introduced, in place of two kernels",
    "sgemm_13_cp_async":
        "a pipeline of copies, edges without checks in the loop, larger tiles, and 16-byte or 4-byte copies",
    "sgemm_14_stream_k": "the kernel for shares of tiles, the one that adds their sums, and rows that are padded",
    "sgemm_tf32_02_wgmma_tma": "the roles of gemm_bf16's steps 04 to 07, with operands from registers",
    "softmax_04_on_chip": "registers and shared memory hold the vector, the rest is read again",
    "softmax_05_streamed": "another order of loads and exps, for any alignment",
    "softmax_06_two_passes": "two kernels, one that reads and one like a copy, in place of one",
    "top_k_06_groups": "another algorithm, of two kernels: the groups' maxima, then the groups that count",
    "top_k_07_rows_in_registers": "another algorithm for short rows, all of it in a warp",
    "top_k_08_thread_per_row": "another mapping, and rows staged in shared memory",
    "top_k_04_radix_select": "another algorithm: digits counted in shared memory",
    "transpose_09_float4": "float4 on both sides of the tile changes every index",
    "transpose_11_shifted_tiles": "another tile, whose border depends on the column",
    "transpose_inplace_02_float4": "the folded triangle, and float4 on both sides of two tiles",
    "transpose_inplace_03_skewed_tiles": "other tiles and asynchronous copies, which change every index",
}


class StepFiles(unittest.TestCase):
    def setUp(self):
        self.steps = ladder.steps()

    def test_there_are_steps(self):
        self.assertGreater(len(self.steps), 20)

    def test_headers(self):
        for step in self.steps:
            with self.subTest(step.name):
                self.assertTrue(diff.head(step).startswith("// "))
                self.assertNotRegex(diff.head(step), r"(?m)^// \w+: *$")
                if diff.head(step).startswith("// Problem:"):
                    found = re.findall(r"(?m)^// (\w+):  +\S.*((?:\n// {11}\S.*)*)", diff.head(step))
                    self.assertEqual([label for label, _ in found if label not in ("Measured", "Why")],
                                     ["Problem", "Idea", "Expect", "Next"])
                    for label, more in found:
                        self.assertLessEqual(more.count("\n"), 1, f"{label}: at most two lines")
                elif not step.is_vendor and not step.is_any_shape:
                    self.assertRegex(diff.head(step), r"(?m)^// Expect: ")
                    self.assertRegex(diff.head(step), r"(?m)^// Next( question)?: ")

    def test_numbers_are_consecutive(self):
        for kernel, steps in ladder.kernels().items():
            numbers = [int(step.number) for step in steps if not step.is_any_shape]
            self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))), kernel)
            self.assertIn(numbers[0], (0, 1), kernel)

    def test_length(self):
        for step in self.steps:
            if step.name not in LARGE_STEPS:
                most = MOST_LINES_ANY_SHAPE if step.is_any_shape else MOST_LINES
                self.assertLessEqual(len(step.path.read_text().splitlines()), most, step.name)

    def test_kernel_names_are_unique(self):
        places = {}
        for step in self.steps:
            for name in set(ladder.kernel_names(step.path)):
                self.assertNotIn(name, places, f"{step.name} and {places.get(name)} both have a kernel {name}")
                places[name] = step.name

    def test_exceptions_are_steps(self):
        self.assertLessEqual(set(LARGE_STEPS), {step.name for step in self.steps})

    def test_a_step_is_small(self):
        for before, after in diff.neighbours(self.steps):
            count, _ = diff.changes(before, after)
            with self.subTest(after.name):
                if after.name in LARGE_STEPS:
                    long = len(after.path.read_text().splitlines()) > MOST_LINES
                    self.assertTrue(long or count > MOST_NEW_LINES, "needs no exception any more")
                else:
                    self.assertLessEqual(count, MOST_NEW_LINES)


class Layout(unittest.TestCase):
    """A kernel's folder has what it alone uses, a family's what several of its kernels share, common/ the rest."""

    def setUp(self):
        self.folders = {step.folder for step in ladder.steps()}
        self.users = {}  # {header: the kernels' folders whose sources include it, directly or not}
        for step in ladder.steps() + ladder.bugs() + ladder.answers():
            for header in figures.included(step.path)[1:]:
                self.users.setdefault(header.resolve(), set()).add(step.folder)

    def test_a_header_is_where_its_users_are(self):
        for header, users in self.users.items():
            with self.subTest(str(header.relative_to(ROOT))):
                home = header.parent.parent if header.parent.name == "any_shape" else header.parent
                if home in self.folders:
                    self.assertEqual(users, {home})
                elif header.parent.parent == ROOT and header.parent.name != "common":
                    self.assertGreater(len(users), 1)
                    self.assertEqual({folder.parent for folder in users}, {header.parent})

    def test_a_family_has_kernels_tests_and_shared_headers(self):
        for family in {folder.parent for folder in self.folders}:
            for path in family.iterdir():
                if path.name == "__pycache__" or (path.is_dir() and not any(path.iterdir())):
                    continue  # not git's
                with self.subTest(str(path.relative_to(ROOT))):
                    self.assertTrue(path in self.folders or path.resolve() in self.users or path.name in (
                        "README.md", f"test_{family.name}.cpp", f"trace_{family.name}.cpp")
                        or re.fullmatch(r"export_\w+\.inc", path.name))

    def test_every_kernel_has_a_chapter(self):
        for folder in self.folders:
            self.assertTrue((folder / "README.md").is_file(), folder)


if __name__ == "__main__":
    unittest.main()
