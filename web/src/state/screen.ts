/** What the page shows as a whole. */

import { computed } from "@preact/signals";
import { rowsOf } from "./rows";
import { hasFilter, hasLines } from "./state";
import { question, state } from "./store";

type Screen = "drop page" | "dashboard" | "waiting" | "nothing";

export const screen = computed<Screen>(() => {
  const now = state.value;
  if (now.session === null) return "drop page";
  // An empty dashboard would only delay that of the first lines.
  if (now.view && (hasLines(now.view) || (now.view.complete && now.view.sources.length > 0)))
    return "dashboard";
  if (now.view && rowsOf(now).length === 0) return "drop page";
  return now.connection === "gone" ? "nothing" : "waiting";
});

/** Whether no line could be parsed, so that the samples are all there is to see. */
export const isUnparsed = computed(() => {
  const report = state.value.view?.report;
  if (report === undefined) return false;
  return report.records === 0 && report.unparsed_lines + report.too_long_lines > 0;
});

/** The report on the screen if it can be filtered; `null` if there is none. */
export const filterable = computed(() => {
  if (screen.value !== "dashboard") return null;
  if (isUnparsed.value && !hasFilter(question.value)) return null;
  return state.value.view?.report ?? null;
});
