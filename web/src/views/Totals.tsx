import type { ComponentChildren } from "preact";
import { bytes } from "../format/bytes";
import { type CacheFigure, cachesOf } from "../format/cache";
import { duration, span } from "../format/duration";
import { recordsOfKind, wordsOf } from "../format/kind";
import { count, frequency, lowerBound, plural, share } from "../format/number";
import { instantSeconds, parseStamp, timeTexts } from "../format/time";
import type { Quantiles } from "../generated/Quantiles";
import type { Report } from "../generated/Report";
import { DURATION_TITLES } from "../generated/words";
import type { YearSource } from "../generated/YearSource";
import { chooseDuration, chooseMeasure } from "../measure/control";
import { durationOf, durationsOf } from "../measure/measures";
import type { Duration, Measure } from "../state/measure";
import { question } from "../state/store";
import { withoutLines } from "../state/withoutLines";

/** Characters of an end beyond which a range needs smaller letters. */
const SHORT = 8;

/** The share of errors from which they are marked: below it, some are in every log. */
const ERRORS_BAD = 0.05;

interface Props {
  report: Report;
  samplesShown: boolean;
  onSamples: () => void;
}

/** The totals above the chart. */
export function Totals({ report, samplesShown, onSamples }: Props) {
  const unparsed = report.unparsed_lines + report.too_long_lines;
  return (
    <dl class="totals">
      <Figure
        name={totalName(report)}
        measure="requests"
        id="total-requests"
        value={report.matching}
        text={count(report.matching)}
      >
        {totalNote(report)}
      </Figure>
      {!report.absent.includes("errors") && (
        <Figure
          name="Errors"
          measure="errors"
          id="total-errors"
          value={report.errors}
          text={count(report.errors)}
          tone={report.errors >= ERRORS_BAD * report.matching && report.errors > 0 ? "bad" : ""}
        >
          {report.matching > 0 && errorRate(report)}
        </Figure>
      )}
      {!report.absent.includes("bytes_sent") && (
        <Figure
          name="Bytes sent"
          measure="bytes"
          id="total-bytes"
          value={report.bytes_sent}
          text={bytes(report.bytes_sent)}
        >
          {report.matching > 0 &&
            `${bytes(report.bytes_sent / report.matching)} per ${unitOf(report)}`}
        </Figure>
      )}
      {report.distinct.client !== undefined && (
        <Clients report={report} clients={report.distinct.client} />
      )}
      <TimeSpan report={report} />
      {cachesOf(report).map((cache) => (
        <Cache key={cache.field} cache={cache} />
      ))}
      {latenciesOf(report).map(({ field, title, times }) => (
        <Latency key={field} name={title} field={field} times={times} report={report} />
      ))}
      {!withoutLines.value && (
        <Figure
          name="Unparsed lines"
          id="total-unparsed"
          value={unparsed}
          text={count(unparsed)}
          tone={unparsed > 0 ? "warn" : ""}
        >
          {unparsed === 0 ? (
            `${plural(report.lines, "line")} read`
          ) : (
            <button type="button" class="link" aria-expanded={samplesShown} onClick={onSamples}>
              {share(unparsed, report.lines)} · {samplesShown ? "hide" : "show"}
            </button>
          )}
        </Figure>
      )}
    </dl>
  );
}

/** The part of the records with an error; what counts as one is said to those who do not see it. */
function errorRate(report: Report) {
  return (
    <>
      error rate {share(report.errors, report.matching)}
      <span class="visually-hidden">, status 400 to 599</span>
    </>
  );
}

interface FigureProps {
  name: ComponentChildren;
  text: string;
  children?: ComponentChildren;
  id?: string;
  value?: number;
  tone?: string;
  wide?: boolean;
  /** The measure that the figure chooses. */
  measure?: Measure;
}

function Figure({ name, text, children, id, value, tone, wide, measure }: FigureProps) {
  return (
    <div class={wide ? "figure wide" : "figure"}>
      <dt>
        {measure === undefined ? name : <MeasureSwitch measure={measure}>{name}</MeasureSwitch>}
      </dt>
      <dd class={`figure-value ${tone ?? ""}`} data-testid={id} data-value={value}>
        {text}
      </dd>
      <dd class="figure-note">{children || "\u00a0"}</dd>
    </div>
  );
}

/** Chooses what the chart and the lists count. */
function MeasureSwitch({ measure, children }: { measure: Measure; children: ComponentChildren }) {
  return (
    <Switch
      measure={measure}
      isOn={question.value.measure === measure}
      onClick={() => chooseMeasure(measure)}
    >
      {children}
    </Switch>
  );
}

