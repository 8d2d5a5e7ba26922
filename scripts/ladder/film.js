"use strict";
// Plays the films that the page holds; scripts/README.md describes their format. A film is a list of events. State is
// memory and lanes after some of them, View gives each its place on the clock and draws it, and Player is the clock.

const LANES = 32, WORD = 4, ROW = 128, SECTOR = 32; // bytes of a word, of a row of 32 banks, of a sector
const MOST_ROWS = 160; // of a grid

// ---- numbers

/** "8+4" stands for 8, 12, 16, ...; a list stands for itself. */
function series(packed, count) {
  if (typeof packed !== "string") return packed;
  const [first, step] = packed.split("+").map(Number);
  return Array.from({length: count}, (_, i) => first + i * step);
}

/** 16 bits: sign, 5 bits of exponent, 10 of fraction. */
function float16(half) {
  const exponent = half >> 10 & 31, fraction = half & 1023, sign = half >> 15 ? -1 : 1;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction / 1024 * 2 ** -14);
}

const ARRAYS = {float32: Float32Array, int8: Int8Array, uint8: Uint8Array};

/** The numbers in a word. Where the type isn't known, a word is a float if its exponent is an ordinary one. */
function numbers(word, type) {
  if (type === "float16") return [word & 0xffff, word >>> 16].map(float16);
  if (type === "bfloat16") return [word << 16, word & 0xffff0000].flatMap(half => numbers(half, "float32"));
  const exponent = word >>> 23 & 255;
  const isFloat = word === 0x80000000 || (exponent > 80 && exponent < 180) || (word & 0x7fbfffff) === 0x7f800000;
  const kind = ARRAYS[type] || (type === null && isFloat ? Float32Array : Int32Array);
  return [...new kind(Uint32Array.of(word).buffer)];
}

function exact(word, type) {
  return numbers(word, type).map(number =>
    String(Number.isSafeInteger(number) ? number : Number(number.toPrecision(9)))).join(" ");
}

/** In about four characters, for a cell. */
function short(word, type) {
  const [number] = numbers(word, type), size = Math.abs(number);
  if (Number.isInteger(number) && size < 1e4) return String(number);
  if (!Number.isFinite(number)) return String(number).replace("Infinity", "inf");
  if (size < 0.005 || size >= 1e4) return number.toExponential(0).replace("e+", "e");
  const texts = [2, 1, 0].map(digits => number.toFixed(digits).replace(/^(-?)0\./, "$1."));
  return texts.find(text => text.length <= 4) || texts[2];
}

// ---- names

/** A block's or a thread's index, "(1,0)", or its number where the grid or the block has one dimension. */
function indexName([x, y, z], number) {
  const index = [number % x, Math.floor(number / x) % y, Math.floor(number / x / y)];
  return y * z === 1 ? String(number) : `(${index.slice(0, z > 1 ? 3 : 2)})`;
}

function threadName(film, launch, thread) {
  const name = indexName(film.launches[launch].block, thread);
  return `thread ${name} (warp ${Math.floor(thread / LANES)}, lane ${thread % LANES})`;
}

/** " in line 5", with the file where it is not the step's. */
function inLine(film, {file, line}) {
  return line ? ` in line ${line}${file === film.file ? "" : ` of ${file.split("/").pop()}`}` : "";
}

/** The element at a byte, tile[3][5]; of a float4 with a letter, and of memory without elements the byte. */
function placeName({name, type, element: bytes, extents}, byte) {
  if (!bytes) return `${name} byte ${byte}`;
  let index = Math.floor(byte / bytes), places = "";
  const part = byte - index * bytes;
  for (const extent of extents.slice(1).reverse()) {
    places = `[${index % extent}]${places}`;
    index = Math.floor(index / extent);
  }
  if (extents.length) places = `[${index}]${places}`;
  return name + places + (!part ? "" : /^(float|int)32$/.test(type) ? `.${"xyzw"[part / WORD]}` : ` byte ${part}`);
}

// ---- the clock

function isConflict(event) {
  return event.line.space === "shared" && event.units > event.ideal;
}

/** How many ticks an event takes: one, and one for each wavefront that a bank conflict adds. */
function ticksOf(event) {
  if (["returned", "barrier", "landing"].includes(event.line.kind)) return 0;
  return isConflict(event) ? 1 + event.units - event.ideal : 1;
}

/** An event as an object: `lanes` has its active ones, each with `offsets`, those of the words that it accesses (of
 * what is narrower than a word its own); `type` is that of its values. */
