import { cancelUpload, followUpload, stopFollowing } from "../control/uploads";
import { bytes, rate } from "../format/bytes";
import { count, plural, share } from "../format/number";
import type { Source } from "../generated/Source";
import { isOver, isWaiting, type Row, rowsOf } from "../state/rows";
import { state } from "../state/store";
import { LogText } from "./LogText";

const PHASES: Record<Row["phase"], string> = {
  waiting: "waiting",
  reading: "reading",
  following: "following",
  listening: "listening",
  interrupted: "interrupted, reconnecting…",
  done: "done",
  failed: "failed",
  cancelled: "cancelled",
};

/** One row per source with its progress. */
export function Progress() {
  const rows = rowsOf(state.value);
  if (rows.length === 0) return null;
  return (
    <section class="panel progress" aria-label="Files">
      <ul>
        {rows.map((row) => (
          <ProgressRow key={row.key} row={row} />
        ))}
      </ul>
    </section>
  );
}

function ProgressRow({ row }: { row: Row }) {
  return (
    <li class={`progress-row ${row.phase}`} data-testid="progress-row" data-state={row.phase}>
      <span class="progress-name">
        <LogText value={row.name || "standard input"} />
      </span>
      {isOpenEnded(row) ? <span /> : <Meter row={row} />}
      <span class="progress-bytes" data-testid="progress-bytes" data-bytes={row.bytes_done}>
        {bytesText(row)}
      </span>
      <span class="progress-rate">
        {row.bytes_per_second > 0 ? rate(row.bytes_per_second) : ""}
      </span>
      <Lines row={row} />
      <span class="progress-phase">{PHASES[row.phase]}</span>
      <RowButton row={row} />
      {row.message !== null && (
        <span class="progress-message">
          <LogText value={row.message} title={false} />
        </span>
      )}
    </li>
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
  const unparsed = source.unparsed_lines + source.too_long_lines;
  const directives = source.lines - source.records - unparsed;
  return (
    <span
      class="progress-lines"
      data-testid="progress-lines"
      data-lines={source.lines}
      data-unparsed={unparsed}
    >
      {plural(source.lines, "line")}
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
function RowButton({ row }: { row: Row }) {
  const { cancellable, followable, stoppable } = row;
  return (
    <span class="progress-cancel">
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
    </span>
  );
}
