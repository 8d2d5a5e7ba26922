#!/usr/bin/env python3
"""Tests of scripts/ladder/report.py: what the pictures show of accesses made up here."""
import sys
import unittest
import xml.etree.ElementTree as xml
from html.parser import HTMLParser
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from ladder import report


def sample(space, width, offsets):
    """A request as scripts/explain describes it."""
    offsets = [*offsets, *[None] * (32 - len(offsets))]
    active = [offset for offset in offsets if offset is not None]
    if space == "global":
        units = len({offset // 32 for offset in active})
        return {"block": [0, 0, 0], "warp": 0, "units": units, "ideal": -(-len(active) * width // 32), "allocation": 0,
                "offsets": offsets, "passes": None}
    lanes_per_pass = 128 // width
    passes, last = [], -1
    for begin in range(0, 32, lanes_per_pass):
        words_of_bank = {}
        for offset in offsets[begin:begin + lanes_per_pass]:
            if offset is None:
                passes.append(None)
                continue
            words = words_of_bank.setdefault(offset // 4 % 32, [])
            if offset not in words:
                words.append(offset)
            passes.append(last + 1 + words.index(offset))
        last = max([number for number in passes if number is not None], default=-1)
    return {"block": [0, 0, 0], "warp": 0, "units": last + 1, "ideal": -(-len(active) * width // 128),
            "allocation": None, "offsets": offsets, "passes": passes}


def access(file, line, space, op, width, *requests, times=1):
    samples = [sample(space, width, offsets) for offsets in requests]
    worst = max(samples, key=lambda one: one["units"])
    return {"file": file, "line": line, "space": space, "op": op, "width": width, "async": False,
            "requests": len(samples) * times, "same_address": 0, "worst": worst["units"], "histogram": {},
            "unit": "sectors" if space == "global" else "wavefronts",
            "lanes": times * sum(len(report.lanes_of(one)) for one in samples),
            "units": times * sum(one["units"] for one in samples),
            "ideal": times * sum(one["ideal"] for one in samples),
            "bytes_requested": 0, "bytes_moved": 0, "samples": samples, "worst_sample": worst}


def step(name, file, accesses, findings=()):
    return {"step": name, "file": file, "size": {"rows": 1027, "cols": 1537}, "findings": list(findings),
            "launches": [{"accesses": accesses}]}


ROW = [4 * lane for lane in range(32)]
COLUMN = [4 * 1537 * lane for lane in range(32)]
TILE_COLUMN = [128 * lane for lane in range(32)]
PADDED_COLUMN = [132 * lane for lane in range(32)]
VECTORS = [16 * lane for lane in range(32)]


def drawing(text):
    """The boxes of a picture by their kind, and its words."""
    root = xml.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    kinds = {}
    for box in root.iter(f"{space}rect"):
        kinds.setdefault(box.get("class"), []).append(box)
    return kinds, [text.text for text in root.iter(f"{space}text")]


class Pictures(unittest.TestCase):
    def draw(self, space, width, offsets):
        one = access("f.cu", 1, space, "load", width, offsets)
        return drawing(report.picture(one, one["worst_sample"], "title"))

    def test_a_row_is_four_sectors(self):
        kinds, words = self.draw("global", 4, ROW)
        self.assertEqual((len(kinds["waste"]), len(kinds["used"]), len(kinds.get("empty", []))), (4, 32, 0))
        self.assertRegex(words[-1], r"\b4 sectors.*\b128 of 128 bytes")

    def test_a_column_is_32_sectors_and_a_word_of_each(self):
        kinds, words = self.draw("global", 4, COLUMN)
        self.assertEqual((len(kinds["waste"]), len(kinds["used"])), (32, 32))
        self.assertEqual(len(kinds["empty"]), 32 * 3, "the other sectors of the 32 lines")
        self.assertTrue(any("128 of 1024 bytes" in word for word in words))

    def test_conflicts_are_later_passes(self):
        kinds, words = self.draw("shared", 4, TILE_COLUMN)
        self.assertEqual((len(kinds["used"]), len(kinds["bad"])), (1, 31))
        self.assertIn("pass 32", words)
        kinds, words = self.draw("shared", 4, PADDED_COLUMN)
        self.assertEqual((len(kinds["used"]), "bad" in kinds), (32, False))
        kinds, words = self.draw("shared", 16, VECTORS)
        self.assertEqual((len(kinds["used"]), "bad" in kinds), (32, False))
        self.assertIn("pass 4", words)

    def test_rounds(self):
        tree = [[4 * 2 * stride * lane for lane in range(128 // stride)][:32] for stride in (4, 8, 16, 32, 64)]
        one = access("f.cu", 1, "shared", "load", 4, *tree)
        self.assertEqual([request["units"] for request in one["samples"]], [8, 8, 8, 4, 2])
        kinds, words = drawing(report.rounds(one, "title"))
        self.assertEqual(len(kinds["used"]) + len(kinds["bad"]), 32 + 16 + 8 + 4 + 2)
        self.assertEqual(len(kinds["used"]), 4 + 2 + 1 + 1 + 1, "those of the first wavefront")
        self.assertTrue(any(word.startswith("16 lanes, 8 wavefronts") for word in words))


FILE = "transpose/transpose/transpose_04_shared_tile.cu"


def tile_step(column):
    accesses = [access(FILE, 20, "global", "load", 4, ROW, times=50), access(FILE, 27, "shared", "load", 4, column),
                access(FILE, 27, "global", "store", 4, ROW)]
    return step(Path(FILE).stem, FILE, accesses, [{"kind": "bank conflicts", "file": FILE, "line": 27, "cost": 31,
                                                   "text": "a < b", "fixed_by": "x"}])


class Tags(HTMLParser):
    """Are all elements closed, in order?"""
    VOID = {"meta", "br", "link"}

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.wrong = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append((tag, self.getpos()))


class Page(unittest.TestCase):
    def setUp(self):
        self.step = tile_step(TILE_COLUMN)

    def test_one_page_that_stands_alone(self):
        text = report.html_of(self.step)
        tags = Tags(text)
        self.assertEqual((tags.open, tags.wrong), ([], []))
        self.assertNotRegex(text, r"(src|href)=|url\(|@import|<script")
        self.assertIn("a &lt; b", text)
        self.assertIn("load: 32 wavefronts, ideal 1", text)
        self.assertEqual(text.count('<details class="access" open>'), 1)

    def test_launches_are_added_up(self):
        one = self.step
        one["launches"] *= 2
        loads = [each for each in report.accesses_of(one) if each["space"] == "shared"]
        self.assertEqual(len(loads), 1)
        self.assertEqual((loads[0]["requests"], loads[0]["units"], loads[0]["worst"]), (2, 64, 32))

    def test_the_picture_of_a_step_is_of_its_costliest_access(self):
        _, words = drawing(report.step_picture(self.step))
        self.assertRegex(words[0], "transpose_04_shared_tile.*27.*shared load")
        _, words = drawing(report.step_picture(self.step, line=20))
        self.assertRegex(words[0], "transpose_04_shared_tile.*20.*global load")
        alone = report.step_picture(self.step, kind="global-store")
        self.assertIn("<desc>scripts/explain --svg --access global-store transpose_04_shared_tile</desc>", alone)
        self.assertIn("global store", drawing(alone)[1][0])
        for wrong in ({"line": 1}, {"line": 20, "kind": "shared-load"}, {"kind": "global-atomic"}):
            with self.assertRaises(SystemExit):
                report.step_picture(self.step, **wrong)


if __name__ == "__main__":
    unittest.main()
