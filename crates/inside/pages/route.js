// Draws the route every second: a lane for requests, a lane for records, and numbers on the edges between the
// boxes. Names may be hostile: they become text, never markup.

import { average, count, percent, size, time } from "./numbers.js";

const INTERVAL_MS = 1000;
const TIMEOUT_MS = 5000;

const REQUESTS = ["client", "gateway", "backend"];
const RECORDS = ["listener", "source", "read", "queue", "parse", "append", "data", "view"];

const TITLES = {
  client: "Clients",
  gateway: "Gateway",
  backend: "Backends",
  listener: "Listeners",
  source: "Sources",
  read: "Read",
  queue: "Queue",
  parse: "Parse",
  append: "Append",
  data: "Data",
  view: "View",
};

/** The source to which the gateway writes a record of each request. */
const GATEWAY_SOURCE = "gateway";

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

const isOfRequests = (stage) => REQUESTS.includes(stage.stage);

/** Whether nothing passes a stage, and nothing happens in it. */
function isIdle(stage) {
  const { bytes = 0, records = 0, busy = 0, waiting = 0 } = stage.rates ?? {};
  const isMoving = bytes > 0 || records > 0 || busy > 0 || waiting > 0 || stage.in_flight > 0;
  const isFilled = ["source", "queue"].includes(stage.stage) && stage.held_bytes > 0;
  return stage.rates !== undefined && !isMoving && !isFilled;
}

/** The busy and waiting times of a stage: for a request and as a number of requests, or in percent of a thread. */
function times(stage) {
  const { busy, waiting, records } = stage.rates ?? {};
  if (!isOfRequests(stage)) return [["busy", busy, percent], ["waiting", waiting, percent]];
  const word = stage.stage === "client" ? "wait for data" : "waiting";
  const each = records > 0 ? busy / records : undefined;
  return [["per request", each, time], ["at a time", busy, average], [word, waiting, average]];
}

/** The names and values of the numbers of a stage. */
function facts(stage) {
  const rates = stage.rates ?? {};
  const records = isOfRequests(stage) ? "requests" : "records";
  const hasName = stage.name !== "";
  const shown = [
    ...times(stage),
    ["in flight", stage.in_flight, count],
    // The rates of a kind with one stage are on the edge.
    ["bytes/s", hasName ? rates.bytes : undefined, size],
    [`${records}/s`, hasName ? rates.records : undefined, count],
    ["held", stage.held_bytes, size],
    ["at most", stage.held_bytes_max, size],
    ["threads", stage.threads, count],
    ["bytes", stage.bytes, size],
    [records, stage.records, count],
  ];
  // An idle stage says so in a word, without zeros.
  const isQuiet = isIdle(stage);
  const isStore = stage.held_bytes_max !== undefined;
  const isShown = ([name, value]) =>
    value !== undefined && !(isQuiet && value === 0 && !(name === "held" && isStore));
  return shown.filter(isShown).map(([name, value, write]) => [name, write(value)]);
}

function drawBar(stage) {
  const bar = element("progress");
  bar.max = stage.held_bytes_max;
  bar.value = stage.held_bytes;
  bar.setAttribute("aria-label", "held");
  return bar;
}

/** The word about a stage as a whole, if there is one. */
function state(stage, isSlowest) {
  if (isSlowest) return "Slowest";
  if (stage.has_ended) return "ended";
  return isIdle(stage) ? "idle" : undefined;
}

function drawStage(stage, isSlowest) {
  const item = element("li", "stage");
  const word = state(stage, isSlowest);
  item.classList.toggle("is-slowest", isSlowest);
  item.classList.toggle("is-idle", word === "idle" || word === "ended");
  if (isSlowest) item.setAttribute("aria-describedby", "slowest");
  if (stage.name) item.append(element("p", "name", stage.name));
  if (word !== undefined) item.append(element("p", "mark", word));
  if (stage.held_bytes !== undefined && stage.held_bytes_max) item.append(drawBar(stage));
  const list = element("dl");
  for (const [name, value] of facts(stage)) {
    const fact = element("div");
    fact.append(element("dt", "", name), element("dd", "", value));
    list.append(fact);
  }
  item.append(list);
  return item;
}

