import { useState } from "preact/hooks";
import { remove } from "../control/session";
import { cancelUpload, followUpload, stopFollowing } from "../control/uploads";
import { bytes, rate } from "../format/bytes";
import { count, plural, share } from "../format/number";
import { nameParts, visible } from "../format/text";
import { hasFormatBox, openBox } from "../format-box/control";
import type { Source } from "../generated/Source";
import { isOver, isWaiting, type Row, rowsOf } from "../state/rows";
import { state } from "../state/store";
import { withoutLines } from "../state/withoutLines";
import { LogText } from "./LogText";

const PHASES: Record<Row["phase"], string> = {
  waiting: "waiting",
  reading: "reading",
  following: "following",
  listening: "listening",
  interrupted: "interrupted, reconnecting…",
  orphaned: "broken off: add the file again to go on",
  done: "done",
  failed: "failed",
  cancelled: "cancelled",
};

/** Rows that are shown before a summary takes their place. */
const ROWS_MAX = 3;

/** One row per source with its progress. */
export function Progress() {
  const [isOpen, setOpen] = useState(false);
  const rows = rowsOf(state.value);
  if (rows.length === 0) return null;
  const isSummed = rows.length > ROWS_MAX;
  return (
    <section class="panel progress" aria-label="Files">
      {isSummed && <Summary rows={rows} isOpen={isOpen} onToggle={() => setOpen(!isOpen)} />}
      <ul
        id={FILES}
        class={isSummed && !isOpen ? "closed" : undefined}
        tabIndex={isSummed && isOpen ? 0 : undefined}
        aria-label="Files"
      >
        {rows.map((row) => (
          <ProgressRow key={row.key} row={row} />
        ))}
      </ul>
    </section>
  );
}

const FILES = "files";

/** Many files in one line: how many, how much, and how far. */
function Summary({
  rows,
  isOpen,
  onToggle,
}: {
  rows: Row[];
  isOpen: boolean;
  onToggle: () => void;
}) {
  const done = rows.filter((row) => row.phase === "done").length;
  const failed = rows.filter((row) => row.phase === "failed" || row.phase === "orphaned").length;
  const sum = (of: (row: Row) => number) => rows.reduce((total, row) => total + of(row), 0);
  const unparsed = sum((row) => unparsedOf(row.source));
  const lines = sum((row) => row.source?.lines ?? 0);
  const facts = [
    `${count(rows.length)} ${withoutLines.value ? "sources" : "files"}`,
    bytes(sum((row) => row.bytes_done)),
    withoutLines.value ? plural(lines, "request") : plural(lines, "line"),
    done === rows.length ? "done" : `${count(done)} done`,
  ];
  return (
    <p class="progress-summary" data-testid="progress-summary">
      <span>{facts.join(" · ")}</span>
      {failed > 0 && <span class="bad">{count(failed)} failed</span>}
      {unparsed > 0 && <span class="unparsed">{count(unparsed)} unparsed</span>}
      <button
        type="button"
        class="link"
        aria-expanded={isOpen}
        aria-controls={FILES}
        data-testid="progress-toggle"
        onClick={onToggle}
      >
        {isOpen ? "Hide the files" : "Show the files"}
      </button>
    </p>
  );
}

function unparsedOf(source: Row["source"]): number {
  return source === null ? 0 : source.unparsed_lines + source.too_long_lines;
}

function ProgressRow({ row }: { row: Row }) {
  return (
    <li class={`progress-row ${row.phase}`} data-testid="progress-row" data-state={row.phase}>
      <FileName name={row.name || "standard input"} />
      {isOpenEnded(row) ? <span /> : <Meter row={row} />}
      <span class="progress-bytes" data-testid="progress-bytes" data-bytes={row.bytes_done}>
        {bytesText(row)}
      </span>
      <span class="progress-rate">
        {row.bytes_per_second > 0 ? rate(row.bytes_per_second) : ""}
      </span>
      <Lines row={row} />
      <span class="progress-phase">{PHASES[row.phase]}</span>
      <RowButtons row={row} />
      {row.source?.unread && (
        <span class="progress-message" data-testid="unread" data-log={row.source.unread.is_log}>
          <LogText value={row.source.unread.reason} title={false} />
        </span>
      )}
      {row.message !== null && (
        <span class="progress-message">
          <LogText value={row.message} title={false} />
        </span>
      )}
    </li>
  );
}

