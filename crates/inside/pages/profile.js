// The profile page: takes a profile, and draws its folded stacks.

import { ask, during, element, say } from "./asking.js";

const ROW_PX = 19;
const NARROWEST_PX = 2;
const ROWS_MAX = 50;

/** Functions with a smaller share, which would be shown as 0.00 %, are not listed at first. */
const SHARE_MIN = 0.00005;

/** After this time a browser has started to save a file. */
const SAVED_MS = 60_000;

/** A node of the call tree: a function in the context of its callers. */
function node(name, parent) {
  return { name, parent, total: 0, own: 0, children: new Map(), depth: parent ? parent.depth + 1 : 0 };
}

/** Builds the call tree of stacks: of their threads, or of the functions of one thread. */
function tree(stacks, thread) {
  const root = node(thread === "" ? "all threads" : thread, null);
  for (const stack of stacks) {
    const { functions, samples } = stack;
    let at = root;
    at.total += samples;
    for (const name of thread === "" ? [stack.thread, ...functions] : functions) {
      let child = at.children.get(name);
      if (child === undefined) {
        child = node(name, at);
        at.children.set(name, child);
      }
      child.total += samples;
      at = child;
    }
    at.own += samples;
  }
  return root;
}

/** Reads lines of the form `STAGE;THREAD;FUNCTION;FUNCTION SAMPLES`. */
function parse(folded) {
  const stacks = [];
  for (const line of folded.split("\n")) {
    const space = line.lastIndexOf(" ");
    if (space < 0) continue;
    const [stage, thread, ...functions] = line.slice(0, space).split(";");
    stacks.push({ stage, thread, functions, samples: Number(line.slice(space + 1)) });
  }
  return stacks;
}

/** The stacks of the chosen stage and thread. */
function chosen() {
  const [stage, thread] = [element("stage").value, element("thread").value];
  const isChosen = (choice, value) => choice === "" || choice === value;
  return state.stacks.filter((it) => isChosen(stage, it.stage) && isChosen(thread, it.thread));
}

/** The own samples of each function, and the samples of all stacks that contain it. */
function functionTimes(stacks) {
  const times = new Map();
  for (const { functions, samples } of stacks) {
    for (const name of new Set(functions)) {
      const time = times.get(name) ?? { name, own: 0, total: 0 };
      time.total += samples;
      times.set(name, time);
    }
    if (functions.length > 0) times.get(functions.at(-1)).own += samples;
  }
  return [...times.values()];
}

const state = { stacks: [], samples: 0, total: 0, unit: "nanoseconds", root: null, focus: null, current: null, sort: "own", showsAll: false, nodes: new Map() };

function share(samples) {
  const of = state.root.total;
  const percent = of === 0 ? 0 : (100 * samples) / of;
  return `${percent.toFixed(percent < 10 ? 2 : 1)} %`;
}

/** Formats the time or the bytes that a number of samples represents. */
function amount(samples) {
  const amount = (state.total * samples) / state.samples;
  if (state.unit === "bytes") {
    if (amount >= 1e9) return `${(amount / 1e9).toFixed(2)} GB`;
    return amount >= 1e6 ? `${(amount / 1e6).toFixed(1)} MB` : `${(amount / 1e3).toFixed(0)} kB`;
  }
  return amount < 1e9 ? `${Math.round(amount / 1e6)} ms` : `${(amount / 1e9).toFixed(2)} s`;
}

