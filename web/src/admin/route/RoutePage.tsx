import type { Route } from "../../generated/Route";
import { useLooking } from "../ask";
import type { History } from "../history";
import { MinuteChart } from "../MinuteChart";
import { perSecond } from "../numbers";
import { route } from "../store";
import { lookAtRoute } from "./control";
import { Join, LaneView } from "./LaneView";
import { Limits } from "./Limits";
import { flowsOf, joinOf, lanesOf } from "./lanes";
import type { WorkTimes } from "./order";
import { isOfRequests } from "./stages";

const NO_ROUTE =
  "This program has no route: it neither passes on requests nor reads records. Its tasks, its " +
  "profile and its log are on the other pages.";

/** The route of the data through the program, with live numbers. */
export function RoutePage() {
  useLooking(lookAtRoute);
  const { answer, history, work } = route.value;
  return (
    <main>
      <h1>Route</h1>
      <Slowest />
      {answer && <Lanes of={answer} history={history} work={work} />}
    </main>
  );
}

/** What the others wait for. An unchanged sentence is not set again, so it is not read out again. */
function Slowest() {
  const { answer, failure } = route.value;
  const isSlow = failure === null && answer?.slowest.stage !== undefined;
  const isFailing = answer?.stages.some((stage) => stage.is_failing);
  const state = isFailing ? "is-failing" : isSlow ? "is-slowest" : "";
  const classes = failure !== null ? "has-failed" : state;
  return (
    <p id="slowest" class={classes} role="status">
      {failure !== null && `Weir does not answer: ${failure}. The page tries again.`}
      {failure === null && (answer ? reasonOf(answer) : "Loading.")}
    </p>
  );
}

function reasonOf({ stages, slowest }: Route): string {
  return stages.length === 0 ? NO_ROUTE : slowest.reason;
}

function Lanes({ of: answer, history, work }: { of: Route; history: History; work: WorkTimes }) {
  const lanes = lanesOf(answer);
  const slowest =
    answer.slowest.stage === undefined ? undefined : answer.stages[answer.slowest.stage];
  const join = joinOf(answer);
  const hasRequests = lanes[0]?.title === "Requests";
  return (
    <>
      <div id="route">
        {lanes.map((lane) => (
          <div class={hasRequests && join ? "lane-group joined" : "lane-group"} key={lane.title}>
            <LaneView lane={lane} slowest={slowest} history={history} work={work} />
            {lane.title === "Requests" && join && <Join flows={join} />}
          </div>
        ))}
      </div>
      <Limits limits={answer.limits} />
      {answer.stages.length > 0 && answer.span && <LastMinute of={answer} history={history} />}
      {answer.stages.length > 0 && answer.span && <Legend of={answer} span={answer.span} />}
    </>
  );
}

/** The last minute of everything that passes an arrow. */
function LastMinute({ of: answer, history }: { of: Route; history: History }) {
  const flows = flowsOf(lanesOf(answer)).filter(({ id }) => history.has(id));
  return (
    <section class="panel minutes" aria-labelledby="minutes-title">
      <h2 id="minutes-title">
        The last minute <span class="muted">as far as this page has seen it</span>
      </h2>
      <div class="minute-grid">
        {flows.map(({ id, title, unit }) => (
          <MinuteChart
            key={id}
            title={title}
            samples={history.get(id) ?? []}
            write={(value) => perSecond(value, unit)}
          />
        ))}
      </div>
    </section>
  );
}

/** Explains the numbers of the page. */
function Legend({ of: { stages }, span }: { of: Route; span: number }) {
  return (
    <p class="hint legend">
      All rates are averages over the last {span.toFixed(1)} s. Busy is the time that threads work
      in a stage, and waiting the time that they are held up: 100% is one thread all the time, and
      two threads can reach 200%. Numbers without “/s” are totals since the start, or of this
      moment.
      {stages.some(isOfRequests) &&
        " Per request is the time in the gateway, at a backend, or until the client has taken " +
          "the response; at a time is the average number of requests there."}{" "}
      The same for programs: <a href="/route.json">route.json</a>, <a href="/metrics">metrics</a>.
    </p>
  );
}