interface SwitchProps {
  measure: Measure;
  isOn: boolean;
  onClick: () => void;
  children: ComponentChildren;
}

function Switch({ measure, isOn, onClick, children }: SwitchProps) {
  return (
    <button
      type="button"
      class="figure-switch"
      data-testid={`measure-${measure}`}
      aria-pressed={isOn}
      onClick={onClick}
    >
      {children}
    </button>
  );
}

function Clients({ report, clients }: { report: Report; clients: number }) {
  const paths = report.distinct.path;
  return (
    <Figure
      name={<FieldName name="Clients" field="client" report={report} />}
      text={lowerBound(count(clients), report.estimated.includes("client"))}
      id="total-clients"
      value={clients}
    >
      {paths !== undefined && (paths > 0 || report.kind === "request") && plural(paths, "path")}
    </Figure>
  );
}

function totalName(report: Report): string {
  const { many, title } = wordsOf(report);
  return report.matching === recordsOfKind(report) ? title : `Matching ${many}`;
}

/** The noun for one of the things whose bytes are counted. */
function unitOf(report: Report): string {
  return report.kind === "request" ? "response" : wordsOf(report).one;
}

function totalNote(report: Report): string {
  const records = recordsOfKind(report);
  if (report.matching !== records) {
    return `${share(report.matching, records)} of ${count(records)}`;
  }
  const seconds = secondsOf(report);
  return seconds > 0 && report.matching > 0 ? frequency(report.matching / seconds) : "";
}

function secondsOf({ time }: Report): number {
  const first = parseStamp(time.first ?? "");
  const last = parseStamp(time.last ?? "");
  return first && last ? instantSeconds(last) - instantSeconds(first) : 0;
}

function TimeSpan({ report }: { report: Report }) {
  const first = parseStamp(report.time.first ?? "");
  const last = parseStamp(report.time.last ?? "");
  if (!first || !last) return null;
  const { name, ends } = timeTexts(first, last);
  const title = `${report.time.first} to ${report.time.last}`;
  return (
    <div class="figure wide" title={title}>
      <dt>{name}</dt>
      <dd class={ends[0]!.length > SHORT ? "figure-value long" : "figure-value"}>
        {[...new Set(ends)].join(" to ")}
      </dd>
      <dd class="figure-note">
        {span(secondsOf(report))} · {report.time.zone}
      </dd>
      <YearDoubt from={report.time.year_from} />
    </div>
  );
}

/** That the year of the times may be wrong, because the log has none. */
function YearDoubt({ from }: { from: YearSource | undefined }) {
  if (from === undefined || from === "stated") return null;
  const doubts = {
    name: "no year in the log: by the day in the file’s name",
    next_log: "no year in the log: by the next log of its rotated set",
    leap_day: "no year in the log: the last leap year, by its 29 February",
    written: "no year in the log: that of the file’s last change",
    read: "no year in the log: the latest that is not in the future",
  };
  return (
    <dd class="figure-note" data-testid="year-doubt" title="In a terminal, --year states it.">
      {doubts[from]}
    </dd>
  );
}

/** The hit rate of a cache of a gateway. */
function Cache({ cache }: { cache: CacheFigure }) {
  return (
    <Figure
      name={`${cache.title}, hits`}
      id={`total-${cache.field}`}
      value={cache.hits}
      text={cache.rate}
      tone={cache.isUseless ? "bad" : ""}
    >
      {cache.isUseless ? <strong class="bad">{cache.note}</strong> : cache.note}
    </Figure>
  );
}

/** The figures of the durations. */
function latenciesOf(report: Report) {
  return durationsOf(report).flatMap((field) => {
    const times = report[field];
    return times ? [{ field, title: DURATION_TITLES[field], times }] : [];
  });
}

function Latency({
  name,
  field,
  times,
  report,
}: {
  name: string;
  field: Duration;
  times: Quantiles;
  report: Report;
}) {
  const { measure } = question.value;
  const isOn = measure === "time" && durationOf(report, question.value) === field;
  return (
    <Figure
      name={
        <Switch measure="time" isOn={isOn} onClick={() => chooseDuration(report, field)}>
          <FieldName name={`${name}, median`} field={field} report={report} />
        </Switch>
      }
      text={duration(times.p50)}
      wide
    >
      p90 {duration(times.p90)} · p95 {duration(times.p95)} · p99 {duration(times.p99)} · max{" "}
      {duration(times.max)}
    </Figure>
  );
}

function FieldName({ name, field, report }: { name: string; field: string; report: Report }) {
  return (
    <>
      {name}
      {report.estimated.includes(field) && <span class="tag estimate">estimate</span>}
    </>
  );
}
