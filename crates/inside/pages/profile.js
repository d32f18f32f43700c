// The page of a profile: takes one, and draws its folded stacks.

import { ask, during, element, say } from "./asking.js";

const ROW_PX = 19;
const NARROWEST_PX = 2;
const ROWS_MAX = 100;

/** A browser has begun to save a file after this time. */
const SAVED_MS = 60_000;

/** A function as it was called from the functions above it. */
function node(name, parent) {
  return { name, parent, total: 0, own: 0, children: new Map(), depth: parent ? parent.depth + 1 : 0 };
}

/** The tree of folded stacks, those of one thread or of all. */
function tree(stacks, thread) {
  const root = node(thread === "" ? "all threads" : thread, null);
  for (const { functions, samples } of stacks) {
    if (thread !== "" && functions[0] !== thread) continue;
    let at = root;
    at.total += samples;
    for (const name of thread === "" ? functions : functions.slice(1)) {
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

function parse(folded) {
  const stacks = [];
  for (const line of folded.split("\n")) {
    const space = line.lastIndexOf(" ");
    if (space < 0) continue;
    stacks.push({ functions: line.slice(0, space).split(";"), samples: Number(line.slice(space + 1)) });
  }
  return stacks;
}

/** Own samples of each function, and those of all stacks that it is in. */
function functionTimes(stacks, thread) {
  const times = new Map();
  for (const { functions, samples } of stacks) {
    if (thread !== "" && functions[0] !== thread) continue;
    const called = functions.slice(1);
    for (const name of new Set(called)) {
      const time = times.get(name) ?? { name, own: 0, total: 0 };
      time.total += samples;
      times.set(name, time);
    }
    if (called.length > 0) times.get(called[called.length - 1]).own += samples;
  }
  return [...times.values()];
}

const state = { stacks: [], samples: 0, total: 0, unit: "nanoseconds", root: null, focus: null, current: null, sort: "own", nodes: new Map() };

function share(samples) {
  const of = state.root.total;
  const percent = of === 0 ? 0 : (100 * samples) / of;
  return `${percent.toFixed(percent < 10 ? 2 : 1)} %`;
}

/** What a number of samples stands for: a time, or bytes. */
function amount(samples) {
  const amount = (state.total * samples) / state.samples;
  if (state.unit === "bytes") {
    if (amount >= 1e9) return `${(amount / 1e9).toFixed(2)} GB`;
    return amount >= 1e6 ? `${(amount / 1e6).toFixed(1)} MB` : `${(amount / 1e3).toFixed(0)} kB`;
  }
  return amount < 1e9 ? `${Math.round(amount / 1e6)} ms` : `${(amount / 1e9).toFixed(2)} s`;
}

/** A colour for a crate or a library: the part of a name before `::`, without what stands before it. */
function colour(name) {
  const crate = /^[<&*\s(]*([A-Za-z_0-9.]+)/.exec(name)?.[1] ?? name;
  let hash = 0;
  for (const character of crate) hash = (hash * 31 + character.codePointAt(0)) >>> 0;
  return `hsl(${hash % 360} var(--flame-saturation) var(--flame-lightness))`;
}

function isFound(name) {
  const wanted = element("find").value.trim().toLowerCase();
  return wanted !== "" && name.toLowerCase().includes(wanted);
}

/** Draws the tree from the function that is looked at; what stands above it keeps its whole width. */
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
    frame.style.background = colour(at.name);
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
  element("detail").textContent = at === null ? "" : `${at.name}: ${share(at.total)} (${amount(at.total)}), of it own ${share(at.own)}`;
}

function lookAt(at) {
  state.focus = at;
  state.current = at;
  draw();
  at.frame?.focus({ preventScroll: true });
  tell(at);
}

function moveTo(at) {
  // One that is too narrow is not drawn.
  if (!at?.frame?.isConnected) return;
  if (state.current?.frame) state.current.frame.tabIndex = -1;
  state.current = at;
  at.frame.tabIndex = 0;
  at.frame.focus();
  tell(at);
}

function drawRows() {
  const body = element("rows");
  const thread = element("thread").value;
  const wanted = element("find").value.trim();
  const times = functionTimes(state.stacks, thread).filter((it) => wanted === "" || isFound(it.name));
  times.sort((a, b) => b[state.sort] - a[state.sort] || a.name.localeCompare(b.name));
  body.replaceChildren();
  for (const time of times.slice(0, ROWS_MAX)) {
    const row = document.createElement("tr");
    for (const text of [share(time.own), share(time.total), time.name]) {
      const cell = document.createElement("td");
      cell.textContent = text;
      row.append(cell);
    }
    body.append(row);
  }
  const left = times.length - ROWS_MAX;
  element("more").textContent = left > 0 ? `and ${left} functions with less; find them by name` : "";
  for (const button of document.querySelectorAll(".sort")) {
    const isSorted = button.dataset.key === state.sort;
    button.closest("th").setAttribute("aria-sort", isSorted ? "descending" : "none");
  }
}

function showShare() {
  const wanted = element("find").value.trim();
  let samples = 0;
  const thread = element("thread").value;
  for (const stack of state.stacks) {
    const isOfThread = thread === "" || stack.functions[0] === thread;
    if (isOfThread && stack.functions.slice(1).some(isFound)) samples += stack.samples;
  }
  element("share").textContent = wanted === "" ? "" : `in ${share(samples)} of the samples`;
}

function show() {
  state.root = tree(state.stacks, element("thread").value);
  element("found").hidden = false;
  element("functions").hidden = false;
  state.current = state.root;
  state.focus = state.root;
  draw();
  tell(state.root);
  drawRows();
  showShare();
}

function showProfile(folded, total, unit, lost) {
  state.stacks = parse(folded);
  const samples = state.stacks.reduce((sum, it) => sum + it.samples, 0);
  state.samples = samples;
  state.total = total;
  state.unit = unit;
  const threads = new Map();
  for (const { functions, samples } of state.stacks) {
    threads.set(functions[0], (threads.get(functions[0]) ?? 0) + samples);
  }
  const choice = element("thread");
  choice.replaceChildren(new Option(`all ${threads.size}`, ""));
  for (const [name] of [...threads].sort((a, b) => b[1] - a[1])) choice.append(new Option(name, name));
  if (samples === 0) {
    element("found").hidden = true;
    element("functions").hidden = true;
    say("Nothing was seen. Send it some work, and take another profile.");
    return;
  }
  const kind = element("kind").selectedOptions[0].textContent;
  element("width").textContent = kind;
  const counted = unit === "bytes" ? "" : `${samples} samples, `;
  const missing = lost === 0 ? "" : `; there was no room for ${lost} more samples`;
  say(`${counted}${amount(samples)} of ${kind}${missing}`);
  show();
}

async function take(event) {
  event.preventDefault();
  const [time, hz] = [Number(element("seconds").value), Number(element("hz").value)];
  await during(time, async () => {
    const answer = await ask(`/profile/folded?seconds=${time}&hz=${hz}&kind=${element("kind").value}`);
    if (answer === null) return;
    const field = (name) => answer.headers.get(`profile-${name}`);
    link(field("id"));
    showProfile(await answer.text(), Number(field("total")), field("unit"), Number(field("lost")));
  });
}

/** Leads the links to the files of the profile that is shown. */
function link(id) {
  for (const save of document.querySelectorAll("#found a[download]")) {
    save.href = `/profile/${save.dataset.format}?id=${id}`;
  }
}

/** Saves a file of the profile that is shown. A link alone would save the sentence that it is kept no longer. */
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
element("thread").addEventListener("change", show);
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
