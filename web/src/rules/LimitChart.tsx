import { useMemo, useRef } from "preact/hooks";
import { compact, count, plural } from "../format/number";
import type { RuleAnswer } from "../generated/RuleAnswer";
import { burstAt, closestStop, position, type Stop, stopsOf } from "./limit";

interface Props {
  answer: RuleAnswer;
  /** Where the line stands. */
  burst: number;
  noun: { one: string; many: string };
  onMove: (burst: number) => void;
  /** The line was let go. */
  onRelease: (burst: number) => void;
}

/** The size of the picture in its own units; it is stretched to its box. */
const WIDTH = 1000;
const HEIGHT = 100;

/** Stops that a large step of the keyboard skips. */
const LARGE_STEP = 10;

/** The keys and requests that each burst rejects, and a limit line to drag. */
export function LimitChart({ answer, burst, noun, onMove, onRelease }: Props) {
  const { one } = noun;
  const frame = useRef<HTMLDivElement>(null);
  const isDragged = useRef(false);
  const stops = useMemo(() => stopsOf(answer), [answer]);
  const at = closestStop(stops, burst);
  const stop = stops[at]!;
  const end = Math.max(position(stops.at(-1)!.burst), 1e-9);
  const moveTo = (next: number) => {
    const to = stops[Math.min(stops.length - 1, Math.max(0, next))]!.burst;
    if (to !== stop.burst) onMove(to);
    return to;
  };
  const moveToPointer = (event: PointerEvent) => {
    const box = frame.current!.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (event.clientX - box.left) / Math.max(1, box.width)));
    return moveTo(closestStop(stops, burstAt(share * end)));
  };
  const onPointerDown = (event: PointerEvent) => {
    if (event.button !== 0) return;
    isDragged.current = true;
    (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
    moveToPointer(event);
  };
  const onPointerUp = (event: PointerEvent) => {
    if (!isDragged.current) return;
    isDragged.current = false;
    onRelease(moveToPointer(event));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const next = stepOf(event.key, at, stops.length);
    if (next === null) return;
    event.preventDefault();
    moveTo(next);
  };
  const text = stopText(stop, noun, answer.rule.exactness === "exact");
  return (
    <figure class="limit-chart">
      <figcaption>
        <output data-testid="limit-text">{text}</output>
        <span class="limit-legend">
          <span class="swatch keys-swatch" /> {noun.many}, 0 to {count(stops[0]!.keys)}{" "}
          <span class="swatch requests-swatch" /> rejected requests, 0 to{" "}
          {count(stops[0]!.requests)}
        </span>
      </figcaption>
      <div
        ref={frame}
        class="limit-frame"
        onPointerDown={onPointerDown}
        onPointerMove={(event) => isDragged.current && void moveToPointer(event)}
        onPointerUp={onPointerUp}
        onPointerCancel={() => (isDragged.current = false)}
      >
        <Curves stops={stops} end={end} />
        <div
          class="limit-line"
          role="slider"
          tabIndex={0}
          aria-label="Burst"
          aria-valuemin={0}
          aria-valuemax={stops.at(-1)!.burst}
          aria-valuenow={stop.burst}
          aria-valuetext={text}
          title="Drag the limit, or move it with the arrow keys. Enter puts it into the rule."
          data-testid="limit-line"
          style={{ left: `${(100 * position(stop.burst)) / end}%` }}
          onKeyDown={(event) => {
            onKeyDown(event);
            if (event.key === "Enter") onRelease(stop.burst);
          }}
          onBlur={() => !isDragged.current && onRelease(stop.burst)}
        />
      </div>
      <Scale end={end} />
      <p class="limit-axis">
        {`Burst. The peak of each ${one} is compared with it: a higher one is over the limit.`}
      </p>
    </figure>
  );
}

/** The stop to which a key of the keyboard leads; `null` if it is another key. */
function stepOf(key: string, at: number, stops: number): number | null {
  switch (key) {
    case "ArrowLeft":
    case "ArrowDown":
      return at - 1;
    case "ArrowRight":
    case "ArrowUp":
      return at + 1;
    case "PageDown":
      return at - LARGE_STEP;
    case "PageUp":
      return at + LARGE_STEP;
    case "Home":
      return 0;
    case "End":
      return stops - 1;
    default:
      return null;
  }
}

/** The curve uses the times as they are logged, so it is an estimate if they are coarse. */
function stopText(stop: Stop, { one, many }: Props["noun"], isExact: boolean): string {
  const about = isExact ? "" : "about ";
  const keys = plural(stop.keys, one, many);
  const requests = plural(stop.requests, "request");
  return `burst=${count(stop.burst)}: ${about}${keys} over the limit, ${about}${requests} rejected`;
}

/** Both curves as steps, each on its own scale. */
function Curves({ stops, end }: { stops: Stop[]; end: number }) {
  return useMemo(() => {
    const line = (value: (stop: Stop) => number) => {
      const most = Math.max(position(value(stops[0]!)), 1e-9);
      const points = stops.map((stop) => {
        const x = (WIDTH * position(stop.burst)) / end;
        return `${x.toFixed(1)} ${(HEIGHT * (1 - position(value(stop)) / most)).toFixed(1)}`;
      });
      return `M${points.join("L")}`;
    };
    return (
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        <path class="keys-area" d={`${line(({ keys }) => keys)}V${HEIGHT}H0Z`} />
        <path class="keys-curve" d={line(({ keys }) => keys)} />
        <path class="requests-curve" d={line(({ requests }) => requests)} />
      </svg>
    );
  }, [stops, end]);
}

/** Round bursts below the picture. */
function Scale({ end }: { end: number }) {
  const highest = burstAt(end);
  const ticks = [0];
  for (let tick = 1; tick <= highest; tick *= 10) {
    ticks.push(tick);
    if (3 * tick <= highest) ticks.push(3 * tick);
  }
  return (
    <div class="limit-scale" aria-hidden="true">
      {ticks.map((tick) => (
        <span key={tick} style={{ left: `${(100 * position(tick)) / end}%` }}>
          {compact(tick)}
        </span>
      ))}
    </div>
  );
}
