/**
 * The colours of the chart, for both themes.
 *
 * Status classes differ in lightness as well as in hue (blue, amber, dark red or pink), so that
 * they differ in print and without red-green vision. Each has a contrast of at least 3:1 to its
 * background. The list for other fields follows Okabe and Ito.
 */

import { NO_VALUE, REMAINDER_VALUE, STATUS_CLASS } from "../generated/words";

export type Theme = "light" | "dark";

const STATUS: Record<Theme, Record<string, string>> = {
  light: {
    "1": "#8a6fb0",
    "2": "#2f7ebc",
    "3": "#7e93a8",
    "4": "#d17f00",
    "5": "#b5123e",
    other: "#6b7280",
  },
  dark: {
    "1": "#b49ad6",
    "2": "#4a9ad8",
    "3": "#8fa3b8",
    "4": "#f0b03f",
    "5": "#ff5c7a",
    other: "#7d8793",
  },
};

const SERIES: Record<Theme, string[]> = {
  light: ["#2f7ebc", "#d17f00", "#1b8a6b", "#b5123e", "#8a6fb0", "#8a7400", "#3a9bb5", "#a8623a"],
  dark: ["#4a9ad8", "#f0b03f", "#3fbf96", "#ff5c7a", "#b49ad6", "#d9cc5a", "#6fc7dd", "#d9946c"],
};

/** Fields whose values begin with the digit of a status class. */
const STATUS_FIELDS = new Set([STATUS_CLASS, "status"]);

/** Fields whose values have the colour of the status class that they resemble. */
const OUTCOME_FIELDS = new Set(["level", "action"]);

/**
 * The first digit of the status class that a level of an error log (syslog's, RFC 5424) or an
 * action of a firewall resembles. The terminal uses the same table, in display/colour.rs.
 */
const OUTCOMES = new Map(
  Object.entries({
    "1": ["debug"],
    "2": ["info", "allow", "accept", "pass", "permit"],
    "3": ["notice"],
    "4": ["warn", "limit"],
    "5": ["emerg", "alert", "crit", "error", "block", "drop", "reject", "deny"],
  }).flatMap(([digit, values]) => values.map((value) => [value, digit] as const)),
);

/** Groups that are not values of the log. */
const UNNAMED = new Set([NO_VALUE, REMAINDER_VALUE]);

/** How far each further value of a colour fades towards the background. */
const FADE = 0.22;
const BACKGROUND: Record<Theme, string> = { light: "#ffffff", dark: "#161d26" };

/** The colour of a status code or a status class such as `4xx`. */
export function statusColor(status: string, theme: Theme): string {
  const colors = STATUS[theme];
  const known = /^[1-5](\d\d|xx)$/i.test(status) ? colors[status.charAt(0)] : undefined;
  return known ?? colors.other!;
}

/** The colour of bars behind others: a grey that no other outcome of a request has. */
export function backdropColor(theme: Theme): string {
  return STATUS[theme]["3"]!;
}

/** One colour for each group of a histogram, in the groups' order. */
export function groupColors(field: string, groups: string[], theme: Theme): string[] {
  if (STATUS_FIELDS.has(field)) return shades(groups, (group) => statusColor(group, theme), theme);
  if (OUTCOME_FIELDS.has(field)) return shades(groups, outcomeColor(groups, theme), theme);
  const series = SERIES[theme];
  return groups.map((group, at) =>
    group === REMAINDER_VALUE ? STATUS[theme].other! : series[at % series.length]!,
  );
}

/** The colour of a level or an action; other values take those of the list that are left over. */
function outcomeColor(groups: string[], theme: Theme): (group: string) => string {
  const colors = STATUS[theme];
  const known = (group: string) => {
    const outcome = OUTCOMES.get(group.toLowerCase());
    return outcome === undefined ? undefined : colors[outcome];
  };
  const used = new Set(groups.map(known));
  const free = SERIES[theme].filter((color) => !used.has(color));
  const others = groups.filter((group) => known(group) === undefined && !UNNAMED.has(group));
  return (group) => {
    if (UNNAMED.has(group)) return colors.other!;
    return known(group) ?? free[others.indexOf(group) % free.length]!;
  };
}

/** Values with the same colour share its hue; each further one is a shade fainter. */
function shades(groups: string[], colorOf: (group: string) => string, theme: Theme): string[] {
  const seen = new Map<string, number>();
  return groups.map((group) => {
    const color = colorOf(group);
    const before = seen.get(color) ?? 0;
    seen.set(color, before + 1);
    return mixed(color, BACKGROUND[theme], Math.min(0.66, before * FADE));
  });
}

function mixed(color: string, into: string, part: number): string {
  const channel = (at: number) => {
    const from = parseInt(color.slice(at, at + 2), 16);
    const to = parseInt(into.slice(at, at + 2), 16);
    return Math.round(from + (to - from) * part)
      .toString(16)
      .padStart(2, "0");
  };
  return `#${channel(1)}${channel(3)}${channel(5)}`;
}
