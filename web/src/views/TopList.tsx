import { statusColor, type Theme } from "../chart/palette";
import { change, filterBy } from "../control/questions";
import { bytes } from "../format/bytes";
import { fieldLabel, fieldTitle } from "../format/field";
import { wordsOf } from "../format/kind";
import { count, plural, share } from "../format/number";
import { visible } from "../format/text";
import type { Report } from "../generated/Report";
import type { TopRow } from "../generated/TopRow";
import { exclude, isIncluded, toggleInclude } from "../state/filter";
import { question } from "../state/store";
import { LogText } from "./LogText";
import { theme } from "./theme";

/** The lengths of a list that "more" steps through. */
const ROWS = [10, 50, 200];

interface ListProps {
  field: string;
  report: Report;
}

/** The most frequent values of one field. */
export function TopList({ field, report }: ListProps) {
  const rows = report.top[field] ?? [];
  const distinct = report.distinct[field];
  const most = rows.reduce((max, row) => Math.max(max, row.count), 0);
  return (
    <section class="panel top-list" data-testid={`top-${field}`} aria-label={fieldTitle(field)}>
      <h2>
        {fieldTitle(field)}
        {distinct !== undefined && <span class="muted">{count(distinct)}</span>}
        {report.estimated.includes(field) && (
          <span
            class="tag estimate"
            title="Memory ran out for this field: rare values share one row."
          >
            estimate
          </span>
        )}
      </h2>
      <ul>
        {rows.map((row) => (
          <Row key={keyOf(row)} field={field} row={row} most={most} report={report} />
        ))}
      </ul>
      <More shown={rows.length} distinct={distinct ?? rows.length} />
    </section>
  );
}

function keyOf(row: TopRow): string {
  return row.remainder ? "remainder" : (row.value_hex ?? `text ${row.value}`);
}

interface RowProps {
  field: string;
  row: TopRow;
  most: number;
  report: Report;
}

function Row({ field, row, most, report }: RowProps) {
  const { matching, absent } = report;
  if (row.remainder) return <Remainder row={row} matching={matching} />;
  const { clauses } = question.value;
  const included = isIncluded(clauses, field, row);
  const keepOut = () => filterBy(exclude(clauses, field, row));
  // Each row of the list of status codes has errors only, or none.
  const hasErrors = field !== "status" && !absent.includes("errors");
  const onClick = (event: MouseEvent) => {
    if (event.altKey) keepOut();
    else filterBy(toggleInclude(clauses, field, row));
  };
  return (
    <li class={included ? "top-item included" : "top-item"}>
      <button
        type="button"
        class="top-row"
        data-testid="top-row"
        data-value={row.value}
        data-count={row.count}
        aria-pressed={included}
        title={titleOf(row, report)}
        onClick={onClick}
      >
        <Bar row={row} most={most} errors={hasErrors ? row.errors : 0} />
        <span class="top-value">
          {field === "status" && <Dot status={row.value} theme={theme.value} />}
          <LogText value={row.value} title={false} />
        </span>
        <span class="top-count">{count(row.count)}</span>
        <span class="top-share">{share(row.count, matching)}</span>
      </button>
      <button
        type="button"
        class="top-exclude"
        data-testid="top-exclude"
        aria-label={`Exclude ${fieldLabel(field)} ${visible(row.value)}`}
        title="Exclude (Alt-click)"
        onClick={keepOut}
      >
        −
      </button>
    </li>
  );
}

/** The row of the rare values for which memory did not suffice. */
function Remainder({ row, matching }: { row: TopRow; matching: number }) {
  return (
    <li class="top-item remainder" title="When memory ran out, rare values were counted together.">
      <span class="top-row">
        <span class="top-value">rare values, counted together</span>
        <span class="top-count">{count(row.count)}</span>
        <span class="top-share">{share(row.count, matching)}</span>
      </span>
    </li>
  );
}

/** A bar as long as the count relative to the first row, with a strip for the errors. */
function Bar({ row, most, errors }: { row: TopRow; most: number; errors: number }) {
  const scale = (value: number) => ({ transform: `scaleX(${most > 0 ? value / most : 0})` });
  return (
    <>
      <span class="top-bar" style={scale(row.count)} />
      {errors > 0 && <span class="top-errors" style={scale(errors)} />}
    </>
  );
}

function Dot({ status, theme: shown }: { status: string; theme: Theme }) {
  return <span class="swatch" style={{ background: statusColor(status, shown) }} />;
}

function titleOf(row: TopRow, report: Report): string {
  const { matching, absent } = report;
  const { one, many } = wordsOf(report);
  const facts = [`${plural(row.count, one, many)}, ${share(row.count, matching)}`];
  if (!absent.includes("errors")) facts.push(`error rate ${share(row.errors, row.count)}`);
  if (!absent.includes("bytes_sent")) facts.push(`${bytes(row.bytes_sent)} sent`);
  return `${visible(row.value)}\n\n${facts.join(" · ")}\nClick to include, Alt-click to exclude`;
}

function More({ shown, distinct }: { shown: number; distinct: number }) {
  const { top } = question.value;
  const next = ROWS.find((rows) => rows > top);
  if (shown >= distinct || shown < top || next === undefined) return null;
  return (
    <button type="button" class="link more" onClick={() => change({ top: next })}>
      {next < distinct ? `Show ${next} of ${count(distinct)}` : `Show all ${count(distinct)}`}
    </button>
  );
}
