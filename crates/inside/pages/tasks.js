// Lists tasks and threads every second. Names may be hostile: they become text, never markup.

import { count, percent, size } from "./numbers.js";

const INTERVAL_MS = 1000;
const TIMEOUT_MS = 5000;
const HISTORY_MAX = 60;

const byId = (id) => document.getElementById(id);

function time(seconds) {
  if (seconds < 1) return `${(seconds * 1000).toFixed(seconds < 0.01 ? 2 : 0)} ms`;
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  if (seconds < 7200) return `${(seconds / 60).toFixed(0)} min`;
  return `${(seconds / 3600).toFixed(0)} h`;
}

/** A column: its key, its title, the value that it shows and sorts by, and the format of the value. */
const text = (key, title, value, options = {}) => ({ key, title, value, write: String, isText: true, ...options });
const value = (key, title, of, write, options = {}) => ({ key, title, value: of, write, isText: false, ...options });
const rate = (key, title, write) => value(key, title, (row) => row.rates?.[key], write);

const WORK = [
  rate("busy", "Busy", percent),
  rate("scheduled", "Scheduled", percent),
  rate("polls", "Polls/s", count),
  rate("requests", "Requests/s", count),
  rate("bytes", "Bytes/s", size),
];

const TABLES = {
  kinds: {
    rows: (answer) => answer.kinds,
    key: (row) => `kind ${row.kind}`,
    columns: [
      text("kind", "Kind", (row) => row.kind, { opens: true }),
      value("tasks", "Tasks", (row) => row.tasks, count),
      value("running", "Running", (row) => row.tasks_running, count),
      value("ready", "Waiting to run", (row) => row.tasks_scheduled, count),
      value("begun", "Begun", (row) => row.begun, count),
      ...WORK,
      value("memory", "Memory", (row) => row.memory_bytes, size),
    ],
    sort: "busy",
  },
  tasks: {
    rows: (answer) => answer.tasks,
    key: (row) => `task ${row.id}`,
    // The server sorts the tasks, because it may have more than it sends.
    isSorted: true,
    columns: [
      text("name", "Name", (row) => row.name || `task ${row.id}`, { opens: true, className: () => "name" }),
      text("kind", "Kind", (row) => row.kind),
      text("state", "State", (row) => row.state, { className: (row) => `is-${row.state}` }),
      ...WORK,
      value("age", "Age", (row) => row.age, time),
      value("memory", "Memory", (row) => row.memory_bytes, size),
    ],
    sort: "busy",
  },
  threads: {
    rows: (answer) => answer.threads,
    key: (row) => `thread ${row.id}`,
    columns: [
      text("name", "Name", (row) => row.name, { opens: true, className: () => "name" }),
      value("id", "Number", (row) => row.id, String),
      text("state", "State", (row) => row.state ?? ""),
      rate("running", "On a processor", percent),
      rate("system", "Of that, system", percent),
      rate("waiting", "Waits for a processor", percent),
      rate("busy", "Busy", percent),
      rate("switches", "Waits/s", count),
      rate("preemptions", "Preempted/s", count),
      value("processor", "Processor", (row) => row.processor, String),
    ],
    sort: "running",
  },
  runtimes: {
    rows: (answer) => answer.runtimes,
    key: (row) => `runtime ${row.name}`,
    columns: [
      text("name", "Name", (row) => row.name),
      value("workers", "Threads", (row) => row.workers, count),
      value("tasks", "Tasks", (row) => row.tasks, count),
      value("queued", "Queued", (row) => row.queued, count),
      value("busy", "Busy so far", (row) => row.busy, time),
      value("parks", "Slept", (row) => row.parks, count),
    ],
    sort: "name",
  },
};

const state = { answer: undefined, histories: new Map(), open: undefined, asked: 0 };
for (const table of Object.values(TABLES)) {
  table.isAscending = table.columns.find((column) => column.key === table.sort).isText;
}

function make(name, className, content) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (content !== undefined) made.textContent = content;
  return made;
}

/** Sets a text only if it differs, so that a selection is kept. */
function setText(place, content) {
  if (place.textContent !== content) place.textContent = content;
}

function drawHead(name, table) {
  const row = make("tr");
  for (const column of table.columns) {
    const cell = make("th", column.isText ? "text" : "");
    cell.scope = "col";
    cell.dataset.key = column.key;
    const button = make("button", "sort", column.title);
    button.type = "button";
    button.addEventListener("click", () => sortBy(name, column));
    cell.append(button);
    row.append(cell);
  }
  const head = make("thead");
  head.append(row);
  byId(name).append(head, make("tbody"));
  markSort(name);
}

