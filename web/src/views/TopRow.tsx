import { useState } from "preact/hooks";
import { groupEdge } from "../chart/palette";
import { filterBy } from "../control/questions";
import { bytes } from "../format/bytes";
import { fieldLabel } from "../format/field";
import { wordsOf } from "../format/kind";
import { count, lowerBound, plural, share } from "../format/number";
import { visible } from "../format/text";
import type { GroupRow } from "../generated/GroupRow";
import type { Report } from "../generated/Report";
import type { TopRow as TopRowData } from "../generated/TopRow";
import { REMAINDER_VALUE } from "../generated/words";
import { numberOf, textOf, timeOf } from "../measure/measures";
import { excluded, isChosen, toggled } from "../state/choice";
import type { Measure } from "../state/measure";
import { question, state } from "../state/store";
import { subjectOf } from "../state/story";
import { StoryButton } from "../story/StoryButton";
import { tellStory } from "../story/tell";
import { copyText } from "./copy";
import { LogText } from "./LogText";
import { takeRowKey } from "./rowKeys";
import { Spark } from "./Spark";
import { Swatch } from "./Swatch";
import { theme } from "./theme";

/** A value of a list with what only a list that was asked for has. */
export interface Value extends TopRowData {
  measures?: GroupRow["measures"];
  /** Its records in spans of the time. */
  overTime?: readonly number[] | undefined;
}

/** The columns of a list beside the value. */
export interface Columns {
  /** That of the number, the bars and the shares. */
  measure: Measure;
  hasErrors: boolean;
  hasTime: boolean;
  /** Whether each row has a line over the time. */
  hasLine: boolean;
}

/** The error rate from which it is marked, and the duration in seconds. */
const RATE_BAD = 0.05;
const TIME_SLOW_S = 1;

interface RowProps {
  field: string;
  row: Value;
  /** The largest value of the measure in the list. */
  most: number;
  /** The sum of the measure over the whole list; `null` if there is none. */
  total: number | null;
  columns: Columns;
  report: Report;
  /** Its colour in the chart, if it has one. */
  color: string | undefined;
}

/** A value of a list, with its numbers and its buttons. */
export function TopRow({ field, row, most, total, columns, report, color }: RowProps) {
  const { absent } = report;
  if (row.remainder) return <Remainder row={row} total={total} columns={columns} />;
  const included = isChosen(question.value, field, row);
  const apply = (change: typeof toggled) => {
    const { clauses, conditions } = change(state.value.question, field, row);
    filterBy(clauses, conditions);
  };
  const keepOut = () => apply(excluded);
  const isText = row.value_hex === undefined && !row.absent;
  const subject = isText ? subjectOf(field, row.value) : null;
  const { measure } = columns;
  const value = numberOf(row, measure);
  // Each row of the list of status codes has errors only, or none.
  const hasErrors = field !== "status" && !absent.includes("errors") && measure === "requests";
  const onClick = (event: MouseEvent) => {
    // The second click of a double click would undo the first.
    if (event.detail > 1) return;
    if (event.altKey) keepOut();
    else apply(toggled);
  };
  return (
    <li
      class={included ? "top-item included" : "top-item"}
      onKeyDown={(event) =>
        takeRowKey(event, {
          value: row.value,
          exclude: keepOut,
          story: subject && (() => tellStory(subject)),
        })
      }
    >
      <button
        type="button"
        class="top-row"
        data-testid="top-row"
        data-value={row.value}
        data-count={row.count}
        data-absent={row.absent}
        aria-pressed={included}
        title={titleOf(row, report)}
        onClick={onClick}
      >
        <Bar value={value ?? 0} most={most} errors={hasErrors ? row.errors : 0} />
        <span class="top-value">
          {color !== undefined && (
            <Swatch color={color} edge={groupEdge(field, row.value, theme.value)} />
          )}
          {row.absent ? (
            <span class="none">{row.value}</span>
          ) : (
            <LogText value={row.value} title={false} edges />
          )}
        </span>
        <Numbers row={row} total={total} columns={columns} />
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
      {subject && <StoryButton field={field} value={row.value} />}
    </li>
  );
}

interface NumbersProps {
  row: Value;
  total: number | null;
  columns: Columns;
}

/** The measure of a row, its share, its line over the time, its error rate and its duration. */
function Numbers({ row, total, columns }: NumbersProps) {
  const { measure, hasErrors, hasTime, hasLine } = columns;
  const value = numberOf(row, measure);
  const rate = row.count > 0 ? row.errors / row.count : 0;
  const time_s = timeOf(row);
  return (
    <span class="numbers">
      <span class="top-count">
        {lowerBound(textOf(value, measure), (row.uncounted_max ?? 0) > 0)}
      </span>
      <span class="top-share">{total === null ? "" : share(value ?? 0, total)}</span>
      {hasLine && <Spark counts={row.overTime ?? []} />}
      {hasErrors && (
        <span class={rate >= RATE_BAD ? "top-errors-share bad" : "top-errors-share"}>
          {share(row.errors, row.count)}
        </span>
      )}
      {hasTime && (
        <span class={(time_s ?? 0) >= TIME_SLOW_S ? "top-time warn" : "top-time"}>
          {time_s === null ? "" : textOf(time_s, "time")}
        </span>
      )}
    </span>
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

/** The row of the values that came after memory had run out. */
function Remainder(props: NumbersProps) {
  return (
    <li
      class="top-item remainder"
      title="Values that came after memory had run out, unless they are frequent."
    >
      <span class="top-row">
        <span class="top-value">{REMAINDER_VALUE}</span>
        <Numbers {...props} />
      </span>
    </li>
  );
}

/** A bar as long as the value relative to the largest, with a strip for the errors. */
function Bar({ value, most, errors }: { value: number; most: number; errors: number }) {
  const scale = (value: number) => ({ transform: `scaleX(${most > 0 ? value / most : 0})` });
  return (
    <>
      <span class="top-bar" style={scale(value)} />
      {errors > 0 && <span class="top-errors" style={scale(errors)} />}
    </>
  );
}

function titleOf(row: Value, report: Report): string {
  const { absent } = report;
  const { one, many } = wordsOf(report);
  const facts = [plural(row.count, one, many)];
  if (!absent.includes("errors")) facts.push(`error rate ${share(row.errors, row.count)}`);
  if (!absent.includes("bytes_sent")) facts.push(`${bytes(row.bytes_sent)} sent`);
  if (row.uncounted_max) facts.push(`up to ${count(row.uncounted_max)} more, counted together`);
  return `${visible(row.value)}\n\n${facts.join(" · ")}\nClick to include, Alt-click to exclude`;
}
