import type { ComponentChildren, RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { groupColors } from "../chart/palette";
import { change } from "../control/questions";
import { fieldTitle } from "../format/field";
import { count, lowerBound } from "../format/number";
import { ownValue } from "../format/ownValue";
import type { Report } from "../generated/Report";
import { numberOf, totalOf } from "../measure/measures";
import { question } from "../state/store";
import { subjectOf } from "../state/story";
import { type Columns, TopRow, type Value } from "./TopRow";
import { theme } from "./theme";
import { useDrawnRows } from "./useDrawnRows";

/** The lengths of a list that "more" steps through. */
const ROWS = [10, 50, 200] as const;

/** The values of a field that a list shows. */
export interface Values {
  rows: readonly Value[];
  /** The number of all values; `undefined` if it is not known. */
  distinct: number | undefined;
  /** Whether memory ran out for this field. */
  isEstimated: boolean;
  /** The sums over all records, whether or not they have a value. */
  sums: { matching: number; errors: number; bytes_sent: number };
}

/** The values of a field that a report has. */
export function valuesOfReport(report: Report, field: string): Values {
  return {
    rows: ownValue(report.top, field) ?? [],
    distinct: ownValue(report.distinct, field),
    isEstimated: report.estimated.includes(field),
    sums: report,
  };
}

interface Props {
  field: string;
  values: Values;
  columns: Columns;
  report: Report;
  /** Whether other values are awaited. */
  isBusy?: boolean;
  /** What stands above the rows; a heading of its own otherwise. */
  head?: ComponentChildren;
  /** Whether all rows are there that "more" would show. */
  isWhole?: boolean;
  /** Its names for tests and for screen readers, if they are not those of its field. */
  testId?: string;
  label?: string;
}

/** The values of one field. */
export function TopList(props: Props) {
  const { field, values, columns, report, isBusy = false, head, isWhole = false } = props;
  const { testId = `top-${field}`, label = fieldTitle(field) } = props;
  const { rows, sums, distinct, isEstimated } = values;
  const { measure } = columns;
  const most = rows.reduce((max, row) => Math.max(max, numberOf(row, measure) ?? 0), 0);
  const colors = colorsOf(field, report, rows);
  const list = useRef<HTMLUListElement>(null);
  const drawn = useDrawnRows(rows.length);
  const onFocusIn = useFocusOfValue(list);
  return (
    <section class={classOf(field, columns)} data-testid={testId} aria-label={label}>
      {head ?? (
        <h2>
          {fieldTitle(field)}
          {distinct !== undefined && (
            <span class="muted">{lowerBound(count(distinct), isEstimated)}</span>
          )}
          {isEstimated && <Estimate />}
        </h2>
      )}
      <ul
        ref={list}
        onFocusIn={onFocusIn}
        class={rows.length > ROWS[0] && !isWhole ? "long" : undefined}
        aria-busy={isBusy || drawn < rows.length}
      >
        {rows.slice(0, drawn).map((row, at) => (
          <TopRow
            // biome-ignore lint/suspicious/noArrayIndexKey: to change a row is faster than to move it
            key={at}
            field={field}
            row={row}
            most={most}
            total={totalOf(sums, measure)}
            columns={columns}
            report={report}
            color={colors.get(row.value)}
          />
        ))}
      </ul>
      {!isWhole && <More shown={rows.length} distinct={distinct ?? rows.length} />}
    </section>
  );
}

function classOf(field: string, { hasErrors, hasTime, hasLine }: Columns): string {
  const parts = [
    "panel top-list",
    subjectOf(field, "") !== null && "has-stories",
    hasErrors && "has-errors",
    hasTime && "has-time",
    hasLine && "has-lines",
  ];
  return parts.filter(Boolean).join(" ");
}

/** That the numbers of a field are estimates. */
export function Estimate() {
  return (
    <span
      class="tag estimate"
      title="Memory ran out for this field: values that came after that share one row, unless they are frequent."
    >
      estimate
    </span>
  );
}

/**
 * Keeps the focus on the value that has it. The elements of a list stay where they are, whatever
 * values they show: new or moved elements would cost most of the time of an answer, and would jump
 * while a log is read.
 */
function useFocusOfValue(list: RefObject<HTMLUListElement | null>) {
  const focused = useRef<string | undefined>(undefined);
  useLayoutEffect(() => {
    const active = document.activeElement;
    if (!(active instanceof HTMLElement) || !list.current?.contains(active)) return;
    if (focused.current === undefined || active.dataset.value === focused.current) return;
    const rows = list.current.querySelectorAll<HTMLElement>(".top-row");
    const own = [...rows].find((row) => row.dataset.value === focused.current);
    own?.focus({ preventScroll: true });
  });
  return (event: FocusEvent) => {
    focused.current = (event.target as HTMLElement).dataset.value;
  };
}

/**
 * The colours of the rows of a list: those of the chart if it is stacked by the field. Status codes
 * always have theirs.
 */
function colorsOf(field: string, report: Report, rows: readonly Value[]): Map<string, string> {
  const stacked = report.histogram?.field === field ? report.histogram.groups : null;
  if (stacked === null && field !== "status") return new Map();
  const values = stacked ?? rows.map((row) => row.value);
  const colors = groupColors(field, values, theme.value);
  return new Map(values.map((value, at) => [value, colors[at]!]));
}

function More({ shown, distinct }: { shown: number; distinct: number }) {
  const { top } = question.value;
  const [least] = ROWS;
  const next = ROWS.find((rows) => rows > top);
  const hasMore = shown < distinct && shown >= top && next !== undefined;
  const hasFewer = shown > least;
  if (!hasMore && !hasFewer) return null;
  return (
    <p class="more">
      {hasMore && (
        <button type="button" class="link" onClick={() => change({ top: next })}>
          {next < distinct ? `Show ${next} of ${count(distinct)}` : `Show all ${count(distinct)}`}
        </button>
      )}
      {hasFewer && (
        <button type="button" class="link" onClick={() => change({ top: least })}>
          Show {least}
        </button>
      )}
    </p>
  );
}