function decode(film, values, number) {
  const event = {number};
  film.fields.forEach((field, i) => { event[field] = values[i]; });
  const line = film.lines[event.line], array = film.arrays[event.array], {warp, lanes: mask, launch, block} = event;
  const isExchange = line.kind === "collective", isPair = isExchange || line.op === "atomic";
  const active = [...Array(LANES).keys()].filter(lane => mask >>> lane & 1), count = active.length;
  const length = Math.ceil((line.width || 0) / WORD), each = isPair ? (line.width > WORD ? 4 : 2) : length;
  const [at, executed, passes] = ["at", "executed", "passes"].map(field => series(event[field], count));
  const words = series(event.words, each * count);
  const lanes = active.map((lane, i) => ({
    thread: warp * LANES + lane, at: at[i], executed: executed[i], pass: passes[i] || 0,
    words: words.slice(i * each, (i + 1) * each), offsets: Array.from({length}, (_, word) => at[i] + word * WORD)}));
  const type = isExchange ? line.type || null : array && array.type;
  return {...event, line, array, lanes, type, home: `${launch}/${block}`};
}

/** What a thread does in an event; undefined: nothing. */
function laneOf(event, thread) {
  return event.lanes.find(lane => lane.thread === thread);
}

// ---- memory and lanes

/** The memory and the lanes after the first `applied` events of a film. */
class State {
  constructor(film) {
    Object.assign(this, {film, applied: 0, parts: new Map()});
  }

  part(key) {
    if (!this.parts.has(key)) this.parts.set(key, new Map());
    return this.parts.get(key);
  }

  /** The words of an array that are known, by number. Each block has its own shared memory. */
  memory(event, array) {
    return this.part(array.space === "shared" ? `${event.home}/${this.film.arrays.indexOf(array)}` : array);
  }

  /** The threads of an event's block that wait or have returned: {thread: the event}. */
  stopped(event) {
    return this.part(event.home);
  }

  /** To the state after an event, whose block is shown. */
  seek(event) {
    if (event.number < this.applied) Object.assign(this, {applied: 0, parts: new Map()});
    while (this.applied <= event.number) this.apply(this.film.events[this.applied++]);
    this.event = event;
  }

  apply(event) {
    const {kind} = event.line, stopped = this.stopped(event);
    if (kind === "landing" || (kind === "access" && !isCopy(event))) this.access(event);
    if (kind === "wait" || kind === "returned") for (const {thread} of event.lanes) stopped.set(thread, event);
    if (kind === "barrier") for (const [thread, {line}] of stopped) if (line.kind === "wait") stopped.delete(thread);
  }

  /** A word holds what was stored last, as the program executed the lanes: that counts for atomic operations. */
  access(event) {
    const {array, line: {op, width}} = event, memory = this.memory(event, array);
    event.lanes.forEach(({thread, offsets, words, executed}) => offsets.forEach((at, part) => {
      const place = at + array.phase, number = Math.floor(place / WORD), old = memory.get(number);
      if (op !== "load" && old && old.writer && old.executed > executed) return;
      let value = words[part];
      if (width < WORD) { // a part of a word
        const shift = 8 * (place & 3), mask = (2 ** (8 * width) - 1) << shift;
        value = ((old ? old.value : 0) & ~mask | value << shift & mask) >>> 0;
      }
      const isFailedSwap = op === "atomic" && words.length > 1 && value === words[1];
      memory.set(number, op === "load" || isFailedSwap ? {...old, value} : {value, writer: event, thread, executed});
    }));
  }
}

/** Does a request start an asynchronous copy, which lands later? */
function isCopy({line}) {
  return line.kind === "access" && line.async && line.op === "store";
}

// ---- drawing

function element(parent, kind, name = "", text = "") {
  const made = document.createElement(kind);
  made.className = name;
  made.textContent = text;
  parent.append(made);
  return made;
}

/** Changes a cell only where it differs: most don't. */
function show(cell, name, text) {
  if (cell.className !== name) cell.className = name;
  if (text !== undefined && cell.textContent !== text) cell.textContent = text;
}

/** Whether a lane of a request is served at this step of it: each wavefront that a conflict adds is a step. */
function turnOf(event, lane, step) {
  const turn = Math.max(0, lane.pass - event.ideal + 1);
  if (turn === step) return isConflict(event) ? "bad" : "now";
  return turn < step ? "done" : "later";
}

