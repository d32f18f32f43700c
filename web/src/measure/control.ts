/** Asks for the measure that the chart shows, and chooses it. */

import { effect } from "@preact/signals";
import { askSeries } from "../control/live";
import { change } from "../control/questions";
import type { Measure } from "../state/measure";
import { awaiting, dispatch, series, state, view } from "../state/store";
import { boundsOf, needsSeries } from "./chart";
import { serverName, shownMeasure } from "./measures";

/** Shows a measure in the chart and in the lists, as one step that Back undoes. */
export function chooseMeasure(measure: Measure): void {
  change({ measure });
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
    const measure = isOpen ? shownMeasure(shown.report, question.measure) : "requests";
    const histogram = shown?.report.histogram;
    if (!isOpen || !histogram || !needsSeries(measure, shown.report)) {
      if (last === "") return;
      last = "";
      askSeries(0, null);
      dispatch({ type: "series_ended" });
      return;
    }
    const bounds = boundsOf(histogram);
    const name = serverName(shown.report, measure);
    const key = JSON.stringify([session, question, name, bounds]);
    if (key === last) return;
    last = key;
    query += 1;
    askSeries(query, question, name, bounds);
    dispatch({ type: "series_asked", query, bounds });
  });
}

/** Whether the chart waits for its numbers. */
export function isChartAwaited(): boolean {
  const { asked, answer, bounds } = series.value;
  return asked > 0 && answer?.bounds !== bounds;
}
