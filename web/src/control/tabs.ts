/** The tabs of the page, and the address that keeps the one on the screen. */

import { dispatch, tab } from "../state/store";
import type { Tab } from "../state/tab";
import { noteTab, tabOfAddress, tabUnnamed } from "./history";

/** Shows a tab, without a step in the history. */
export function showTab(chosen: Tab): void {
  dispatch({ type: "tab", tab: chosen });
  noteTab(chosen);
}

/** Shows the tab of the address. Called once. */
export function followTab(): void {
  showTab(tabOfAddress() ?? tabUnnamed());
}

/** Writes the tab on the screen into the entry that Back or Forward led to: they keep the tab. */
export function keepTab(): void {
  noteTab(tab.peek());
}
