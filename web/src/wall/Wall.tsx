import { useEffect } from "preact/hooks";
import { bytes } from "../format/bytes";
import { duration } from "../format/duration";
import { wordsOf } from "../format/kind";
import { count, frequency, lowerBound, share } from "../format/number";
import { instantSeconds, parseStamp } from "../format/time";
import type { Report } from "../generated/Report";
import type { View } from "../generated/View";
import { DURATION_TITLES } from "../generated/words";
import { durationOf } from "../measure/measures";
import { blocks, families, question, stale } from "../state/store";
import { ChartPanel } from "../views/ChartPanel";
import { LogText } from "../views/LogText";
import { valuesOfReport } from "../views/TopList";
import { askFailing, endFailing, FAILING } from "./failing";

/** The rows of a list. */
const ROWS = 5;

/** Figures, the chart and three lists, to be read from afar. */
export function Wall({ view }: { view: View }) {
  const { report } = view;
  useEffect(askFailing);
  useEffect(() => endFailing, []);
  return (
    <div class={stale.value ? "wall stale" : "wall"} data-testid="wall">
      <h1 class="visually-hidden">{wordsOf(report).title} now</h1>
      <dl class="wall-figures">
        {figuresOf(report).map(([name, value, note]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd class="wall-value">{value}</dd>
            <dd>{note}</dd>
          </div>
        ))}
      </dl>
      <section class="hero" aria-label="Traffic" inert>
        <ChartPanel report={report} complete={view.complete} />
      </section>
      <div class="wall-lists">
        <List title="Clients" rows={rowsOf(report, "client")} />
        <List title="Failing paths" rows={failingRows()} />
        <Third report={report} />
      </div>
    </div>
  );
}

/** The figures of the measures: the name, the number and what is beside it. */
function figuresOf(report: Report): [string, string, string][] {
  const { matching, errors, bytes_sent, absent, distinct, estimated } = report;
  const seconds = secondsOf(report);
  const figures: [string, string, string][] = [
    [
      wordsOf(report).title,
      count(matching),
      seconds > 0 ? `${frequency(matching / seconds)} on average` : "",
    ],
  ];
  if (distinct.client !== undefined)
    figures.push(["Clients", lowerBound(count(distinct.client), estimated.includes("client")), ""]);
  if (!absent.includes("errors")) figures.push(["Errors", count(errors), share(errors, matching)]);
  if (!absent.includes("bytes_sent")) figures.push(["Bytes sent", bytes(bytes_sent), ""]);
  const field = durationOf(report, question.value);
  const times = field === null ? null : report[field];
  if (field !== null && times)
    figures.push([
      `${DURATION_TITLES[field]}, p95`,
      duration(times.p95),
      `median ${duration(times.p50)}`,
    ]);
  return figures;
}

function secondsOf({ time }: Report): number {
  const [first, last] = [parseStamp(time.first ?? ""), parseStamp(time.last ?? "")];
  return first && last ? instantSeconds(last) - instantSeconds(first) : 0;
}

/** A value of a list and its number. */
interface Row {
  value: string;
  text: string;
}

function rowsOf(report: Report, field: string): Row[] {
  const rows = valuesOfReport(report, field).rows.filter((row) => !row.absent && !row.remainder);
  return rows.map(({ value, count: number }) => ({ value, text: count(number) }));
}

/** The paths with the most errors. */
function failingRows(): Row[] {
  const answer = families.value.lists[FAILING]?.answer;
  const rows = answer?.group.rows.filter((row) => row.errors > 0 && !row.absent) ?? [];
  return rows.map((row) => ({
    value: row.value,
    text: `${count(row.errors)} of ${count(row.count)}`,
  }));
}

/** The addresses that were blocked; without blocks, what is asked for most. */
function Third({ report }: { report: Report }) {
  const clients = blocks.value.report?.clients ?? [];
  if (clients.length === 0) return <List title="Paths" rows={rowsOf(report, "path")} />;
  const rows = clients.map((one) => ({ value: one.client, text: count(one.blocks) }));
  return <List title="Blocked" rows={rows} />;
}

function List({ title, rows }: { title: string; rows: Row[] }) {
  return (
    <section>
      <h2>{title}</h2>
      {rows.length === 0 && <p class="muted">none</p>}
      <ol>
        {rows.slice(0, ROWS).map(({ value, text }) => (
          <li key={value}>
            <LogText value={value} title={false} edges />
            <b>{text}</b>
          </li>
        ))}
      </ol>
    </section>
  );
}
