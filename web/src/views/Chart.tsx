import { useLayoutEffect, useRef } from "preact/hooks";
import { type Cursor, spanOf } from "../chart/cursor";
import { draw, type Ink } from "../chart/draw";
import { extent, type Layout } from "../chart/layout";
import type { Series } from "../chart/series";
import { step } from "../format/duration";
import type { Noun } from "../format/kind";
import type { Histogram } from "../generated/Histogram";
import { bucketText, Tooltip } from "./Tooltip";
import { useSelection } from "./useSelection";
import { useSize } from "./useSize";

interface Props {
  histogram: Histogram;
  series: Series[];
  label: string;
  noun: Noun;
}

/** The stacked histogram with its cursor, its selection and its tooltip. */
export function Chart({ histogram: newest, series, label, noun }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useSize(frame);
  const selection = useSelection(frame, newest, size);
  const { histogram, layout, cursor, byKeyboard } = selection;
  useLayoutEffect(() => {
    if (layout && canvas.current && size)
      draw(canvas.current, layout, series, inkOf(canvas.current), size);
    // The series hold the colours, and so change with the theme.
  }, [layout, series, size]);
  return (
    <div
      ref={frame}
      class="chart"
      role="application"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a role of application takes keys
      tabIndex={0}
      aria-roledescription="histogram"
      aria-label={label}
      data-testid="chart"
      data-buckets={histogram.buckets.length}
      data-max={layout?.max ?? 0}
      data-total={histogram.buckets.reduce((sum, bucket) => sum + bucket.count, 0)}
      data-step={histogram.step_s}
      data-plot-left={layout?.plot.left}
      data-plot-width={layout?.plot.width}
      {...selection.handlers}
    >
      {/* biome-ignore lint/a11y/noAriaHiddenOnFocusable: a canvas without tabindex takes no focus */}
      <canvas ref={canvas} aria-hidden="true" />
      {layout && cursor && <Marks layout={layout} cursor={cursor} />}
      {layout && cursor && size && (
        <Tooltip
          histogram={histogram}
          series={series}
          cursor={cursor}
          layout={layout}
          width={size.width}
          byKeyboard={byKeyboard}
          noun={noun}
        />
      )}
      <p class="visually-hidden" aria-live="polite">
        {byKeyboard && cursor ? bucketText(histogram, series, cursor, noun) : ""}
      </p>
      {layout?.merged && (
        <p class="chart-merged">
          Each column of pixels shows its fullest {step(histogram.step_s)}.
        </p>
      )}
    </div>
  );
}

/** The colours and the font that the style sheet gives to a canvas. */
export function inkOf(canvas: HTMLCanvasElement): Ink {
  const style = getComputedStyle(canvas);
  return {
    text: style.color,
    strong: getComputedStyle(canvas.parentElement ?? canvas).color,
    grid: style.borderTopColor,
    ground: style.backgroundColor,
    font: `${style.fontSize} ${style.fontFamily}`,
  };
}

/** The band of the selection, or of the one bucket under the cursor. */
function Marks({ layout, cursor }: { layout: Layout; cursor: Cursor }) {
  const { from, to } = spanOf(cursor);
  const { left, width } = extent(layout, from, to);
  const { top, height } = layout.plot;
  return (
    <div
      class={from === to ? "chart-cursor" : "chart-selection"}
      style={{
        left: `${left}px`,
        width: `${Math.max(1, width)}px`,
        top: `${top}px`,
        height: `${height}px`,
      }}
    />
  );
}
