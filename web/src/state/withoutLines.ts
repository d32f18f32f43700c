/** Data that was never lines: the records of a gateway, which makes them itself. */

import { computed } from "@preact/signals";
import type { View } from "../generated/View";
import { state } from "./store";

/** Whether all sources of a view have records that were never lines. */
export function isWithoutLines(view: View | null): boolean {
  const sources = view?.sources ?? [];
  return sources.length > 0 && sources.every((source) => source.records_only === true);
}

/** Whether the page has no lines to show. */
export const withoutLines = computed(() => isWithoutLines(state.value.view));
