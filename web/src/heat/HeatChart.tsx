import { useLayoutEffect, useRef } from "preact/hooks";
import { extent } from "../chart/layout";
import { duration, step } from "../format/duration";
import { wordsOf } from "../format/kind";
import { plural } from "../format/number";
import { rangeText } from "../format/time";
import type { Report } from "../generated/Report";
import { DURATION_TITLES } from "../generated/words";
import { inkOf } from "../views/Chart";
import { theme } from "../views/theme";
import { useSize } from "../views/useSize";
import { drawHeat } from "./draw";
import { HeatTip, placeText } from "./HeatTip";
import type { HeatLayout } from "./layout";
import type { Heat } from "./map";
import { isSelection, type Rectangle } from "./rectangle";
import { useRectangle } from "./useRectangle";

/** The map with its cursor, its rectangle and its tooltip. */
export function HeatChart({ heat: newest, report }: { heat: Heat; report: Report }) {
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useSize(frame);
  const { heat, layout, rectangle, byKeyboard, handlers } = useRectangle(frame, newest, size);
  const shown = theme.value;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the colours change with the theme
  useLayoutEffect(() => {
    if (!layout || !canvas.current || !size) return;
    drawHeat(canvas.current, layout, heat, inkOf(canvas.current), shown, size);
  }, [layout, heat, shown, size]);
  const noun = wordsOf(report);
  const hasPlace = rectangle.time !== null || rectangle.step !== null;
  return (
    <div
      ref={frame}
      class="chart"
      role="application"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a role of application takes keys
      tabIndex={0}
      aria-roledescription="map of durations"
      aria-label={labelOf(heat, report)}
      data-testid="chart"
      data-map={heat.field}
      data-buckets={heat.spans.length}
      data-total={heat.spans.reduce((sum, { total }) => sum + total, 0)}
      data-step={heat.histogram.step_s}
      data-bounds={heat.bounds.join(" ")}
      data-plot-left={layout?.frame.plot.left}
      data-plot-width={layout?.frame.plot.width}
      data-tops={layout?.steps.map(({ top }) => top).join(" ")}
      {...handlers}
    >
      {/* biome-ignore lint/a11y/noAriaHiddenOnFocusable: a canvas without tabindex takes no focus */}
      <canvas ref={canvas} aria-hidden="true" />
      {layout && hasPlace && <Marks layout={layout} rectangle={rectangle} />}
      {layout && hasPlace && size && (
        <HeatTip
          heat={heat}
          rectangle={rectangle}
          layout={layout}
          width={size.width}
          byKeyboard={byKeyboard}
          noun={noun}
        />
      )}
      <p class="visually-hidden" aria-live="polite">
        {byKeyboard && hasPlace ? placeText(heat, rectangle, noun) : ""}
      </p>
    </div>
  );
}

function labelOf({ field, histogram, spans }: Heat, report: Report): string {
  const range = rangeText(spans[0]?.start ?? "", histogram.until);
  const { one, many } = wordsOf(report);
  const total = spans.reduce((sum, span) => sum + span.total, 0);
  const times = report[field];
  const quantiles = times
    ? `, median ${duration(times.p50)}, 95th percentile ${duration(times.p95)}`
    : "";
  return (
    `${DURATION_TITLES[field]} of ${plural(total, one, many)}${quantiles}, ${range}, in ` +
    `${spans.length} columns of ${step(histogram.step_s)}. Arrow keys move, Shift with arrow keys ` +
    "selects times and durations, Enter filters by them, Escape goes back."
  );
}

/** The rectangle, or the cell under the cursor with its column. */
function Marks({ layout, rectangle }: { layout: HeatLayout; rectangle: Rectangle }) {
  const [left, width] = acrossOf(layout, rectangle);
  const [top, height] = upOf(layout, rectangle);
  const { plot } = layout.frame;
  const box = (top: number, height: number) => ({
    left: `${left}px`,
    width: `${Math.max(1, width)}px`,
    top: `${top}px`,
    height: `${Math.max(1, height)}px`,
  });
  if (isSelection(rectangle)) return <div class="chart-selection area" style={box(top, height)} />;
  return (
    <>
      <div class="chart-cursor" style={box(plot.top, plot.height)} />
      {rectangle.step && <div class="chart-cell" style={box(top, height)} />}
    </>
  );
}

/** The left edge and the width of a rectangle. */
function acrossOf({ frame }: HeatLayout, { time }: Rectangle): [number, number] {
  if (time === null) return [frame.plot.left, frame.plot.width];
  const { left, width } = extent(
    frame,
    Math.min(time.at, time.anchor),
    Math.max(time.at, time.anchor),
  );
  return [left, width];
}

/** The upper edge and the height of a rectangle. */
function upOf({ frame, steps }: HeatLayout, { step }: Rectangle): [number, number] {
  if (step === null) return [frame.plot.top, frame.plot.height];
  const [low, high] = [
    steps[Math.min(step.at, step.anchor)]!,
    steps[Math.max(step.at, step.anchor)]!,
  ];
  return [high.top, low.top + low.height - high.top];
}
