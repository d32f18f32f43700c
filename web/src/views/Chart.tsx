import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { clamped, moved, spanOf, type Cursor } from "../chart/cursor";
import { draw } from "../chart/draw";
import { bucketAt, extent, layoutOf, type Layout } from "../chart/layout";
import type { Series } from "../chart/series";
import { filterBy } from "../control";
import { step } from "../format/duration";
import type { Histogram } from "../generated/Histogram";
import { zoomed } from "../state/filter";
import { state } from "../state/store";
import { bucketText, Tooltip } from "./Tooltip";
import { useSize } from "./useSize";

/** Pixels that the pointer must move before a click becomes a drag. */
const DRAG_MIN = 4;

interface Props {
  histogram: Histogram;
  series: Series[];
  label: string;
}

/** What the pointer is doing; `fixed` is the data as it was when the drag began. */
interface Drag {
  x: number;
  fixed: Histogram;
  isDrag: boolean;
}

/** The stacked histogram with its cursor, its selection and its tooltip. */
export function Chart({ histogram: newest, series, label }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const drag = useRef<Drag | null>(null);
  const [cursor, setCursor] = useState<Cursor | null>(null);
  const [byKeyboard, setByKeyboard] = useState(false);
  const size = useSize(frame);
  // Buckets that moved under the pointer would change what is being selected.
  const histogram = drag.current?.fixed ?? newest;
  const layout = size ? layoutOf(histogram, size.width, size.height, size.ratio) : null;
  const shown = clamped(cursor, histogram.buckets.length);

  useLayoutEffect(() => {
    if (layout && canvas.current && size) paint(canvas.current, layout, series, size.ratio);
  });

  const zoom = (chosen: Cursor) => {
    const { from, to } = spanOf(chosen);
    const start = histogram.buckets[from]?.start;
    const end = histogram.buckets[to + 1]?.start ?? histogram.until;
    setCursor(null);
    if (start !== undefined) filterBy(zoomed(state.value.question.clauses, start, end));
  };

  const place = (event: PointerEvent) => {
    const box = frame.current!.getBoundingClientRect();
    return event.clientX - box.left;
  };

  const onPointerDown = (event: PointerEvent) => {
    if (event.button !== 0 || !layout || layout.count === 0) return;
    const x = place(event);
    drag.current = { x, fixed: histogram, isDrag: false };
    frame.current!.setPointerCapture(event.pointerId);
    const at = bucketAt(layout, x);
    setByKeyboard(false);
    setCursor({ at, anchor: at });
  };

  const onPointerMove = (event: PointerEvent) => {
    if (!layout || layout.count === 0) return;
    const x = place(event);
    const at = bucketAt(layout, x);
    const held = drag.current;
    if (held && Math.abs(x - held.x) >= DRAG_MIN) held.isDrag = true;
    setByKeyboard(false);
    setCursor((before) => ({ at, anchor: held?.isDrag && before ? before.anchor : at }));
  };

  const onPointerUp = () => {
    const held = drag.current;
    drag.current = null;
    if (held?.isDrag && shown) zoom(shown);
  };

  const onPointerLeave = () => {
    if (!drag.current && !byKeyboard) setCursor(null);
  };

  const onPointerCancel = () => {
    drag.current = null;
    setCursor(null);
  };

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Enter" && shown) {
      event.preventDefault();
      return zoom(shown);
    }
    if (event.key === "Escape" && (drag.current || (shown && shown.at !== shown.anchor))) {
      // The first Escape gives up the selection; only the next undoes a filter.
      event.stopPropagation();
      return onPointerCancel();
    }
    const next = moved(shown, event.key, event.shiftKey, histogram.buckets.length);
    if (!next) return;
    event.preventDefault();
    setByKeyboard(true);
    setCursor(next);
  };

  return (
    <div
      ref={frame}
      class="chart"
      role="application"
      tabIndex={0}
      aria-roledescription="histogram"
      aria-label={label}
      data-testid="chart"
      data-buckets={histogram.buckets.length}
      data-max={layout?.max ?? 0}
      data-step={histogram.step_s}
      data-plot-left={layout?.plot.left}
      data-plot-width={layout?.plot.width}
      onPointerDown={onPointerDown}
      onPointerMove={onPointerMove}
      onPointerUp={onPointerUp}
      onPointerLeave={onPointerLeave}
      onPointerCancel={onPointerCancel}
      onKeyDown={onKeyDown}
      onBlur={() => byKeyboard && setCursor(null)}
    >
      <canvas ref={canvas} aria-hidden="true" />
      {layout && shown && <Marks layout={layout} cursor={shown} />}
      {layout && shown && size && (
        <Tooltip histogram={histogram} series={series} cursor={shown} layout={layout} width={size.width} />
      )}
      <p class="visually-hidden" aria-live="polite">
        {byKeyboard && shown ? bucketText(histogram, series, shown) : ""}
      </p>
      {layout?.merged && (
        <p class="chart-merged">Each column of pixels shows its fullest {step(histogram.step_s)}.</p>
      )}
    </div>
  );
}

function paint(canvas: HTMLCanvasElement, layout: Layout, series: Series[], ratio: number): void {
  const style = getComputedStyle(canvas);
  const ink = {
    text: style.color,
    grid: style.borderTopColor,
    font: `${style.fontSize} ${style.fontFamily}`,
  };
  draw(canvas, layout, series, ink, ratio);
}

/** The band of the selection, or of the one bucket under the cursor. */
function Marks({ layout, cursor }: { layout: Layout; cursor: Cursor }) {
  const { from, to } = spanOf(cursor);
  const { left, width } = extent(layout, from, to);
  const { top, height } = layout.plot;
  return (
    <div
      class={from === to ? "chart-cursor" : "chart-selection"}
      style={{ left: `${left}px`, width: `${Math.max(1, width)}px`, top: `${top}px`, height: `${height}px` }}
    />
  );
}
