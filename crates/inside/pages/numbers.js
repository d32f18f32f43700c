// How the pages write numbers. A small number is never rounded to nothing.

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const precise = new Intl.NumberFormat("en", { maximumSignificantDigits: 2 });

/** A number with two significant digits, or all digits before the point. */
export const count = (value) => (Math.abs(value) < 9.95 ? precise : grouped).format(value);

/** An average number, such as of requests at a time. */
export const average = (value) => (value > 0 && value < 0.01 ? "<0.01" : count(value));

/** A time in seconds with two significant digits and its unit. */
export function time(seconds) {
  if (seconds < 1e-3) return `${count(seconds * 1e6)} µs`;
  return seconds < 1 ? `${count(seconds * 1e3)} ms` : `${count(seconds)} s`;
}

/** A share as percent: of a thread, of a second. */
export function percent(share) {
  const value = share * 100;
  if (value > 0 && value < 0.01) return "<0.01%";
  return `${count(value)}%`;
}

/** Bytes with three significant digits and a decimal unit. */
export function size(bytes) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  let value = bytes;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  if (unit === 0) return `${count(value)} B`;
  const digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return `${value.toFixed(digits)} ${units[unit]}`;
}
