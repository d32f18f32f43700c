/**
 * Labels of the x axis: the buckets at which the wall clock passes a round time.
 *
 * Buckets are calendar steps in the chosen zone, so months differ in length and a day may have 23
 * hours. Labels therefore belong to buckets, not to seconds.
 */

import {
  clockText,
  dayText,
  dayYearText,
  monthText,
  parseStamp,
  type Stamp,
  wallSeconds,
} from "../format/time";

export interface TimeTick {
  /** The bucket whose left edge is labelled. */
  bucket: number;
  text: string;
  /** Whether a new day, month or year begins here, which is drawn stronger. */
  strong: boolean;
}

/** Numbers the parts of a calendar: stamps in the same part have the same number. */
type Division = (stamp: Stamp) => number;

const every =
  (seconds: number): Division =>
  (stamp) =>
    Math.floor(wallSeconds(stamp) / seconds);
const everyMonths =
  (months: number): Division =>
  (stamp) =>
    Math.floor((stamp.year * 12 + stamp.month - 1) / months);

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Finest first. Weeks begin on Monday; 1 January 1970 was a Thursday. */
const DIVISIONS: Division[] = [
  ...[1, 2, 5, 10, 15, 30].map(every),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => every(minutes * MINUTE)),
  ...[1, 2, 3, 6, 12].map((hours) => every(hours * HOUR)),
  ...[1, 2].map((days) => every(days * DAY)),
  (stamp) => Math.floor((wallSeconds(stamp) + 3 * DAY) / (7 * DAY)),
  ...[1, 3, 6].map(everyMonths),
  ...[1, 2, 5, 10, 20, 50, 100].map((years) => everyMonths(12 * years)),
];

/** Returns the labels for buckets that start at `starts`, at most `wanted` of them. */
export function timeTicks(starts: string[], wanted: number): TimeTick[] {
  const stamps = starts.map(parseStamp);
  const [first] = stamps;
  if (!first || wanted < 1) return [];
  const bounds = boundaries(stamps, wanted);
  // A year alone names its first day only beside other months.
  const hasMonths = bounds.length > 1 && bounds.every((bucket) => isMonth(stamps[bucket]!));
  return bounds.map((bucket, at) => {
    const stamp = stamps[bucket]!;
    if (hasMonths && stamp.month === 1) return { bucket, text: String(stamp.year), strong: true };
    return tickOf(bucket, stamp, at === 0 ? null : stamps[bounds[at - 1]!]!);
  });
}

/** Whether a month begins at a stamp. */
function isMonth({ day, hour, minute, second }: Stamp): boolean {
  return day === 1 && hour === 0 && minute === 0 && second === 0;
}

/** Returns the buckets at which a part of the finest suitable division begins. */
function boundaries(stamps: (Stamp | null)[], wanted: number): number[] {
  let found: number[] = [];
  for (const division of DIVISIONS) {
    found = changes(stamps, division);
    if (found.length <= wanted) break;
  }
  // The range may be too short for any round time; then its first bucket is labelled.
  return found.length > 0 ? found : [0];
}

function changes(stamps: (Stamp | null)[], division: Division): number[] {
  const found: number[] = [];
  let before: number | null = null;
  stamps.forEach((stamp, at) => {
    if (!stamp) return;
    const part = division(stamp);
    // The first bucket counts only if a part begins with it.
    const begins = before === null ? division(secondBefore(stamp)) !== part : part !== before;
    if (begins) found.push(at);
    before = part;
  });
  return found;
}

function secondBefore(stamp: Stamp): Stamp {
  const date = new Date((wallSeconds(stamp) - 1) * 1000);
  return {
    ...stamp,
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    second: date.getUTCSeconds(),
  };
}

function tickOf(bucket: number, stamp: Stamp, before: Stamp | null): TimeTick {
  const midnight = stamp.hour === 0 && stamp.minute === 0 && stamp.second === 0;
  if (before === null)
    return { bucket, text: midnight ? dayYearText(stamp) : firstText(stamp), strong: true };
  const sameYear = before.year === stamp.year;
  const sameDay = sameYear && dayText(before) === dayText(stamp);
  if (sameDay) return { bucket, text: clockText(stamp, stamp.second !== 0), strong: false };
  if (!sameYear) return { bucket, text: dayYearText(stamp), strong: true };
  const wholeMonths = midnight && stamp.day === 1 && before.day === 1;
  if (wholeMonths) return { bucket, text: monthText(stamp), strong: false };
  return { bucket, text: midnight ? dayText(stamp) : firstText(stamp), strong: midnight };
}

/** A time with its day. */
function firstText(stamp: Stamp): string {
  return `${dayText(stamp)}, ${clockText(stamp, stamp.second !== 0)}`;
}
