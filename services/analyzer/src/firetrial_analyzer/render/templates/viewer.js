// The trajectory: only the rows in sight are in the document, and only the blocks they lie in are unpacked.
const OUTPUT = 0, GAP = 7, KIND = 7, STDERR = 8, FAILED = 16, CITED = 32;
const KINDS = ["output", "event", "thought", "command", "edit", "model", "conclusion", "gap"];
const ROW = 24, SPARE = 8, KEPT_BLOCKS = 48, SHOWN = 400;

function viewer(index) {
  const find = (id) => document.getElementById(id);
  const list = find("lines"), tall = find("tall"), told = find("told"), search = find("search");
  const detail = find("detail"), detailHead = find("detail-head"), detailText = find("detail-text");
  const { lines, blocks, last } = index;
  let flags = new Uint8Array(lines);
  let order = null; // rows in view, or null for all
  let hits = null; // rows that match the search, or null for no search
  let selected = -1;
  let searching = 0;
  const cache = new Map();
  const pool = [];

  // Blocks.
  const blockOf = (row) => {
    let low = 0, high = blocks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (blocks[middle][0] <= row) low = middle; else high = middle - 1;
    }
    return low;
  };
  const sums = (differences) => {
    let sum = 0;
    return differences.map((difference) => (sum += difference));
  };
  async function load(number) {
    const told = await unpackedJson(`block-${number}`);
    return { start: blocks[number][0], steps: sums(told.steps), times: sums(told.times), texts: told.texts, notes: told.notes, sizes: told.sizes };
  }
  function block(number, keep = true) {
    const known = cache.get(number);
    if (known) {
      cache.delete(number);
      cache.set(number, known);
      return known;
    }
    const entry = { ready: null };
    entry.promise = load(number).then((ready) => (entry.ready = ready));
    if (keep) {
      cache.set(number, entry);
      if (cache.size > KEPT_BLOCKS) cache.delete(cache.keys().next().value);
    }
    return entry;
  }
  const lineOf = (ready, row) => {
    const place = row - ready.start;
    return { step: ready.steps[place], time: ready.times[place], text: ready.texts[place], note: ready.notes[place], size: ready.sizes[place] };
  };
  async function line(row) {
    return lineOf(await block(blockOf(row)).promise, row);
  }

  // Positions in the list and rows of the trajectory.
  const count = () => (order ? order.length : lines);
  const rowAt = (position) => (order ? order[position] : position);
  function positionOf(row) {
    if (!order) return row;
    let low = 0, high = order.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (order[middle] < row) low = middle + 1; else high = middle;
    }
    return low;
  }

  // Drawing.
  function newRow() {
    const element = document.createElement("div");
    element.className = "line";
    element.setAttribute("role", "option");
    for (const name of ["number", "at", "kind", "text"]) {
      const cell = document.createElement("span");
      cell.className = name;
      element.append(cell);
    }
    tall.append(element);
    return element;
  }
  const clock = (ms) => {
    const seconds = ms / 1000, minutes = Math.floor(seconds / 60), hours = Math.floor(minutes / 60);
    const two = (value) => String(value).padStart(2, "0");
    const rest = (seconds % 60).toFixed(1).padStart(4, "0");
    return hours ? `${hours}:${two(minutes % 60)}:${rest}` : `${minutes}:${rest}`;
  };
  const length = (size) => `${size.toLocaleString("en")} characters`;
  function badge(said) {
    const element = document.createElement("span");
    element.className = "badge";
    element.textContent = said;
    return element;
  }
  function wordOf(flag) {
    const kind = flag & STDERR ? "stderr" : KINDS[flag & KIND];
    return flag & FAILED ? `${kind}, failed` : kind;
  }
  // A row is one line, so a text of several is shown as one; a match is brought into sight.
  function marked(cell, text) {
    const needle = hits ? search.value.toLowerCase() : "";
    const place = needle ? text.toLowerCase().indexOf(needle) : -1;
    const begin = place > 80 ? place - 40 : 0;
    const piece = (from, to) => text.slice(from, to).replace(/\n/g, " ⏎ ");
    if (place < 0) {
      cell.textContent = piece(0, SHOWN) + (text.length > SHOWN ? "…" : "");
      return;
    }
    const end = place + needle.length;
    const mark = document.createElement("mark");
    mark.textContent = piece(place, end);
    cell.replaceChildren(begin ? "…" : "", piece(begin, place), mark, piece(end, end + SHOWN));
  }
  function draw() {
    const total = count(), height = list.clientHeight;
    const first = Math.max(0, Math.floor(list.scrollTop / ROW) - SPARE);
    const end = Math.min(total, Math.ceil((list.scrollTop + height) / ROW) + SPARE);
    while (pool.length < end - first) pool.push(newRow());
    let waiting = null;
    pool.forEach((element, place) => {
      const position = first + place;
      element.hidden = position >= end;
      if (element.hidden) {
        element.removeAttribute("id");
        return;
      }
      const row = rowAt(position), entry = block(blockOf(row)), flag = flags[row];
      element.style.transform = `translateY(${position * ROW}px)`;
      element.id = `line-${row}`;
      element.dataset.row = row;
      element.setAttribute("aria-posinset", position + 1);
      element.setAttribute("aria-setsize", total);
      element.setAttribute("aria-selected", row === selected);
      element.className = `line ${KINDS[flag & KIND]}${flag & STDERR ? " stderr" : ""}${flag & FAILED ? " failed" : ""}${flag & CITED ? " cited" : ""}`;
      const [number, at, kind, text] = element.children;
      kind.textContent = wordOf(flag);
      if (!entry.ready) {
        waiting = entry;
        number.textContent = at.textContent = "";
        text.textContent = "…";
        return;
      }
      const told = lineOf(entry.ready, row);
      number.textContent = told.step.toLocaleString("en");
      at.textContent = (flag & KIND) === GAP ? "" : clock(told.time);
      marked(text, told.text);
      const long = told.text.length > SHOWN ? length(told.size || told.text.length) : "";
      text.prepend(...[told.note, long].filter(Boolean).map(badge));
    });
    if (waiting) waiting.promise.then(redraw);
    list.setAttribute("aria-activedescendant", selected >= 0 && find(`line-${selected}`) ? `line-${selected}` : "");
  }
  let drawing = false;
  function redraw() {
    if (drawing) return;
    drawing = true;
    requestAnimationFrame(() => {
      drawing = false;
      draw();
    });
  }
  function resized() {
    tall.style.height = `${count() * ROW}px`;
    redraw();
  }

  // Selecting.
  function inSight(position) {
    const top = position * ROW;
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + ROW > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW - list.clientHeight;
  }
  async function select(position, { centre = false, remember = true } = {}) {
    const total = count();
    if (!total) return;
    const at = Math.min(Math.max(position, 0), total - 1);
    selected = rowAt(at);
    const row = selected;
    if (centre) list.scrollTop = at * ROW - list.clientHeight / 2;
    inSight(at);
    redraw();
    const found = await line(row);
    if (row !== selected) return;
    if (remember) history.replaceState(null, "", `#step-${found.step}`);
    const note = found.note ? `, ${found.note}` : "";
    const cut = found.size ? `, the first ${found.text.length.toLocaleString("en")} characters of ${found.size.toLocaleString("en")}` : "";
    detailHead.textContent = `Step ${found.step.toLocaleString("en")}, ${wordOf(flags[row])}, at ${clock(found.time)}${note}${cut}`;
    detailText.textContent = pretty(found.text);
    detail.hidden = false;
  }
  // An agent's event is JSON on one line; laid out it can be read.
  function pretty(text) {
    if (!text.startsWith("{") || text.length > 65536) return text;
    try {
      return JSON.stringify(JSON.parse(text), null, 2).replace(/\\n/g, "\n");
    } catch {
      return text;
    }
  }
  async function goTo(step) {
    let number = 0;
    for (let low = 0, high = blocks.length - 1; low <= high; ) {
      const middle = (low + high) >> 1;
      if (blocks[middle][1] <= step) { number = middle; low = middle + 1; } else high = middle - 1;
    }
    const ready = await block(number).promise;
    let place = ready.steps.findIndex((first) => first > step) - 1;
    if (place < -1) place = ready.steps.length - 1;
    const row = ready.start + Math.max(place, 0);
    let position = positionOf(row);
    if (order && order[position] !== row) {
      unfilter();
      position = row;
    }
    await select(position, { centre: true });
  }

  // Filtering and searching.
  const kindBox = find("kind"), failedBox = find("failed"), citedBox = find("cited"), onlyBox = find("only");
  function fits(flag) {
    const kind = flag & KIND;
    if (kind === GAP) return true;
    if (failedBox.checked && !(flag & FAILED)) return false;
    if (citedBox && citedBox.checked && !(flag & CITED)) return false;
    const wanted = kindBox.value;
    if (wanted === "") return true;
    if (wanted === "action") return kind !== OUTPUT;
    if (wanted === "stderr") return Boolean(flag & STDERR);
    return KINDS[kind] === wanted;
  }
  function unfilter() {
    kindBox.value = "";
    failedBox.checked = onlyBox.checked = false;
    if (citedBox) citedBox.checked = false;
    narrow();
  }
  function narrow() {
    const byHits = onlyBox.checked && hits;
    const byFlags = kindBox.value !== "" || failedBox.checked || (citedBox && citedBox.checked);
    if (!byHits && !byFlags) order = null;
    else {
      const found = new Uint32Array(byHits ? hits.length : lines);
      let size = 0;
      for (let place = 0; place < found.length; place++) {
        const row = byHits ? hits[place] : place;
        if (fits(flags[row])) found[size++] = row;
      }
      order = found.slice(0, size);
    }
    resized();
    if (selected >= 0) inSight(Math.min(positionOf(selected), Math.max(count() - 1, 0)));
    tell();
  }
  function tell(progress = "") {
    const shown = order ? `${count().toLocaleString("en")} of ${lines.toLocaleString("en")} lines shown. ` : "";
    const matches = hits ? `${hits.length.toLocaleString("en")} ${hits.length === 1 ? "line matches" : "lines match"}${progress}.` : "";
    told.textContent = shown + matches;
  }
  async function seek() {
    const mine = ++searching, needle = search.value.toLowerCase();
    if (!needle) {
      hits = null;
      narrow();
      return;
    }
    const found = [];
    for (let number = 0; number < blocks.length; number++) {
      const ready = cache.get(number)?.ready || (await load(number));
      if (mine !== searching) return;
      ready.texts.forEach((text, place) => {
        if (text.toLowerCase().includes(needle)) found.push(ready.start + place);
      });
      if (number % 16 === 0) {
        hits = found;
        tell(` so far, ${Math.floor((100 * number) / blocks.length)} % searched`);
      }
    }
    hits = Uint32Array.from(found);
    narrow();
    search.dataset.done = needle;
  }
  function nextHit(direction) {
    if (!hits || !hits.length) return;
    let place = hits.findIndex((row) => row > selected);
    if (place < 0) place = hits.length;
    if (direction < 0) place = hits[place - 1] === selected ? place - 2 : place - 1;
    const row = hits[(place + hits.length) % hits.length];
    const position = positionOf(row);
    if (order && order[position] !== row) return;
    select(position, { centre: true });
  }

  // Hands.
  let pause = 0;
  search.addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(seek, 150);
  });
  search.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    nextHit(event.shiftKey ? -1 : 1);
  });
  find("next").addEventListener("click", () => nextHit(1));
  find("previous").addEventListener("click", () => nextHit(-1));
  for (const box of [kindBox, failedBox, citedBox, onlyBox]) box?.addEventListener("change", narrow);
  find("go").addEventListener("submit", (event) => {
    event.preventDefault();
    goTo(Number(find("step").value) || 1);
  });
  list.addEventListener("scroll", redraw, { passive: true });
  list.addEventListener("click", (event) => {
    const element = event.target.closest(".line");
    if (element) select(positionOf(Number(element.dataset.row)));
  });
  list.addEventListener("keydown", (event) => {
    const page = Math.max(1, Math.floor(list.clientHeight / ROW) - 1), now = selected < 0 ? -1 : positionOf(selected);
    const moves = { ArrowDown: now + 1, ArrowUp: now - 1, PageDown: now + page, PageUp: now - page, Home: 0, End: count() - 1 };
    if (event.key in moves) select(moves[event.key]);
    else if (event.key === "Enter") detailText.focus();
    else if (event.key === "/") search.focus();
    else if (event.key === "n" || event.key === "N") nextHit(event.key === "n" ? 1 : -1);
    else return;
    event.preventDefault();
  });
  detail.addEventListener("keydown", (event) => event.key === "Escape" && list.focus());
  find("close").addEventListener("click", () => {
    detail.hidden = true;
    list.focus();
  });
  const follow = () => {
    const named = /^#step-(\d+)$/.exec(location.hash);
    if (!named) return;
    find("trajectory").scrollIntoView();
    list.focus({ preventScroll: true });
    goTo(Math.min(Number(named[1]), last));
  };
  window.addEventListener("hashchange", follow);
  window.addEventListener("resize", redraw);

  find("viewer").hidden = false;
  resized();
  unpacked("flags").then((buffer) => {
    flags = new Uint8Array(buffer);
    redraw();
    follow();
  });
}
viewer(JSON.parse(document.getElementById("trajectory-index").textContent));
