import { effect } from "@preact/signals";
import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Clients } from "../families/Clients";
import { Families } from "../families/Families";
import { commonNoun, missingFieldsText, recordsOfKind, wordsOf } from "../format/kind";
import { count, plural } from "../format/number";
import { visible } from "../format/text";
import { windowText } from "../format/window";
import type { Report } from "../generated/Report";
import type { View } from "../generated/View";
import type { Window } from "../generated/Window";
import { afterFrame } from "../state/frame";
import { isFailed, rowsOf } from "../state/rows";
import { isUnparsed } from "../state/screen";
import { awaiting, stale, state } from "../state/store";
import type { Tab } from "../state/tab";
import { ChartPanel } from "./ChartPanel";
import { KindSwitch } from "./KindSwitch";
import { shownLater } from "./part";
import { shownTab, Tabs, tabId } from "./Tabs";
import { Totals } from "./Totals";
import { useHeldHeight } from "./useHeldHeight";
import { WORK } from "./work";

const LinesPanel = shownLater(async () => (await import("../lines/LinesPanel")).LinesPanel);
const RulesPanel = shownLater(async () => (await import("../rules/RulesPanel")).RulesPanel);
const BlocksPanel = shownLater(async () => (await import("../blocks/BlocksPanel")).BlocksPanel);
const Progress = shownLater(async () => (await import("./Progress")).Progress);
const FailedFiles = shownLater(async () => (await import("./FailedFiles")).FailedFiles);
const Samples = shownLater(async () => (await import("./Samples")).Samples);

/** Everything about the records of a session. */
export function Dashboard({ view }: { view: View }) {
  const [isOpen, setOpen] = useState(false);
  // The first paint does not wait for the lists, which take as long as all the rest.
  const [isPainted, setPainted] = useState(false);
  const { report } = view;
  const unparsed = report.unparsed_lines + report.too_long_lines;
  const samplesShown = unparsed > 0 && (isOpen || isUnparsed.value);
  useLayoutEffect(() => afterFrame(() => setPainted(true)), []);
  useLayoutEffect(() => {
    if (isPainted) announce(view);
  }, [view, isPainted]);
  const frame = useRef<HTMLDivElement>(null);
  const work = useRef<HTMLDivElement>(null);
  const tab = shownTab(report);
  useBusy(frame);
  useHeldHeight(work);
  return (
    <div ref={frame} class={stale.value ? "dashboard stale" : "dashboard"}>
      <h1 class="visually-hidden">Traffic of {titleOf(view)}</h1>
      <p class="visually-hidden" aria-live="polite" data-testid="live-count">
        {view.complete ? countText(report) : ""}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: on a narrow window it scrolls by the keys */}
      <section class="figbar" aria-label="Figures" tabIndex={0}>
        <Totals report={report} samplesShown={samplesShown} onSamples={() => setOpen(!isOpen)} />
      </section>
      <section class={tab === "overview" ? "hero" : "hero slim"} aria-label="Traffic">
        <KindSwitch report={report} />
        <MissingFields report={report} />
        {isUnparsed.value ? (
          <NothingParsed view={view} />
        ) : (
          <ChartPanel report={report} complete={view.complete} />
        )}
      </section>
      {!isUnparsed.value && <Tabs report={report} />}
      <div
        ref={work}
        id={WORK}
        class="work"
        {...(isUnparsed.value ? {} : { role: "tabpanel", "aria-labelledby": tabId(tab) })}
      >
        {isUnparsed.value && <Progress />}
        {rowsOf(state.value).some(isFailed) && <FailedFiles />}
        <Notes notes={view.notes} />
        {view.window && <WindowNote window={view.window} report={report} />}
        {samplesShown && <Samples view={view} />}
        {isPainted && !isUnparsed.value && <Work tab={tab} view={view} />}
      </div>
    </div>
  );
}

