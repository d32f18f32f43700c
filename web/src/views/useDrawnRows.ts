import { useLayoutEffect, useState } from "preact/hooks";
import { afterPaint } from "../state/frame";

/** Rows that are drawn at once: more than a list shows without scrolling. */
const AT_ONCE = 24;
/** Rows that each later frame adds. */
const PER_FRAME = 50;

/**
 * The number of rows of a list that are drawn now. Those that are seen only by scrolling follow after
 * the frame that shows the answer: "Show 50" adds rows to every list, and drawing all of them at once
 * took half of the time of that frame.
 */
export function useDrawnRows(total: number): number {
  const [most, setMost] = useState(AT_ONCE);
  useLayoutEffect(() => {
    if (total > most) return afterPaint(() => setMost(most + PER_FRAME));
    // One that becomes long later is drawn in steps again.
    if (total <= AT_ONCE) setMost(AT_ONCE);
  }, [total, most]);
  return Math.min(total, most);
}
