/** The colours of the chart, for both themes: those of crates/view/src/palette.rs. */

import { FADE_PERCENT, FADE_PERCENT_MAX, OUTCOMES, PALETTE } from "../generated/palette";
import { NO_VALUE, REMAINDER_VALUE, STATUS_CLASS } from "../generated/words";

export type Theme = "light" | "dark";

/** Fields whose values begin with the digit of a status class. */
const STATUS_FIELDS = new Set([STATUS_CLASS, "status"]);

/** Fields whose values have the colour of the status class that they resemble. */
const OUTCOME_FIELDS = new Set(["level", "action"]);

/** The first digit of the status class that a level or an action resembles. */
const DIGITS = new Map(
  Object.entries(OUTCOMES).flatMap(([digit, values]) =>
    values.map((value) => [value, digit] as const),
  ),
);

/** Groups that are not values of the log. */
const UNNAMED = new Set([NO_VALUE, REMAINDER_VALUE]);

const BACKGROUND: Record<Theme, string> = { light: "#ffffff", dark: "#131a22" };

/** The colour of a status code or a status class such as `4xx`. */
export function statusColor(status: string, theme: Theme): string {
  const colors = PALETTE[theme].status;
  return (isStatus(status) ? colors[status.charAt(0)] : undefined) ?? colors.other!;
}

/** The colour of bars behind others: a grey that no other outcome of a request has. */
export function backdropColor(theme: Theme): string {
  return PALETTE[theme].status["3"]!;
}

/** The colours of a map, from few records to many. */
export function heatColors(theme: Theme): readonly string[] {
  return PALETTE[theme].heat;
}

/** The line along the top of pale bars behind others. */
export function backdropEdge(theme: Theme): string {
  return PALETTE[theme].edges["3"]!;
}

/** The line along the top of a group's area, if its colour is pale. */
export function groupEdge(field: string, group: string, theme: Theme): string | null {
  return PALETTE[theme].edges[outcomeOf(field, group) ?? ""] ?? null;
}

/** The order of outcomes in a stack, from the baseline up: the heights of failures can be compared. */
const STACK_ORDER = ["5", "4", "3", "2", "1"];

/** The place of a group in a stack, from the baseline up. */
export function stackRank(field: string, group: string): number {
  if (!STATUS_FIELDS.has(field) && !OUTCOME_FIELDS.has(field)) return 0;
  const rank = STACK_ORDER.indexOf(outcomeOf(field, group) ?? "");
  return rank < 0 ? STACK_ORDER.length : rank;
}

/** Whether a group is of the worst outcome: an error of the server, an alert, a block. */
export function isWorst(field: string, group: string): boolean {
  return outcomeOf(field, group) === "5";
}

/** The first digit of the status class that a value is in, or that it resembles. */
function outcomeOf(field: string, group: string): string | undefined {
  if (STATUS_FIELDS.has(field)) return isStatus(group) ? group.charAt(0) : undefined;
  return OUTCOME_FIELDS.has(field) ? DIGITS.get(group.toLowerCase()) : undefined;
}

function isStatus(text: string): boolean {
  return /^[1-5](\d\d|xx)$/i.test(text);
}

/** One colour for each group of a histogram, in the groups' order. */
export function groupColors(field: string, groups: string[], theme: Theme): string[] {
  if (STATUS_FIELDS.has(field)) return shades(groups, (group) => statusColor(group, theme), theme);
  if (OUTCOME_FIELDS.has(field)) return shades(groups, outcomeColor(groups, theme), theme);
  const { series, status } = PALETTE[theme];
  return groups.map((group, at) =>
    group === REMAINDER_VALUE ? status.other! : series[at % series.length]!,
  );
}

/** The colour of a level or an action; other values have unused colours of the list. */
function outcomeColor(groups: string[], theme: Theme): (group: string) => string {
  const colors = PALETTE[theme].status;
  const known = (group: string) => {
    const outcome = DIGITS.get(group.toLowerCase());
    return outcome === undefined ? undefined : colors[outcome];
  };
  const used = new Set(groups.map(known));
  const free = PALETTE[theme].series.filter((color) => !used.has(color));
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
    return mixed(color, BACKGROUND[theme], Math.min(FADE_PERCENT_MAX, before * FADE_PERCENT) / 100);
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