function markSort(name) {
  const table = TABLES[name];
  for (const cell of byId(name).tHead.rows[0].cells) {
    const isSorted = cell.dataset.key === table.sort;
    if (isSorted) cell.setAttribute("aria-sort", table.isAscending ? "ascending" : "descending");
    else cell.removeAttribute("aria-sort");
  }
}

function sortBy(name, column) {
  const table = TABLES[name];
  table.isAscending = table.sort === column.key ? !table.isAscending : column.isText;
  table.sort = column.key;
  markSort(name);
  if (table.isSorted) look();
  else if (state.answer) drawTable(name);
}

function sorted(table) {
  const rows = [...table.rows(state.answer)];
  if (table.isSorted) return rows;
  const column = table.columns.find((it) => it.key === table.sort);
  const order = table.isAscending ? 1 : -1;
  return rows.sort((one, other) => {
    const [a, b] = [column.value(one), column.value(other)];
    // Unknown values come last.
    if (a === undefined || b === undefined) return (a === undefined) - (b === undefined);
    return order * (column.isText ? a.localeCompare(b) : a - b);
  });
}

function newRow(table, key) {
  const row = make("tr");
  row.dataset.key = key;
  for (const column of table.columns) {
    const cell = make("td", column.isText ? "text" : "");
    // In a narrow window the style sheet puts the title before the value.
    cell.dataset.title = column.title;
    if (column.opens) {
      const button = make("button", "open");
      button.type = "button";
      button.addEventListener("click", () => openDetail(key));
      cell.append(button);
    }
    row.append(cell);
  }
  return row;
}

function fillRow(table, row, item) {
  table.columns.forEach((column, index) => {
    const cell = row.cells[index];
    const shown = column.value(item);
    const place = column.opens ? cell.firstChild : cell;
    setText(place, shown === undefined ? "–" : column.write(shown));
    if (column.opens) place.title = shown;
    if (column.className) cell.className = `text ${column.className(item)}`;
    cell.classList.toggle("is-nothing", shown === undefined || shown === 0);
  });
}

/** Draws a table, and reuses its rows, so that the focus is kept. */
function drawTable(name) {
  const table = TABLES[name];
  const body = byId(name).tBodies[0];
  const focused = document.activeElement;
  const rows = new Map([...body.rows].map((row) => [row.dataset.key, row]));
  const drawn = sorted(table).map((item) => {
    const key = table.key(item);
    const row = rows.get(key) ?? newRow(table, key);
    fillRow(table, row, item);
    return row;
  });
  if (drawn.length === 0) {
    const row = make("tr");
    const cell = make("td", "text", name === "threads" ? "This system does not list threads." : "None.");
    cell.colSpan = table.columns.length;
    row.append(cell);
    drawn.push(row);
  }
  const isSame = drawn.length === body.rows.length && drawn.every((row, index) => body.rows[index] === row);
  if (isSame) return;
  body.replaceChildren(...drawn);
  if (focused !== document.activeElement && body.contains(focused)) focused.focus({ preventScroll: true });
}

/** Keeps the rates of the last minute of all listed items. */
function keepHistory() {
  const kept = new Map();
  for (const name of ["kinds", "tasks", "threads"]) {
    for (const item of TABLES[name].rows(state.answer)) {
      const key = TABLES[name].key(item);
      const before = state.histories.get(key)?.rates ?? [];
      const rates = item.rates ? [...before, item.rates].slice(-HISTORY_MAX) : before;
      kept.set(key, { item, rates, seen: Date.now() });
    }
  }
  // An item that is not listed has ended, or may be listed again.
  for (const [key, history] of state.histories) {
    if (!kept.has(key) && (key === state.open || Date.now() - history.seen < HISTORY_MAX * INTERVAL_MS)) {
      kept.set(key, history);
    }
  }
  state.histories = kept;
}

const BUSY_SOURCES = {
  system: "Busy, measured by the system, is the time on a processor or waiting for one.",
  program: "The system does not measure how long threads are busy. Busy is only known for threads that measure it themselves, and excludes their work between two tasks.",
};

function drawBusySource() {
  const sources = state.answer.threads.map((thread) => thread.busy_source);
  const source = sources.includes("system") ? "system" : sources.find((it) => it !== undefined);
  setText(byId("busy-source"), BUSY_SOURCES[source] ?? "");
}

function drawAll() {
  for (const name of Object.keys(TABLES)) drawTable(name);
  drawBusySource();
  const leftOut = state.answer.tasks_left_out;
  setText(byId("left-out"), leftOut > 0 ? `${count(leftOut)} more are not listed` : "");
  drawDetail();
}

function openDetail(key) {
  state.open = key;
  byId("stack").hidden = !key.startsWith("thread ");
  byId("stack-text").hidden = true;
  byId("detail").showModal();
  drawDetail();
}

