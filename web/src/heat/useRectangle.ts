import type { RefObject } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import type { Cursor } from "../chart/cursor";
import { bucketAt } from "../chart/layout";
import { filterBy } from "../control/questions";
import { state } from "../state/store";
import type { Size } from "../views/useSize";
import { type HeatLayout, heatLayoutOf, stepAt } from "./layout";
import type { Heat } from "./map";
import { fitted, keyMeaning, NOTHING, narrowed, type Rectangle } from "./rectangle";

/** Pixels after which a click becomes a drag along the time. */
const DRAG_MIN = 4;
/** The same along the duration: more, because nobody drags quite level. */
const RISE_MIN = 20;

/** A press of the pointer; `fixed` is the map at its beginning. */
interface Drag {
  x: number;
  y: number;
  fixed: Heat;
  hasMoved: boolean;
}

export interface Selection {
  /** The map to draw: the newest, or during a drag that of its beginning. */
  heat: Heat;
  layout: HeatLayout | null;
  rectangle: Rectangle;
  byKeyboard: boolean;
  handlers: Record<string, (event: never) => void>;
}

/** The cursor and the rectangle of a map, by pointer and by keyboard. */
export function useRectangle(
  frame: RefObject<HTMLDivElement | null>,
  newest: Heat,
  size: Size | null,
): Selection {
  const drag = useRef<Drag | null>(null);
  const [held, setHeld] = useState(NOTHING);
  const [byKeyboard, setByKeyboard] = useState(false);
  // Cells that moved under the pointer would change the selection.
  const heat = drag.current?.fixed ?? newest;
  const layout = useMemo(
    () => size && heatLayoutOf(heat, size.width, size.height, size.ratio),
    [heat, size],
  );
  const isEmpty = heat.spans.length === 0 || heat.bounds.length < 2;
  const rectangle = isEmpty ? NOTHING : fitted(held, heat);

  const place = ({ clientX, clientY }: PointerEvent) => {
    const { left, top } = frame.current?.getBoundingClientRect() ?? { left: 0, top: 0 };
    return { x: clientX - left, y: clientY - top };
  };
  const leave = () => {
    drag.current = null;
    setHeld(NOTHING);
  };
  const select = (chosen: Rectangle) => {
    leave();
    filterBy(narrowed(state.value.question.clauses, heat, chosen));
  };

  const onPointerDown = (event: PointerEvent) => {
    if (event.button !== 0 || !layout || isEmpty) return;
    const { x, y } = place(event);
    drag.current = { x, y, fixed: heat, hasMoved: false };
    frame.current?.setPointerCapture(event.pointerId);
    setByKeyboard(false);
    setHeld(cellAt(layout, x, y));
  };
  const onPointerMove = (event: PointerEvent) => {
    if (!layout || isEmpty) return;
    const { x, y } = place(event);
    setByKeyboard(false);
    const pressed = drag.current;
    if (pressed === null) return setHeld(cellAt(layout, x, y));
    const dragged = between(layout, pressed, x, y);
    pressed.hasMoved ||= dragged !== null;
    setHeld(dragged ?? cellAt(layout, pressed.x, pressed.y));
  };
  const onPointerUp = () => {
    const wasDrag = drag.current?.hasMoved ?? false;
    drag.current = null;
    if (wasDrag) select(rectangle);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey || isEmpty) return;
    const meaning = keyMeaning(rectangle, event.key, event.shiftKey, heat);
    if (!meaning) return;
    event.preventDefault();
    if (meaning.type === "cancel") return leave();
    if (meaning.type === "select") return select(rectangle);
    setByKeyboard(true);
    setHeld(meaning.rectangle);
  };

  return {
    heat,
    layout,
    rectangle,
    byKeyboard,
    handlers: {
      onPointerDown,
      onPointerMove,
      onPointerUp,
      onPointerCancel: leave,
      onPointerLeave: () => drag.current === null && !byKeyboard && setHeld(NOTHING),
      onKeyDown,
      onBlur: () => byKeyboard && setHeld(NOTHING),
    },
  };
}

/** The cell at a place. */
function cellAt(layout: HeatLayout, x: number, y: number): Rectangle {
  const [span, step] = [bucketAt(layout.frame, x), stepAt(layout, y)];
  return { time: { at: span, anchor: span }, step: { at: step, anchor: step } };
}

/** What a drag has marked; `null` before it has gone far. It has to rise to mean durations. */
function between(layout: HeatLayout, { x, y }: Drag, toX: number, toY: number): Rectangle | null {
  const isWide = Math.abs(toX - x) >= DRAG_MIN;
  const isHigh = Math.abs(toY - y) >= RISE_MIN;
  if (!isWide && !isHigh) return null;
  const cursor = (anchor: number, at: number): Cursor => ({ at, anchor });
  return {
    time: isWide ? cursor(bucketAt(layout.frame, x), bucketAt(layout.frame, toX)) : null,
    step: isHigh ? cursor(stepAt(layout, y), stepAt(layout, toY)) : null,
  };
}
