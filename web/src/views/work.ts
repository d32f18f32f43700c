/** The work area, which the tabs change. */

import { showTab } from "../control/tabs";
import type { Tab } from "../state/tab";

/** The id of the work area. */
export const WORK = "work";

/** Shows a tab from its beginning: below what is pinned if it is above that. */
export function choose(chosen: Tab): void {
  showTab(chosen);
  const work = document.getElementById(WORK);
  const beyond = work ? work.offsetTop - pinnedHeight() : 0;
  if (scrollY > beyond && beyond > 0) scrollTo({ top: beyond });
}

/** The height of what is pinned above the work area. */
function pinnedHeight(): number {
  const tabs = document.querySelector<HTMLElement>(".tabs");
  return tabs ? parseFloat(getComputedStyle(tabs).top) + tabs.offsetHeight : 0;
}
