import { useMemo } from "preact/hooks";
import { isStacked, type Series, seriesOf } from "../chart/series";
import { change, filterBy } from "../control/questions";
import { perStep, step } from "../format/duration";
import { fieldLabel, recordsNoun } from "../format/field";
import { count, plural, share } from "../format/number";
import { rangeText } from "../format/time";
import type { Histogram } from "../generated/Histogram";
import type { Report } from "../generated/Report";
import { STATUS_CLASS } from "../generated/words";
import { rowsOf, shareRead } from "../state/rows";
import { question, state } from "../state/store";
import { Chart } from "./Chart";
import { LogText } from "./LogText";
import { theme } from "./theme";
import { ZonePicker } from "./ZonePicker";

/** Fields with few enough values to have distinct colours. */
const STACKABLE = [STATUS_CLASS, "status", "method", "protocol", "host", "action", "level"];
/** Maximum number of legend entries. */
const LEGEND_SHOWN = 10;

/** The histogram with its heading, legend and options. */
export function ChartPanel({ report, complete }: { report: Report; complete: boolean }) {
  const { histogram } = report;
  const shown = theme.value;
  const noun = recordsNoun(report);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the colours change with the theme
  const series = useMemo(() => (histogram ? seriesOf(histogram, shown) : []), [histogram, shown]);
  if (!histogram || histogram.buckets.length === 0)
    return <NoChart report={report} complete={complete} />;
  return (
    <div class="chart-panel">
      <div class="chart-head">
        <h2>
          {noun === "request" ? "Requests" : "Records"} per {perStep(histogram.step_s)}
          {!complete && <SoFar />}
        </h2>
        {isStacked(series) && <Legend series={series} />}
        <Overlay report={report} />
        <ZonePicker shown={report.time.zone} />
        <StackSelect report={report} />
      </div>
      <Chart histogram={histogram} series={series} label={labelOf(histogram, report)} noun={noun} />
    </div>
  );
}

function labelOf(histogram: Histogram, report: Report): string {
  const range = rangeText(histogram.buckets[0]!.start, histogram.until);
  return (
    `${plural(report.matching, recordsNoun(report))}, ${range}, in ${histogram.buckets.length} bars of ${step(histogram.step_s)}. ` +
    "Arrow keys move, Shift with arrow keys selects, Enter zooms, Escape goes back."
  );
}

function SoFar() {
  const part = shareRead(rowsOf(state.value));
  return (
    <span class="tag live">{part === null ? "so far" : `so far, ${share(part, 1)} read`}</span>
  );
}

/** Offers to overlay firewall events on the requests, if the data has both. */
function Overlay({ report }: { report: Report }) {
  const { stack } = question.value;
  const events = (report.top.action ?? []).reduce((sum, row) => sum + row.count, 0);
  if (stack !== STATUS_CLASS || events === 0 || events === report.matching) return null;
  return (
    <button
      type="button"
      class="link"
      data-testid="overlay"
      onClick={() => change({ stack: "action" })}
    >
      Overlay {plural(events, "firewall event")}
    </button>
  );
}

function Legend({ series }: { series: Series[] }) {
  const rest = series.length - LEGEND_SHOWN;
  return (
    <ul class="legend" aria-label="Colours">
      {series.slice(0, LEGEND_SHOWN).map((one) => (
        <li key={one.name}>
          <span class="swatch" style={{ background: one.color }} />
          <LogText value={one.label} />
          <span class="muted">{count(one.total)}</span>
        </li>
      ))}
      {rest > 0 && <li class="muted">and {rest} more</li>}
    </ul>
  );
}

function StackSelect({ report }: { report: Report }) {
  const { stack } = question.value;
  const has = (field: string) => report.top[field] !== undefined;
  const fields = STACKABLE.filter((field) => field === STATUS_CLASS || has(field));
  const shown = fields.includes(stack) ? fields : [...fields, stack];
  return (
    <label class="stack-select">
      Stack by{" "}
      <select
        value={stack}
        data-testid="stack"
        onChange={(event) => change({ stack: event.currentTarget.value })}
      >
        {shown.map((field) => (
          <option key={field} value={field}>
            {field === STATUS_CLASS && !has("status") ? "nothing" : fieldLabel(field)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Why there is no chart. */
function NoChart({ report, complete }: { report: Report; complete: boolean }) {
  const filtered = question.value.clauses.length > 0;
  if (report.matching > 0)
    return (
      <p class="no-chart">
        The lines of this format have no time, so there is nothing to draw over time.
      </p>
    );
  if (report.records > 0 && filtered) {
    return (
      <p class="no-chart">
        None of the {plural(report.records, recordsNoun(report))} matches the filter.{" "}
        <button type="button" class="button small" onClick={() => filterBy([])}>
          Clear the filter
        </button>
      </p>
    );
  }
  return (
    <p class="no-chart">{complete ? "No request was read." : "Waiting for the first lines…"}</p>
  );
}
