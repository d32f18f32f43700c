/** Numbers for people; the digit grouping is the same on every machine. */

const GROUPED = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });

/** A whole number with grouped digits: `1,234,567`. */
export function count(value: number): string {
  return GROUPED.format(value);
}

/** A number that may be too low has a mark: `≥1,234`. */
export function lowerBound(text: string, isLowerBound: boolean): string {
  return isLowerBound ? `≥${text}` : text;
}

/** A number for an axis: `1.2M`, `950`, `20k`. */
export function compact(value: number): string {
  const steps: [number, string][] = [
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ];
  for (const [size, unit] of steps) {
    if (value >= size) return `${trimmed(value / size, 2)}${unit}`;
  }
  return trimmed(value, 2);
}

/**
 * A part of a whole in per cent. A small part is never rounded to 0%, nor a large one to 100%:
 * these are `<0.1%` and `>99.9%`.
 */
export function share(part: number, whole: number): string {
  if (whole <= 0) return "–";
  if (part === 0) return "0%";
  if (part === whole) return "100%";
  const percent = (100 * part) / whole;
  if (percent < 0.05) return "<0.1%";
  if (percent >= 99.95) return ">99.9%";
  return `${percent.toFixed(1)}%`;
}

/** A rate per second, minute or hour: the first unit in which it is at least 1. */
export function frequency(perSecond: number): string {
  if (perSecond >= 100) return `${count(perSecond)} per second`;
  if (perSecond >= 1) return `${trimmed(perSecond, 1)} per second`;
  if (perSecond * 60 >= 1) return `${trimmed(perSecond * 60, 1)} per minute`;
  return `${trimmed(perSecond * 3600, 1)} per hour`;
}

/** `1 line`, `2 lines`, `1,000 lines`. */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** A positive number below 1000 with three digits: `1.25`, `12.5`, `125`. */
export function threeDigits(value: number): string {
  const decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return value.toFixed(decimals);
}

/** At most `digits` decimals, without the zeros at the end. */
export function trimmed(value: number, digits: number): string {
  return String(Number(value.toFixed(digits)));
}
