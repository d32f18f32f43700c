import { useLayoutEffect, useState } from "preact/hooks";
import { recordsNoun } from "../format/field";
import { keptText } from "../format/kept";
import { visible } from "../format/text";
import type { Report } from "../generated/Report";
import type { View } from "../generated/View";
import type { Window } from "../generated/Window";
import { afterFrame } from "../state/frame";
import { awaiting, question } from "../state/store";
import { ChartPanel } from "./ChartPanel";
import { FilterBar } from "./FilterBar";
import { Samples } from "./Samples";
import { TopLists } from "./TopLists";
import { Totals } from "./Totals";

/** Everything about the records of a session. */
export function Dashboard({ view }: { view: View }) {
  const [asked, setAsked] = useState(false);
  // The first picture does not wait for the lists, which take as long as all the rest.
  const [isBegun, setBegun] = useState(false);
  const { report } = view;
  const bad = report.unmatched + report.too_long;
  // Where no line fitted, the samples are what there is to see.
  const nothingFits = report.records === 0 && bad > 0;
  const isFilterable = !nothingFits || question.value.clauses.length > 0;
  const samplesShown = bad > 0 && (asked || nothingFits);
  useLayoutEffect(() => afterFrame(() => setBegun(true)), []);
  useLayoutEffect(() => {
    if (isBegun) announce(view);
  }, [view, isBegun]);
  return (
    <div class={awaiting.value ? "dashboard awaiting" : "dashboard"} aria-busy={awaiting.value}>
      {isFilterable && <FilterBar report={report} />}
      <Notes notes={view.notes} />
      {view.window && <Kept window={view.window} report={report} />}
      <section class="panel hero" aria-label="Traffic">
        <Totals
          report={report}
          records={view.window?.records ?? report.records}
          samplesShown={samplesShown}
          onSamples={() => setAsked(!asked)}
        />
        {nothingFits ? (
          <NothingFits complete={view.complete} />
        ) : (
          <ChartPanel report={report} complete={view.complete} />
        )}
      </section>
      {samplesShown && <Samples view={view} />}
      {isBegun && <TopLists report={report} />}
    </div>
  );
}

/** Tells programs which answer is on the screen, once it is. */
function announce(view: View): void {
  const { dataset } = document.documentElement;
  dataset.query = String(view.query);
  dataset.complete = String(view.complete);
  dataset.sources = String(view.sources.length);
}

/** What the window holds of a feed that goes on. */
function Kept({ window, report }: { window: Window; report: Report }) {
  return (
    <p class="kept" data-testid="kept" data-records={window.records}>
      {keptText(window, report.records, recordsNoun(report))}
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

function NothingFits({ complete }: { complete: boolean }) {
  return (
    <p class="no-chart bad">
      {complete
        ? "No line fitted a known format, so there is nothing to draw."
        : "No line has fitted a known format so far."}{" "}
      The lines below show why.
    </p>
  );
}