/** The rates with a chart: title, format, and the smallest full height, so that noise stays at the bottom. */
const CHARTS = {
  busy: ["Busy", percent, 0.1],
  scheduled: ["Scheduled", percent, 0.1],
  running: ["On a processor", percent, 0.1],
  waiting: ["Waits for a processor", percent, 0.1],
  polls: ["Polls/s", count, 10],
  requests: ["Requests/s", count, 10],
  bytes: ["Bytes/s", size, 1000],
  switches: ["Waits/s", count, 10],
};

function drawChart(name, rates) {
  const [title, write, floor] = CHARTS[name];
  const values = rates.map((it) => it[name] ?? 0);
  const most = Math.max(...values);
  const top = Math.max(most, floor);
  const chart = make("div", "chart");
  const line = make("p");
  line.append(make("span", "", title), make("span", "", `${write(values.at(-1))} now, ${write(most)} at most; the top is ${write(top)}`));
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 ${HISTORY_MAX - 1} 100`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  const curve = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
  const first = HISTORY_MAX - values.length;
  const height = (it) => 98 - (96 * it) / top;
  curve.setAttribute("points", values.map((it, index) => `${first + index},${height(it)}`).join(" "));
  svg.append(curve);
  chart.append(line, svg);
  return chart;
}

const FACTS = [
  ["place", "Spawned at", String],
  ["age", "Age", time],
  ["polls", "Polls so far", count],
  ["busy", "Busy so far", time],
  ["scheduled", "Scheduled so far", time],
  ["running", "On a processor so far", time],
  ["waiting", "Waited for a processor so far", time],
  ["requests", "Requests so far", count],
  ["bytes", "Bytes so far", size],
];

function facts(item) {
  const known = FACTS.filter(([member]) => item[member] !== undefined);
  return known.map(([member, title, write]) => [title, write(item[member])]);
}

function drawDetail() {
  if (state.open === undefined) return;
  const history = state.histories.get(state.open);
  if (history === undefined) return;
  const { item, rates } = history;
  const title = [item.kind, item.name].filter((part) => part).join(" · ");
  setText(byId("detail-title"), title || state.open);
  const isListed = Date.now() - history.seen < 2 * INTERVAL_MS;
  setText(byId("detail-message"), isListed ? "" : "It is not listed any more: it has ended, or others are busier.");
  const list = byId("facts");
  const drawn = facts(item).flatMap(([name, shown]) => [make("dt", "", name), make("dd", "", shown)]);
  list.replaceChildren(...drawn);
  const names = Object.keys(CHARTS).filter((name) => rates.some((it) => it[name] !== undefined));
  byId("history").replaceChildren(...names.map((name) => drawChart(name, rates)));
}

async function showStack() {
  const place = byId("stack-text");
  place.hidden = false;
  place.textContent = "Loading.";
  const id = Number(state.open.slice("thread ".length));
  try {
    const answer = await fetch("/threads/stacks.json", { signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (!answer.ok) throw new Error((await answer.text()) || `the response is ${answer.status}`);
    const { threads } = await answer.json();
    const thread = threads.find((it) => it.id === id);
    if (thread === undefined) throw new Error("the thread has ended");
    // Shows the innermost function first, as debuggers do.
    place.textContent = [...thread.functions].reverse().join("\n") || "Its stack is empty.";
  } catch (error) {
    place.textContent = `There is no stack: ${error.message}`;
  }
}

/** Shows a sentence. An unchanged one is not set again, because a screen reader would repeat it every second. */
function say(sentence, hasFailed) {
  const place = byId("message");
  place.classList.toggle("has-failed", hasFailed);
  setText(place, sentence);
}

async function look() {
  // A hidden page sends no requests.
  if (document.visibilityState === "hidden") return;
  const turn = (state.asked += 1);
  const { sort, isAscending } = TABLES.tasks;
  const query = new URLSearchParams({ sort, order: isAscending ? "ascending" : "descending", find: byId("find").value });
  try {
    const answer = await fetch(`/tasks.json?${query}`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (!answer.ok) throw new Error(`the response is ${answer.status}`);
    const tasks = await answer.json();
    // Ignores the response if a later request was sent.
    if (turn < state.asked) return;
    state.answer = tasks;
    keepHistory();
    drawAll();
    say(tasks.span ? "" : "Rates will be known in a second.", false);
  } catch (error) {
    if (turn === state.asked) say(`Weir does not answer: ${error.message}. The page tries again.`, true);
  }
}

async function lookForEver() {
  await look();
  setTimeout(lookForEver, INTERVAL_MS);
}

for (const [name, table] of Object.entries(TABLES)) drawHead(name, table);
byId("find").addEventListener("input", look);
byId("stack").addEventListener("click", showStack);
byId("detail").addEventListener("close", () => { state.open = undefined; });
document.addEventListener("visibilitychange", look);
lookForEver();
