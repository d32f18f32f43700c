import type { Cursor } from "../chart/cursor";
import { spanOf } from "../chart/cursor";
import { extent, type Layout } from "../chart/layout";
import { countOf, isStacked, type Series } from "../chart/series";
import type { Noun } from "../format/kind";
import { count, plural, share } from "../format/number";
import { visible } from "../format/text";
import { rangeText } from "../format/time";
import type { Histogram } from "../generated/Histogram";
import { LogText } from "./LogText";
import { Swatch } from "./Swatch";

/** Groups that the tooltip names one by one. */
const GROUPS_SHOWN = 8;

interface Props {
  histogram: Histogram;
  series: Series[];
  cursor: Cursor;
  layout: Layout;
  width: number;
  byKeyboard: boolean;
  noun: Noun;
}

/** The counts under the cursor or within the selection. */
export function Tooltip({ histogram, series, cursor, layout, width, byKeyboard, noun }: Props) {
  const sums = sumsOf(histogram, series, cursor);
  const { from, to } = spanOf(cursor);
  const place = extent(layout, from, to);
  const middle = place.left + place.width / 2;
  const onLeft = middle > width / 2;
  const style = onLeft
    ? { right: `${width - place.left + 10}px` }
    : { left: `${place.left + place.width + 10}px` };
  const parts = isStacked(series) ? sums.parts.filter((part) => part.value > 0) : [];
  const rest = parts.slice(GROUPS_SHOWN).reduce((sum, part) => sum + part.value, 0);
  return (
    <div class="tooltip" style={style} aria-hidden="true">
      <p class="tooltip-time">{sums.time}</p>
      <p class="tooltip-count">{plural(sums.total, noun.one, noun.many)}</p>
      {sums.unfiltered !== null && <p class="tooltip-time">of {count(sums.unfiltered)} in all</p>}
      <table>
        <tbody>
          {parts.slice(0, GROUPS_SHOWN).map(({ series: one, value }) => (
            <tr key={one.name}>
              <td>
                <Swatch color={one.color} edge={one.edge} />
              </td>
              <td class="tooltip-name">
                <LogText value={one.label} title={false} />
              </td>
              <td>{count(value)}</td>
              <td>{share(value, sums.total)}</td>
            </tr>
          ))}
          {rest > 0 && (
            <tr>
              <td />
              <td class="tooltip-name">the others</td>
              <td>{count(rest)}</td>
              <td>{share(rest, sums.total)}</td>
            </tr>
          )}
        </tbody>
      </table>
      {from !== to && (
        <p class="tooltip-hint">{byKeyboard ? "Enter zooms in" : "Let go to zoom in"}</p>
      )}
    </div>
  );
}

/** The same in one sentence, for a screen reader. */
export function bucketText(
  histogram: Histogram,
  series: Series[],
  cursor: Cursor,
  noun: Noun,
): string {
  const sums = sumsOf(histogram, series, cursor);
  const parts = sums.parts
    .filter((part) => part.value > 0)
    .map((part) => `${visible(part.series.label)} ${count(part.value)}`);
  const whole = `${sums.time}: ${plural(sums.total, noun.one, noun.many)}`;
  return isStacked(series) ? `${whole}. ${parts.join(", ")}` : whole;
}

function sumsOf(histogram: Histogram, series: Series[], cursor: Cursor) {
  const { from, to } = spanOf(cursor);
  const buckets = histogram.buckets.slice(from, to + 1);
  const end = histogram.buckets[to + 1]?.start ?? histogram.until;
  return {
    time: rangeText(buckets[0]?.start ?? "", end),
    total: buckets.reduce((sum, bucket) => sum + bucket.count, 0),
    unfiltered:
      histogram.unfiltered?.slice(from, to + 1).reduce((sum, count) => sum + count, 0) ?? null,
    parts: series.map((one) => ({
      series: one,
      value: buckets.reduce((sum, bucket) => sum + countOf(bucket, one.name), 0),
    })),
  };
}
