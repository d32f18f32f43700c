import { useMemo } from "preact/hooks";
import { errorLogBlocks } from "../blocks/errorLogBlocks";
import { type Drawing, drawingOf, laneText, titleOf } from "../chart/overlay";
import { isStacked, LEGEND_SHOWN, type Series } from "../chart/series";
import { change, filterBy } from "../control/questions";
import { step } from "../format/duration";
import {
  firewallEvents,
  missingStackText,
  overlayNoun,
  RECORD,
  recordsOfKind,
  wordsOf,
} from "../format/kind";
import { count, plural, share } from "../format/number";
import { visible } from "../format/text";
import { rangeText } from "../format/time";
import type { Report } from "../generated/Report";
import { isLive } from "../live/isLive";
import { isOfBars, measureDrawing } from "../measure/chart";
import { shownMeasure } from "../measure/measures";
import { shareCounted } from "../state/rows";
import { hasFilter } from "../state/state";
import { blocks, question, series, state } from "../state/store";
import { Chart } from "./Chart";
import { LogText } from "./LogText";
import { partOf, shownLater, usePart } from "./part";
import { StackSelect } from "./StackSelect";
import { Swatch } from "./Swatch";
import { theme } from "./theme";
import { ZonePicker } from "./ZonePicker";

const LiveNow = shownLater(async () => (await import("../live/LiveNow")).LiveNow);
const heatPanel = partOf(() => import("../heat/HeatPanel"));

/** The histogram with its heading, legend and options. */
export function ChartPanel({ report, complete }: { report: Report; complete: boolean }) {
  const shown = theme.value;
  const stated = errorLogBlocks(blocks.value.report);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the colours change with the theme
  const records = useMemo(() => drawingOf(report, shown, stated), [report, shown, stated]);
  const measure = shownMeasure(report, question.value.measure);
  const measured = series.value;
  const heat = usePart(heatPanel, measure === "time");
  // biome-ignore lint/correctness/useExhaustiveDependencies: the colours change with the theme
  const others = useMemo(
    () => (isOfBars(measure) ? measureDrawing(measure, report, measured, shown) : null),
    [measure, report, measured, shown],
  );
  const { answer } = measured;
  if (heat && answer !== null && answer.duration !== null)
    return <heat.HeatPanel report={report} answer={answer} note={!complete && <SoFar />} />;
  // Until the numbers of another measure are known, the records stay.
  const drawing = others ?? records;
  if (!drawing || drawing.histogram.buckets.length === 0)
    return <NoChart report={report} complete={complete} />;
  const { histogram, series: parts, kinds } = drawing;
  return (
    <div class="chart-panel">
      <div class="chart-head">
        <h2>
          {titleOf(drawing)}
          {!complete && <SoFar />}
        </h2>
        <Legend series={isStacked(parts) ? parts : []} lane={laneText(histogram, report)} />
        <OverlayButton report={report} stated={stated} />
        <ZonePicker shown={report.time.zone} />
        {kinds.length === 1 && <StackSelect report={report} />}
      </div>
      <Chart
        histogram={histogram}
        series={parts}
        label={labelOf(drawing)}
        noun={kinds.length > 1 ? RECORD : kinds[0]!}
      />
      {kinds.length === 1 && <MissingStack report={report} />}
    </div>
  );
}

/** Lays blocks and firewall events over the requests, or takes them away. */
function OverlayButton({ report, stated }: { report: Report; stated: number }) {
  if (report.kind !== "request") return null;
  const events = firewallEvents(report);
  const { hasOverlay } = question.value;
  const { one, many } = overlayNoun(events, stated);
  if (events + stated === 0) return null;
  return (
    <button
      type="button"
      class="link"
      data-testid="overlay"
      onClick={() => change({ hasOverlay: !hasOverlay })}
    >
      {hasOverlay ? `Hide the ${many}` : `Overlay ${plural(events + stated, one, many)}`}
    </button>
  );
}

/** Why the bars are not stacked, although a field was chosen. */
function MissingStack({ report }: { report: Report }) {
  const text = missingStackText(report);
  if (text === null) return null;
  return (
    <p class="missing" data-testid="missing-stack">
      {visible(text)}
    </p>
  );
}

function labelOf({ histogram, kinds }: Drawing): string {
  const range = rangeText(histogram.buckets[0]!.start, histogram.until);
  const sums = kinds.map(({ one, many, total }) => plural(total, one, many)).join(" and ");
  return (
    `${sums}, ${range}, in ${histogram.buckets.length} bars of ${step(histogram.step_s)}. ` +
    "Arrow keys move, Shift with arrow keys selects, Enter zooms, Escape goes back."
  );
}

function SoFar() {
  const { view } = state.value;
  if (view && isLive(view)) return <LiveNow />;
  const part = shareCounted(view?.sources ?? []);
  return (
    <span class="tag live">{part === null ? "so far" : `so far, ${share(part, 1)} read`}</span>
  );
}

function Legend({ series, lane }: { series: Series[]; lane: string | null }) {
  const rest = series.length - LEGEND_SHOWN;
  if (series.length === 0 && lane === null) return null;
  return (
    <ul class="legend" aria-label="Colours">
      {series.slice(0, LEGEND_SHOWN).map((one) => (
        <li key={one.name}>
          <Swatch color={one.color} edge={one.edge} />
          <LogText value={one.label} />
          <span class="muted">{count(one.total)}</span>
        </li>
      ))}
      {rest > 0 && <li class="muted">and {rest} more</li>}
      {lane !== null && (
        <li class="muted" data-testid="backdrop">
          <span class="swatch lane" />
          {lane}
        </li>
      )}
    </ul>
  );
}

/** Why there is no chart. */
function NoChart({ report, complete }: { report: Report; complete: boolean }) {
  const filtered = hasFilter(question.value);
  if (report.matching > 0)
    return (
      <p class="no-chart">
        The lines of this format have no time, so there is nothing to draw over time.
      </p>
    );
  const records = recordsOfKind(report);
  const { one, many } = wordsOf(report);
  if (records > 0 && filtered) {
    return (
      <p class="no-chart">
        None of the {plural(records, one, many)} matches the filter.{" "}
        <button type="button" class="button small" onClick={() => filterBy([], [])}>
          Clear the filter
        </button>
      </p>
    );
  }
  return (
    <p class="no-chart">{complete ? `No ${one} was read.` : "Waiting for the first lines…"}</p>
  );
}
