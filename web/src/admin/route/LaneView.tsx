import { Fragment } from "preact";
import type { RouteStage } from "../../generated/RouteStage";
import { LogText } from "../../views/LogText";
import type { History } from "../history";
import { MinuteLine } from "../MinuteChart";
import { type Arrow, type Box, type Flow, flowText, isStill, type Lane } from "./lanes";
import { keyOf, ordered, type WorkTimes } from "./order";
import { factsOf, isIdle, stateOf, TITLES } from "./stages";

interface LaneProps {
  lane: Lane;
  /** The stage that the others wait for. */
  slowest: RouteStage | undefined;
  history: History;
  work: WorkTimes;
}

/** A row of boxes with arrows between them. */
export function LaneView({ lane, slowest, history, work }: LaneProps) {
  const id = `lane-${lane.title.toLowerCase()}`;
  return (
    <section class={`lane ${id}`} aria-labelledby={id}>
      <h2 id={id}>{lane.title}</h2>
      <div class="row">
        {lane.boxes.map((box, at) => (
          <Fragment key={box.kind}>
            <BoxView box={box} slowest={slowest} work={work} />
            {lane.arrows[at] && <ArrowView arrow={lane.arrows[at]} history={history} />}
          </Fragment>
        ))}
      </div>
    </section>
  );
}

function BoxView({
  box: { kind, stages },
  slowest,
  work,
}: {
  box: Box;
  slowest: RouteStage | undefined;
  work: WorkTimes;
}) {
  const isSlowest = slowest !== undefined && stages.includes(slowest);
  const isFailing = stages.some((stage) => stage.is_failing);
  const classes = [
    "kind",
    stages.every(isIdle) && !isSlowest && !isFailing && "is-idle",
    isSlowest && "is-slowest",
    isFailing && "is-failing",
    stages.some(({ name }) => name !== "") && "has-names",
  ];
  const id = `kind-${kind}`;
  return (
    <section class={classes.filter(Boolean).join(" ")} aria-labelledby={id}>
      <h3 id={id}>{TITLES[kind]}</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a list that scrolls needs the keyboard */}
      <ol tabIndex={0} aria-labelledby={id}>
        {ordered(stages, work).map((stage) => (
          <StageView key={keyOf(stage)} stage={stage} isSlowest={stage === slowest} />
        ))}
      </ol>
    </section>
  );
}

function StageView({ stage, isSlowest }: { stage: RouteStage; isSlowest: boolean }) {
  const word = stateOf(stage, isSlowest);
  const isQuiet = word === "idle" || word === "ended";
  const classes = [
    "stage",
    isSlowest && "is-slowest",
    stage.is_failing && "is-failing",
    isQuiet && "is-idle",
  ];
  const { held_bytes, held_bytes_max } = stage;
  return (
    <li
      class={classes.filter(Boolean).join(" ")}
      aria-describedby={isSlowest ? "slowest" : undefined}
    >
      {stage.name !== "" && (
        <p class="name">
          <LogText value={stage.name} title={false} />
        </p>
      )}
      {word !== null && <p class="mark">{word}</p>}
      {held_bytes !== undefined && held_bytes_max ? (
        <progress max={held_bytes_max} value={held_bytes} aria-label="held" />
      ) : null}
      <dl>
        {factsOf(stage).map(([name, text]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </li>
  );
}

/** An arrow with what passes it, in each direction, and the last minute of that. */
function ArrowView({ arrow, history }: { arrow: Arrow; history: History }) {
  const { forth, back } = arrow;
  return (
    <div class={isStill(arrow) ? "edge is-idle" : "edge"}>
      <Way flows={forth} className="forth" history={history} />
      {back && <Way flows={[back]} className="back" history={history} none="responses" />}
    </div>
  );
}

interface WayProps {
  flows: Flow[];
  className: string;
  history: History;
  /** What is shown if no number is known. */
  none?: string;
}

function Way({ flows, className, history, none }: WayProps) {
  const texts = flows.flatMap((flow) => flowText(flow) ?? []);
  const shown = texts.length === 0 && none !== undefined ? [none] : texts;
  const samples = flows[0] && history.get(flows[0].id);
  return (
    <p class={className}>
      {shown.map((text) => (
        <span key={text}>{text}</span>
      ))}
      {samples && <MinuteLine samples={samples} />}
    </p>
  );
}

/** The way of the records from the gateway to the sources. */
export function Join({ flows }: { flows: Flow[] }) {
  const numbers = flows.flatMap((flow) => flowText(flow) ?? []).join(", ");
  return (
    <div class="join">
      <p>from the gateway, a record of each request{numbers && `: ${numbers}`}</p>
    </div>
  );
}
