// The page of calls: records the calls of marked functions, and shows callers and called functions.

import { ask, during, element, say } from "./asking.js";

const state = { calls: [], functions: [], sort: "own", open: null };
const count = new Intl.NumberFormat("en");

function duration(seconds) {
  if (seconds >= 1) return `${seconds.toFixed(2)} s`;
  if (seconds >= 1e-3) return `${(seconds * 1e3).toFixed(1)} ms`;
  return `${(seconds * 1e6).toFixed(1)} µs`;
}

/** Sums the calls of each function over its callers. */
function byFunction(calls) {
  const functions = new Map();
  for (const { name, calls: number, own, accumulated } of calls) {
    const sums = functions.get(name) ?? { name, calls: 0, own: 0, accumulated: 0 };
    sums.calls += number;
    sums.own += own;
    sums.accumulated += accumulated;
    functions.set(name, sums);
  }
  return [...functions.values()];
}

function row(first, { calls, own, accumulated }, className) {
  const line = document.createElement("tr");
  line.className = className;
  const each = calls === 0 ? "" : duration(accumulated / calls);
  for (const content of [first, count.format(calls), duration(own), duration(accumulated), each]) {
    const cell = document.createElement("td");
    cell.append(content);
    line.append(cell);
  }
  return line;
}

/** Rows for the callers of a function and for the functions that it called. */
function related(name) {
  const callers = state.calls.filter((it) => it.name === name);
  const called = state.calls.filter((it) => it.caller === name);
  const caller = (it) => row(it.caller === undefined ? "called by no marked function" : `called by ${it.caller}`, it, "related");
  return [...callers.map(caller), ...called.map((it) => row(`calls ${it.name}`, it, "related"))];
}

function select(name) {
  state.open = state.open === name ? null : name;
  draw();
  for (const button of document.querySelectorAll(".function")) {
    if (button.textContent === name) button.focus();
  }
}

function draw() {
  const sorted = state.functions.toSorted((a, b) => {
    const byKey = state.sort === "name" ? 0 : b[state.sort] - a[state.sort];
    return byKey || a.name.localeCompare(b.name);
  });
  const rows = sorted.flatMap((it) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "function";
    button.textContent = it.name;
    button.setAttribute("aria-expanded", String(state.open === it.name));
    button.addEventListener("click", () => select(it.name));
    return [row(button, it, ""), ...(state.open === it.name ? related(it.name) : [])];
  });
  element("rows").replaceChildren(...rows);
  for (const button of document.querySelectorAll(".sort")) {
    const isSorted = button.dataset.key === state.sort;
    const order = state.sort === "name" ? "ascending" : "descending";
    button.closest("th").setAttribute("aria-sort", isSorted ? order : "none");
  }
}

function show({ seconds, calls }) {
  state.calls = calls;
  state.functions = byFunction(calls);
  element("found").hidden = calls.length === 0;
  element("empty").hidden = calls.length > 0;
  const number = state.functions.reduce((sum, it) => sum + it.calls, 0);
  if (calls.length === 0) say("No marked function was called. Give the program some work, and count again.");
  else say(`${count.format(number)} calls of ${count.format(state.functions.length)} functions in ${seconds.toFixed(1)} s`);
  draw();
}

async function take(event) {
  event.preventDefault();
  const seconds = Number(element("seconds").value);
  await during(seconds, async () => {
    const answer = await ask(`/profile/calls.json?seconds=${seconds}`);
    if (answer !== null) show(await answer.json());
  });
}

element("take").addEventListener("submit", take);
for (const button of document.querySelectorAll(".sort")) {
  button.addEventListener("click", () => {
    state.sort = button.dataset.key;
    draw();
  });
}
