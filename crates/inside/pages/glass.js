// The page of one request: waits for the request, and draws its steps.

import { ask, during, element, say } from "./asking.js";

const ROWS_MAX = 200;

const state = { glass: null, showsAll: false, waiting: null };

/** Formats a time in a suitable unit. */
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

/** A cell with the title that it has in a narrow window, in which the table has no head. */
function titled(text, title) {
  const made = cell(text);
  if (text !== "") made.dataset.title = title;
  return made;
}

/** The start and the length of the time span that contains all steps. */
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
  // Keeps the bar of the last step visible.
  bar.style.left = `min(${(100 * (step.begun - from)) / length}%, 100% - 4px)`;
  bar.style.width = `${(100 * step.duration) / length}%`;
  track.append(bar);
  when.append(track);
  row.append(name, titled(time(step.begun), "Begins"), titled(time(step.duration), "Takes"));
  row.append(titled(count(step.bytes), "Bytes"), when);
  return row;
}

function leftOutRow(number) {
  const row = document.createElement("tr");
  row.className = "left-out";
  const message = cell(`${count(number)} steps are omitted here`);
  message.colSpan = 5;
  row.append(message);
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
  element("empty").hidden = true;
  element("name").focus({ preventScroll: true });
}

/** Hides the previous result, which could be mistaken for the new one. */
function clear() {
  state.glass = null;
  for (const id of ["found", "sums", "heads"]) element(id).hidden = true;
}

/** The kinds that support a condition, with the label and placeholder of its field. */
const CONDITIONS = {
  request: { label: "that meets", placeholder: "status>=500 and path^=/api" },
  call: { label: "whose name contains", placeholder: "key set" },
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
