/** The lanes of the route: boxes of stages, arrows between them, and what passes the arrows. */

import type { PassedRates } from "../../generated/PassedRates";
import type { Route } from "../../generated/Route";
import type { RouteStage } from "../../generated/RouteStage";
import type { RouteStageKind } from "../../generated/RouteStageKind";
import { perSecond, type Unit } from "../numbers";
import { RECORDS, REQUESTS } from "./stages";

/** What passes an arrow in a second. */
export interface Flow {
  /** Its name in the history. */
  id: string;
  /** What it is, for the chart of its last minute. */
  title: string;
  unit: Unit;
  /** `undefined` if it is not known. */
  value: number | undefined;
}

/** An arrow between two boxes. */
export interface Arrow {
  forth: Flow[];
  /** What comes back; `null` if nothing does. */
  back: Flow | null;
}

/** All stages of a kind. */
export interface Box {
  kind: RouteStageKind;
  stages: RouteStage[];
}

/** Boxes, and an arrow after each of them but the last. */
export interface Lane {
  title: "Requests" | "Records";
  boxes: Box[];
  arrows: Arrow[];
}

/** The source to which the gateway writes a record of each request. */
const GATEWAY_SOURCE = "gateway";

/** The lanes of a route that have stages. */
export function lanesOf({ stages }: Route): Lane[] {
  const lanes: Lane[] = [];
  if (stages.some(({ stage }) => REQUESTS.includes(stage))) {
    const boxes = REQUESTS.map((kind) => boxOf(stages, kind));
    lanes.push({ title: "Requests", boxes, arrows: requestArrows(stages) });
  }
  const kinds = RECORDS.filter((kind) => stages.some(({ stage }) => stage === kind));
  if (kinds.length > 0) {
    const arrows = kinds.slice(0, -1).map((kind) => ({ forth: leaving(stages, kind), back: null }));
    lanes.push({ title: "Records", boxes: kinds.map((kind) => boxOf(stages, kind)), arrows });
  }
  return lanes;
}

function boxOf(stages: readonly RouteStage[], kind: RouteStageKind): Box {
  return { kind, stages: stages.filter(({ stage }) => stage === kind) };
}

/** The way of the records from the gateway to the sources; `null` if there is none. */
export function joinOf({ stages }: Route): Flow[] | null {
  const own = stages.filter(({ stage, name }) => stage === "source" && name === GATEWAY_SOURCE);
  if (own.length === 0) return null;
  return [
    flow("Records of the gateway", "join.records", "records", sum(own, "records")),
    flow("Bytes of its records", "join.bytes", "bytes", sum(own, "bytes")),
  ];
}

/** Each flow once, in the order of the route. */
export function flowsOf(lanes: readonly Lane[]): Flow[] {
  const arrows = lanes.flatMap((lane) => lane.arrows);
  const flows = arrows.flatMap(({ forth, back }) => [...forth, ...(back ? [back] : [])]);
  return [...new Map(flows.map((one) => [one.id, one])).values()];
}

/** The text of a flow; `null` if it is not known. */
export function flowText({ value, unit }: Flow): string | null {
  return value === undefined ? null : perSecond(value, unit);
}

export function isStill({ forth, back }: Arrow): boolean {
  return [...forth, ...(back ? [back] : [])].every(({ value = 0 }) => value === 0);
}

/** Requests go to the right, and bytes of responses come back. */
function requestArrows(stages: readonly RouteStage[]): Arrow[] {
  const requests = (title: string, kind: RouteStageKind) =>
    flowOf(stages, kind, "records", title, "requests");
  const responses = (title: string, kind: RouteStageKind) =>
    flowOf(stages, kind, "bytes", title, "bytes");
  return [
    {
      forth: [requests("Requests of clients", "gateway")],
      back: responses("Responses to clients", "client"),
    },
    {
      forth: [requests("Requests to backends", "backend")],
      back: responses("Responses of backends", "backend"),
    },
  ];
}

/** What leaves the stages of a kind of the records. */
function leaving(stages: readonly RouteStage[], kind: RouteStageKind): Flow[] {
  const bytes = (of: RouteStageKind, title: string) => flowOf(stages, of, "bytes", title, "bytes");
  const records = (of: RouteStageKind, title: string) =>
    flowOf(stages, of, "records", title, "records");
  switch (kind) {
    case "listener":
      return [bytes("listener", "Bytes received")];
    case "source":
      return [bytes("source", "Bytes of sources"), records("source", "Records of sources")];
    case "read":
      return [bytes("source", "Bytes of sources")];
    case "queue":
      return [bytes("parse", "Bytes parsed")];
    case "parse":
      return [records("parse", "Records parsed")];
    case "append":
      return [records("append", "Records appended")];
    case "data": {
      const sent = bytes("view", "Bytes of views");
      return [
        sent.value === undefined ? flowOf(stages, "view", "records", "Views", "views") : sent,
      ];
    }
    default:
      return [];
  }
}

function flowOf(
  stages: readonly RouteStage[],
  kind: RouteStageKind,
  key: keyof PassedRates,
  title: string,
  unit: Unit,
): Flow {
  const { stages: own } = boxOf(stages, kind);
  return flow(title, `${kind}.${key}`, unit, sum(own, key));
}

function flow(title: string, id: string, unit: Unit, value: number | undefined): Flow {
  return { title, id, unit, value };
}

/** The sum of a rate over stages; `undefined` if it is not known of any of them. */
function sum(stages: readonly RouteStage[], key: keyof PassedRates): number | undefined {
  const known = stages.flatMap(({ rates }) => rates?.[key] ?? []);
  return known.length === 0 ? undefined : known.reduce((all, rate) => all + rate, 0);
}
