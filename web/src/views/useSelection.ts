import type { RefObject } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { type Cursor, clamped, keyMeaning, spanOf } from "../chart/cursor";
import { bucketAt, type Layout, layoutOf } from "../chart/layout";
import { filterBy } from "../control/questions";
import type { Histogram } from "../generated/Histogram";
import { zoomed } from "../state/filter";
import { state } from "../state/store";
import type { Size } from "./useSize";

/** Pixels after which a click becomes a drag. */
const DRAG_MIN = 4;

/** A press of the pointer; `fixed` is the data at its beginning. */
interface Drag {
  x: number;
  fixed: Histogram;
  isDrag: boolean;
}

export interface Selection {
  /** The data to draw: the newest, or during a drag that of its beginning. */
  histogram: Histogram;
  layout: Layout | null;
  cursor: Cursor | null;
  byKeyboard: boolean;
  handlers: Record<string, (event: never) => void>;
}

/** The cursor and the selection of a chart, by pointer and by keyboard. */
export function useSelection(
  frame: RefObject<HTMLDivElement | null>,
  newest: Histogram,
  size: Size | null,
): Selection {
  const drag = useRef<Drag | null>(null);
  const [held, setCursor] = useState<Cursor | null>(null);
  const [byKeyboard, setByKeyboard] = useState(false);
  // Buckets that moved under the pointer would change the selection.
  const histogram = drag.current?.fixed ?? newest;
  const layout = useMemo(
    () => size && layoutOf(histogram, size.width, size.height, size.ratio),
    [histogram, size],
  );
  const count = histogram.buckets.length;
  const cursor = clamped(held, count);

  const place = (event: PointerEvent) =>
    event.clientX - (frame.current?.getBoundingClientRect().left ?? 0);
  const leave = () => {
    drag.current = null;
    setCursor(null);
  };
  const zoom = (chosen: Cursor) => {
    leave();
    zoomTo(histogram, chosen);
  };

  const onPointerDown = (event: PointerEvent) => {
    if (event.button !== 0 || !layout || count === 0) return;
    const x = place(event);
    drag.current = { x, fixed: histogram, isDrag: false };
    frame.current?.setPointerCapture(event.pointerId);
    const at = bucketAt(layout, x);
    setByKeyboard(false);
    setCursor({ at, anchor: at });
  };
  const onPointerMove = (event: PointerEvent) => {
    if (!layout || count === 0) return;
    const x = place(event);
    const at = bucketAt(layout, x);
    const pressed = drag.current;
    if (pressed && Math.abs(x - pressed.x) >= DRAG_MIN) pressed.isDrag = true;
    setByKeyboard(false);
    setCursor((before) => ({ at, anchor: pressed?.isDrag && before ? before.anchor : at }));
  };
  const onPointerUp = () => {
    const wasDrag = drag.current?.isDrag ?? false;
    drag.current = null;
    if (wasDrag && cursor) zoom(cursor);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const meaning = keyMeaning(cursor, event.key, event.shiftKey, count);
    if (!meaning) return;
    event.preventDefault();
    if (meaning.type === "cancel") return leave();
    if (meaning.type === "zoom") return zoom(meaning.cursor);
    setByKeyboard(true);
    setCursor(meaning.cursor);
  };

  return {
    histogram,
    layout,
    cursor,
    byKeyboard,
    handlers: {
      onPointerDown,
      onPointerMove,
      onPointerUp,
      onPointerCancel: leave,
      onPointerLeave: () => drag.current === null && !byKeyboard && setCursor(null),
      onKeyDown,
      onBlur: () => byKeyboard && setCursor(null),
    },
  };
}

/** Narrows the filter to the selected buckets, by their time stamps from the server. */
function zoomTo(histogram: Histogram, chosen: Cursor): void {
  const { from, to } = spanOf(chosen);
  const start = histogram.buckets[from]?.start;
  const end = histogram.buckets[to + 1]?.start ?? histogram.until;
  if (start !== undefined) filterBy(zoomed(state.value.question.clauses, start, end));
}
