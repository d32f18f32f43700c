/** Numbers of the admin pages, which are often small: a small one is never rounded to nothing. */

import { bytes } from "../format/bytes";
import { count } from "../format/number";
import { clockText, dateText, parseStamp } from "../format/time";

const PRECISE = new Intl.NumberFormat("en-GB", { maximumSignificantDigits: 2 });

/** A rate or another average: two digits below ten, and whole above. */
export function amount(value: number): string {
  return Math.abs(value) < 9.95 ? PRECISE.format(value) : count(value);
}

/** An average number, such as of requests at a time. */
export function average(value: number): string {
  return value > 0 && value < 0.01 ? "<0.01" : amount(value);
}

/** A share of a thread or of a second, which may be more than one. */
export function percent(share: number): string {
  return share > 0 && share < 0.0001 ? "<0.01%" : `${amount(share * 100)}%`;
}

/** What a number counts: the word after it. */
export type Unit = "bytes" | "requests" | "records" | "views";

/** How much passes in a second: `300 kB/s`, `1,500 requests/s`. */
export function perSecond(value: number, unit: Unit): string {
  return unit === "bytes" ? `${bytes(value)}/s` : `${amount(value)} ${unit}/s`;
}

/** A moment of a log with its thousandths: `2026-11-24 03:07:00.123 UTC`. */
export function momentText(text: string): string {
  const stamp = parseStamp(text);
  if (!stamp) return text;
  const thousandths = stamp.fraction.slice(0, 3).padEnd(3, "0");
  const zone = stamp.offset === "Z" ? "UTC" : stamp.offset;
  return `${dateText(stamp)} ${clockText(stamp, true)}.${thousandths} ${zone}`;
}