/** Scrolls the box around this part, and nothing else, so that it is seen. */
function reveal(part) {
  const box = part.closest(".scroll, .source");
  if (part.offsetTop < box.scrollTop || part.offsetTop + part.offsetHeight > box.scrollTop + box.clientHeight)
    box.scrollTop = part.offsetTop - box.clientHeight / 3;
}

/** An array in rows of 128 bytes: 32 banks of shared memory, or 4 sectors. It has cells for its own words, and for
 * those beyond that are touched all the same. */
class Grid {
  constructor(parent, state, array) {
    const {name, space, extents, phase} = array, isShared = space === "shared";
    Object.assign(this, {state, array, cells: new Map()});
    const touched = new Set(state.film.events.filter(event => event.array === array).flatMap(event =>
      event.lanes.flatMap(lane => lane.offsets.map(at => this.wordAt(at)))));
    const rows = [...new Set([...touched].map(word => Math.floor(word / LANES)))].sort((a, b) => a - b);
    const end = array.element ? extents.reduce((size, extent) => size * extent, array.element) : Infinity;
    element(parent, "h3", "", name + extents.map(extent => `[${extent}]`).join("")
      + (isShared ? ", in shared memory: a column is a bank" : ": 4 sectors of 32 bytes in a row")
      + (rows.length > MOST_ROWS ? `; the first ${MOST_ROWS} of ${rows.length} rows that are touched` : ""));
    const grid = element(element(parent, "div", "scroll"), "div", "grid");
    element(grid, "div", "at", isShared ? "bank" : "byte");
    for (let column = 0; column < LANES; ++column)
      element(grid, "div", "soft", isShared ? String(column) : column % 8 ? "" : `+${column * WORD}`);
    for (const row of rows.slice(0, MOST_ROWS)) {
      element(grid, "div", "at", placeName({...array, name: ""}, Math.max(0, row * ROW - phase)));
      for (let word = row * LANES; word < (row + 1) * LANES; ++word) {
        const cell = element(grid, "div"), at = word * WORD - phase;
        if (touched.has(word) || (at + WORD > 0 && at < end)) this.cells.set(word, cell);
      }
    }
  }

  wordAt(offset) {
    return Math.floor((offset + this.array.phase) / WORD);
  }

  /** The words of a request: which of them this tick's pass serves. */
  touched({event, step}) {
    const found = new Map();
    if (event.array !== this.array) return found;
    for (const lane of event.lanes)
      for (const at of lane.offsets) found.set(this.wordAt(at), turnOf(event, lane, step));
    const words = event.line.space === "global" ? [...found.keys()] : [];
    for (const sector of new Set(words.map(word => Math.floor(word * WORD / SECTOR))))
      for (let word = sector * 8; word < sector * 8 + 8; ++word) found.set(word, `sector ${found.get(word) || ""}`);
    return found;
  }

  /** Returns the cell to reveal. */
  draw(now) {
    const touched = now ? this.touched(now) : new Map(), words = this.state.memory(this.state.event, this.array);
    for (const [word, cell] of this.cells) {
      const known = words.get(word), text = known ? short(known.value, this.array.type) : "";
      show(cell, `cell ${known ? "known" : ""} ${touched.get(word) || ""}`, text);
    }
    const first = [...touched].find(([word, name]) => this.cells.has(word) && /now|bad/.test(name));
    return first && this.cells.get(first[0]);
  }

  /** What a word holds, in a sentence. */
  sentence(word) {
    const {array, state, state: {film}} = this, known = state.memory(state.event, array).get(word);
    const name = placeName(array, word * WORD - array.phase);
    if (!known) return `${name}: not touched yet in this film`;
    const {value, writer, thread} = known, is = `${name} = ${exact(value, array.type)}`;
    if (!writer) return `${is}, not written in this film`;
    return `${is}, written by ${threadName(film, writer.launch, thread)}${inLine(film, writer.line)}`;
  }
}