/** A box with all stages of a kind. */
function drawKind(kind, stages, slowest) {
  const box = element("section", "kind");
  box.classList.toggle("is-idle", stages.every(isIdle) && !stages.includes(slowest));
  box.classList.toggle("is-slowest", stages.includes(slowest));
  box.classList.toggle("has-names", stages.some((stage) => stage.name !== ""));
  const title = element("h3", "", TITLES[kind] ?? kind);
  title.id = `kind-${kind}`;
  box.setAttribute("aria-labelledby", title.id);
  const list = element("ol");
  // A focusable list can be scrolled with the keyboard.
  list.tabIndex = 0;
  list.setAttribute("aria-labelledby", title.id);
  list.append(...stages.map((stage) => drawStage(stage, stage === slowest)));
  box.append(title, list);
  return box;
}

/** The sum of a rate over stages, or nothing if it is not known of any of them. */
function sum(stages, key) {
  const known = stages.map((stage) => stage.rates?.[key]).filter((rate) => rate !== undefined);
  return known.length === 0 ? undefined : known.reduce((all, rate) => all + rate, 0);
}

const write = (value, format, unit) => (value === undefined ? undefined : `${format(value)}${unit}`);

/** How many of something pass in a second. */
const writeCount = (value, unit) => write(value, count, ` ${unit}/s`);

/** An edge between two boxes with the numbers of what passes it in each direction. */
function drawEdge(forth, back) {
  const edge = element("div", "edge");
  const draw = (texts, className) => {
    const known = texts.filter((text) => text !== undefined);
    const way = element("p", className);
    way.append(...known.map((text) => element("span", "", text)));
    return way;
  };
  edge.append(draw(forth, "forth"));
  if (back !== undefined) edge.append(draw(back, "back"));
  const isIdle = [...forth, ...(back ?? [])].every((text) => text === undefined || text.startsWith("0 "));
  edge.classList.toggle("is-idle", isIdle);
  return edge;
}

/** An edge of the requests: they go to the `kind`, and bytes of responses come back from `from`. */
function requestEdge(kinds, to, from) {
  const requests = writeCount(sum(kinds.get(to) ?? [], "records"), "requests");
  const bytes = write(sum(kinds.get(from) ?? [], "bytes"), size, "/s");
  return drawEdge([requests], [bytes ?? "responses"]);
}

/** The numbers of what leaves a stage of the records. */
function leaving(kinds, kind) {
  const stages = (of) => kinds.get(of) ?? [];
  const bytes = (of) => write(sum(stages(of), "bytes"), size, "/s");
  const records = (of) => writeCount(sum(stages(of), "records"), "records");
  const numbers = {
    listener: () => [bytes("listener")],
    source: () => [bytes("source"), records("source")],
    read: () => [bytes("source")],
    queue: () => [bytes("parse")],
    parse: () => [records("parse")],
    append: () => [records("append")],
    data: () => [bytes("view") ?? writeCount(sum(stages("view"), "records"), "views")],
  };
  return numbers[kind]?.() ?? [];
}

function drawLane(title, parts) {
  const lane = element("section", "lane");
  const heading = element("h2", "", title);
  heading.id = `lane-${title}`;
  lane.setAttribute("aria-labelledby", heading.id);
  const row = element("div", "row");
  row.append(...parts);
  lane.append(heading, row);
  return lane;
}

function drawRequests(kinds, slowest) {
  const box = (kind) => drawKind(kind, kinds.get(kind) ?? [], slowest);
  return drawLane("Requests", [
    box("client"),
    requestEdge(kinds, "gateway", "client"),
    box("gateway"),
    requestEdge(kinds, "backend", "backend"),
    box("backend"),
  ]);
}

