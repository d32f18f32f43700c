import { useMemo } from "preact/hooks";
import { isStacked, type Series, seriesOf } from "../chart/series";
import { change, filterBy } from "../control/questions";
import { perStep, step } from "../format/duration";
import { fieldLabel } from "../format/field";
import { defaultStack, missingStackText, recordsOfKind, wordsOf } from "../format/kind";
import { count, plural, share } from "../format/number";
import { visible } from "../format/text";
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
  const words = wordsOf(report);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the colours change with the theme
  const series = useMemo(() => (histogram ? seriesOf(histogram, shown) : []), [histogram, shown]);
  if (!histogram || histogram.buckets.length === 0)
    return <NoChart report={report} complete={complete} />;
  return (
    <div class="chart-panel">
      <div class="chart-head">
        <h2>
          {words.title} per {perStep(histogram.step_s)}
          {!complete && <SoFar />}
        </h2>
        {isStacked(series) && <Legend series={series} />}
        <ZonePicker shown={report.time.zone} />
        <StackSelect report={report} />
      </div>
      <Chart
        histogram={histogram}
        series={series}
        label={labelOf(histogram, report)}
        noun={words}
      />
      <MissingStack report={report} />
    </div>
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

function labelOf(histogram: Histogram, report: Report): string {
  const { one, many } = wordsOf(report);
  const range = rangeText(histogram.buckets[0]!.start, histogram.until);
  return (
    `${plural(report.matching, one, many)}, ${range}, in ${histogram.buckets.length} bars of ${step(histogram.step_s)}. ` +
    "Arrow keys move, Shift with arrow keys selects, Enter zooms, Escape goes back."
  );
}

function SoFar() {
  const part = shareRead(rowsOf(state.value));
  return (
    <span class="tag live">{part === null ? "so far" : `so far, ${share(part, 1)} read`}</span>
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
  // Two names of one field are one option, which is right for every kind of records.
  const stack = question.value.stack === defaultStack(report) ? STATUS_CLASS : question.value.stack;
  const fields = stackFields(report);
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
            {field === STATUS_CLASS ? defaultStackLabel(report) : visible(fieldLabel(field))}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The fields that the bars can be stacked by. */
function stackFields(report: Report): string[] {
  const isOffered = (field: string) =>
    field === STATUS_CLASS || (hasList(report, field) && field !== defaultStack(report));
  return STACKABLE.filter(isOffered);
}

/** The name of the default stack; requests without a status are not stacked by default. */
function defaultStackLabel(report: Report): string {
  const field = defaultStack(report);
  return field === STATUS_CLASS && !hasList(report, "status") ? "nothing" : fieldLabel(field);
}

function hasList(report: Report, field: string): boolean {
  return report.top[field] !== undefined;
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
  const records = recordsOfKind(report);
  const { one, many } = wordsOf(report);
  if (records > 0 && filtered) {
    return (
      <p class="no-chart">
        None of the {plural(records, one, many)} matches the filter.{" "}
        <button type="button" class="button small" onClick={() => filterBy([])}>
          Clear the filter
        </button>
      </p>
    );
  }
  return (
    <p class="no-chart">{complete ? `No ${one} was read.` : "Waiting for the first lines…"}</p>
  );
}
