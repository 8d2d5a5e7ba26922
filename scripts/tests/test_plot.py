#!/usr/bin/env python3
"""Tests of scripts/plot: each chart in the tree is of today's figures, and stale ones have no bar. Only drawing needs
matplotlib."""
import importlib.util
import subprocess
import unittest

import helpers
from helpers import ROOT, Case, ladder

plot = ladder.load_script("plot")

HAVE_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None


def entry(step, n, gbps, **more):
    return {**helpers.entry(step, n, 1, **more), "gbps": gbps, "of_ceiling": gbps / 5000}


def known(entries, ids=("00_cub", "01_atomic", "02_tree")):
    path = ladder.resolve_one("sum_01_atomic").path
    return helpers.known(members=[step._replace(path=path) for step in helpers.steps(*ids)], h200=entries)


def ladder_of(n=64):
    return [entry("00_cub", n, 4000, vs_vendor=1.0), entry("01_atomic", n, 2.25, vs_vendor=0.001),
            entry("02_tree", n, 4400, vs_vendor=1.1)]


class Contents(Case):
    def test_stale_figures_have_no_bar(self):
        entries = ladder_of()
        entries[2]["code"] = "before"
        panel, = plot.chart(known(entries), "sum", None).rows[0]
        self.assertEqual([bar.rate for bar in panel.bars], [2.25, None])
        entries[1]["code"] = "before"
        self.assertEqual(plot.cards_of(known(entries), "sum"), [], "a library alone is no ladder")


class Tree(Case):
    def test_each_chart_is_of_todays_figures_and_in_its_chapter(self):
        done = subprocess.run([ROOT / "scripts/plot", "--check"], stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


@unittest.skipUnless(HAVE_MATPLOTLIB, "needs matplotlib")
class Drawing(Case):
    def test_the_same_figures_give_the_same_file(self):
        pyplot = plot.load_pyplot()
        chart = plot.chart(known(ladder_of()), "sum", None)
        text = plot.draw(chart, pyplot)
        self.assertEqual(text, plot.draw(chart, pyplot))
        for word in ("01_atomic", "4400", "H200, 64, GB/s", "read"):
            self.assertIn(f">{word}<", text)


if __name__ == "__main__":
    unittest.main()
