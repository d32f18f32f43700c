import { useLayoutEffect, useState } from "preact/hooks";
import { commonNoun, missingFieldsText } from "../format/kind";
import { visible } from "../format/text";
import { windowText } from "../format/window";
import type { Report } from "../generated/Report";
import type { View } from "../generated/View";
import type { Window } from "../generated/Window";
import { afterFrame } from "../state/frame";
import { hasFilter } from "../state/state";
import { awaiting, question } from "../state/store";
import { ChartPanel } from "./ChartPanel";
import { FilterBar } from "./FilterBar";
import { KindSwitch } from "./KindSwitch";
import { Samples } from "./Samples";
import { TopLists } from "./TopLists";
import { Totals } from "./Totals";

/** Everything about the records of a session. */
export function Dashboard({ view }: { view: View }) {
  const [isOpen, setOpen] = useState(false);
  // The first paint does not wait for the lists, which take as long as all the rest.
  const [isPainted, setPainted] = useState(false);
  const { report } = view;
  const unparsed = report.unparsed_lines + report.too_long_lines;
  // If no line could be parsed, the samples are all there is to see.
  const isUnparsed = report.records === 0 && unparsed > 0;
  const isFilterable = !isUnparsed || hasFilter(question.value);
  const samplesShown = unparsed > 0 && (isOpen || isUnparsed);
  useLayoutEffect(() => afterFrame(() => setPainted(true)), []);
  useLayoutEffect(() => {
    if (isPainted) announce(view);
  }, [view, isPainted]);
  return (
    <div class={awaiting.value ? "dashboard awaiting" : "dashboard"} aria-busy={awaiting.value}>
      {isFilterable && <FilterBar report={report} />}
      <Notes notes={view.notes} />
      {view.window && <WindowNote window={view.window} report={report} />}
      <section class="panel hero" aria-label="Traffic">
        <KindSwitch report={report} />
        <MissingFields report={report} />
        <Totals report={report} samplesShown={samplesShown} onSamples={() => setOpen(!isOpen)} />
        {isUnparsed ? (
          <NothingParsed complete={view.complete} />
        ) : (
          <ChartPanel report={report} complete={view.complete} />
        )}
      </section>
      {samplesShown && <Samples view={view} />}
      {isPainted && <TopLists report={report} />}
    </div>
  );
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

function Notes({ notes }: { notes: string[] }) {
  if (notes.length === 0) return null;
  return (
    <ul class="notes" aria-label="Notes">
      {notes.map((note) => (
        <li key={note}>{visible(note)}</li>
      ))}
    </ul>
  );
}

function NothingParsed({ complete }: { complete: boolean }) {
  return (
    <p class="no-chart bad">
      {complete
        ? "No line matches a known format, so there is nothing to draw."
        : "No line matches a known format so far."}{" "}
      The lines below show why.
    </p>
  );
}
