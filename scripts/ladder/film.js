"use strict";
// Plays the films that the page holds; scripts/README.md describes their format. A film is a list of events. State is
// memory and lanes after some of them, View gives each its place on the clock and draws it, and Player is the clock.

const LANES = 32, WORD = 4, ROW = 128, SECTOR = 32; // bytes of a word, of a row of 32 banks, of a sector
const MOST_ROWS = 160; // of a grid
const SPEEDS = [1, 2, 5, 10, 20, 50, 200]; // ticks per second

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

function some(count, word) {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

// ---- names

/** A block's or a thread's index, "(1,0)", or its number where the grid or the block has one dimension. */
function indexName([x, y, z], number) {
  const index = [number % x, Math.floor(number / x) % y, Math.floor(number / x / y)];
  return y * z === 1 ? String(number) : `(${index.slice(0, z > 1 ? 3 : 2)})`;
}

function threadName(film, {launch, warp}, lane) {
  return `thread ${indexName(film.launches[launch].block, warp * LANES + lane)} (warp ${warp}, lane ${lane})`;
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

/** How many ticks an event takes: one, and one for each wavefront that a bank conflict adds. */
function ticksOf(event) {
  if (["returned", "barrier", "landing"].includes(event.line.kind)) return 0;
  return event.line.space === "shared" ? 1 + event.units - event.ideal : 1;
}

/** An event as an object: `lanes` is a list; of each lane there are `at`, `executed`, `passes`, and `each` words. */
function decode(film, values, number) {
  const event = {number};
  film.fields.forEach((field, i) => { event[field] = values[i]; });
  const line = film.lines[event.line], mask = event.lanes, isPair = line.kind === "collective" || line.op === "atomic";
  const lanes = Array.from({length: LANES}, (_, lane) => lane).filter(lane => mask >>> lane & 1);
  for (const field of ["at", "executed", "passes"]) event[field] = series(event[field], lanes.length);
  const each = !event.words.length ? 0 : !isPair ? Math.ceil(line.width / WORD) : line.width > WORD ? 4 : 2;
  return {...event, line, lanes, each, words: series(event.words, each * lanes.length)};
}

/** The offsets of the words that a lane of an event accesses; of what is narrower than a word its own. */
function offsets(event, i) {
  return Array.from({length: Math.ceil(event.line.width / WORD)}, (_, word) => event.at[i] + word * WORD);
}

function isOf(event, launch, block) {
  return event.launch === launch && event.block === block;
}

// ---- memory and lanes

/** The memory and the lanes after the first `applied` events of a film. */
class State {
  constructor(film) {
    Object.assign(this, {film, applied: 0, memories: new Map(), lanes: new Map()});
  }

  /** The words of an array that are known, by number. Each block has its own shared memory. */
  memory(event, number) {
    const key = this.film.arrays[number].space === "shared" ? `${number}/${event.launch}/${event.block}` : number;
    if (!this.memories.has(key)) this.memories.set(key, new Map());
    return this.memories.get(key);
  }

  static lane(event, lane) {
    return `${event.launch}/${event.block}/${event.warp * LANES + lane}`;
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

  /** What the threads of an event's block do that wait or have returned, by thread. */
  stopped(event) {
    return [...this.lanes].filter(([, last]) => isOf(last, event.launch, event.block));
  }

  apply(event) {
    const {kind} = event.line;
    if (kind === "landing" || (kind === "access" && !isCopy(event))) this.access(event);
    if (kind === "wait" || kind === "returned")
      for (const lane of event.lanes) this.lanes.set(State.lane(event, lane), event);
    if (kind === "barrier")
      for (const [lane, last] of this.stopped(event)) if (last.line.kind === "wait") this.lanes.delete(lane);
  }

  /** A word holds what was stored last, as the program executed the lanes: that counts for atomic operations. */
  access(event) {
    const {op, width} = event.line, words = this.memory(event, event.array);
    const {phase} = this.film.arrays[event.array];
    event.lanes.forEach((lane, i) => offsets(event, i).forEach((at, part) => {
      const place = at + phase, number = Math.floor(place / WORD), old = words.get(number);
      if (op !== "load" && old && old.writer && old.executed > event.executed[i]) return;
      let value = event.words[i * event.each + part];
      if (width < WORD) { // a part of a word
        const shift = 8 * (place & 3), mask = (2 ** (8 * width) - 1) << shift;
        value = ((old ? old.value : 0) & ~mask | value << shift & mask) >>> 0;
      }
      const isFailedSwap = op === "atomic" && event.each > 1 && value === event.words[i * event.each + 1];
      if (op === "load" || isFailedSwap) words.set(number, {...old, value});
      else words.set(number, {value, writer: event, lane, executed: event.executed[i]});
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
  if (turn === step) return event.units > event.ideal && event.line.space === "shared" ? "bad" : "now";
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
    const touched = new Set(film.events.filter(event => event.array === number).flatMap(event => event.lanes.flatMap(
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
    event.lanes.forEach((_, i) => offsets(event, i).forEach(at => found.set(this.wordAt(at), turnOf(event, i, step))));
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
    const {value, writer, lane} = known, by = writer ? `written by ${threadName(this.film, writer, lane)}` : "not written";
    return `${name} = ${exact(value, this.array.type)}, ${by}${writer ? inLine(this.film, writer.line) : " in this film"}`;
  }
}

class View {
  constructor(parent, film, player) {
    Object.assign(this, {film, player, chosen: null, warp: 0, lane: 0});
    film.events = film.events.map((values, number) => decode(film, values, number));
    const root = element(parent, "section", "film");
    element(root, "h2", "", film.step);
    element(root, "p", "soft", `${film.size}. A tick is one request of a warp, or one wavefront more for a bank conflict; `
      + "it is not a time.");
    for (const text of [film.why, film.cut, film.wrong, ...film.warnings]) if (text) element(root, "p", "warning", text);
    this.choice = element(root, "select"); // of blocks
    this.choice.onchange = () => player.seek(Number(this.choice.value));
    const wrong = film.moments.length ? element(root, "details") : null; // closed on a phone: the film comes first
    if (wrong) {
      wrong.open = innerWidth > 600;
      element(wrong, "summary", "", "What is wrong, and when");
    }
    this.moments = film.moments.map(moment => {
      const button = element(wrong, "button", "moment", moment.text);
      button.onclick = () => this.visit(film.events[moment.event]);
      return {...moment, button, event: film.events[moment.event], first: film.events[moment.first]};
    });
    this.says = element(root, "p", "says");
    const columns = element(root, "div", "columns"), left = element(columns, "div", "left");
    const right = element(columns, "div", "right");
    this.file = element(left, "h3");
    this.source = element(left, "div", "source");
    this.title = element(left, "h3", "late");
    this.history = element(left, "div", "lane late");
    this.word = element(left, "p", "soft late", "Click a lane or a word to follow it.");
    this.cut(film);
    this.state = new State(film);
    element(right, "h3", "", "warps: a column is a lane");
    this.lanes = element(element(right, "div", "scroll"), "div", "grid lanes");
    const used = new Set(film.events.map(event => event.array)), numbers = film.arrays.map((_, number) => number);
    const isShared = number => film.arrays[number].space === "shared";
    this.grids = numbers.filter(number => used.has(number)).sort((a, b) => isShared(b) - isShared(a) || a - b)
      .map(number => new Grid(right, film, number));
    for (const grid of this.grids)
      for (const [word, cell] of grid.cells) {
        cell.onclick = () => this.follow({chosen: {grid, word}});
        cell.onmouseenter = () => { cell.title = grid.sentence(this.state, word); };
      }
    const shown = film.events[film.moments.length ? film.moments[0].event : film.start];
    Object.assign(this, {warp: shown.warp, lane: shown.lanes[0] || 0, start: this.begins.get(film.events[film.start])});
  }

  /** What each tick shows, the tick at which each event begins, and the blocks. */
  cut({events, launches}) {
    Object.assign(this, {ticks: [], begins: new Map(), blocks: new Map()});
    events.forEach((event, i) => {
      const {launch, block} = event, name = `${launch}/${block}`, tick = this.ticks.length;
      this.begins.set(event, tick);
      if (!this.blocks.has(name)) {
        const text = `${launches[launch].kernel}, launch ${launch + 1}, block ${indexName(launches[launch].grid, block)}`;
        this.blocks.set(name, element(this.choice, "option", "", text)).get(name).value = tick;
      }
      for (let step = 0; step < ticksOf(event); ++step) this.ticks.push({event, step, count: i + 1});
    });
  }

  /** The first tick after this one with an event that fits, of a barrier the last at which all wait; Infinity: none. */
  next(tick, fits) {
    const shown = event => this.begins.get(event) - (ticksOf(event) === 0);
    const found = this.film.events.find(event => shown(event) > tick && fits(event));
    return found ? shown(found) : Infinity;
  }

  /** Shows an event, its lane and its word. */
  visit(event) {
    const grid = this.grids.find(one => one.number === event.array);
    const chosen = grid ? {grid, word: grid.wordAt(event.at[0])} : this.chosen;
    Object.assign(this, {warp: event.warp, lane: event.lanes[0] || 0, chosen});
    this.player.seek(this.begins.get(event));
  }

  /** Follows another lane or word. */
  follow(what) {
    Object.assign(this, what);
    this.draw(this.player.tick);
  }

  /** When the chosen warp, or the thread where threads run one by one, is again at the line where it is now or was last;
   * if never, when it comes to another line that it executes more than once. */
  nextRound() {
    const {launch, block, number} = this.state.event;
    const isMine = event => isOf(event, launch, block) && event.warp === this.warp
      && (this.film.order === "lockstep" || event.lanes.includes(this.lane)) && ticksOf(event) > 0;
    const mine = this.film.events.filter(isMine), later = mine.filter(event => event.number > number);
    const done = mine.filter(event => event.number <= number).map(event => event.line), here = done[done.length - 1];
    const next = later.find(event => event.line === here) || later.find((event, i) => !done.includes(event.line)
      && later.some((other, j) => j > i && other.line === event.line));
    return next ? this.begins.get(next) : this.ticks.length;
  }

  /** The rows of lanes: a launch's blocks have the same. */
  useLaunch(event) {
    if (this.launch === event.launch) return;
    this.launch = event.launch;
    const threads = this.threads(event);
    this.lanes.replaceChildren();
    element(this.lanes, "div", "at", "lane");
    for (let lane = 0; lane < LANES; ++lane) element(this.lanes, "div", lane % 4 ? "soft between" : "soft", String(lane));
    element(this.lanes, "div");
    this.rows = [];
    for (let warp = 0; warp * LANES < threads; ++warp) {
      element(this.lanes, "div", "at", `warp ${warp}`);
      const cells = Array.from({length: LANES}, (_, lane) => {
        const exists = warp * LANES + lane < threads, cell = element(this.lanes, "div", exists ? "cell" : "");
        if (exists) cell.onclick = () => this.follow({warp, lane});
        return cell;
      });
      this.rows.push({cells, note: element(this.lanes, "div", "note"), threads: Math.min(LANES, threads - warp * LANES)});
    }
  }

  /** How many a block of an event's launch has. */
  threads(event) {
    return this.film.launches[event.launch].block.reduce((a, b) => a * b);
  }

  draw(tick) {
    const {film, chosen} = this, now = this.ticks[tick]; // none at the end
    this.state = this.state.after(now ? now.count : film.events.length);
    const event = now ? now.event : film.events[film.events.length - 1];
    this.useLaunch(event);
    this.blocks.get(`${event.launch}/${event.block}`).selected = true;
    const moments = this.moments.filter(one => now && (one.event === event || one.first === event));
    for (const one of this.moments) show(one.button, moments.includes(one) ? "moment warning" : "moment");
    const wrong = event.line.kind === "failure" ? [] : moments.map(one => one.text);
    this.says.textContent = now ? [this.sentence(now), ...wrong].join(". ") : `The end, after ${some(this.ticks.length, "tick")}.`;
    this.drawHistory(event);
    if (chosen) this.word.textContent = chosen.grid.sentence(this.state, chosen.word);
    const parts = [this.drawSource(event), this.drawLanes(event, now, moments.map(one => one.first)),
      ...this.grids.map(grid => grid.draw(this.state, now, chosen))];
    for (const part of parts) if (part) reveal(part); // after all has been drawn, as it asks where things are
  }

  /** What happens at a tick. */
  sentence({event, step}) {
    const {line} = event, {launches, order} = this.film, isLockstep = order === "lockstep", count = event.lanes.length;
    const warp = isLockstep ? `warp ${event.warp}` : threadName(this.film, event, event.lanes[0]);
    const launch = launches.length > 1 ? `launch ${event.launch + 1}, ` : "";
    const block = `block ${indexName(launches[event.launch].grid, event.block)}, `;
    const who = (this.blocks.size > 1 ? launch + block : "") + warp, where = inLine(this.film, line);
    if (["wait", "failure"].includes(line.kind) || !isLockstep)
      return `${who}${where} ${this.deed(event, 0)}${line.kind === "wait" ? this.waiting(event) : ""}`;
    const lanes = `${where}, ${count} of 32 lanes${count < LANES ? ", the others idle" : ""}`;
    if (line.kind === "collective") {
      const i = this.reader(event);
      return `${who}: ${line.what}${lanes}${i < 0 ? "" : `; lane ${this.lane} ${this.exchange(event, i)}`}`;
    }
    let cost = "";
    if (line.space === "global") cost = `, ${some(event.units, "sector")}, ${event.ideal} would do`;
    if (line.space === "shared" && event.units > event.ideal)
      cost = `, bank conflict: wavefront ${event.ideal + step} of ${event.units}, ${event.ideal} would do`;
    const verb = `${line.async ? "asynchronous " : ""}${line.space} ${line.op}`;
    return `${who}: ${verb} of ${this.film.arrays[event.array].name}${lanes}${cost}`;
  }

  /** Of a shuffle: the place among its lanes of the chosen one, or where threads run one by one of the only one. */
  reader(event) {
    if (event.line.kind !== "collective" || !event.at.length) return -1;
    return this.film.order === "executed" ? 0 : event.lanes.indexOf(this.lane);
  }

  /** How many threads of the block wait. */
  waiting(event) {
    const stopped = this.state.stopped(event), waits = stopped.filter(([, last]) => last.line.kind === "wait").length;
    const returned = stopped.length - waits;
    return `: ${waits} of ${this.threads(event)} threads wait${returned ? `, ${returned} have returned` : ""}`;
  }

  /** The lines of the event's file, the one that is executed marked, which is to be revealed. */
  drawSource({line}) {
    const {sources, file: own} = this.film, file = line.file in sources ? line.file : this.file.textContent || own;
    if (this.file.textContent !== file) {
      this.file.textContent = file;
      this.source.replaceChildren();
      (sources[file] || []).forEach((text, i) => {
        const row = element(this.source, "div");
        element(row, "span", "at", String(i + 1));
        row.append(text);
      });
    }
    const rows = [...this.source.children];
    rows.forEach((row, i) => show(row, i + 1 === line.line ? "now" : ""));
    return rows[line.line - 1];
  }

  /** `firsts`: of races what the lane did that came to the word first. Returns the cell to reveal. */
  drawLanes(event, now, firsts) {
    const source = now && event.at[this.reader(event)];
    this.rows.forEach(({cells, note, threads}, warp) => {
      const stops = new Map(), isHere = now && event.warp === warp;
      cells.slice(0, threads).forEach((cell, lane) => {
        const last = this.state.lanes.get(State.lane({...event, warp}, lane));
        const stop = last ? (last.line.kind === "wait" ? "waits" : "returned") : "";
        if (last) stops.set(last.line, (stops.get(last.line) || 0) + 1);
        const mine = isHere ? event.lanes.indexOf(lane) : -1;
        const kinds = [stop, mine >= 0 && event.line.kind !== "wait" ? turnOf(event, mine, now.step) : "",
          firsts.some(first => first && first.warp === warp && first.lanes[0] === lane) ? "bad" : "",
          isHere && source === lane ? "source" : "", this.warp === warp && this.lane === lane ? "chosen" : ""];
        show(cell, `cell ${kinds.join(" ")}`, mine >= 0 && event.each ? this.moved(event, mine) : "");
      });
      show(note, "note", [...stops].map(([line, count]) =>
        `${count < threads ? `${count} ` : ""}${line.kind === "wait" ? `wait (${line.line})` : "returned"}`).join("; "));
    });
    return now && this.rows[event.warp].cells[0];
  }

  /** The first word that a lane loads, stores or gets. */
  moved({line, words, each, array}, i) {
    const isExchange = line.kind === "collective";
    return short(words[i * each + isExchange], isExchange ? line.type || null : this.film.arrays[array].type);
  }

  /** What the chosen lane loaded, stored, gave and got, the last first. */
  drawHistory(event) {
    const done = [];
    for (let i = this.state.applied - 1; i >= 0 && done.length < 9; --i) {
      const one = this.film.events[i], isMine = isOf(one, event.launch, event.block) && one.warp === this.warp;
      const mine = isMine ? one.lanes.indexOf(this.lane) : -1;
      if (mine >= 0) done.push(`${String(one.line.line || "").padStart(4)}  ${this.deed(one, mine)}`);
    }
    this.title.textContent = `${threadName(this.film, {...event, warp: this.warp}, this.lane)}, the last first`;
    show(this.history, this.history.className, done.join("\n"));
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
    const get = name => document.getElementById(name);
    Object.assign(this, {tick: 0, timer: null, slider: get("slider"), output: get("tick"), button: get("play"), speed: get("speed")});
    this.views = data.films.map(film => new View(get("films"), film, this));
    for (const speed of SPEEDS) element(this.speed, "option", "", `${speed} ticks/s`).value = speed;
    this.speed.value = 5;
    this.speed.onchange = () => { if (this.timer) { this.pause(); this.play(); } };
    this.slider.oninput = () => this.seek(Number(this.slider.value));
    for (const button of document.querySelectorAll("[data-key]")) button.onclick = () => this.key(button.dataset.key);
    addEventListener("keydown", event => {
      if (event.target.tagName === "SELECT" || event.ctrlKey || event.metaKey || event.altKey) return;
      if (this.key(event.key)) event.preventDefault();
    });
    addEventListener("hashchange", () => this.follow());
    this.follow();
  }

  get total() {
    return Math.max(...this.views.map(view => view.ticks.length));
  }

  /** The tick that the link names, else where the films start. */
  follow() {
    const named = /[#&]t=(\d+)/.exec(location.hash);
    this.seek(named ? Number(named[1]) : Math.max(...this.views.map(view => view.start)));
  }

  seek(tick) {
    this.tick = Math.max(0, Math.min(tick, this.total));
    for (const view of this.views) view.draw(this.tick);
    this.slider.max = this.total;
    this.slider.value = this.tick;
    this.output.textContent = `tick ${this.tick} of ${this.total}`;
    clearTimeout(this.link); // browsers allow few such changes in a second
    this.link = setTimeout(() => history.replaceState(null, "", `#t=${this.tick}`), 300);
    if (this.tick === this.total) this.pause();
  }

  play() {
    if (this.tick === this.total) this.seek(0);
    this.timer = setInterval(() => this.seek(this.tick + 1), 1000 / Number(this.speed.value));
    this.button.textContent = "pause";
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    this.button.textContent = "play";
  }

  /** To the next tick, in either film, at which an event that fits begins. */
  next(fits, what) {
    const tick = Math.min(...this.views.map(view => view.next(this.tick, fits)));
    if (tick < Infinity) this.seek(tick);
    else this.output.textContent = `tick ${this.tick} of ${this.total}: no ${what} follows`;
  }

  /** What a key does; false: nothing. */
  key(key) {
    const keys = {
      " ": () => this.timer ? this.pause() : this.play(),
      ArrowLeft: () => this.seek(this.tick - 1),
      ArrowRight: () => this.seek(this.tick + 1),
      Home: () => this.seek(0),
      End: () => this.seek(this.total),
      b: () => this.next(event => event.line.kind === "barrier" || event.line.what === "__syncwarp", "barrier"),
      c: () => this.next(event => event.line.space === "shared" && event.units > event.ideal, "bank conflict"),
      r: () => this.seek((this.views.find(view => this.tick < view.ticks.length) || this.views[0]).nextRound()),
    };
    if (!(key in keys)) return false;
    if (key !== " ") this.pause();
    keys[key]();
    return true;
  }
}

const player = new Player(JSON.parse(document.getElementById("data").textContent));
