#!/usr/bin/env python3
"""Tests of scripts/plot: each chart in the tree is of today's figures, and stale ones have no bar. Only drawing needs
matplotlib."""
import subprocess
import unittest

from helpers import ROOT, Case, entry, figures, known, ladder

plot = ladder.load_script("plot")


def ladder_of(n=1100):
    """What was measured; step 02 is faster than the library."""
    return [entry("00_cub", n, 0.0011, vs_vendor=1.0), entry("01_atomic", n, 2, vs_vendor=0.001),
            entry("02_tree", n, 0.001, vs_vendor=1.1)]


class Made(Case):
    """Of figures made up."""

    def chart(self, entries):
        self.patch(figures, "ceiling_name", return_value="read")
        return plot.chart(known(h200=entries), "sum", figures.options_of([]))


class Contents(Made):
    def test_stale_figures_have_no_bar(self):
        entries = ladder_of()
        entries[2]["code"] = "before"
        panel, = self.chart(entries).rows[0]
        self.assertEqual([bar.rate for bar in panel.bars], [2.2, None])
        entries[1]["code"] = "before"
        self.assertEqual(plot.cards_of(known(h200=entries), "sum"), [], "a library alone is no ladder")


class Tree(Case):
    def test_each_chart_is_of_todays_figures_and_in_its_chapter(self):
        done = subprocess.run([ROOT / "scripts/plot", "--check"], stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class Drawing(Made):
    def test_the_same_figures_give_the_same_file(self):
        pyplot = plot.load_pyplot()
        chart = self.chart(ladder_of())
        text = plot.draw(chart, pyplot)
        self.assertEqual(text, plot.draw(chart, pyplot))
        for word in ("01_atomic", "4400", "H200, 1100, GB/s", "read"):
            self.assertIn(f">{word}<", text)


if __name__ == "__main__":
    unittest.main()
