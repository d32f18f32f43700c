/** The last messages of the log. */

import { count } from "../../format/number";
import { visible } from "../../format/text";
import type { LogEvent } from "../../generated/LogEvent";
import type { LogTail } from "../../generated/LogTail";
import type { LogSlice } from "../store";

/** The most messages on the page; the program keeps as many. */
export const EVENTS_MAX = 1000;

/** A message with its number, which tells it from others. */
export interface NumberedEvent {
  number: number;
  event: LogEvent;
}

export const NO_LOG: LogSlice = {
  filter: "",
  level_max: "trace",
  next: 0,
  events: [],
  isKnown: false,
  message: "",
  isBad: false,
};

/** The slice with the later messages of an answer. */
export function withTail(before: LogSlice, { filter, level_max, next, events }: LogTail): LogSlice {
  // After a restart, the program numbers its messages from 0 again: they are asked for once more.
  if (next < before.next) return { ...before, next: 0, events: [] };
  const first = next - events.length;
  const added = events.map((event, at) => ({ number: first + at, event })).toReversed();
  const kept = [...added, ...before.events].slice(0, EVENTS_MAX);
  return { ...before, filter, level_max, next, events: kept, isKnown: true };
}

/** The fields of a message, after its text. */
export function fieldsText({ fields = {} }: LogEvent): string {
  return Object.entries(fields)
    .map(([name, value]) => visible(` ${name}=${value}`))
    .join("");
}

/** How often a message came. */
export function repeatsText({ repeated, similar }: LogEvent): string {
  if (repeated !== undefined) {
    return repeated === 1 ? " (repeated once)" : ` (repeated ${count(repeated)} times)`;
  }
  return similar === undefined ? "" : ` (and ${count(similar)} more of this kind)`;
}
