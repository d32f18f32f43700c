/** The size of the drawing, in units of its own. */
const WIDTH = 80;
const HEIGHT = 20;

/** How many records a value has over the time, as a line that is as high as its largest number. */
export function Spark({ counts }: { counts: readonly number[] }) {
  const most = Math.max(...counts, 0);
  if (most === 0 || counts.length < 2) return <span class="spark" />;
  const step = WIDTH / (counts.length - 1);
  const points = counts.map(
    (count, at) => `${round(at * step)} ${round(HEIGHT - 1 - (count / most) * (HEIGHT - 2))}`,
  );
  const line = `M${points.join("L")}`;
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path class="spark-area" d={`${line}L${WIDTH} ${HEIGHT}L0 ${HEIGHT}Z`} />
      <path class="spark-line" d={line} />
    </svg>
  );
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
