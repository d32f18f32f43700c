/** Asks for the measure that the chart shows, and chooses it. */

import { effect } from "@preact/signals";
import { askSeries, type WantedSeries } from "../control/live";
import { change } from "../control/questions";
import type { Report } from "../generated/Report";
import type { Duration, Measure } from "../state/measure";
import type { SeriesSubject } from "../state/series";
import type { Question } from "../state/state";
import { awaiting, dispatch, series, state, view } from "../state/store";
import { boundsOf, needsSeries } from "./chart";
import { durationOf, durationsOf, medianOf, percentileOf, shownMeasure } from "./measures";

/** Shows a measure in the chart and in the lists, as one step that Back undoes. */
export function chooseMeasure(measure: Measure): void {
  change({ measure });
}

/** Shows the percentiles of a duration, in the same way. */
export function chooseDuration(report: Report, field: Duration): void {
  const isFirst = durationsOf(report)[0] === field;
  change({ measure: "time", duration: isFirst ? null : field });
}

/** What is asked of the bars of a chart, and which chart that is. */
interface Wanted {
  series: WantedSeries;
  about: SeriesSubject;
}

/** What the chart needs that no report has; `null` if that is nothing. */
function wantedOf(report: Report, question: Question): Wanted | null {
  const measure = shownMeasure(report, question.measure);
  const { histogram } = report;
  if (!histogram || !needsSeries(measure, report)) return null;
  const bounds = boundsOf(histogram);
  const duration = measure === "time" ? durationOf(report, question) : null;
  const measures = duration === null ? [measure] : [medianOf(duration), percentileOf(duration)];
  return {
    series: { measures, bounds, map: duration },
    about: { histogram, bounds, duration },
  };
}

/** Asks for the measure of each bar whenever the bars change. */
export function followMeasure(): void {
  let last = "";
  let query = 0;
  effect(() => {
    const { question, connection, session } = state.value;
    const shown = view.value;
    const isOpen = connection === "open" && session !== null && shown !== null;
    // A new question has other bars, which are known with its answer.
    if (isOpen && awaiting.value) return;
    const wanted = isOpen ? wantedOf(shown.report, question) : null;
    if (wanted === null) {
      if (last === "") return;
      last = "";
      askSeries(0, null);
      dispatch({ type: "series_ended" });
      return;
    }
    const key = JSON.stringify([session, question, wanted.series]);
    if (key === last) return;
    last = key;
    query += 1;
    askSeries(query, question, wanted.series);
    dispatch({ type: "series_asked", query, about: wanted.about });
  });
}

/** Whether the chart waits for its numbers. */
export function isChartAwaited(): boolean {
  const { asked, answer, about } = series.value;
  return asked > 0 && answer?.bounds !== about.bounds;
}
