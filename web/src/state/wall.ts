/** The wall screen: the numbers from afar, without anything to press. */

import { signal } from "@preact/signals";

/** The narrowest window that shows it, in CSS pixels. */
const WIDTH_MIN = 900;

/** Whether the address asks for the wall screen, with `?wall`, and the window is wide enough. */
export const isWall = signal(false);

/** Follows the width of the window. Called once, before the page is drawn. */
export function followWall(): void {
  if (!new URLSearchParams(location.search).has("wall")) return;
  const wide = matchMedia(`(min-width: ${WIDTH_MIN}px)`);
  const look = () => {
    isWall.value = wide.matches;
  };
  wide.addEventListener("change", look);
  look();
}