function drawRecords(kinds, slowest) {
  const unknown = [...kinds.keys()].filter((kind) => !RECORDS.includes(kind) && !REQUESTS.includes(kind));
  const shown = [...RECORDS.filter((kind) => kinds.has(kind)), ...unknown];
  const parts = shown.flatMap((kind, index) => {
    const box = drawKind(kind, kinds.get(kind), slowest);
    return index === 0 ? [box] : [drawEdge(leaving(kinds, shown[index - 1])), box];
  });
  return drawLane("Records", parts);
}

/** The way of the records from the gateway to the sources. */
function drawJoin(kinds) {
  const sources = (kinds.get("source") ?? []).filter((stage) => stage.name === GATEWAY_SOURCE);
  if (sources.length === 0) return [];
  const records = writeCount(sum(sources, "records"), "records");
  const bytes = write(sum(sources, "bytes"), size, "/s");
  const numbers = [records, bytes].filter((text) => text !== undefined).join(", ");
  const join = element("div", "join");
  join.append(element("p", "", `from the gateway, a record of each request${numbers && `: ${numbers}`}`));
  return [join];
}

/** The scroll position of each list, and the focused list, to restore them after the lists are replaced. */
function listPositions(main) {
  const lists = [...main.querySelectorAll("ol")];
  return {
    tops: new Map(lists.map((list) => [list.getAttribute("aria-labelledby"), list.scrollTop])),
    focused: document.activeElement?.tagName === "OL"
      ? document.activeElement.getAttribute("aria-labelledby")
      : undefined,
  };
}

function draw(route) {
  const main = document.getElementById("route");
  const { tops, focused } = listPositions(main);
  const kinds = Map.groupBy(route.stages, (stage) => stage.stage);
  const slowest = route.stages[route.slowest.stage];
  const isGateway = REQUESTS.some((kind) => kinds.has(kind));
  const requests = isGateway ? [drawRequests(kinds, slowest), ...drawJoin(kinds)] : [];
  const records = [...kinds.keys()].some((kind) => !REQUESTS.includes(kind));
  main.replaceChildren(...requests, ...(records ? [drawRecords(kinds, slowest)] : []));
  for (const list of main.querySelectorAll("ol")) {
    const name = list.getAttribute("aria-labelledby");
    list.scrollTop = tops.get(name) ?? 0;
    if (name === focused) list.focus({ preventScroll: true });
  }
  document.getElementById("span").textContent = legend(route, isGateway);
}

/** Explains the numbers of the page. */
function legend({ span, stages }, isGateway) {
  if (stages.length === 0 || !span) return "";
  const sentences = [
    `All rates are averages over the last ${span.toFixed(1)} s.`,
    "Busy is the time that threads work in a stage, and waiting the time that they are held up: 100% is one thread all the time, and two threads can reach 200%.",
    "Numbers without “/s” are totals since the start, or of this moment.",
  ];
  if (isGateway) sentences.push("Per request is the time in the gateway, at a backend, or until the client has taken the response; at a time is the average number of requests there.");
  return sentences.join(" ");
}

/** Shows a sentence. An unchanged one is not set again, because a screen reader would repeat it every second. */
function say(sentence, className) {
  const place = document.getElementById("slowest");
  place.className = className;
  if (place.textContent !== sentence) place.textContent = sentence;
}

function sayWhy({ stages, slowest }) {
  if (stages.length === 0) {
    say("This program has no route: it neither passes on requests nor reads records. Its tasks, its profile and its log are on the other pages.", "");
  } else {
    say(slowest.reason, slowest.stage === undefined ? "" : "is-slowest");
  }
}

async function look() {
  // A hidden page sends no requests.
  if (document.visibilityState === "hidden") return;
  try {
    const answer = await fetch("/route.json", { signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (!answer.ok) throw new Error(`the response is ${answer.status}`);
    const route = await answer.json();
    draw(route);
    sayWhy(route);
  } catch (error) {
    say(`Weir does not answer: ${error.message}. The page tries again.`, "has-failed");
  }
}

async function lookForEver() {
  await look();
  setTimeout(lookForEver, INTERVAL_MS);
}

document.addEventListener("visibilitychange", look);
lookForEver();