/** The hue of a function's crate or library: the name before the first `::`, without leading punctuation. */
function hue(name) {
  const crate = /^[<&*\s(]*([A-Za-z_0-9.]+)/.exec(name)?.[1] ?? name;
  let hash = 0;
  for (const character of crate) hash = (hash * 31 + character.codePointAt(0)) >>> 0;
  return hash % 360;
}

function isFound(name) {
  const wanted = element("find").value.trim().toLowerCase();
  return wanted !== "" && name.toLowerCase().includes(wanted);
}

/** Draws the tree from the focused function. Its callers above it take the whole width. */
function draw() {
  const flame = element("flame");
  const width = flame.clientWidth;
  const above = [];
  for (let at = state.focus; at !== null; at = at.parent) above.unshift(at);
  flame.replaceChildren();
  state.nodes.clear();
  let deepest = 0;
  const put = (at, left, wide) => {
    const frame = document.createElement("div");
    frame.className = "frame";
    frame.setAttribute("role", "treeitem");
    frame.setAttribute("aria-level", String(at.depth + 1));
    frame.setAttribute("aria-label", `${at.name}: ${share(at.total)}, ${amount(at.total)}`);
    frame.tabIndex = at === state.current ? 0 : -1;
    frame.textContent = wide > 30 ? at.name : "";
    frame.style.left = `${left}px`;
    frame.style.width = `${Math.max(wide - 1, 1)}px`;
    frame.style.top = `${at.depth * ROW_PX}px`;
    frame.style.setProperty("--hue", hue(at.name));
    frame.classList.toggle("found", isFound(at.name));
    frame.classList.toggle("above", at !== state.focus && above.includes(at));
    flame.append(frame);
    state.nodes.set(frame, at);
    at.frame = frame;
    deepest = Math.max(deepest, at.depth);
  };
  for (const at of above) put(at, 0, width);
  const waiting = [[state.focus, 0, width]];
  while (waiting.length > 0) {
    const [at, left, wide] = waiting.pop();
    let from = left;
    for (const child of [...at.children.values()].sort((a, b) => b.total - a.total)) {
      const childWide = (wide * child.total) / Math.max(at.total, 1);
      child.frame = undefined;
      if (childWide >= NARROWEST_PX) {
        put(child, from, childWide);
        waiting.push([child, from, childWide]);
      }
      from += childWide;
    }
  }
  flame.style.height = `${(deepest + 1) * ROW_PX}px`;
}

function tell(at) {
  element("detail").textContent = at === null ? "" : `${at.name}: ${share(at.total)} (${amount(at.total)}), own ${share(at.own)}`;
}

function lookAt(at) {
  state.focus = at;
  state.current = at;
  draw();
  at.frame?.focus({ preventScroll: true });
  tell(at);
}

function moveTo(at) {
  // A frame that is too narrow is not drawn.
  if (!at?.frame?.isConnected) return;
  if (state.current?.frame) state.current.frame.tabIndex = -1;
  state.current = at;
  at.frame.tabIndex = 0;
  at.frame.focus();
  tell(at);
}

function drawRows() {
  const body = element("rows");
  const wanted = element("find").value.trim();
  const times = functionTimes(chosen()).filter((it) => wanted === "" || isFound(it.name));
  times.sort((a, b) => b[state.sort] - a[state.sort] || a.name.localeCompare(b.name));
  body.replaceChildren();
  const notable = times.filter((time) => time[state.sort] >= SHARE_MIN * state.root.total).slice(0, ROWS_MAX);
  const shown = state.showsAll ? times : notable;
  for (const time of shown) {
    const row = document.createElement("tr");
    for (const text of [share(time.own), share(time.total), time.name]) {
      const cell = document.createElement("td");
      cell.textContent = text;
      row.append(cell);
    }
    body.append(row);
  }
  const left = times.length - shown.length;
  element("more").textContent = left > 0 ? `${left} more functions are not listed.` : "";
  element("all").hidden = left === 0;
  for (const button of document.querySelectorAll(".sort")) {
    const isSorted = button.dataset.key === state.sort;
    button.closest("th").setAttribute("aria-sort", isSorted ? "descending" : "none");
  }
}

function showShare() {
  const wanted = element("find").value.trim();
  let samples = 0;
  for (const stack of chosen()) {
    if (stack.functions.some(isFound)) samples += stack.samples;
  }
  element("share").textContent = wanted === "" ? "" : `in ${share(samples)} of the samples`;
}

function show() {
  state.root = tree(chosen(), element("thread").value);
  element("empty").hidden = true;
  element("found").hidden = false;
  element("functions").hidden = false;
  state.current = state.root;
  state.focus = state.root;
  draw();
  tell(state.root);
  drawRows();
  showShare();
}

/** Offers the stages or the threads of the profile for a choice, those with the most samples first. */
function offer(key) {
  const sums = new Map();
  for (const stack of state.stacks) sums.set(stack[key], (sums.get(stack[key]) ?? 0) + stack.samples);
  const sorted = [...sums].sort((a, b) => b[1] - a[1]);
  const text = ([name, samples]) => `${name} (${Math.round((100 * samples) / state.samples)} %)`;
  const options = sorted.map((sum) => new Option(text(sum), sum[0]));
  element(key).replaceChildren(new Option(`all ${sums.size}`, ""), ...options);
}

function showProfile(folded, total, unit, lost) {
  state.stacks = parse(folded);
  state.showsAll = false;
  const samples = state.stacks.reduce((sum, it) => sum + it.samples, 0);
  state.samples = samples;
  state.total = total;
  state.unit = unit;
  for (const key of ["stage", "thread"]) offer(key);
  if (samples === 0) {
    element("found").hidden = true;
    element("functions").hidden = true;
    element("empty").hidden = false;
    say("The profile has no samples. Give the program some work, and take another profile.");
    return;
  }
  const kind = element("kind").selectedOptions[0].textContent;
  element("width").textContent = kind;
  const counted = unit === "bytes" ? "" : `${samples} samples, `;
  const missing = lost === 0 ? "" : `; ${lost} more samples were lost because the table was full`;
  say(`${counted}${amount(samples)} of ${kind}${missing}`);
  show();
}

async function take(event) {
  event.preventDefault();
  const [time, hz] = [Number(element("seconds").value), Number(element("hz").value)];
  await during(time, async () => {
    const answer = await ask(`/profile/folded?by=stage&seconds=${time}&hz=${hz}&kind=${element("kind").value}`);
    if (answer === null) return;
    const field = (name) => answer.headers.get(`profile-${name}`);
    link(field("id"));
    showProfile(await answer.text(), Number(field("total")), field("unit"), Number(field("lost")));
  });
}

/** Sets the download links to the files of the shown profile. */
function link(id) {
  for (const save of document.querySelectorAll("#found a[download]")) {
    save.href = `/profile/${save.dataset.format}?id=${id}`;
  }
}

/** Saves a file of the shown profile. A plain link would save the error message if the profile is not stored any more. */
async function save(event) {
  event.preventDefault();
  const { href, download } = event.currentTarget;
  try {
    const answer = await ask(href);
    if (answer === null) return;
    const saved = document.createElement("a");
    saved.href = URL.createObjectURL(await answer.blob());
    saved.download = download;
    saved.click();
    setTimeout(() => URL.revokeObjectURL(saved.href), SAVED_MS);
  } catch (error) {
    say(`The program did not answer: ${error.message}`, true);
  }
}

function press(event) {
  const at = state.current;
  if (at === null || event.ctrlKey || event.altKey || event.metaKey) return;
  const siblings = at.parent === null ? [] : [...at.parent.children.values()].sort((a, b) => b.total - a.total);
  const next = {
    ArrowUp: () => moveTo(at.parent),
    ArrowDown: () => moveTo([...at.children.values()].sort((a, b) => b.total - a.total)[0]),
    ArrowLeft: () => moveTo(siblings[siblings.indexOf(at) - 1]),
    ArrowRight: () => moveTo(siblings[siblings.indexOf(at) + 1]),
    Enter: () => lookAt(at),
    Escape: () => lookAt(state.root),
  }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  next();
}

element("take").addEventListener("submit", take);
for (const link of document.querySelectorAll("#found a[download]")) link.addEventListener("click", save);
for (const key of ["stage", "thread"]) element(key).addEventListener("change", show);
element("all").addEventListener("click", () => {
  state.showsAll = true;
  drawRows();
  element("rows").closest("table").querySelector(".sort").focus({ preventScroll: true });
});
element("find").addEventListener("input", () => {
  draw();
  drawRows();
  showShare();
});
for (const button of document.querySelectorAll(".sort")) {
  button.addEventListener("click", () => {
    state.sort = button.dataset.key;
    drawRows();
  });
}
const flame = element("flame");
flame.addEventListener("click", (event) => {
  const at = state.nodes.get(event.target);
  if (at !== undefined) lookAt(at);
});
flame.addEventListener("pointerover", (event) => tell(state.nodes.get(event.target) ?? state.current));
flame.addEventListener("pointerleave", () => tell(state.current));
flame.addEventListener("keydown", press);
let width = 0;
new ResizeObserver(() => {
  if (state.focus === null || flame.clientWidth === width) return;
  width = flame.clientWidth;
  const hasFocus = flame.contains(document.activeElement);
  draw();
  if (hasFocus) state.current.frame?.focus({ preventScroll: true });
}).observe(flame);
