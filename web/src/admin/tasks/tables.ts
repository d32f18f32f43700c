/** The tables of tasks and threads: their columns, and the minute of rates behind a row. */

import { bytes } from "../../format/bytes";
import { duration } from "../../format/duration";
import type { Task } from "../../generated/Task";
import type { TaskKindSums } from "../../generated/TaskKindSums";
import type { TaskRates } from "../../generated/TaskRates";
import type { TaskRuntime } from "../../generated/TaskRuntime";
import type { Tasks } from "../../generated/Tasks";
import type { Thread } from "../../generated/Thread";
import type { ThreadWork } from "../../generated/ThreadWork";
import { type History, MINUTE_MS, withValues } from "../history";
import { amount, percent } from "../numbers";
import { type Column, numberColumn as number, type Sort, textColumn as text } from "../sorting";

export type TableName = "kinds" | "tasks" | "threads" | "runtimes";

/** What can be opened: a kind, a task or a thread. */
export type Item = TaskKindSums | Task | Thread;

/** The rates of a row; which of them are known depends on the kind of the row. */
export type RateName = keyof TaskRates | keyof ThreadWork;
export type Rates = Partial<Record<RateName, number>>;

/** A row that was listed in the last minute. */
export interface RateHistory {
  item: Item;
  /** The rates by name. */
  rates: History;
  seen_ms: number;
}
export type RateHistories = ReadonlyMap<string, RateHistory>;

interface Worker {
  rates?: TaskRates;
}

function rate<Row extends Worker>(
  key: keyof TaskRates,
  title: string,
  write: Column<Row>["write"],
) {
  return number<Row>(key, title, (row) => row.rates?.[key], write);
}

function workColumns<Row extends Worker>(): Column<Row>[] {
  return [
    rate("busy", "Busy", percent),
    rate("scheduled", "Scheduled", percent),
    rate("polls", "Polls/s", amount),
    rate("requests", "Requests/s", amount),
    rate("bytes", "Bytes/s", bytes),
  ];
}

export const KIND_COLUMNS: readonly Column<TaskKindSums>[] = [
  text("kind", "Kind", ({ kind }) => kind, { opens: true }),
  number("tasks", "Tasks", ({ tasks }) => tasks, amount),
  number("running", "Running", ({ tasks_running }) => tasks_running, amount),
  number("ready", "Waiting to run", ({ tasks_scheduled }) => tasks_scheduled, amount),
  number("begun", "Begun", ({ begun }) => begun, amount),
  ...workColumns<TaskKindSums>(),
  number("memory", "Memory", ({ memory_bytes }) => memory_bytes, bytes),
];

export const TASK_COLUMNS: readonly Column<Task>[] = [
  text("name", "Name", ({ name, id }) => name || `task ${id}`, {
    opens: true,
    className: () => "name",
  }),
  text("kind", "Kind", ({ kind }) => kind),
  text("state", "State", ({ state }) => state, { className: ({ state }) => `is-${state}` }),
  ...workColumns<Task>(),
  number("age", "Age", ({ age }) => age, duration),
  number("memory", "Memory", ({ memory_bytes }) => memory_bytes, bytes),
];

export const THREAD_COLUMNS: readonly Column<Thread>[] = [
  text("name", "Name", ({ name }) => name, { opens: true, className: () => "name" }),
  number("id", "Number", ({ id }) => id, String),
  text("state", "State", ({ state }) => state),
  threadRate("running", "On a processor", percent),
  threadRate("system", "Of that, system", percent),
  threadRate("waiting", "Waits for a processor", percent),
  threadRate("busy", "Busy", percent),
  threadRate("switches", "Waits/s", amount),
  threadRate("preemptions", "Preempted/s", amount),
  number("processor", "Processor", ({ processor }) => processor, String),
];

export const RUNTIME_COLUMNS: readonly Column<TaskRuntime>[] = [
  text("name", "Name", ({ name }) => name),
  number("workers", "Threads", ({ workers }) => workers, amount),
  number("tasks", "Tasks", ({ tasks }) => tasks, amount),
  number("queued", "Queued", ({ queued }) => queued, amount),
  number("busy", "Busy so far", ({ busy }) => busy, duration),
  number("parks", "Slept", ({ parks }) => parks, amount),
];

