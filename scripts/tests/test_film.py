#!/usr/bin/env python3
"""Checks the data of films against what the programs must do, and, in a browser, the page that plays them."""
import html
import json
import re
import shutil
import struct
import subprocess
import sys
import unittest

from helpers import ROOT, Case
from ladder import film

CHROMIUM = next(filter(shutil.which, ("google-chrome", "chromium", "chromium-browser")), None)


def play(*arguments):
    return subprocess.run([sys.executable, ROOT / "scripts/explain", "--play", *map(str, arguments)], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def film_of(*arguments):
    """Returns (exit status, the film, its events)."""
    done = play("--json", *arguments)
    [one] = json.loads(done.stdout)["films"]
    return done.returncode, one, list(events_of(one))


def events_of(one):
    """Yields the events as dictionaries with unpacked lists."""
    for values in one["events"]:
        event = dict(zip(one["fields"], values))
        line = event["line"] = one["lines"][event["line"]]
        lanes = bin(event["lanes"]).count("1")
        each = 2 if line.get("op") == "atomic" or "width" not in line else -(-line["width"] // 4)
        for field in ("at", "words", "executed", "passes"):
            if isinstance(event[field], str):
                first, step = map(int, event[field].split("+"))
                event[field] = [first + step * i for i in range(lanes * (each if field == "words" else 1))]
        yield event


def place(event, at):
    return event["array"], at, event["block"] if event["line"]["space"] == "shared" else None


def float_of(word):
    return struct.unpack("f", struct.pack("I", word))[0]


# {planted bug with a race: (the size, text of the first moment, the array with the wrong value)}
RACES = {
    "reduce/sum/bugs/sum_missing_loop_barrier": ("n=4", r"tile\[1\].*: thread 0 loads .*, then thread 1 stores", "out"),
    # not the first race in the run, but one of the thread that writes the sum
    "reduce/sum/bugs/sum_missing_syncwarp": ("n=3", r"tile\[1\].*: thread 1 stores .*, then thread 0 loads", "out"),
    # this film is cut: it keeps the store of the wrong value, and a race of the storing thread
    "sgemm/sgemm/bugs/sgemm_missing_second_barrier": ("m=1 n=1 k=33 ", r"stores .*, then thread \(0,0\) loads", "C"),
    # the value reaches the result by shuffles
    "softmax/row_softmax/bugs/row_softmax_missing_syncwarp": ("rows=1 ", r"row_max\[0\].*: .* loads .* stores", "y"),
}


class Data(Case):
    def test_a_step_with_bank_conflicts(self):
        status, one, events = film_of("bank_conflict_02_column_row", "--", "--rows=64")
        self.assertEqual((status, one["order"], one["right"]), (0, "lockstep", True))
        self.assertEqual((one["cut"], one["moments"]), ("", []))
        stored, last, loads, waiting = {}, {}, 0, 0
        for event in events:
            for at, word in zip(event["at"], event["words"]) if event["line"]["kind"] == "access" else ():
                if event["line"]["op"] == "load":
                    loads += place(event, at) in stored
                    self.assertEqual(word, stored.get(place(event, at), word), "what was stored there last")
                else:
                    stored[place(event, at)] = word
            waiting += bin(event["lanes"]).count("1") * (event["line"]["kind"] == "wait")
            if event["line"]["kind"] == "barrier":
                self.assertEqual(waiting, 1024, "all lanes come to the barrier before it lets them go")
                waiting = 0
            for lane, number in enumerate(event["executed"] if event["lanes"] == 2 ** 32 - 1 else ()):
                own = event["block"], event["warp"], lane
                self.assertLess(last.get(own, 0), number, "each lane's own order is the one that was executed")
                last[own] = number
        stores = [event for event in events if event["line"].get("space") == "shared" and event["units"] > 1]
        self.assertEqual([(event["units"], event["passes"]) for event in stores], [(32, list(range(32)))] * 64)

    def test_races(self):
        """The first race named is a harmful one: the load misses the stored value, or sees it too early."""
        for bug, (size, says, array) in RACES.items():
            with self.subTest(bug):
                status, one, events = film_of(ROOT / f"{bug}.cu")
                race, wrong = one["moments"][0], one["moments"][-1]
                self.assertEqual((status, one["order"], one["right"]), (1, "executed", False))
                self.assertRegex(f"{one['size']} {race['text']}", rf"^{size}.*Race at .*{says}.* comes too early\.")
                self.assertEqual("The film is cut" in one["cut"], "sgemm" in bug)
                numbers = [number for event in events for number in event["executed"]]
                self.assertEqual(numbers, sorted(numbers))
                self.assertIn(race["first"] - one["start"], range(film.BEFORE + 1))
                first, second, last = (events[number] for number in (race["first"], race["event"], wrong["event"]))
                self.assertEqual((first["array"], first["at"]), (second["array"], second["at"]))
                self.assertEqual(first["words"] == second["words"], second["line"]["op"] == "load")
                self.assertEqual((one["arrays"][last["array"]]["name"], last["line"]["op"]), (array, "store"))
                self.assertIn(f"got {float_of(last['words'][0]):.6g}"[:10], one["wrong"])

    def test_threads_that_return_and_one_that_spins(self):
        """The lock's owner waits before the other thread spins."""
        _, one, _ = film_of(ROOT / "reduce/sum/bugs/sum_early_return.cu")
        self.assertIn("ome threads returned while others wait at a barrier", one["warnings"][0])
        status, one, events = film_of(ROOT / "elementwise/lock/bugs/lock_warp_waits_inside.cu")
        [waits] = [number for number, event in enumerate(events) if event["line"].get("what") == "__syncwarp"]
        polls = [number for number, event in enumerate(events) if event["line"].get("op") == "atomic"
                 and event["words"][0] == event["words"][1]]
        self.assertEqual((status, len(polls), waits < polls[0]), (1, film.POLLS, True))
        self.assertIn("1 thread spins", one["moments"][0]["text"])

    def test_out_of_bounds(self):
        for bug, size, who, element in (
                ("sgemm/sgemm/bugs/sgemm_no_bounds_guard", "alpha=", r"thread \(1,0\) fails in line 19:", "A[1] of 1"),
                ("elementwise/copy/bugs/copy_float4_tail_overrun", "n=1", "thread 0 fails in line 12:", "x[1] of 1")):
            _, one, events = film_of(ROOT / f"{bug}.cu")
            self.assertIn(size, one["size"])
            self.assertRegex(one["moments"][0]["text"], f"{who} .* the load reaches .* {re.escape(element)}")
            self.assertEqual(events[-1]["line"]["kind"], "failure")

    def test_names(self):
        """Names of __shared__ arrays, one of them extern, and the lanes that a shuffle reads."""
        for arguments, *found in ((("transpose_08_dynamic_shared", "--", "--rows=5", "--cols=5"), "tile", 32 * 65),
                                  (("sum_08_warp_shuffle", "--", "--n=40"), "warp_sums", 8)):
            _, one, events = film_of(*arguments)
            [array] = [array for array in one["arrays"] if array["space"] == "shared"]
            self.assertEqual([array["name"], *array["extents"], array["type"]], [*found, "float32"])
        shuffle = next(event for event in events if event["line"].get("what") == "__shfl_down_sync")
        self.assertEqual(shuffle["at"], [lane + 16 if lane < 16 else lane for lane in range(32)])
        given, got = shuffle["words"][::2], shuffle["words"][1::2]
        self.assertEqual(got, [given[lane] for lane in shuffle["at"]])


# A probe writes what it sees into an element, which the test reads.
LEAVE = """
<script>
function leave(seen) {
  document.body.innerHTML = "<pre id=seen></pre>";
  document.getElementById("seen").textContent = JSON.stringify(seen);
}
addEventListener("load", () => {
  const [view] = player.views, look = () => view.says.textContent;
  PROBE
});
</script>
"""

# Steps through the film, then plays it.
STEPS = """
  const seen = {start: player.tick, total: player.total}, root = document.documentElement;
  const cells = () => [...document.querySelectorAll(".cell")].map(cell => cell.className + cell.textContent).join("|");
  seen.width = root.scrollWidth - root.clientWidth;
  for (let tick = 0; tick < player.total; ++tick) player.key("ArrowRight");
  seen.end = look();
  const out = view.grids.find(grid => grid.array.name === "out"), end = cells();
  seen.out = [...out.cells].map(([word, cell]) => [out.sentence(word), cell.textContent]);
  seen.heads = [...document.querySelectorAll("h3")].map(head => head.textContent).join("; ");
  seen.shared = player.views[1].grids[0].sentence(33);
  player.seek(3);
  const forward = cells();
  player.seek(9);
  player.key("ArrowLeft");
  player.seek(3);
  seen.same = forward === cells();
  player.key("b");
  seen.barrier = player.views[1].says.textContent;  // it is there first
  player.key("Home");
  player.key("c");
  seen.conflict = look();
  player.speed.value = 200;
  player.seek(player.total - 20);
  player.key(" ");
  setTimeout(() => leave({...seen, played: [player.tick, look(), end === cells()]}), 2000);
"""

# Steps through the rounds of a warp's loops.
ROUNDS = """
  view.thread = 34; // lane 2 of warp 1
  player.key("c"); // there is none
  const seen = [[player.output.textContent, exact(2021620637, "int32")]];
  for (let last = 0; player.key("r") && player.tick > last; last = player.tick)
    seen.push([look(), view.lanes.querySelectorAll(".source").length]);
  leave(seen);
"""

# Collects the words of all arrays at the end.
WORDS = """
  player.seek(player.total);
  leave(view.grids.flatMap(grid => [...grid.cells.keys()].map(word => grid.sentence(word))));
"""


@unittest.skipUnless(CHROMIUM, "needs chromium")
class Pages(Case):
    def seen(self, page, probe, width=1500):
        """Returns what the probe saw on the page, in a window of this width."""
        path = self.folder() / "film.html"
        path.write_text(page.replace("</body>", LEAVE.replace("PROBE", probe) + "</body>"))
        done = subprocess.run([CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom",
                               "--enable-logging=stderr", "--virtual-time-budget=4000", f"--window-size={width},900",
                               path.as_uri()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=100)
        self.assertNotIn("CONSOLE", done.stderr)
        found = re.search('<pre id="seen">(.*?)</pre>', done.stdout, re.DOTALL)
        self.assertTrue(found, done.stdout[-1000:])
        return json.loads(html.unescape(found[1]))

    def test_a_film_at_three_widths(self):
        page = play("bank_conflict_02_column_row", "--beside", "bank_conflict_03_padded", "--", "--rows=1").stdout
        out = {f"out[{at // 4}]": float_of(word)
               for event in film_of("bank_conflict_02_column_row", "--", "--rows=1")[2]
               if event["line"].get("op") == "store" and event["line"]["space"] == "global"
               for at, word in zip(event["at"], event["words"])}
        self.assertEqual(len(out), 32)
        self.assertLess(len(page), 3_000_000)
        self.assertNotRegex(page, r"https?://(?!www\.w3\.org)")
        for width in 390, 800, 1500:
            with self.subTest(width=width):
                seen = self.seen(page, STEPS, width)
                self.assertEqual((seen["width"], seen["start"], seen["same"]), (0, 0, True))
                for sentence, shown in seen["out"]:
                    name, value = re.match(r"(\S+) = (\S+), written by thread", sentence).groups()
                    self.assertAlmostEqual(float(value), out[name], delta=1e-6)
                    self.assertAlmostEqual(float(shown), out[name], delta=0.06)
                self.assertIn("tile[32][33], in shared memory", seen["heads"])
                self.assertRegex(seen["shared"], r"^tile\[1\]\[0\] = ")
                self.assertIn("1024 of 1024 threads wait", seen["barrier"])
                self.assertIn("wavefront 1 of 32", seen["conflict"])
                self.assertEqual(seen["end"], f"The end, after {seen['total']} ticks.")
                self.assertEqual(seen["played"], [seen["total"], seen["end"], True])

    def test_who_wrote_a_word(self):
        """A compare-and-swap that fails writes nothing."""
        words = self.seen(play(ROOT / "elementwise/lock/bugs/lock_warp_waits_inside.cu").stdout, WORDS)
        self.assertTrue(any(re.match(r"locks\[0\] = 1, written by thread 0\b", word) for word in words), words)
        self.assertEqual(len([word for word in words if word.startswith("locks")]), 1, "no words beyond its end")

    def test_rounds(self):
        """The page shows the lanes of each round of a tree, and the lane that each shuffle reads."""
        for step, says, rounds in (
                ("sum_03_interleaved_divergent", r"^warp 1: shared load of tile in line \d+, (\d+) of 32 lanes",
                 ["16", "8", "4", "2", "1"]),
                ("sum_08_warp_shuffle", r"; lane 2 gets \S+ from lane (\d+)", ["18", "10", "6", "4", "3"])):
            [no_conflict, *seen] = self.seen(play(step, "--", "--n=64").stdout, ROUNDS)
            self.assertRegex(" ".join(no_conflict), r"^tick 0 of \d+: no bank conflict follows 2021620637$")
            self.assertEqual([re.search(says, said)[1] for said, _ in seen], rounds)
            self.assertEqual({marked for _, marked in seen}, {int("shuffle" in step)})


if __name__ == "__main__":
    unittest.main()
