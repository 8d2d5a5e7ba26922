#!/usr/bin/env python3
"""Tests of scripts/ladder/report.py: what the pictures show of accesses made up here."""
import re
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

from helpers import Case
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


class Pictures(Case):
    def draw(self, space, width, offsets):
        one = access("f.cu", 1, space, "load", width, offsets)
        return drawing(report.picture(one, one["worst_sample"], "title"))

    def test_sectors(self):
        """A row is four of them; of a column each is another, and the other sectors of its 128 bytes are empty."""
        for offsets, counts, note in ((ROW, (4, 32, 0), "128 of 128 bytes"),
                                      (COLUMN, (32, 32, 96), "128 of 1024 bytes")):
            kinds, words = self.draw("global", 4, offsets)
            self.assertEqual(tuple(len(kinds.get(kind, ())) for kind in ("waste", "used", "empty")), counts)
            self.assertIn(f"{counts[0]} sectors", words[-1])
            self.assertIn(note, words[-1])

    def test_conflicts_are_later_passes(self):
        for width, offsets, counts, word in ((4, TILE_COLUMN, (1, 31), "pass 32"),
                                             (4, PADDED_COLUMN, (32, 0), "pass 1"),
                                             (16, VECTORS, (32, 0), "pass 4")):
            kinds, words = self.draw("shared", width, offsets)
            self.assertEqual((len(kinds["used"]), len(kinds.get("bad", ()))), counts)
            self.assertIn(word, words)

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


def unclosed(text):
    """The tags that are open at the end, or closed in another order than opened."""
    found = []
    for closing, tag in re.findall(r"<(/?)(?!meta)(\w+)", text):
        if closing and found and found[-1] == tag:
            found.pop()
        else:
            found.append(closing + tag)
    return found


class Page(Case):
    def setUp(self):
        self.step = tile_step(TILE_COLUMN)

    def test_one_page_that_stands_alone(self):
        text = report.html_of(self.step)
        self.assertEqual(unclosed(text), [])
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
        for how, words in (({}, "27: shared load"), ({"line": 20}, "20: global load"),
                           ({"kind": "global-store"}, "27: global store")):
            picture = report.step_picture(self.step, **how)
            self.assertIn(f"transpose_04_shared_tile, line {words}", drawing(picture)[1][0])
        self.assertIn("<desc>scripts/explain --svg --access global-store transpose_04_shared_tile</desc>", picture)
        for wrong in ({"line": 1}, {"line": 20, "kind": "shared-load"}, {"kind": "global-atomic"}):
            with self.assertRaises(SystemExit):
                report.step_picture(self.step, **wrong)


if __name__ == "__main__":
    unittest.main()
