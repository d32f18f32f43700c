import { duration } from "../format/duration";
import { wordsOf } from "../format/kind";
import { count, plural } from "../format/number";
import { rangeText } from "../format/time";
import type { Report } from "../generated/Report";
import { DURATION_TITLES } from "../generated/words";
import { endOf, type Heat, type HeatSpan, stepsText } from "./map";

/** The map as a table with a row for each span that has records. */
export function HeatTable({ heat, report }: { heat: Heat; report: Report }) {
  const { many, title } = wordsOf(report);
  const shown = heat.spans.flatMap((span, at) => (span.total > 0 ? [{ span, at }] : []));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by the keys
    <div class="chart-table" data-testid="chart-rows" tabIndex={0}>
      <table>
        <caption class="visually-hidden">
          {DURATION_TITLES[heat.field]} over time: {plural(shown.length, "span", "spans")} with{" "}
          {many}
        </caption>
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col">{title}</th>
            <th scope="col">Median</th>
            <th scope="col">p95</th>
            <th scope="col">Longest</th>
          </tr>
        </thead>
        <tbody>
          {shown.map(({ span, at }) => (
            <tr
              key={span.start}
              data-total={span.total}
              data-median={span.median}
              data-p95={span.p95}
            >
              <th scope="row">{rangeText(span.start, endOf(heat, at))}</th>
              <td>{count(span.total)}</td>
              <td>{span.median === null ? "–" : duration(span.median)}</td>
              <td>{span.p95 === null ? "–" : duration(span.p95)}</td>
              <td>{longestIn(heat, span)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The step of the longest duration. */
function longestIn(heat: Heat, { counts }: HeatSpan): string {
  const longest = counts.findLastIndex((one) => one > 0);
  return longest < 0 ? "–" : stepsText(heat, longest, longest);
}
