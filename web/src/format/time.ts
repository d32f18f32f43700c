/**
 * Time stamps in the zone of the log, or in the chosen one.
 *
 * The server sends RFC 3339 strings in that zone. The page shows the digits of the string and
 * never converts them to the browser's zone, so that a time on the screen can be found in the log.
 */

/** The parts of one RFC 3339 stamp. */
export interface Stamp {
  year: number;
  /** 1 to 12. */
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
  /** Digits after the decimal point, or empty. */
  fraction: string;
  /** `Z`, `+02:00`, ... */
  offset: string;
}

const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)/;
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Parses a stamp; returns `null` if the text is not one. */
export function parseStamp(text: string): Stamp | null {
  const match = RFC_3339.exec(text);
  if (!match) return null;
  const [, year, month, day, hour, minute, second] = match.map(Number);
  return {
    year: year!,
    month: month!,
    day: day!,
    hour: hour!,
    minute: minute!,
    second: second!,
    fraction: match[7] ?? "",
    offset: match[8]!.toUpperCase(),
  };
}

/** Returns the seconds from 1970 to the stamp on the wall clock of its zone. */
export function wallSeconds(stamp: Stamp): number {
  const { year, month, day, hour, minute, second } = stamp;
  return Date.UTC(year, month - 1, day, hour, minute, second) / 1000;
}

/** Returns the seconds since 1970 in UTC, by which stamps of different zones can be compared. */
export function instantSeconds(stamp: Stamp): number {
  return wallSeconds(stamp) - offsetSeconds(stamp.offset) + Number(`0.${stamp.fraction || "0"}`);
}

function offsetSeconds(offset: string): number {
  if (offset === "Z") return 0;
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(4, 6));
  return (offset.startsWith("-") ? -60 : 60) * minutes;
}

/** `2024-05-12`. */
export function dateText(stamp: Stamp): string {
  return `${String(stamp.year).padStart(4, "0")}-${two(stamp.month)}-${two(stamp.day)}`;
}

/** `12 May 2024`, on an axis. */
export function dayYearText(stamp: Stamp): string {
  return `${dayText(stamp)} ${stamp.year}`;
}

/** `12 May`, where the year is known. */
export function dayText(stamp: Stamp): string {
  return `${stamp.day} ${monthText(stamp)}`;
}

/** `May`. */
export function monthText(stamp: Stamp): string {
  return MONTHS[stamp.month - 1] ?? "?";
}

/** `09:30`, or `09:30:05` with seconds. */
export function clockText(stamp: Stamp, withSeconds: boolean): string {
  const clock = `${two(stamp.hour)}:${two(stamp.minute)}`;
  return withSeconds ? `${clock}:${two(stamp.second)}` : clock;
}

/** `2024-05-12 09:30:05 +02:00`. Returns text that is not a stamp unchanged. */
export function stampText(text: string): string {
  const stamp = parseStamp(text);
  if (!stamp) return text;
  return `${dateText(stamp)} ${clockText(stamp, true)} ${zoneText(stamp.offset)}`;
}

/** A shorter time range is shown with seconds. */
const SECONDS_MATTER = 3600;
/** A longer time range is shown in days. */
const DAYS_MATTER = 7 * 86_400;

/** Returns the ends of a range, as exact as its length asks for, and what they have in common. */
export function timeTexts(first: Stamp, last: Stamp): { name: string; ends: string[] } {
  const seconds = instantSeconds(last) - instantSeconds(first);
  const each = (text: (stamp: Stamp) => string) => [first, last].map(text);
  if (dateText(first) === dateText(last)) {
    const brief = seconds < SECONDS_MATTER;
    return { name: dateText(first), ends: each((stamp) => clockText(stamp, brief)) };
  }
  if (first.year !== last.year) return { name: "Time", ends: each(dateText) };
  const name = `Time, ${first.year}`;
  if (seconds >= DAYS_MATTER) return { name, ends: each(dayText) };
  return { name, ends: each((stamp) => `${dayText(stamp)} ${clockText(stamp, false)}`) };
}

/** `2024-05-12 10:00 to 10:05 +02:00`, with the date once if both ends share it. */
export function rangeText(from: string, to: string): string {
  const start = parseStamp(from);
  const end = parseStamp(to);
  if (!start || !end) return `${from} to ${to}`;
  const seconds = start.second !== 0 || end.second !== 0;
  const zones = start.offset === end.offset ? "" : ` ${zoneText(start.offset)}`;
  const left = `${dateText(start)} ${clockText(start, seconds)}${zones}`;
  const sameDay = dateText(start) === dateText(end);
  const right = sameDay ? clockText(end, seconds) : `${dateText(end)} ${clockText(end, seconds)}`;
  return `${left} to ${right} ${zoneText(end.offset)}`;
}

/** Few people know the letter `Z`; they know UTC. */
function zoneText(offset: string): string {
  return offset === "Z" || offset === "+00:00" ? "UTC" : offset;
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}
