import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { heatColors } from "../chart/palette";
import { compact } from "../format/number";
import type { Report } from "../generated/Report";
import { DURATION_TITLES } from "../generated/words";
import { chooseDuration } from "../measure/control";
import { durationsOf } from "../measure/measures";
import type { Duration } from "../state/measure";
import { Swatch } from "../views/Swatch";
import { theme } from "../views/theme";
import { ZonePicker } from "../views/ZonePicker";
import { HeatChart } from "./HeatChart";
import { HeatTable } from "./HeatTable";
import { type Answer, heatOf } from "./map";

interface Props {
  report: Report;
  answer: Answer;
  /** A remark beside the title. */
  note: ComponentChildren;
}

/** The map of a duration with its heading, legend and options. */
export function HeatPanel({ report, answer, note }: Props) {
  const [isTable, setTable] = useState(false);
  const heat = useMemo(() => heatOf(answer), [answer]);
  if (heat === null) return null;
  return (
    <div class="chart-panel">
      <div class="chart-head">
        <Title report={report} shown={heat.field} />
        {note}
        <Legend most={Math.max(0, ...heat.spans.flatMap(({ counts }) => counts))} />
        <ZonePicker shown={report.time.zone} />
        <button
          type="button"
          class="link"
          data-testid="chart-table"
          aria-expanded={isTable}
          onClick={() => setTable(!isTable)}
        >
          Table
        </button>
      </div>
      <HeatChart heat={heat} report={report} />
      {isTable && <HeatTable heat={heat} report={report} />}
    </div>
  );
}

/** The lines, and the colours from a single record to the most in a cell. */
function Legend({ most }: { most: number }) {
  const colors = heatColors(theme.value);
  return (
    <ul class="legend" aria-label="Legend">
      <li>
        <span class="line-sample" />
        p95
      </li>
      <li>
        <span class="line-sample dashed" />
        median
      </li>
      <li>
        1
        <span class="ramp">
          {colors.map((color) => (
            <Swatch key={color} color={color} edge={null} />
          ))}
        </span>
        {compact(most)}
      </li>
    </ul>
  );
}

/** The name of the duration, which can be changed if the records have several. */
function Title({ report, shown }: { report: Report; shown: Duration }) {
  const fields = durationsOf(report);
  if (fields.length < 2) return <h2>{DURATION_TITLES[shown]}</h2>;
  return (
    <>
      <h2 class="visually-hidden">{DURATION_TITLES[shown]}</h2>
      <select
        class="chart-title"
        value={shown}
        aria-label="Duration"
        data-testid="duration"
        onChange={({ currentTarget }) => {
          const field = fields.find((field) => field === currentTarget.value);
          if (field !== undefined) chooseDuration(report, field);
        }}
      >
        {fields.map((field) => (
          <option key={field} value={field}>
            {DURATION_TITLES[field]}
          </option>
        ))}
      </select>
    </>
  );
}
