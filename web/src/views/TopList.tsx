import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { groupColors, groupEdge } from "../chart/palette";
import { change, filterBy } from "../control/questions";
import { bytes } from "../format/bytes";
import { fieldLabel, fieldTitle } from "../format/field";
import { wordsOf } from "../format/kind";
import { count, lowerBound, plural, share } from "../format/number";
import { visible } from "../format/text";
import type { Report } from "../generated/Report";
import type { TopRow } from "../generated/TopRow";
import { REMAINDER_VALUE } from "../generated/words";
import { exclude, isIncluded, toggleInclude } from "../state/filter";
import { question, state } from "../state/store";
import { StoryButton } from "../story/StoryButton";
import { copyText } from "./copy";
import { LogText } from "./LogText";
import { Swatch } from "./Swatch";
import { theme } from "./theme";
import { useDrawnRows } from "./useDrawnRows";

/** The lengths of a list that "more" steps through. */
const ROWS = [10, 50, 200] as const;

interface ListProps {
  field: string;
  report: Report;
}

/** The most frequent values of one field. */
export function TopList({ field, report }: ListProps) {
  const rows = report.top[field] ?? [];
  const distinct = report.distinct[field];
  const most = rows.reduce((max, row) => Math.max(max, row.count), 0);
  const colors = colorsOf(field, report);
  const list = useRef<HTMLUListElement>(null);
  const drawn = useDrawnRows(rows.length);
  const onFocusIn = useFocusOfValue(list);
  return (
    <section
      class={field === "client" ? "panel top-list has-stories" : "panel top-list"}
      data-testid={`top-${field}`}
      aria-label={fieldTitle(field)}
    >
      <h2>
        {fieldTitle(field)}
        {distinct !== undefined && (
          <span class="muted">{lowerBound(count(distinct), report.estimated.includes(field))}</span>
        )}
        {report.estimated.includes(field) && (
          <span
            class="tag estimate"
            title="Memory ran out for this field: values that came after that share one row, unless they are frequent."
          >
            estimate
          </span>
        )}
      </h2>
      <ul
        ref={list}
        onFocusIn={onFocusIn}
        class={rows.length > ROWS[0] ? "long" : undefined}
        aria-busy={drawn < rows.length}
      >
        {rows.slice(0, drawn).map((row, at) => (
          <Row
            // biome-ignore lint/suspicious/noArrayIndexKey: to change a row is faster than to move it
            key={at}
            field={field}
            row={row}
            most={most}
            report={report}
            color={colors.get(row.value)}
          />
        ))}
      </ul>
      <More shown={rows.length} distinct={distinct ?? rows.length} />
    </section>
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

interface RowProps {
  field: string;
  row: TopRow;
  most: number;
  report: Report;
  /** Its colour in the chart, if it has one. */
  color: string | undefined;
}

function Row({ field, row, most, report, color }: RowProps) {
  const { matching, absent } = report;
  if (row.remainder) return <Remainder row={row} matching={matching} />;
  const included = isIncluded(question.value.clauses, field, row);
  const keepOut = () => filterBy(exclude(state.value.question.clauses, field, row));
  // Each row of the list of status codes has errors only, or none.
  const hasErrors = field !== "status" && !absent.includes("errors");
  const onClick = (event: MouseEvent) => {
    // The second click of a double click would undo the first.
    if (event.detail > 1) return;
    if (event.altKey) keepOut();
    else filterBy(toggleInclude(state.value.question.clauses, field, row));
  };
  return (
    <li
      class={included ? "top-item included" : "top-item"}
      onKeyDown={(event) => copyByKey(event, row.value)}
    >
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
          {color !== undefined && (
            <Swatch color={color} edge={groupEdge(field, row.value, theme.value)} />
          )}
          <LogText value={row.value} title={false} edges />
        </span>
        <span class="top-count">{lowerBound(count(row.count), (row.uncounted_max ?? 0) > 0)}</span>
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
      <CopyButton field={field} value={row.value} />
      {field === "client" && row.value_hex === undefined && <StoryButton client={row.value} />}
    </li>
  );
}

/** How long a button shows that it has copied. */
const COPIED_MS = 1500;

/** Copies the value of a row. */
function CopyButton({ field, value }: { field: string; value: string }) {
  const [isCopied, setCopied] = useState<boolean | null>(null);
  const copy = async () => {
    setCopied(await copyText(value));
    setTimeout(() => setCopied(null), COPIED_MS);
  };
  return (
    <button
      type="button"
      class="top-copy"
      data-testid="top-copy"
      aria-label={`Copy ${fieldLabel(field)} ${visible(value)}`}
      title="Copy the value (Ctrl+C)"
      onClick={() => void copy()}
    >
      <span class={isCopied === null ? "copy-icon" : undefined} aria-hidden="true">
        {isCopied === null ? "" : isCopied ? "✓" : "!"}
      </span>
      <span class="visually-hidden" role="status">
        {isCopied === null ? "" : isCopied ? "Copied" : "The browser does not allow to copy"}
      </span>
    </button>
  );
}

/** Copies the value by Ctrl+C. Not every browser sends `copy` if nothing is selected. */
function copyByKey(event: KeyboardEvent, value: string): void {
  const isCopy = (event.ctrlKey || event.metaKey) && event.key === "c";
  if (!isCopy || document.getSelection()?.isCollapsed === false) return;
  event.preventDefault();
  void copyText(value);
}

/** The row of the values that came after memory had run out. */
function Remainder({ row, matching }: { row: TopRow; matching: number }) {
  return (
    <li
      class="top-item remainder"
      title="Values that came after memory had run out, unless they are frequent."
    >
      <span class="top-row">
        <span class="top-value">{REMAINDER_VALUE}</span>
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

/**
 * The colours of the rows of a list: those of the chart if it is stacked by the field. Status codes
 * always have theirs.
 */
function colorsOf(field: string, report: Report): Map<string, string> {
  const stacked = report.histogram?.field === field ? report.histogram.groups : null;
  if (stacked === null && field !== "status") return new Map();
  const values = stacked ?? (report.top[field] ?? []).map((row) => row.value);
  const colors = groupColors(field, values, theme.value);
  return new Map(values.map((value, at) => [value, colors[at]!]));
}

function titleOf(row: TopRow, report: Report): string {
  const { matching, absent } = report;
  const { one, many } = wordsOf(report);
  const facts = [`${plural(row.count, one, many)}, ${share(row.count, matching)}`];
  if (!absent.includes("errors")) facts.push(`error rate ${share(row.errors, row.count)}`);
  if (!absent.includes("bytes_sent")) facts.push(`${bytes(row.bytes_sent)} sent`);
  if (row.uncounted_max) facts.push(`up to ${count(row.uncounted_max)} more, counted together`);
  return `${visible(row.value)}\n\n${facts.join(" · ")}\nClick to include, Alt-click to exclude`;
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
