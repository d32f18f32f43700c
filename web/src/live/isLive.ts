/** Which sources grow. */

import type { Source } from "../generated/Source";
import type { View } from "../generated/View";

/** Whether lines come as they are written. */
export function isLive({ sources }: View): boolean {
  return sources.some(isOpen);
}

/** Whether lines of a source come as they are written. */
export function isOpen({ state, bytes_total }: Source): boolean {
  return (
    state === "following" || state === "listening" || (state === "reading" && bytes_total === null)
  );
}
