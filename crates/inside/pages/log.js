// The log page: shows the last messages, and changes the filter.

import { element, say } from "./asking.js";

/** The most messages on the page; the program keeps the same number. */
const EVENTS_MAX = 1000;

/** The timeout of a request. */
const TIMEOUT_MS = 5000;

const state = { next: 0, filter: null, hasFailed: false };

function part(name, className, text) {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
}

function repeats({ repeated, similar }) {
  if (repeated !== undefined) return repeated === 1 ? " (repeated once)" : ` (repeated ${repeated} times)`;
  return similar === undefined ? "" : ` (and ${similar} more of this kind)`;
}

/** Escapes control characters, and characters that reorder or break a line, as on the terminal. */
function escapeInvisible(text) {
  const codePoint = (character) => `\\u{${character.codePointAt(0).toString(16)}}`;
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, codePoint);
}

function line(event) {
  const item = part("li", event.level, "");
  const fields = Object.entries(event.fields ?? {}).map(([name, value]) => escapeInvisible(` ${name}=${value}`));
  const message = part("p", "", "");
  message.append(part("span", "from", `${event.target}: `), escapeInvisible(event.message));
  message.append(part("span", "from", fields.join("")), repeats(event));
  const time = part("time", "", event.time);
  time.dateTime = event.time;
  item.append(time, part("span", "level", event.level), message);
  return item;
}

function show({ filter, level_max: levelMax, next, events }) {
  const list = element("events");
  // After a restart, the program numbers its messages from 0 again.
  if (next < state.next) {
    list.replaceChildren();
    state.next = 0;
    return;
  }
  state.next = next;
  list.prepend(...events.map(line).reverse());
  while (list.childElementCount > EVENTS_MAX) list.lastElementChild.remove();
  element("none").hidden = list.childElementCount > 0;
  element("level").textContent = levelMax === "trace" ? "" : `This build has no messages below ${levelMax}.`;
  if (filter !== state.filter) {
    state.filter = filter;
    element("filter").value = filter;
  }
}

let isAsking = false;

async function ask() {
  if (isAsking || document.hidden) return;
  isAsking = true;
  try {
    const answer = await fetch(`/log.json?from=${state.next}`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (answer.ok) show(await answer.json());
    else say((await answer.text()).trim(), true);
    if (answer.ok && state.hasFailed) say("");
    state.hasFailed = !answer.ok;
  } catch (error) {
    state.hasFailed = true;
    say(`The program did not answer: ${error.message}`, true);
  } finally {
    isAsking = false;
  }
}

async function change(event) {
  event.preventDefault();
  element("apply").disabled = true;
  try {
    const answer = await fetch("/log/filter", { method: "POST", body: element("filter").value });
    const text = (await answer.text()).trim();
    say(answer.ok ? `The filter is now ${text}` : text, !answer.ok);
    if (answer.ok) state.filter = null;
    await ask();
  } catch (error) {
    say(`The program did not answer: ${error.message}`, true);
  } finally {
    element("apply").disabled = false;
  }
}

element("change").addEventListener("submit", change);
document.addEventListener("visibilitychange", ask);
setInterval(ask, 1000);
ask();
