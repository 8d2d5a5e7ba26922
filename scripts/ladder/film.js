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

/** An event as an object: `threads` is a list; of each there are `at`, `executed`, `passes`, and `each` words. */
function decode(film, values, number) {
  const event = {number};
  film.fields.forEach((field, i) => { event[field] = values[i]; });
  const line = film.lines[event.line], mask = event.lanes, isPair = line.kind === "collective" || line.op === "atomic";
  const lanes = Array.from({length: LANES}, (_, lane) => lane).filter(lane => mask >>> lane & 1);
  for (const field of ["at", "executed", "passes"]) event[field] = series(event[field], lanes.length);
  const each = !event.words.length ? 0 : !isPair ? Math.ceil(line.width / WORD) : line.width > WORD ? 4 : 2;
  return {...event, line, each, words: series(event.words, each * lanes.length),
    threads: lanes.map(lane => event.warp * LANES + lane), home: `${event.launch}/${event.block}`};
}

/** The offsets of the words that a lane of an event accesses; of what is narrower than a word its own. */
function offsets(event, i) {
  return Array.from({length: Math.ceil(event.line.width / WORD)}, (_, word) => event.at[i] + word * WORD);
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
  memory(event, number) {
    return this.part(this.film.arrays[number].space === "shared" ? `${event.home}/${number}` : number);
  }

  /** The threads of an event's block that wait or have returned: {thread: the event}. */
  stopped(event) {
    return this.part(event.home);
  }

  /** The event that was applied last: its block is the one shown. */
  get event() {
    return this.film.events[Math.max(0, this.applied - 1)];
  }

  /** The state after so many events, from this one if it is not later. */
  after(count) {
    const state = this.applied <= count ? this : new State(this.film);
    while (state.applied < count) state.apply(this.film.events[state.applied++]);
    return state;
  }

  apply(event) {
    const {kind} = event.line, stopped = this.stopped(event);
    if (kind === "landing" || (kind === "access" && !isCopy(event))) this.access(event);
    if (kind === "wait" || kind === "returned") for (const thread of event.threads) stopped.set(thread, event);
    if (kind === "barrier") for (const [thread, {line}] of stopped) if (line.kind === "wait") stopped.delete(thread);
  }

  /** A word holds what was stored last, as the program executed the lanes: that counts for atomic operations. */
  access(event) {
    const {op, width} = event.line, words = this.memory(event, event.array);
    const {phase} = this.film.arrays[event.array];
    event.threads.forEach((thread, i) => offsets(event, i).forEach((at, part) => {
      const place = at + phase, number = Math.floor(place / WORD), old = words.get(number);
      if (op !== "load" && old && old.writer && old.executed > event.executed[i]) return;
      let value = event.words[i * event.each + part];
      if (width < WORD) { // a part of a word
        const shift = 8 * (place & 3), mask = (2 ** (8 * width) - 1) << shift;
        value = ((old ? old.value : 0) & ~mask | value << shift & mask) >>> 0;
      }
      const isFailedSwap = op === "atomic" && event.each > 1 && value === event.words[i * event.each + 1];
      if (op === "load" || isFailedSwap) words.set(number, {...old, value});
      else words.set(number, {value, writer: event, thread, executed: event.executed[i]});
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
function turnOf(event, i, step) {
  const turn = Math.max(0, (event.passes[i] || 0) - event.ideal + 1);
  if (turn === step) return isConflict(event) ? "bad" : "now";
  return turn < step ? "done" : "later";
}

/** Scrolls the box around this part, and nothing else, so that it is seen. */
function reveal(part) {
  const box = part.closest(".scroll, .source");
  if (part.offsetTop < box.scrollTop || part.offsetTop + part.offsetHeight > box.scrollTop + box.clientHeight)
    box.scrollTop = part.offsetTop - box.clientHeight / 3;
}

/** An array in rows of 128 bytes: 32 banks of shared memory, or 4 sectors. It has cells for its own words, and for those
 * beyond that are touched all the same. */
class Grid {
  constructor(parent, film, number) {
    const array = film.arrays[number], {name, space, extents, phase} = array, isShared = space === "shared";
    Object.assign(this, {film, number, array, cells: new Map()});
    const touched = new Set(film.events.filter(event => event.array === number).flatMap(event => event.threads.flatMap(
      (_, i) => offsets(event, i).map(at => this.wordAt(at)))));
    const rows = [...new Set([...touched].map(word => Math.floor(word / LANES)))].sort((a, b) => a - b);
    const end = array.element ? extents.reduce((size, extent) => size * extent, array.element) : Infinity;
    element(parent, "h3", "", name + extents.map(extent => `[${extent}]`).join("")
      + (isShared ? ", in shared memory: a column is a bank" : ": 4 sectors of 32 bytes in a row")
      + (rows.length > MOST_ROWS ? `; the first ${MOST_ROWS} of ${rows.length} rows that are touched` : ""));
    const grid = element(element(parent, "div", "scroll"), "div", "grid memory");
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
    if (event.array !== this.number) return found;
    event.threads.forEach((_, i) => offsets(event, i).forEach(at => found.set(this.wordAt(at), turnOf(event, i, step))));
    const sectors = event.line.space === "global" ? [...found.keys()].map(word => Math.floor(word * WORD / SECTOR)) : [];
    for (const sector of new Set(sectors))
      for (let word = sector * 8; word < sector * 8 + 8; ++word) found.set(word, `sector ${found.get(word) || ""}`);
    return found;
  }

  /** Returns the cell to reveal. */
  draw(state, now, chosen) {
    const touched = now ? this.touched(now) : new Map(), words = state.memory(state.event, this.number);
    for (const [word, cell] of this.cells) {
      const known = words.get(word), isChosen = chosen && chosen.grid === this && chosen.word === word;
      show(cell, `cell ${known ? "known" : ""} ${touched.get(word) || ""} ${isChosen ? "chosen" : ""}`,
        known ? short(known.value, this.array.type) : "");
    }
    const first = [...touched].find(([word, name]) => this.cells.has(word) && /now|bad/.test(name));
    return first && this.cells.get(first[0]);
  }

  /** What a word holds, in a sentence. */
  sentence(state, word) {
    const known = state.memory(state.event, this.number).get(word);
    const name = placeName(this.array, word * WORD - this.array.phase);
    if (!known) return `${name}: not touched yet in this film`;
    const {value, writer, thread} = known, {film} = this;
    const by = writer ? `written by ${threadName(film, writer.launch, thread)}${inLine(film, writer.line)}` : "not written in this film";
    return `${name} = ${exact(value, this.array.type)}, ${by}`;
  }
}

class View {
  constructor(parent, film, player) {
    Object.assign(this, {film, player, chosen: null, ticks: []});
    film.events = film.events.map((values, number) => decode(film, values, number));
    for (const event of film.events) {
      event.begin = this.ticks.length;
      for (let step = 0; step < ticksOf(event); ++step) this.ticks.push({event, step});
    }
    const root = element(parent, "section", "film");
    element(root, "h2", "", film.step);
    element(root, "p", "soft", `${film.size}. A tick is one request of a warp, or one wavefront more for a bank conflict; `
      + "it is not a time.");
    for (const text of [film.why, film.cut, film.wrong, ...film.warnings]) if (text) element(root, "p", "warning", text);
    this.moments = film.moments.map(moment => {
      const button = element(root, "button", "moment", moment.text), event = film.events[moment.event];
      button.onclick = () => this.visit(event);
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
    this.word = element(left, "p", "soft", "Click a lane or a word to follow it.");
    this.state = new State(film);
    this.makeLanes(right);
    const used = new Set(film.events.map(event => event.array));
    const numbers = [...film.arrays.keys()].filter(number => used.has(number));
    this.grids = ["shared", "global", "constant"].flatMap(space =>
      numbers.filter(number => film.arrays[number].space === space).map(number => new Grid(right, film, number)));
    for (const grid of this.grids)
      for (const [word, cell] of grid.cells) {
        cell.onclick = () => this.follow({chosen: {grid, word}});
        cell.onmouseenter = () => { cell.title = grid.sentence(this.state, word); };
      }
    const start = film.events[film.start], shown = film.moments.length ? this.moments[0].event : start;
    Object.assign(this, {thread: shown.threads[0] || 0, start: start.begin});
  }

  /** A row of lanes for each warp of the largest block. */
  makeLanes(parent) {
    element(parent, "h3", "", "warps: a column is a lane");
    const lanes = this.lanes = element(element(parent, "div", "scroll"), "div", "grid lanes");
    element(lanes, "div", "at", "lane");
    for (let lane = 0; lane < LANES; ++lane) element(lanes, "div", "soft", String(lane));
    element(lanes, "div");
    Object.assign(this, {cells: [], notes: []});
    const threads = Math.max(...this.film.launches.map((_, launch) => this.threads({launch})));
    while (this.cells.length < threads) {
      element(lanes, "div", "at", `warp ${this.notes.length}`);
      for (let lane = 0; lane < LANES; ++lane) {
        const thread = this.cells.length, cell = element(lanes, "div");
        cell.onclick = () => this.follow({thread});
        this.cells.push(cell);
      }
      this.notes.push(element(lanes, "div", "note"));
    }
  }

  /** How many a block of an event's launch has. */
  threads({launch}) {
    return this.film.launches[launch].block.reduce((a, b) => a * b);
  }

  /** Follows another thread or word. */
  follow(what) {
    Object.assign(this, what);
    this.draw(this.player.tick);
  }

  /** Shows an event, its thread and its word. */
  visit(event) {
    const grid = this.grids.find(one => one.number === event.array);
    this.follow({thread: event.threads[0] || 0, chosen: grid ? {grid, word: grid.wordAt(event.at[0])} : this.chosen});
    this.player.seek(event.begin);
  }

  /** The first tick after this one with an event that fits, of a barrier the last at which all wait; Infinity: none. */
  next(tick, fits) {
    const shown = event => event.begin - (ticksOf(event) === 0);
    const found = this.film.events.find(event => shown(event) > tick && fits(event));
    return found ? shown(found) : Infinity;
  }

  /** When the chosen warp, or the thread where threads run one by one, is again at the line where it is now or was last;
   * if never, when it comes to another line that it executes more than once. */
  nextRound() {
    const {home, number} = this.state.event, warp = Math.floor(this.thread / LANES);
    const mine = this.film.events.filter(event => event.home === home && event.warp === warp
      && (this.film.order === "lockstep" || event.threads.includes(this.thread)) && ticksOf(event) > 0);
    const done = mine.filter(event => event.number <= number).map(event => event.line), here = done[done.length - 1];
    const later = mine.slice(done.length);
    const next = later.find(event => event.line === here) || later.find((event, i) => !done.includes(event.line)
      && later.some((other, j) => j > i && other.line === event.line));
    return next ? next.begin : Infinity;
  }

  draw(tick) {
    const {film, chosen} = this, now = this.ticks[tick]; // none at the end
    const event = now ? now.event : film.events[film.events.length - 1];
    this.state = this.state.after(event.number + 1);
    const moments = this.moments.filter(one => now && (one.event === event || one.first === event));
    for (const one of this.moments) show(one.button, moments.includes(one) ? "moment warning" : "moment");
    const wrong = event.line.kind === "failure" ? [] : moments.map(one => one.text);
    this.says.textContent = now ? [this.sentence(now), ...wrong].join(". ") : `The end, after ${this.ticks.length} ticks.`;
    this.drawHistory(event);
    if (chosen) this.word.textContent = chosen.grid.sentence(this.state, chosen.word);
    const place = `${event.line.file}:${event.line.line}`;
    for (const [at, row] of this.rows) show(row, at === place ? "now" : "");
    const parts = [this.rows.get(place), this.drawLanes(event, now, moments.map(one => one.first)),
      ...this.grids.map(grid => grid.draw(this.state, now, chosen))];
    for (const part of parts) if (part) reveal(part); // after all has been drawn, as it asks where things are
  }

  /** What happens at a tick. */
  sentence({event, step}) {
    const {line, launch, units, ideal} = event, {launches, order, arrays} = this.film, {grid} = launches[launch];
    const isLockstep = order === "lockstep", where = inLine(this.film, line), count = event.threads.length;
    const who = [launches.length > 1 ? `launch ${launch + 1}` : "",
      Math.max(...grid) > 1 ? `block ${indexName(grid, event.block)}` : "",
      isLockstep ? `warp ${event.warp}` : threadName(this.film, launch, event.threads[0])].filter(Boolean).join(", ");
    if (["wait", "failure"].includes(line.kind) || !isLockstep)
      return `${who}${where} ${this.deed(event, 0)}${line.kind === "wait" ? this.waiting(event) : ""}`;
    const lanes = `${where}, ${count} of 32 lanes${count < LANES ? ", the others idle" : ""}`;
    if (line.kind === "collective") {
      const i = this.reader(event);
      return `${who}: ${line.what}${lanes}${i < 0 ? "" : `; lane ${this.thread % LANES} ${this.exchange(event, i)}`}`;
    }
    const cost = line.space === "global" ? `, ${units} sector${units === 1 ? "" : "s"}, ${ideal} would do`
      : isConflict(event) ? `, bank conflict: wavefront ${ideal + step} of ${units}, ${ideal} would do` : "";
    return `${who}: ${line.async ? "asynchronous " : ""}${line.space} ${line.op} of ${arrays[event.array].name}${lanes}${cost}`;
  }

  /** Of a shuffle: the place among its threads of the chosen lane, or where threads run one by one of the only one. */
  reader({line, at, threads}) {
    if (line.kind !== "collective" || !at.length) return -1;
    return this.film.order === "executed" ? 0 : threads.findIndex(thread => thread % LANES === this.thread % LANES);
  }

  /** How many threads of the block wait. */
  waiting(event) {
    const stopped = [...this.state.stopped(event).values()], waits = stopped.filter(({line}) => line.kind === "wait").length;
    const returned = stopped.length - waits;
    return `: ${waits} of ${this.threads(event)} threads wait${returned ? `, ${returned} have returned` : ""}`;
  }

  /** `firsts`: of races what the thread did that came to the word first. Returns the cell to reveal. */
  drawLanes(event, now, firsts) {
    const from = now ? event.at[this.reader(event)] + event.warp * LANES : -1, threads = this.threads(event);
    const stopped = this.state.stopped(event), stops = this.notes.map(() => []);
    this.cells.forEach((cell, thread) => {
      const last = stopped.get(thread), mine = now ? event.threads.indexOf(thread) : -1;
      if (last) stops[Math.floor(thread / LANES)].push(last.line.kind === "wait" ? `wait (${last.line.line})` : "returned");
      const kinds = [thread < threads ? "cell" : "", last ? (last.line.kind === "wait" ? "waits" : "returned") : "",
        mine >= 0 && event.line.kind !== "wait" ? turnOf(event, mine, now.step) : "",
        firsts.some(first => first && first.threads[0] === thread) ? "bad" : "",
        from === thread ? "source" : "", this.thread === thread ? "chosen" : ""];
      show(cell, kinds.join(" "), mine >= 0 && event.each ? this.moved(event, mine) : "");
    });
    this.notes.forEach((note, warp) => show(note, "note", [...new Set(stops[warp])].map(text =>
      `${stops[warp].filter(one => one === text).length} ${text}`).join("; ")));
    return now && this.cells[event.warp * LANES];
  }

  /** The first word that a lane loads, stores or gets. */
  moved({line, words, each, array}, i) {
    const isExchange = line.kind === "collective";
    return short(words[i * each + isExchange], isExchange ? line.type || null : this.film.arrays[array].type);
  }

  /** What the chosen thread loaded, stored, gave and got, the last first. */
  drawHistory({launch, home, number}) {
    const mine = this.film.events.slice(0, number + 1).filter(one => one.home === home && one.threads.includes(this.thread));
    this.title.textContent = `${threadName(this.film, launch, this.thread)}, the last first`;
    this.history.textContent = mine.slice(-9).reverse().map(one =>
      `${String(one.line.line || "").padStart(4)}  ${this.deed(one, one.threads.indexOf(this.thread))}`).join("\n");
  }

  /** What a lane gets in a collective, from which lane of a shuffle, and what it gives; values of 64 bits are not known. */
  exchange({words, each, at, line}, i) {
    const [given, got] = words.slice(i * each, (i + 1) * each).map(word => exact(word, line.type || null));
    const isGone = at[i] >= LANES ? ", which takes no part: the value is undefined" : "";
    const from = at.length ? ` from lane ${at[i] % LANES}${isGone}` : "";
    return each ? `gets ${got}${from}; gives ${given}` : from && `gets a value${from}`;
  }

  /** What one lane does in an event. */
  deed(event, i) {
    const {line} = event;
    if (line.kind === "returned") return "returns";
    if (line.kind === "wait") return `waits at ${line.what}`;
    if (line.kind === "failure") return `fails: ${line.what}`;
    if (line.kind === "collective") return [`calls ${line.what}`, this.exchange(event, i)].filter(Boolean).join(": ");
    const array = this.film.arrays[event.array], name = placeName(array, event.at[i]);
    if (isCopy(event)) return `copies  to ${name}, asynchronously`;
    const says = event.words.slice(i * event.each, (i + 1) * event.each).map(word =>
      line.width < WORD ? exact(word, array.type).split(" ")[0] : exact(word, array.type));
    if (line.op === "atomic") return `atomic  ${name}: ${says[says.length / 2]} becomes ${says[0]}`;
    const verb = line.kind === "landing" ? `landed  ${name} :=` : line.op === "load" ? `loads   ${name} =` : `stores  ${name} :=`;
    return `${verb} ${says.join(", ")}`;
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
    const isPlaying = this.timer !== null, isBarrier = ({line}) => line.kind === "barrier" || line.what === "__syncwarp";
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