class View {
  constructor(parent, film, player) {
    Object.assign(this, {film, player, ticks: []});
    film.events = film.events.map((values, number) => decode(film, values, number));
    for (const event of film.events) {
      event.begin = this.ticks.length;
      for (let step = 0; step < ticksOf(event); ++step) this.ticks.push({event, step});
    }
    const root = element(parent, "section", "film");
    element(root, "h2", "", film.step);
    element(root, "p", "soft", `${film.size}. A tick is one request of a warp, or one more wavefront. It is not a time.`);
    for (const text of [film.why, film.cut, film.wrong, ...film.warnings].filter(Boolean))
      element(root, "p", "warning", text);
    this.moments = film.moments.map(moment => {
      const button = element(root, "button", "moment", moment.text), event = film.events[moment.event];
      button.onclick = () => this.follow(event.lanes[0].thread, event.begin);
      return {...moment, button, event, first: film.events[moment.first]};
    });
    this.says = element(root, "p", "says");
    const columns = element(root, "div", "columns"), left = element(columns, "div"), right = element(columns, "div");
    const source = element(left, "div", "source");
    this.rows = new Map(); // of the source, by file and line
    for (const [file, lines] of Object.entries(film.sources)) {
      element(source, "h3", "", file);
      lines.forEach((text, i) => {
        const row = element(source, "div");
        element(row, "span", "at", String(i + 1));
        row.append(text);
        this.rows.set(`${file}:${i + 1}`, row);
      });
    }
    this.title = element(left, "h3");
    this.history = element(left, "div", "lane");
    element(left, "p", "soft", "Click a lane to follow it; point at a word to see who wrote it.");
    this.state = new State(film);
    this.makeLanes(right);
    const used = new Set(film.events.map(event => event.array));
    this.grids = ["shared", "global", "constant"].flatMap(space => film.arrays.filter(array =>
      array.space === space && used.has(array)).map(array => new Grid(right, this.state, array)));
    for (const grid of this.grids)
      for (const [word, cell] of grid.cells) cell.onmouseenter = () => { cell.title = grid.sentence(word); };
    const start = film.events[film.start], [lane] = (film.moments.length ? this.moments[0].event : start).lanes;
    Object.assign(this, {thread: lane ? lane.thread : 0, start: start.begin});
  }

  /** A row of lanes for each warp of the largest block. */
  makeLanes(parent) {
    element(parent, "h3", "", "warps: a column is a lane");
    const lanes = this.lanes = element(element(parent, "div", "scroll"), "div", "grid");
    element(lanes, "div", "at", "lane");
    for (let lane = 0; lane < LANES; ++lane) element(lanes, "div", "soft", String(lane));
    const threads = Math.max(...this.film.launches.map((_, launch) => this.threads({launch})));
    for (this.cells = []; this.cells.length < threads || this.cells.length % LANES;) {
      const thread = this.cells.length;
      if (thread % LANES === 0) element(lanes, "div", "at", `warp ${thread / LANES}`);
      this.cells.push(element(lanes, "div"));
      this.cells[thread].onclick = () => this.follow(thread);
    }
  }

  /** How many a block of an event's launch has. */
  threads({launch}) {
    return this.film.launches[launch].block.reduce((a, b) => a * b);
  }

  /** Follows another thread, from a tick on. */
  follow(thread, tick = this.player.tick) {
    this.thread = thread;
    this.player.seek(tick);
  }

  /** The first tick after this one with an event that fits, of a barrier the last at which all wait; Infinity: none. */
  next(tick, fits) {
    const shown = event => event.begin - (ticksOf(event) === 0);
    const found = this.film.events.find(event => shown(event) > tick && fits(event));
    return found ? shown(found) : Infinity;
  }

  /** When the chosen warp, or the thread where threads run one by one, is again at its line; if never, when it comes to
   * another line that it executes more than once. */
  nextRound() {
    const {home, number} = this.state.event, warp = Math.floor(this.thread / LANES);
    const mine = this.film.events.filter(event => event.home === home && event.warp === warp
      && (this.film.order === "lockstep" || laneOf(event, this.thread)) && ticksOf(event) > 0);
    const done = mine.filter(event => event.number <= number).map(event => event.line), here = done[done.length - 1];
    const later = mine.slice(done.length);
    const next = later.find(event => event.line === here) || later.find((event, i) => !done.includes(event.line)
      && later.some((other, j) => j > i && other.line === event.line));
    return next ? next.begin : Infinity;
  }

