import { groupColors, groupEdge, stackRank } from "../chart/palette";
import { perStep } from "../format/duration";
import { count, plural } from "../format/number";
import { stampText } from "../format/time";
import type { Histogram } from "../generated/Histogram";
import { theme } from "../views/theme";

/** The height of the highest bar. */
const HEIGHT = 60;

/** Requests over time as bars, in the colours of their status. */
export function Timeline({ histogram }: { histogram: Histogram }) {
  const { buckets, field, groups, step_s, until } = histogram;
  const shown = theme.value;
  const colors = groupColors(field, groups, shown);
  const parts = groups
    .map((group, at) => ({ group, color: colors[at]!, rank: stackRank(field, group) }))
    .sort((a, b) => a.rank - b.rank);
  const most = Math.max(1, ...buckets.map(({ count }) => count));
  const width = buckets.length;
  return (
    <figure class="story-timeline" data-testid="story-timeline">
      <svg
        viewBox={`0 0 ${width} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Requests over time, at most ${count(most)} per ${perStep(step_s)}`}
      >
        {buckets.flatMap((bucket, at) => {
          let top = HEIGHT;
          const edge = (group: string) => groupEdge(field, group, shown);
          return parts.map(({ group, color }) => {
            const part = bucket.by[group] ?? 0;
            if (part === 0) return null;
            const height = Math.max(1.5, (part / most) * HEIGHT);
            top -= height;
            return (
              <rect
                key={`${bucket.start} ${group}`}
                x={at}
                y={top}
                width={1}
                height={height}
                fill={color}
                stroke={edge(group) ?? "none"}
              >
                <title>{`${stampText(bucket.start)}: ${plural(bucket.count, "request")}`}</title>
              </rect>
            );
          });
        })}
      </svg>
      <figcaption class="hint">
        <span>{buckets[0] && stampText(buckets[0].start)}</span>
        <span>
          at most {count(most)} per {perStep(step_s)}
        </span>
        <span>{stampText(until)}</span>
      </figcaption>
    </figure>
  );
}
