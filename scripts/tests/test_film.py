#!/usr/bin/env python3
"""Checks films: their data against what the programs must do, and in a browser the page that plays them."""
import html
import json
import re
import shutil
import struct
import subprocess
import sys
import unittest
from xml.dom import minidom

from helpers import ROOT, Case
from ladder import film

CHROMIUM = next(filter(shutil.which, ("google-chrome", "chromium", "chromium-browser")), None)
WIDTHS = (390, 800, 1500)


def play(*arguments):
    return subprocess.run([sys.executable, ROOT / "scripts/explain", "--play", *map(str, arguments)], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def film_of(*arguments):
    done = play("--json", *arguments)
    [one] = json.loads(done.stdout)["films"]
    return done.returncode, one


def series(packed, count):
    if not isinstance(packed, str):
        return packed
    first, step = map(int, packed.split("+"))
    return [first + step * number for number in range(count)]


def events_of(one):
    """The events as dictionaries, lists unpacked."""
    for values in one["events"]:
        event = dict(zip(one["fields"], values))
        event["line"] = one["lines"][event["line"]]
        lanes = bin(event["lanes"]).count("1")
        width = event["line"].get("width", 0)
        each = 2 if event["line"].get("op") == "atomic" or "width" not in event["line"] else -(-width // 4)
        yield {**event, "at": series(event["at"], lanes), "words": series(event["words"], lanes * each),
               "executed": series(event["executed"], lanes), "passes": series(event["passes"], lanes)}


def place(event, at):
    return event["array"], at, event["block"] if event["line"]["space"] == "shared" else None


def float_of(word):
    return struct.unpack("f", struct.pack("I", word))[0]


class Events(Case):
    def test_what_a_thread_does_over_and_over(self):
        def event(kind, op):
            return {"launch": 0, "block": 0, "warp": 0, "lanes": 1, "kind": kind, "line": 5, "op": op, "words": [[0]],
                    "addresses": [8]}
        polls = [("access", "load", film.POLLS), ("access", "atomic", film.POLLS)]
        for kind, op, kept in (*polls, ("access", "store", 10), ("collective", None, 10), ("barrier", None, 10)):
            self.assertEqual(len(list(film.without_polls([event(kind, op)] * 10))), kept, (kind, op))

    def test_what_fits(self):
        events = [{"launch": 0, "block": number // 10} for number in range(40)]
        for focus, budget, kept in ((0, 400, range(40)), (0, 150, range(15)), (25, 100, range(20, 30)),
                                    (25, 50, range(21, 26))):
            self.assertEqual(film.chosen(events, [10] * 40, focus, set(), budget), list(kept), (focus, budget))
        loads = [{**event, "warp": number % 10, "lanes": 1, "kind": "access", "op": "store" if number == 7 else "load"}
                 for number, event in enumerate(events)]
        for budget, kept in ((400, range(40)), (150, [3, 7])):
            self.assertEqual(film.chosen(loads, [10] * 40, 0, {(0, 0, 3, 0)}, budget), list(kept), budget)


class Data(Case):
    def test_a_step_with_bank_conflicts(self):
        status, one = film_of("bank_conflict_02_column_row", "--", "--rows=64")
        self.assertEqual((status, one["order"], one["right"]), (0, "lockstep", True))
        self.assertEqual((one["cut"], one["moments"]), ("", []))
        events = list(events_of(one))
        stored, loads = {}, 0
        for event in events:
            if event["line"]["kind"] != "access":
                continue
            for at, word in zip(event["at"], event["words"]):
                if event["line"]["op"] == "load":
                    loads += place(event, at) in stored
                    self.assertEqual(word, stored.get(place(event, at), word), "what was stored there last")
                else:
                    stored[place(event, at)] = word
        self.assertEqual(loads, 64 * 32)
        stores = [event for event in events if event["line"].get("space") == "shared" and event["units"] > 1]
        self.assertEqual(len(stores), 64)
        self.assertTrue(all(event["units"] == 32 and event["passes"] == list(range(32)) for event in stores))
        # All lanes come to the barrier before it lets them go.
        waiting = 0
        for event in events:
            waiting += bin(event["lanes"]).count("1") if event["line"]["kind"] == "wait" else 0
            if event["line"]["kind"] == "barrier":
                self.assertEqual(waiting, 1024)
                waiting = 0
        # Each lane's own order is the one that was executed.
        last = {}
        for event in events:
            for lane, number in enumerate(event["executed"]):
                self.assertLess(last.get((event["block"], event["warp"], lane), 0), number)
                if event["lanes"] == 2 ** 32 - 1:
                    last[event["block"], event["warp"], lane] = number

    def test_a_picture_that_moves(self):
        drawn = minidom.parseString(play("--svg", "bank_conflict_02_column_row", "--", "--rows=1").stdout)
        frames = [group for group in drawn.getElementsByTagName("g") if group.getAttribute("class") == "frame"]
        said = [group.getElementsByTagName("text")[0].firstChild.data.split(":")[0] for group in frames]
        self.assertEqual([re.sub(r"line \d+, ", "", one) for one in said],
                         ["global load of in", "shared store of tile", "shared load of tile", "global store of out"])

    def test_a_race(self):
        status, one = film_of(ROOT / "reduce/sum/bugs/sum_missing_loop_barrier.cu")
        self.assertEqual((status, one["order"], one["right"], one["size"]), (1, "executed", False, "n=4"))
        events = list(events_of(one))
        numbers = [number for event in events for number in event["executed"]]
        self.assertEqual(numbers, sorted(numbers))
        race, wrong = one["moments"]
        self.assertTrue(0 <= race["first"] - one["start"] <= film.BEFORE)
        first, second = events[race["first"]], events[race["event"]]
        self.assertEqual(first["at"], second["at"])
        self.assertNotEqual(first["lanes"], second["lanes"])
        self.assertEqual((first["line"]["op"], second["line"]["op"]), ("load", "store"))
        self.assertNotEqual(first["words"], second["words"], "the load misses what is stored")
        self.assertIn("The load comes too early.", race["text"])
        last = events[wrong["event"]]
        self.assertEqual(one["arrays"][last["array"]]["name"], "out")
        self.assertIn(f"got {float_of(last['words'][0]):.6g}"[:10], one["wrong"])

    def test_the_race_that_does_harm_is_marked(self):
        _, one = film_of(ROOT / "reduce/sum/bugs/sum_missing_syncwarp.cu")
        events = list(events_of(one))
        races = [moment for moment in one["moments"] if moment["text"].startswith("Race")]
        self.assertGreater(races[0]["event"], min(race["event"] for race in races), "not the first one")
        store, load = events[races[0]["first"]], events[races[0]["event"]]
        before = next(event for event in reversed(events[:races[0]["first"]]) if place(event, event["at"]) ==
                      place(store, store["at"]) and event["line"]["kind"] == "access")
        self.assertNotEqual(before["words"], load["words"], "the load would have given something else")
        self.assertEqual(load["words"], store["words"])
        out = next(event for event in events if event["line"].get("space") == "global"
                   and event["line"]["op"] == "store")
        self.assertEqual((load["warp"], load["lanes"]), (out["warp"], out["lanes"]), "who writes the wrong value")

    def test_a_cut_film(self):
        """It keeps the wrong store, and the race that is shown is one of the thread that makes it."""
        _, one = film_of(ROOT / "sgemm/sgemm/bugs/sgemm_missing_second_barrier.cu")
        self.assertIn("The film is cut", one["cut"])
        self.assertEqual(one["size"].split()[:3], ["m=1", "n=1", "k=33"])
        events = list(events_of(one))
        race, store = (events[one["moments"][place]["event"]] for place in (0, -1))
        self.assertEqual((one["arrays"][store["array"]]["name"], store["line"]["op"]), ("C", "store"))
        self.assertEqual((race["line"]["op"], race["warp"], race["lanes"]), ("load", store["warp"], store["lanes"]))

    def test_a_race_that_reaches_the_result_by_shuffles(self):
        _, one = film_of(ROOT / "softmax/row_softmax/bugs/row_softmax_missing_syncwarp.cu")
        self.assertIn("Race at row_max[0]", one["moments"][0]["text"])
        self.assertEqual(one["why"].count("spins"), 0)
        self.assertIn("The load comes too early.", one["moments"][0]["text"])
        shuffles = [event for event in events_of(one) if event["line"].get("what") == "__shfl_down_sync"]
        for event in shuffles[:32]:
            lane = event["lanes"].bit_length() - 1
            self.assertEqual(event["at"], [lane + 16 if lane < 16 else lane])

    def test_a_thread_that_outlives_the_others(self):
        _, one = film_of(ROOT / "reduce/sum/bugs/sum_early_return.cu")
        self.assertIn("ome threads returned while others wait at a barrier", one["warnings"][0])
        [wrong] = one["moments"]
        last = list(events_of(one))[wrong["event"]]
        self.assertEqual((one["arrays"][last["array"]]["name"], last["line"]["op"]), ("out", "store"))

    def test_a_spin(self):
        """The owner of the lock waits before the other thread spins."""
        status, one = film_of(ROOT / "elementwise/lock/bugs/lock_warp_waits_inside.cu")
        events = list(events_of(one))
        [waits] = [number for number, event in enumerate(events) if event["line"].get("what") == "__syncwarp"]
        polls = [number for number, event in enumerate(events) if event["line"].get("op") == "atomic"
                 and event["words"][0] == event["words"][1]]
        self.assertEqual((status, len(polls), waits < polls[0]), (1, film.POLLS, True))
        self.assertIn("1 thread spins", one["moments"][0]["text"])
        self.assertEqual(events[-1]["line"]["file"], one["file"])

    def test_out_of_bounds(self):
        _, one = film_of(ROOT / "sgemm/sgemm/bugs/sgemm_no_bounds_guard.cu")
        self.assertIn("thread (1,0) fails in line 19: it loads A[1], but A has length 1", one["moments"][0]["text"])
        self.assertIn("alpha=", one["size"])
        done = play(ROOT / "elementwise/copy/bugs/copy_float4_tail_overrun.cu")
        self.assertRegex(done.stdout, r"thread 0 fails in line 12: it loads x\[1\], but x has length 1")

    def test_names(self):
        """Of __shared__ arrays, also of an extern one, and of the lanes that a shuffle reads."""
        _, one = film_of("transpose_08_dynamic_shared", "--", "--rows=5", "--cols=5")
        [tile] = [array for array in one["arrays"] if array["space"] == "shared"]
        self.assertEqual((tile["name"], tile["type"], tile["extents"]), ("tile", "float32", [32 * 65]))
        _, one = film_of("sum_08_warp_shuffle", "--", "--n=40")
        [sums] = [array for array in one["arrays"] if array["space"] == "shared"]
        self.assertEqual((sums["name"], sums["type"], sums["extents"]), ("warp_sums", "float32", [8]))
        shuffles = [event for event in events_of(one) if event["line"].get("what") == "__shfl_down_sync"]
        self.assertEqual(shuffles[0]["at"], [lane + 16 if lane < 16 else lane for lane in range(32)])
        given, got = shuffles[0]["words"][::2], shuffles[0]["words"][1::2]
        self.assertEqual(got, [given[lane] for lane in shuffles[0]["at"]])

    def test_bad_usage(self):
        for arguments in (["bank_conflict"], ["add_01_scalar", "--access", "shared-load"], ["no_such_step"]):
            done = play(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)


# What a probe sees is left in an element: a test reads that.
LEAVE = """
<script>
function leave(seen) {
  document.body.innerHTML = "<pre id=seen></pre>";
  document.getElementById("seen").textContent = JSON.stringify(seen);
}
addEventListener("load", () => {
  const [view] = player.views;
  PROBE
});
</script>
"""

# Steps through the page, and plays it.
STEPS = """
  const seen = {says: [], start: player.tick, total: player.total}, look = () => view.says.textContent;
  seen.width = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  player.key("Home");
  for (let tick = 0; tick < player.total; ++tick) { seen.says.push(look()); player.key("ArrowRight"); }
  seen.end = look();
  const out = view.grids.find(grid => grid.array.name === "out");
  seen.out = [...out.cells].map(([word, cell]) => [out.sentence(view.state, word), cell.textContent]);
  const padded = player.views[1].grids[0];
  seen.heads = [...document.querySelectorAll("h3")].map(head => head.textContent).join("; ");
  seen.shared = padded.sentence(player.views[1].state, 33);
  const cells = () => [...document.querySelectorAll(".cell")].map(cell => cell.className + cell.textContent).join("|");
  const end = cells();
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
  setTimeout(() => {
    seen.played = [player.tick, look(), end === cells()];
    leave(seen);
  }, 2000);
"""

# Goes from round to round of the loops of a warp.
ROUNDS = """
  const seen = [];
  view.warp = 1;
  view.lane = 2;
  player.key("Home");
  player.key("c"); // there is none
  seen.push([player.output.textContent, exact(2021620637, "int32")]);
  for (player.key("r"); player.tick < player.total; player.key("r"))
    seen.push([view.says.textContent, view.lanes.querySelectorAll(".source").length]);
  leave(seen);
"""

# What the words of all arrays hold at the end.
WORDS = """
  player.seek(player.total);
  leave(view.grids.flatMap(grid => [...grid.cells.keys()].map(word => grid.sentence(view.state, word))));
"""


@unittest.skipUnless(CHROMIUM, "needs chromium")
class Pages(Case):
    def seen(self, page, width, probe):
        """What the page showed, in a window of this width."""
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
        done = play("bank_conflict_02_column_row", "--beside", "bank_conflict_03_padded", "--", "--rows=1")
        _, one = film_of("bank_conflict_02_column_row", "--", "--rows=1")
        stores = [event for event in events_of(one) if event["line"].get("op") == "store"
                  and event["line"]["space"] == "global"]
        out = {f"out[{at // 4}]": float_of(word) for event in stores for at, word in zip(event["at"], event["words"])}
        self.assertEqual(len(out), 32)
        self.assertLess(len(done.stdout), 3_000_000)
        self.assertNotRegex(done.stdout, r"https?://(?!www\.w3\.org)")
        for width in WIDTHS:
            with self.subTest(width=width):
                seen = self.seen(done.stdout, width, STEPS)
                self.assertEqual((seen["width"], seen["start"]), (0, 0))
                self.assertEqual(len(seen["says"]), seen["total"])
                self.assertEqual(seen["end"], f"The end, after {seen['total']} ticks.")
                self.assertTrue(seen["same"], "forward and back")
                for sentence, shown in seen["out"]:
                    name, value = re.match(r"(\S+) = (\S+), written by thread", sentence).groups()
                    self.assertAlmostEqual(float(value), out[name], delta=1e-6)
                    self.assertAlmostEqual(float(shown), out[name], delta=0.06)
                self.assertIn("tile[32][33], in shared memory", seen["heads"])
                self.assertRegex(seen["shared"], r"^tile\[1\]\[0\] = ")
                self.assertIn("1024 of 1024 threads wait", seen["barrier"])
                self.assertIn("wavefront 1 of 32", seen["conflict"])
                self.assertEqual(seen["played"], [seen["total"], seen["end"], True])

    def test_who_wrote_a_word(self):
        """A swap that fails writes nothing. A row has words beyond its array's end."""
        bug = ROOT / "elementwise/lock/bugs/lock_warp_waits_inside.cu"
        words = self.seen(play(bug).stdout, 1500, WORDS)
        self.assertTrue(any(re.match(r"locks\[0\] = 1, written by thread 0\b", word) for word in words), words)
        self.assertIn("not a part of locks", words)

    def test_rounds(self):
        [no_conflict, *tree] = self.seen(play("sum_03_interleaved_divergent", "--", "--n=64").stdout, 1500, ROUNDS)
        self.assertEqual(no_conflict, ["tick 0 of 225: no bank conflict follows", "2021620637"])
        self.assertEqual([int(re.search(r": shared load of tile in line \d+, (\d+) of 32 lanes", said)[1])
                          for said, _ in tree], [16, 8, 4, 2, 1])
        self.assertTrue(all(said.startswith("warp 1") for said, _ in tree))
        [_, *shuffles] = self.seen(play("sum_08_warp_shuffle", "--", "--n=64").stdout, 1500, ROUNDS)
        self.assertEqual([re.search(r"; lane 2 gets \S+ from lane (\d+)", said)[1] for said, _ in shuffles],
                         ["18", "10", "6", "4", "3"])
        self.assertTrue(all(marked == 1 for _, marked in shuffles))


if __name__ == "__main__":
    unittest.main()