  draw(tick) {
    const {film} = this, now = this.ticks[tick]; // none at the end
    const event = now ? now.event : film.events[film.events.length - 1];
    this.state.seek(event);
    const moments = this.moments.filter(one => now && (one.event === event || one.first === event));
    for (const one of this.moments) show(one.button, moments.includes(one) ? "moment warning" : "moment");
    const wrong = event.line.kind === "failure" ? [] : moments.map(one => one.text);
    const end = `The end, after ${this.ticks.length} ticks.`;
    this.says.textContent = now ? [this.sentence(now), ...wrong].join(". ") : end;
    this.drawHistory(event);
    const place = `${event.line.file}:${event.line.line}`;
    for (const [at, row] of this.rows) show(row, at === place ? "now" : "");
    const firsts = moments.map(one => one.first && one.first.lanes[0].thread);
    const parts = [this.rows.get(place), this.drawLanes(event, now, firsts), ...this.grids.map(grid => grid.draw(now))];
    for (const part of parts) if (part) reveal(part); // after all has been drawn, as it asks where things are
  }

  /** What happens at a tick. */
  sentence({event, step}) {
    const {line, launch, units, ideal, lanes} = event, {launches, order} = this.film, {grid} = launches[launch];
    const isLockstep = order === "lockstep", where = inLine(this.film, line);
    const who = [launches.length > 1 ? `launch ${launch + 1}` : "",
      Math.max(...grid) > 1 ? `block ${indexName(grid, event.block)}` : "",
      isLockstep ? `warp ${event.warp}` : threadName(this.film, launch, lanes[0].thread)].filter(Boolean).join(", ");
    if (["wait", "failure"].includes(line.kind) || !isLockstep)
      return `${who}${where} ${this.deed(event, lanes[0])}${line.kind === "wait" ? this.waiting(event) : ""}`;
    const does = `${where}, ${lanes.length} of 32 lanes${lanes.length < LANES ? ", the others idle" : ""}`;
    if (line.kind === "collective") {
      const reader = this.reader(event), lane = `; lane ${this.thread % LANES} `;
      return `${who}: ${line.what}${does}${reader ? lane + this.exchange(event, reader) : ""}`;
    }
    const cost = line.space === "global" ? `, ${units} sector${units === 1 ? "" : "s"}, ${ideal} would do`
      : isConflict(event) ? `, bank conflict: wavefront ${ideal + step} of ${units}, ${ideal} would do` : "";
    return `${who}: ${line.async ? "asynchronous " : ""}${line.space} ${line.op} of ${event.array.name}${does}${cost}`;
  }

  /** Of a shuffle what the chosen lane does, or where threads run one by one the only one; undefined: nothing. */
  reader({line, lanes}) {
    if (line.kind !== "collective" || !lanes.length || lanes[0].at === undefined) return undefined;
    return this.film.order === "executed" ? lanes[0] : lanes.find(({thread}) => thread % LANES === this.thread % LANES);
  }

  /** How many threads of the block wait. */
  waiting(event) {
    const kinds = [...this.state.stopped(event).values()].map(({line}) => line.kind);
    const waits = kinds.filter(kind => kind === "wait").length, returned = kinds.length - waits;
    return `: ${waits} of ${this.threads(event)} threads wait${returned ? `, ${returned} have returned` : ""}`;
  }

  /** `firsts`: of races the threads that came to the word first. Returns the cell to reveal. */
  drawLanes(event, now, firsts) {
    const reader = now && this.reader(event), threads = this.threads(event), stopped = this.state.stopped(event);
    this.cells.forEach((cell, thread) => {
      const stop = stopped.get(thread), lane = now && laneOf(event, thread);
      const kinds = [thread < threads ? "cell" : "", stop ? stop.line.kind : "",
        lane && event.line.kind !== "wait" ? turnOf(event, lane, now.step) : "", firsts.includes(thread) ? "bad" : "",
        reader && reader.at + event.warp * LANES === thread ? "source" : "", this.thread === thread ? "chosen" : ""];
      // The first word that a lane loads, stores or gets.
      const word = lane && lane.words[Number(event.line.kind === "collective")];
      show(cell, kinds.join(" "), word === undefined ? "" : short(word, event.type));
    });
    return now && this.cells[event.warp * LANES];
  }

  /** What the chosen thread loaded, stored, gave and got, the last first. */
  drawHistory({launch, home, number}) {
    const mine = this.film.events.slice(0, number + 1).filter(one => one.home === home && laneOf(one, this.thread));
    this.title.textContent = `${threadName(this.film, launch, this.thread)}, the last first`;
    this.history.textContent = mine.slice(-9).reverse().map(one =>
      `${String(one.line.line || "").padStart(4)}  ${this.deed(one, laneOf(one, this.thread))}`).join("\n");
  }

