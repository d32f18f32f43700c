// The page of one request: waits for it, and draws its steps.

import { ask, during, element, say } from "./asking.js";

const ROWS_MAX = 200;

const state = { glass: null, showsAll: false, waiting: null };

/** A time in the unit that suits it. */
function time(seconds) {
  const size = Math.abs(seconds);
  if (size === 0) return "0";
  if (size < 1e-3) return `${(seconds * 1e6).toFixed(1)} µs`;
  if (size < 1) return `${(seconds * 1e3).toFixed(3)} ms`;
  return `${seconds.toFixed(3)} s`;
}

function count(number) {
  return number === undefined ? "" : number.toLocaleString("en");
}

function cell(text, className = "") {
  const made = document.createElement("td");
  made.className = className;
  made.textContent = text;
  return made;
}

/** From when to when the steps last. */
function span(steps) {
  let [from, to] = [0, 0];
  for (const step of steps) {
    from = Math.min(from, step.begun);
    to = Math.max(to, step.begun + step.duration);
  }
  return { from, length: Math.max(to - from, 1e-9) };
}

function stepRow(step, { from, length }) {
  const row = document.createElement("tr");
  const name = cell(step.name);
  if (step.detail) {
    const detail = document.createElement("span");
    detail.className = "detail";
    detail.textContent = step.detail;
    name.append(detail);
  }
  const when = cell("", "when");
  const track = document.createElement("div");
  track.className = "track";
  const bar = document.createElement("div");
  bar.className = "bar";
  // The last step stays inside.
  bar.style.left = `min(${(100 * (step.begun - from)) / length}%, 100% - 2px)`;
  bar.style.width = `${(100 * step.duration) / length}%`;
  track.append(bar);
  when.append(track);
  row.append(name, cell(time(step.begun)), cell(time(step.duration)));
  row.append(cell(count(step.bytes)), when);
  return row;
}

function leftOutRow(number) {
  const row = document.createElement("tr");
  row.className = "left-out";
  const told = cell(`${count(number)} steps between are left out`);
  told.colSpan = 5;
  row.append(told);
  return row;
}

function drawSteps() {
  const { steps, first_steps, steps_left_out } = state.glass;
  const shown = state.showsAll ? steps.length : Math.min(steps.length, ROWS_MAX);
  const scale = span(steps);
  const rows = [];
  for (const [index, step] of steps.slice(0, shown).entries()) {
    if (index === first_steps && steps_left_out > 0) rows.push(leftOutRow(steps_left_out));
    rows.push(stepRow(step, scale));
  }
  element("rows").replaceChildren(...rows);
  const more = element("more");
  more.hidden = shown === steps.length;
  more.textContent = `Show all ${count(steps.length)} steps`;
}

function drawTotals() {
  const { totals } = state.glass;
  const rows = totals.map((total) => {
    const row = document.createElement("tr");
    row.append(cell(total.name), cell(count(total.count)), cell(time(total.duration)));
    row.append(cell(count(total.bytes)), cell(count(total.bytes_median)));
    return row;
  });
  element("total-rows").replaceChildren(...rows);
  element("sums").hidden = totals.every((total) => total.count < 2);
}

function drawHeads() {
  const panels = state.glass.heads.map(({ title, text }) => {
    const panel = document.createElement("section");
    panel.className = "panel";
    const heading = document.createElement("h3");
    heading.textContent = title;
    const head = document.createElement("pre");
    head.tabIndex = 0;
    head.textContent = text;
    panel.append(heading, head);
    return panel;
  });
  element("heads").replaceChildren(...panels);
  element("heads").hidden = panels.length === 0;
}

function show(glass) {
  state.glass = glass;
  state.showsAll = false;
  element("name").textContent = glass.name;
  const begun = new Date(glass.begun * 1000).toISOString().replace("T", " ").replace("Z", " UTC");
  const so = glass.has_ended ? "" : " so far: it has not ended";
  element("about").textContent = `began ${begun}, took ${time(glass.duration)}${so}`;
  element("summary").textContent = glass.summary ?? "";
  drawSteps();
  drawTotals();
  drawHeads();
  element("found").hidden = false;
  element("name").focus({ preventScroll: true });
}

/** Forgets what was shown before, so that nobody takes it for what is waited for. */
function clear() {
  state.glass = null;
  for (const id of ["found", "sums", "heads"]) element(id).hidden = true;
}

/** The kinds of things on which there are conditions, and how these are asked for. */
const CONDITIONS = {
  request: { label: "that meets", placeholder: "status>=500 and path^=/api" },
  call: { label: "whose name has", placeholder: "key set" },
};

function question() {
  const kind = element("kind").value;
  const parameters = new URLSearchParams({ kind, seconds: element("seconds").value });
  const condition = element("condition").value.trim();
  if (condition !== "" && kind in CONDITIONS) parameters.set("condition", condition);
  return `/glass.json?${parameters}`;
}

async function wait(event) {
  event.preventDefault();
  const stopping = new AbortController();
  state.waiting = stopping;
  clear();
  setWaiting(true);
  await during(Number(element("seconds").value), async () => {
    say("waiting");
    const answer = await ask(question(), { signal: stopping.signal });
    if (answer === null) return;
    show(await answer.json());
    say("");
  });
  setWaiting(false);
}

function setWaiting(isWaiting) {
  element("stop").hidden = !isWaiting;
  if (isWaiting) element("stop").focus();
}

function chooseKind() {
  const { label, placeholder } = CONDITIONS[element("kind").value] ?? {};
  element("condition-field").hidden = label === undefined;
  element("condition-label").textContent = label ?? "";
  element("condition").placeholder = placeholder ?? "";
}

element("ask").addEventListener("submit", wait);
element("stop").addEventListener("click", () => state.waiting?.abort());
element("kind").addEventListener("change", chooseKind);
element("more").addEventListener("click", () => {
  state.showsAll = true;
  drawSteps();
});
chooseKind();
