/**
 * Scrolling through more lines than an element can be high.
 *
 * Up to `HEIGHT_MAX` a pixel of the scrollbar is a pixel of the list. Above, the scrollbar covers
 * the whole list, and the wheel and keys move by lines.
 */

/** The height of a line, in pixels. */
export const LINE_HEIGHT = 22;

/** The height of a line that may take three rows. */
export const WRAPPED_HEIGHT = 58;

/** Firefox, the strictest, limits elements to 17.8 million pixels. */
export const HEIGHT_MAX = 8_000_000;

/** A list: the number of its lines, and the heights of the part on the screen and of a line in pixels. */
export interface List {
  total: number;
  viewport: number;
  height: number;
}

/** The height of what is scrolled, in pixels. */
export function scrollHeight({ total, height }: List): number {
  return Math.min(total * height, HEIGHT_MAX);
}

/** Whether a pixel of the scrollbar is more than one of the list. */
export function isScaled({ total, height }: List): boolean {
  return total * height > HEIGHT_MAX;
}

/** The line at the top, with a fraction, of a list that is scrolled to its end. */
export function lastTop({ total, viewport, height }: List): number {
  return Math.max(0, total - viewport / height);
}

/** The line at the top, with a fraction, for a position of the scrollbar. */
export function topOf(list: List, scrollTop: number): number {
  if (!isScaled(list)) return Math.min(scrollTop / list.height, lastTop(list));
  const room = Math.max(1, scrollHeight(list) - list.viewport);
  return Math.min(scrollTop / room, 1) * lastTop(list);
}

/** The position of the scrollbar for a line at the top. */
export function scrollTopOf(list: List, top: number): number {
  if (!isScaled(list)) return top * list.height;
  const last = lastTop(list);
  return last === 0 ? 0 : (top / last) * (scrollHeight(list) - list.viewport);
}

/** The line at the top, moved as little as possible so that a line is on the screen. */
export function topWith(list: List, top: number, line: number): number {
  const lowest = line + 1 - list.viewport / list.height;
  return Math.min(Math.max(0, Math.min(Math.max(top, lowest), line)), lastTop(list));
}

/** The line that a key moves to; `null` if the key does not move. */
export function lineAfter(
  key: string,
  line: number,
  { total, viewport, height }: List,
): number | null {
  const page = Math.max(1, Math.floor(viewport / height) - 1);
  const moves: Record<string, number> = {
    ArrowDown: line + 1,
    ArrowUp: line - 1,
    PageDown: line + page,
    PageUp: line - page,
    Home: 0,
    End: total - 1,
  };
  const to = moves[key];
  return to === undefined ? null : Math.max(0, Math.min(to, total - 1));
}
