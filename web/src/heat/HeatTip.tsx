import { extent } from "../chart/layout";
import { duration } from "../format/duration";
import type { Noun } from "../format/kind";
import { plural } from "../format/number";
import { rangeText } from "../format/time";
import type { HeatLayout } from "./layout";
import { type Heat, type HeatSpan, stepsText } from "./map";
import { countIn, isSelection, type Rectangle, timesOf } from "./rectangle";

interface Props {
  heat: Heat;
  rectangle: Rectangle;
  layout: HeatLayout;
  width: number;
  byKeyboard: boolean;
  noun: Noun;
}

/** The numbers under the cursor or in the rectangle. */
export function HeatTip({ heat, rectangle, layout, width, byKeyboard, noun }: Props) {
  const { time } = rectangle;
  const [from, to] = time
    ? [Math.min(time.at, time.anchor), Math.max(time.at, time.anchor)]
    : [0, heat.spans.length - 1];
  const place = extent(layout.frame, from, to);
  const onLeft = place.left + place.width / 2 > width / 2;
  // Beside a wide rectangle there is no room.
  const right = Math.max(4, width - place.left + 10);
  const left = Math.min(width - 4, place.left + place.width + 10);
  const isWide = place.width > width / 2;
  const style = onLeft
    ? { right: `${isWide ? 12 : right}px` }
    : { left: `${isWide ? 60 : left}px` };
  const span = from === to ? heat.spans[from] : undefined;
  return (
    <div class="tooltip" style={style} aria-hidden="true">
      <p class="tooltip-time">{rangeText(...timesOf(heat, rectangle))}</p>
      <p class="tooltip-count">{plural(countIn(heat, rectangle), noun.one, noun.many)}</p>
      {rectangle.step && <p class="tooltip-time">{rangeOf(heat, rectangle)}</p>}
      {span && <Quantiles span={span} noun={noun} />}
      {isSelection(rectangle) && (
        <p class="tooltip-hint">{byKeyboard ? "Enter selects these" : "Let go to select these"}</p>
      )}
    </div>
  );
}

function Quantiles({ span, noun }: { span: HeatSpan; noun: Noun }) {
  const { total, median, p95 } = span;
  if (median === null || p95 === null) return null;
  return (
    <table>
      <tbody>
        <tr>
          <td>p95</td>
          <td>{duration(p95)}</td>
        </tr>
        <tr>
          <td>median</td>
          <td>{duration(median)}</td>
        </tr>
        <tr>
          <td>of</td>
          <td>{plural(total, noun.one, noun.many)}</td>
        </tr>
      </tbody>
    </table>
  );
}

/** The durations of the rectangle, if it has a range of them. */
function rangeOf(heat: Heat, { step }: Rectangle): string | null {
  if (step === null) return null;
  return stepsText(heat, Math.min(step.at, step.anchor), Math.max(step.at, step.anchor));
}

/** The same in one sentence, for a screen reader. */
export function placeText(heat: Heat, rectangle: Rectangle, noun: Noun): string {
  const { time } = rectangle;
  const times = rangeText(...timesOf(heat, rectangle));
  const steps = rangeOf(heat, rectangle);
  const whole = `${steps === null ? times : `${times}, ${steps}`}: ${plural(countIn(heat, rectangle), noun.one, noun.many)}`;
  const span = time && time.at === time.anchor ? heat.spans[time.at] : undefined;
  if (!span || span.median === null || span.p95 === null) return whole;
  return `${whole}. 95th percentile ${duration(span.p95)}, median ${duration(span.median)}`;
}
