// The page of the log: shows the last messages, and changes the filter.

import { element, say } from "./asking.js";

/** Messages that the page keeps, as the program does. */
const EVENTS_MAX = 1000;

/** An answer takes no longer, or there is none. */
const TIMEOUT_MS = 5000;

const state = { next: 0, filter: null, hasFailed: false };

function part(name, className, text) {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
}

function repeats({ repeated, similar }) {
  if (repeated !== undefined) return ` (repeated ${repeated} times)`;
  return similar === undefined ? "" : ` (and ${similar} more of this kind)`;
}

/** Control characters, and those that reorder or break a line, by their numbers, as the terminal has them. */
function visible(text) {
  const number = (character) => `\\u{${character.codePointAt(0).toString(16)}}`;
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, number);
}

function line(event) {
  const item = part("li", event.level, "");
  const fields = Object.entries(event.fields ?? {}).map(([name, value]) => visible(` ${name}=${value}`));
  const message = part("p", "", "");
  message.append(part("span", "from", `${event.target}: `), visible(event.message));
  message.append(part("span", "from", fields.join("")), repeats(event));
  const time = part("time", "", event.time);
  time.dateTime = event.time;
  item.append(time, part("span", "level", event.level), message);
  return item;
}

function show({ filter, level_max: levelMax, next, events }) {
  const list = element("events");
  // A program that has started again counts from the beginning.
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