/** What the tab shows. */
function Work({ tab, view }: { tab: Tab; view: View }) {
  switch (tab) {
    case "overview":
      return <Families view={view} />;
    case "lines":
      return <LinesPanel />;
    case "clients":
      return <Clients view={view} />;
    case "rules":
      return <RulesPanel />;
    case "blocks":
      return <BlocksPanel />;
  }
}

/** Numbers that wait for an answer are faint after this time; a quick answer does not flicker. */
const FAINT_MS = 200;

/**
 * Marks the dashboard while an answer is awaited. It is not rendered for that, because rendering
 * everything would delay the answer.
 */
function useBusy(frame: RefObject<HTMLDivElement | null>): void {
  // The numbers on the screen are those of the view from here on.
  useLayoutEffect(() => markBusy(frame.current));
  useLayoutEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = effect(() => {
      clearTimeout(timer);
      if (awaiting.value) markBusy(frame.current);
      timer = setTimeout(() => markBusy(frame.current, true), awaiting.value ? FAINT_MS : 0);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [frame]);
}

function markBusy(dashboard: HTMLElement | null, isLate = false): void {
  const isBusy = awaiting.peek();
  dashboard?.setAttribute("aria-busy", String(isBusy));
  dashboard?.toggleAttribute("data-late", isBusy && isLate);
}

/** The names of the sources in a heading. */
function titleOf({ sources }: View): string {
  const [first] = sources;
  if (sources.length !== 1 || !first) return `${count(sources.length)} files`;
  return visible(first.name || "standard input");
}

/** The answer in a sentence, for a screen reader. */
function countText(report: Report): string {
  const { one, many } = wordsOf(report);
  const all = recordsOfKind(report);
  const matching = plural(report.matching, one, many);
  return report.matching === all ? matching : `${matching} of ${count(all)} match the filter`;
}

/** Marks the document with the answer on the screen, for programs. */
function announce(view: View): void {
  const { dataset } = document.documentElement;
  dataset.query = String(view.query);
  dataset.complete = String(view.complete);
  dataset.sources = String(view.sources.length);
}

/** The size of the window of a live feed. */
function WindowNote({ window, report }: { window: Window; report: Report }) {
  return (
    <p class="kept" data-testid="kept" data-records={window.records}>
      {windowText(window, report.records, commonNoun(report))}
    </p>
  );
}

/** A remark on conditions that no record of the kind can meet. */
function MissingFields({ report }: { report: Report }) {
  const text = missingFieldsText(report);
  if (text === null) return null;
  return (
    <p class="missing" data-testid="missing-fields">
      {visible(text)}
    </p>
  );
}

/** Remarks on the whole log, until the person dismisses them. */
function Notes({ notes }: { notes: string[] }) {
  const [dismissed, setDismissed] = useState<readonly string[]>([]);
  const shown = notes.filter((note) => !dismissed.includes(note));
  if (shown.length === 0) return null;
  return (
    <ul class="notes" aria-label="Notes">
      {shown.map((note) => (
        <li key={note} data-testid="note">
          {visible(note)}{" "}
          <button
            type="button"
            class="button small"
            data-testid="note-dismiss"
            aria-label={`Dismiss: ${visible(note)}`}
            onClick={() => setDismissed([...dismissed, note])}
          >
            Dismiss
          </button>
        </li>
      ))}
    </ul>
  );
}

function NothingParsed({ view: { complete, sources } }: { view: View }) {
  const others = sources.filter((source) => source.unread !== undefined && !source.unread.is_log);
  if (complete && others.length === sources.length) {
    return (
      <p class="no-chart bad" data-testid="no-log">
        {others.length === 1
          ? `${visible(others[0]!.name)} ${visible(others[0]!.unread!.reason)}.`
          : "None of these files is a log."}{" "}
        There is nothing to draw.
      </p>
    );
  }
  return (
    <p class="no-chart bad">
      {complete
        ? "No line matches a known format, so there is nothing to draw."
        : "No line matches a known format so far."}{" "}
      The lines below show why.
    </p>
  );
}
