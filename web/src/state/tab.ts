/** The slice of the tabs: which part of the work area is shown. */

import type { Action } from "./action";

/** The tabs, in their order. */
export const TABS = ["overview", "lines", "clients", "rules", "blocks"] as const;

export type Tab = (typeof TABS)[number];

export type TabAction = { type: "tab"; tab: Tab };

/** The tab of a name; `null` if there is none. */
export function tabNamed(name: string | null): Tab | null {
  return TABS.find((tab) => tab === name) ?? null;
}

/** Returns the slice after an action. */
export function reduceTab(before: Tab, action: Action): Tab {
  return action.type === "tab" ? action.tab : before;
}
