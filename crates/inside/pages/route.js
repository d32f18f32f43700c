// Draws the route each second. Names are hostile: they become text, never markup.

const INTERVAL_MS = 1000;
const TIMEOUT_MS = 5000;

const WORDS = {
  listener: "Listeners",
  gateway: "Gateway",
  backend: "Backends",
  client: "Clients",
  source: "Sources",
  read: "Read",
  queue: "Queue",
  parse: "Parse",
  append: "Append",
  data: "Data",
};

const number = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

function size(bytes) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  let value = bytes;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  const digits = unit === 0 ? 0 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return `${value.toFixed(digits)} ${units[unit]}`;
}

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

/** The names and values that a stage shows. */
function facts(stage) {
  const rates = stage.rates ?? {};
  const isRequests = ["gateway", "backend", "client"].includes(stage.stage);
  const records = isRequests ? "requests" : "records";
  const busy = stage.threads === undefined ? "at a time" : "busy";
  const shown = [
    ["speed", rates.bytes === undefined ? undefined : `${size(rates.bytes)}/s`],
    [`${records}/s`, rates.records === undefined ? undefined : number.format(rates.records)],
    [busy, rates.busy === undefined ? undefined : number.format(rates.busy)],
    ["waits", rates.waiting === undefined ? undefined : number.format(rates.waiting)],
    ["bytes", stage.bytes === undefined ? undefined : size(stage.bytes)],
    [records, stage.records === undefined ? undefined : number.format(stage.records)],
    ["held", stage.held_bytes === undefined ? undefined : size(stage.held_bytes)],
    ["of", stage.held_bytes_max === undefined ? undefined : size(stage.held_bytes_max)],
    ["threads", stage.threads],
  ];
  return shown.filter(([, value]) => value !== undefined);
}

function drawStage(stage, isSlowest) {
  const item = element("li", isSlowest ? "stage is-slowest" : "stage");
  if (stage.name) item.append(element("p", "name", stage.name));
  if (isSlowest) item.append(element("p", "mark", "The rest waits for this."));
  if (stage.held_bytes !== undefined && stage.held_bytes_max) {
    const bar = element("progress");
    bar.max = stage.held_bytes_max;
    bar.value = stage.held_bytes;
    bar.setAttribute("aria-label", "held");
    item.append(bar);
  }
  const list = element("dl");
  for (const [name, value] of facts(stage)) {
    list.append(element("dt", "", name), element("dd", "", String(value)));
  }
  item.append(list);
  return item;
}

function drawKind(kind, stages) {
  const column = element("section", "kind");
  const title = element("h2", "", WORDS[kind] ?? kind);
  title.id = `kind-${kind}`;
  column.setAttribute("aria-labelledby", title.id);
  const list = element("ol");
  // A long list scrolls, also by the keyboard.
  list.tabIndex = 0;
  list.setAttribute("aria-labelledby", title.id);
  list.append(...stages);
  column.append(title, list);
  return column;
}

/** Where each list was scrolled to, and which had the focus: they are made anew. */
function keptPlaces(main) {
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
  const { tops, focused } = keptPlaces(main);
  const kinds = new Map();
  route.stages.forEach((stage, index) => {
    const drawn = drawStage(stage, index === route.slowest.stage);
    kinds.set(stage.stage, [...(kinds.get(stage.stage) ?? []), drawn]);
  });
  main.replaceChildren(...[...kinds].map(([kind, stages]) => drawKind(kind, stages)));
  for (const list of main.querySelectorAll("ol")) {
    const name = list.getAttribute("aria-labelledby");
    list.scrollTop = tops.get(name) ?? 0;
    if (name === focused) list.focus({ preventScroll: true });
  }
  const span = document.getElementById("span");
  span.textContent = route.span
    ? `Rates are of the last ${number.format(route.span)} s. Busy and waiting are threads, of the gateway requests.`
    : "";
}

/** A sentence that is the same is not set again: it would be read out each second. */
function say(sentence, hasFailed) {
  const place = document.getElementById("slowest");
  place.classList.toggle("has-failed", hasFailed);
  if (place.textContent !== sentence) place.textContent = sentence;
}

async function look() {
  // A page that nobody sees costs nothing.
  if (document.visibilityState === "hidden") return;
  try {
    const answer = await fetch("/route.json", { signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (!answer.ok) throw new Error(`its answer is ${answer.status}`);
    const route = await answer.json();
    draw(route);
    say(route.slowest.reason, false);
  } catch (error) {
    say(`Weir does not answer: ${error.message}. The page tries again.`, true);
  }
}

async function lookForEver() {
  await look();
  setTimeout(lookForEver, INTERVAL_MS);
}

document.addEventListener("visibilitychange", look);
lookForEver();
