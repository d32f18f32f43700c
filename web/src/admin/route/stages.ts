/** The stages of the route as boxes: which are shown together, and the numbers in them. */

import { bytes } from "../../format/bytes";
import { duration } from "../../format/duration";
import type { RouteStage } from "../../generated/RouteStage";
import type { RouteStageKind } from "../../generated/RouteStageKind";
import { amount, average, percent } from "../numbers";

/** The kinds of the lane of requests, in its order. */
export const REQUESTS: readonly RouteStageKind[] = ["client", "gateway", "backend"];

/** The kinds of the lane of records, in its order. */
export const RECORDS: readonly RouteStageKind[] = [
  "listener",
  "source",
  "read",
  "queue",
  "parse",
  "append",
  "data",
  "view",
];

export const TITLES: Record<RouteStageKind, string> = {
  client: "Clients",
  gateway: "Gateway",
  backend: "Backends",
  listener: "Listeners",
  source: "Sources",
  read: "Read",
  queue: "Queue",
  parse: "Parse",
  append: "Append",
  data: "Data",
  view: "View",
};

export function isOfRequests({ stage }: RouteStage): boolean {
  return REQUESTS.includes(stage);
}

/** Whether nothing passes a stage, and nothing happens in it. */
export function isIdle({ stage, rates, in_flight = 0, held_bytes = 0 }: RouteStage): boolean {
  if (rates === undefined) return false;
  const { bytes: rate = 0, records = 0, busy = 0, waiting = 0 } = rates;
  const isMoving = rate > 0 || records > 0 || busy > 0 || waiting > 0 || in_flight > 0;
  const isFilled = (stage === "source" || stage === "queue") && held_bytes > 0;
  return !isMoving && !isFilled;
}

/** The word about a stage as a whole, if there is one. */
export function stateOf(stage: RouteStage, isSlowest: boolean): string | null {
  if (stage.is_failing) return "failing";
  if (isSlowest) return "Slowest";
  if (stage.has_ended) return "ended";
  return isIdle(stage) ? "idle" : null;
}

type Fact = [name: string, value: number | undefined, write: (value: number) => string];

/** The names and the texts of the numbers of a stage. */
export function factsOf(stage: RouteStage): [string, string][] {
  const rates = stage.rates ?? {};
  const records = isOfRequests(stage) ? "requests" : "records";
  // The rates of a kind with one stage are on the arrow.
  const hasName = stage.name !== "";
  const facts: Fact[] = [
    ...timesOf(stage),
    ["failed/s", stage.failed || stage.is_failing ? rates.failed : undefined, amount],
    ["failed", stage.failed || undefined, amount],
    ["servers", downServers(stage), (up) => `${amount(up)} of ${amount(stage.servers ?? up)} up`],
    ...sharesOf(stage),
    ["in flight", stage.in_flight, amount],
    ["bytes/s", hasName ? rates.bytes : undefined, bytes],
    [`${records}/s`, hasName ? rates.records : undefined, amount],
    ["held", stage.held_bytes, bytes],
    ["at most", stage.held_bytes_max, bytes],
    ["threads", stage.threads, amount],
    ["bytes", stage.bytes, bytes],
    [records, stage.records, amount],
  ];
  // An idle stage says so in a word, without zeros.
  const isQuiet = isIdle(stage);
  const isStore = stage.held_bytes_max !== undefined;
  const isShown = ([name, value]: Fact) =>
    !isQuiet || value !== 0 || name.startsWith(SHARE) || (name === "held" && isStore);
  return facts.flatMap((fact) => {
    const [name, value, write] = fact;
    return value !== undefined && isShown(fact) ? [[name, write(value)] as [string, string]] : [];
  });
}

const SHARE = "share of ";

/** The shares of a backend in the requests of routes, beside those that the weights ask for. */
function sharesOf({ shares = [] }: RouteStage): Fact[] {
  return shares.map(({ route, asked, got }) => [
    `${SHARE}${route}`,
    got ?? 0,
    (share) => `${got === undefined ? "none" : percent(share)}, asked ${percent(asked)}`,
  ]);
}

/** The number of available servers, if some are not. */
function downServers({ servers, servers_available }: RouteStage): number | undefined {
  return servers_available === servers ? undefined : servers_available;
}

/** Busy and waiting times: for a request and as a number of requests, or in percent of a thread. */
function timesOf(stage: RouteStage): Fact[] {
  const { busy, waiting, records = 0 } = stage.rates ?? {};
  if (!isOfRequests(stage)) {
    return [
      ["busy", busy, percent],
      ["waiting", waiting, percent],
    ];
  }
  const each = busy !== undefined && records > 0 ? busy / records : undefined;
  return [
    ["per request", each, duration],
    ["at a time", busy, average],
    [stage.stage === "client" ? "wait for data" : "waiting", waiting, average],
  ];
}