function threadRate(key: keyof ThreadWork, title: string, write: Column<Thread>["write"]) {
  return number<Thread>(key, title, ({ rates }) => rates?.[key], write);
}

export const INITIAL_SORTS: Record<TableName, Sort> = {
  kinds: { key: "busy", isAscending: false },
  tasks: { key: "busy", isAscending: false },
  threads: { key: "running", isAscending: false },
  runtimes: { key: "name", isAscending: true },
};

export const kindKey = ({ kind }: TaskKindSums) => `kind ${kind}`;
export const taskKey = ({ id }: Task) => `task ${id}`;
export const threadKey = ({ id }: Thread) => `thread ${id}`;

/** The id of the thread with a key; `null` if the key is of something else. */
export function threadOf(key: string): number | null {
  return key.startsWith("thread ") ? Number(key.slice("thread ".length)) : null;
}

/** The histories with the rates of an answer. A row that is not listed may be listed again. */
export function withRates(
  before: RateHistories,
  { kinds, tasks, threads }: Tasks,
  open: string | null,
  now_ms: number,
): RateHistories {
  const isKept = (key: string, { seen_ms }: RateHistory) =>
    key === open || now_ms - seen_ms <= MINUTE_MS;
  const kept = new Map([...before].filter(([key, history]) => isKept(key, history)));
  const note = (key: string, item: Item) => {
    const values = Object.entries(item.rates ?? {}) as [RateName, number][];
    const rates = withValues(kept.get(key)?.rates ?? new Map(), values, now_ms);
    kept.set(key, { item, rates, seen_ms: now_ms });
  };
  for (const kind of kinds) note(kindKey(kind), kind);
  for (const task of tasks) note(taskKey(task), task);
  for (const thread of threads) note(threadKey(thread), thread);
  return kept;
}

/** The charts of a row: a rate, its title, its format, and the least value at the top. */
export const CHARTS: readonly [RateName, string, (value: number) => string, number][] = [
  ["busy", "Busy", percent, 0.1],
  ["scheduled", "Scheduled", percent, 0.1],
  ["running", "On a processor", percent, 0.1],
  ["waiting", "Waits for a processor", percent, 0.1],
  ["polls", "Polls/s", amount, 10],
  ["requests", "Requests/s", amount, 10],
  ["bytes", "Bytes/s", bytes, 1000],
  ["switches", "Waits/s", amount, 10],
];

type FactName = Exclude<keyof Task | keyof Thread, "rates">;

const FACTS: readonly [FactName, string, (value: number) => string][] = [
  ["age", "Age", duration],
  ["polls", "Polls so far", amount],
  ["busy", "Busy so far", duration],
  ["scheduled", "Scheduled so far", duration],
  ["running", "On a processor so far", duration],
  ["waiting", "Waited for a processor so far", duration],
  ["requests", "Requests so far", amount],
  ["bytes", "Bytes so far", bytes],
];

/** The totals of a row with their titles. */
export function factsOf(item: Item): [string, string][] {
  const values = item as Partial<Record<FactName, unknown>>;
  const place: [string, string][] =
    "place" in item && item.place !== "" ? [["Spawned at", item.place]] : [];
  const totals = FACTS.flatMap(([name, title, write]): [string, string][] => {
    const value = values[name];
    return typeof value === "number" ? [[title, write(value)]] : [];
  });
  return [...place, ...totals];
}

/** What is measured as busy, in a sentence; empty if no thread has a busy time. */
export function busyText(threads: readonly Thread[]): string {
  const sources = threads.map(({ busy_source }) => busy_source);
  if (sources.includes("system")) {
    return "Busy, measured by the system, is the time on a processor or waiting for one.";
  }
  if (!sources.includes("program")) return "";
  return (
    "The system does not measure how long threads are busy. Busy is only known for threads that " +
    "measure it themselves, and excludes their work between two tasks."
  );
}