/** A name that is cut in its middle if there is no room for it. */
function FileName({ name }: { name: string }) {
  const { start, end } = nameParts(name);
  return (
    <span class="progress-name" title={visible(name)}>
      {start !== "" && (
        <span class="progress-name-start">
          <LogText value={start} title={false} />
        </span>
      )}
      <span class="progress-name-end">
        <LogText value={end} title={false} />
      </span>
    </span>
  );
}

/** Whether the source has no length, so that there is no share to show. */
function isOpenEnded(row: Row): boolean {
  return row.bytes_total === null && isWaiting(row);
}

function Meter({ row }: { row: Row }) {
  const part = row.bytes_total ? row.bytes_done / row.bytes_total : row.phase === "done" ? 1 : 0;
  const percent = Math.round(part * 100);
  return (
    <span
      class="meter"
      role="progressbar"
      aria-label="Share read"
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={row.bytes_total === null && !isOver(row.phase) ? undefined : percent}
    >
      <span style={{ transform: `scaleX(${part})` }} />
    </span>
  );
}

function bytesText(row: Row): string {
  if (row.bytes_total === null || row.phase === "done") return bytes(row.bytes_done);
  return `${bytes(row.bytes_done)} of ${bytes(row.bytes_total)} · ${share(row.bytes_done, row.bytes_total)}`;
}

function Lines({ row }: { row: Row }) {
  const { source } = row;
  if (!source) return <span class="progress-lines" data-testid="progress-lines" data-lines={0} />;
  const unparsed = unparsedOf(source);
  const directives = source.lines - source.records - unparsed;
  return (
    <span
      class="progress-lines"
      data-testid="progress-lines"
      data-lines={source.lines}
      data-unparsed={unparsed}
    >
      {source.records_only ? plural(source.records, "request") : plural(source.lines, "line")}
      <Formats source={source} />
      {directives > 0 && <span class="muted"> {plural(directives, "directive")}</span>}
      {unparsed > 0 && <span class="unparsed">{count(unparsed)} unparsed</span>}
    </span>
  );
}

/** The format of a source, or all its formats with the records of each. */
function Formats({ source: { format, formats } }: { source: Source }) {
  if (formats.length > 1) {
    return formats.map(({ name, records }) => (
      <span class="tag" key={name} data-testid="format-count">
        {name} {count(records)}
      </span>
    ));
  }
  if (format === null) return null;
  return (
    <span class="tag" title={format.definition}>
      {format.name}
    </span>
  );
}

/** The buttons of a source. */
function RowButtons({ row }: { row: Row }) {
  const { cancellable, followable, stoppable, removable, source } = row;
  return (
    <span class="progress-buttons">
      {source !== null && hasFormatBox(source) && (
        <button
          type="button"
          class="button small"
          title="Give it a format, or its values names"
          aria-label={`Format of ${row.name}`}
          data-testid="format-open"
          onClick={() => openBox(source.number)}
        >
          Format…
        </button>
      )}
      {cancellable !== null && (
        <button
          type="button"
          class="button small"
          onClick={() => cancelUpload(cancellable)}
          aria-label={`Cancel ${row.name}`}
        >
          Cancel
        </button>
      )}
      {stoppable !== null && (
        <button
          type="button"
          class="button small"
          onClick={() => stopFollowing(stoppable)}
          aria-label={`Stop following ${row.name}`}
        >
          Stop following
        </button>
      )}
      {followable !== null && (
        <button
          type="button"
          class="button small"
          title="Keep reading lines appended to the file"
          onClick={() => followUpload(followable)}
          aria-label={`Follow ${row.name}`}
        >
          Follow
        </button>
      )}
      {removable !== null && cancellable === null && stoppable === null && (
        <RemoveButton name={row.name} number={removable} />
      )}
    </span>
  );
}

/** Removes a source at the second press. */
function RemoveButton({ name, number }: { name: string; number: number }) {
  const [isSure, setSure] = useState(false);
  return (
    <button
      type="button"
      class={isSure ? "button small danger" : "button small"}
      title="Take its lines out of all numbers"
      aria-label={isSure ? `Really remove ${name}` : `Remove ${name}`}
      data-testid="remove-source"
      onBlur={() => setSure(false)}
      onClick={() => (isSure ? void remove(number) : setSure(true))}
    >
      {isSure ? "Really remove" : "Remove"}
    </button>
  );
}
