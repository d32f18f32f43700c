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

/** How far each further value of a status class fades towards the background. */
const FADE = 0.22;
const BACKGROUND: Record<Theme, string> = { light: "#ffffff", dark: "#161d26" };

/** The colour of a status code or a status class such as `4xx`. */
export function statusColor(status: string, theme: Theme): string {
  const colors = STATUS[theme];
  const known = /^[1-5](\d\d|xx)$/i.test(status) ? colors[status.charAt(0)] : undefined;
  return known ?? colors.other!;
}

/** One colour for each group of a histogram, in the groups' order. */
export function groupColors(field: string, groups: string[], theme: Theme): string[] {
  if (STATUS_FIELDS.has(field)) return statusColors(groups, theme);
  const series = SERIES[theme];
  if (field === "action") return actionColors(groups, theme);
  return groups.map((group, at) =>
    group === REMAINDER_VALUE ? STATUS[theme].other! : series[at % series.length]!,
  );
}

/** Allowed traffic has the colour of success, blocked traffic that of an error. */
function actionColors(groups: string[], theme: Theme): string[] {
  const [requests, , allowed, blocked] = SERIES[theme] as [string, string, string, string];
  return groups.map((group) => {
    if (group === NO_VALUE) return requests;
    return /^(allow|accept|pass|permit)/i.test(group) ? allowed : blocked;
  });
}

/** Codes of a class share its hue; each further one is a shade fainter. */
function statusColors(groups: string[], theme: Theme): string[] {
  const seen = new Map<string, number>();
  return groups.map((group) => {
    const color = statusColor(group, theme);
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