  /** What a lane gets in a collective, from which lane, and what it gives; values of 64 bits are not known. */
  exchange({type}, {at, words}) {
    const [given, got] = words.map(word => exact(word, type));
    const isGone = at >= LANES ? ", which takes no part: the value is undefined" : "";
    const from = at === undefined ? "" : ` from lane ${at % LANES}${isGone}`;
    return words.length ? `gets ${got}${from}; gives ${given}` : from && `gets a value${from}`;
  }

  /** What one lane does in an event. */
  deed(event, lane) {
    const {line, array, type} = event;
    if (line.kind === "returned") return "returns";
    if (line.kind === "wait") return `waits at ${line.what}`;
    if (line.kind === "failure") return `fails: ${line.what}`;
    const exchange = line.kind === "collective" && this.exchange(event, lane);
    if (line.kind === "collective") return `calls ${line.what}${exchange && `: ${exchange}`}`;
    const name = placeName(array, lane.at);
    if (isCopy(event)) return `copies  to ${name}, asynchronously`;
    const says = lane.words.map(word => line.width < WORD ? exact(word, type).split(" ")[0] : exact(word, type));
    if (line.op === "atomic") return `atomic  ${name}: ${says[says.length / 2]} becomes ${says[0]}`;
    if (line.kind === "landing") return `landed  ${name} := ${says.join(", ")}`;
    return line.op === "load" ? `loads   ${name} = ${says.join(", ")}` : `stores  ${name} := ${says.join(", ")}`;
  }
}

// ---- the clock's hands

class Player {
  constructor(data) {
    for (const name of ["slider", "output", "play", "speed"]) this[name] = document.getElementById(name);
    Object.assign(this, {tick: 0, timer: null});
    this.views = data.films.map(film => new View(document.getElementById("films"), film, this));
    this.total = this.slider.max = Math.max(...this.views.map(view => view.ticks.length));
    this.slider.oninput = () => this.seek(Number(this.slider.value));
    for (const button of document.querySelectorAll("[data-key]")) button.onclick = () => this.key(button.dataset.key);
    addEventListener("keydown", event => {
      if (event.target === this.speed || event.ctrlKey || event.metaKey || event.altKey) return;
      if (this.key(event.key)) event.preventDefault();
    });
    addEventListener("hashchange", () => this.follow());
    this.follow();
  }

  /** The tick that the link names, else where the films start. */
  follow() {
    const named = /[#&]t=(\d+)/.exec(location.hash);
    this.seek(named ? Number(named[1]) : Math.max(...this.views.map(view => view.start)));
  }

  seek(tick) {
    this.tick = Math.max(0, Math.min(tick, this.total));
    for (const view of this.views) view.draw(this.tick);
    this.slider.value = this.tick;
    this.output.textContent = `tick ${this.tick} of ${this.total}`;
    clearTimeout(this.link); // browsers allow few such changes in a second
    this.link = setTimeout(() => history.replaceState(null, "", `#t=${this.tick}`), 300);
    if (this.tick === this.total) this.stop();
  }

  start() {
    if (this.tick === this.total) this.seek(0);
    this.play.textContent = "pause";
    this.timer = setTimeout(() => {
      this.start(); // the last tick stops it
      this.seek(this.tick + 1);
    }, 1000 / this.speed.value);
  }

  stop() {
    clearTimeout(this.timer);
    this.timer = null;
    this.play.textContent = "play";
  }

  /** To the first of the ticks that the films name. */
  next(what, tickOf) {
    const tick = Math.min(...this.views.map(tickOf));
    if (tick < Infinity) this.seek(tick);
    else this.output.textContent = `tick ${this.tick} of ${this.total}: no ${what} follows`;
  }

  /** What a key does; false: nothing. */
  key(key) {
    const isPlaying = this.timer !== null;
    const isBarrier = ({line}) => line.kind === "barrier" || line.what === "__syncwarp";
    const keys = {
      " ": () => isPlaying || this.start(),
      ArrowLeft: () => this.seek(this.tick - 1),
      ArrowRight: () => this.seek(this.tick + 1),
      Home: () => this.seek(0),
      End: () => this.seek(this.total),
      b: () => this.next("barrier", view => view.next(this.tick, isBarrier)),
      c: () => this.next("bank conflict", view => view.next(this.tick, isConflict)),
      r: () => this.next("round", view => view.nextRound()),
    };
    if (!(key in keys)) return false;
    this.stop();
    keys[key]();
    return true;
  }
}

const player = new Player(JSON.parse(document.getElementById("data").textContent));
