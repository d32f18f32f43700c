import { linesOf, type Point, peakOf, type Sample } from "./history";

const WIDTH = 240;
const HEIGHT = 60;

interface LineProps {
  samples: readonly Sample[];
  /** The value at the top; the largest of the minute if it is absent. */
  top?: number;
}

/** The last minute as a line over a faint area, without words. */
export function MinuteLine({ samples, top = peakOf(samples) }: LineProps) {
  const now_ms = samples.at(-1)?.at_ms ?? 0;
  return (
    <svg
      class="minute-line"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {linesOf(samples, now_ms, top).map((points) => (
        <g key={points[0]?.x}>
          <polygon points={textOf([foot(points[0]!), ...points, foot(points.at(-1)!)])} />
          <polyline points={textOf(points)} />
        </g>
      ))}
    </svg>
  );
}

/** The line must not be cut at the top and at the bottom. */
const INSET = 2;

function textOf(points: readonly Point[]): string {
  const place = ({ x, y }: Point) => {
    const down = HEIGHT - INSET - y * (HEIGHT - 2 * INSET);
    return `${(x * WIDTH).toFixed(1)},${down.toFixed(1)}`;
  };
  return points.map(place).join(" ");
}

function foot({ x }: Point): Point {
  return { x, y: 0 };
}

interface ChartProps extends LineProps {
  title: string;
  write: (value: number) => string;
  /** The least value at the top, so that noise stays at the bottom. */
  floor?: number;
}

/** The last minute of one number, with its name, its last value and its peak. */
export function MinuteChart({ title, samples, write, floor = 0 }: ChartProps) {
  const peak = peakOf(samples);
  const last = samples.at(-1)?.value ?? 0;
  return (
    <figure class="minute-chart">
      <figcaption>
        <span class="minute-title">{title}</span>
        <span class="minute-now">{write(last)}</span>
        <span class="hint">at most {write(peak)}</span>
      </figcaption>
      <MinuteLine samples={samples} top={Math.max(peak, floor)} />
    </figure>
  );
}
