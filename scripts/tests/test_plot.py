#!/usr/bin/env python3
"""Tests of scripts/plot: each chart in the tree is of today's figures, and stale ones have no bar."""
import subprocess
import unittest

from helpers import ROOT, Case, entry, figures, known, ladder

plot = ladder.load_script("plot")


class Plot(Case):
    def test_a_chart(self):
        """Step 02 is faster than the library; stale, it has no bar. A library alone is no ladder."""
        self.patch(figures, "ceiling_name", return_value="read")
        entries = [entry("00_cub", 1100, 0.0011, vs_vendor=1.0), entry("01_atomic", 1100, 2, vs_vendor=0.001),
                   entry("02_tree", 1100, 0.001, vs_vendor=1.1)]
        for stale, bars, words in ((None, (2, 2), ("01_atomic", "4400", "H200, 1100, GB/s", "read")),
                                   (2, (2, 0), ("stale",)), (1, (0, 2), ())):
            known_now = known(h200=[{**one, "code": "before" if at == stale else "now"}
                                    for at, one in enumerate(entries)])
            chart = plot.chart(known_now, "sum", figures.options_of([]))
            self.assertEqual((chart.count('class="step"'), chart.count('class="faster"')), bars, "with the legend's")
            for word in words:
                self.assertIn(f">{word}<", chart)
        self.assertEqual(plot.cards_of(known(h200=entries[:1]), "sum"), [])

    def test_each_chart_is_of_todays_figures_and_in_its_chapter(self):
        done = subprocess.run([ROOT / "scripts/plot", "--check"], stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
