/** The state of the admin pages, and the only place that changes it. */

import { computed, signal } from "@preact/signals";
import type { CallProfile } from "../generated/CallProfile";
import type { Capture } from "../generated/Capture";
import type { LogTail } from "../generated/LogTail";
import type { Route } from "../generated/Route";
import type { Tasks } from "../generated/Tasks";
import type { History } from "./history";
import { NO_LOG, type NumberedEvent } from "./log/events";
import type { Profile } from "./profile/stacks";
import type { WorkTimes } from "./route/order";
import type { Sort } from "./sorting";
import { INITIAL_SORTS, type RateHistories, type TableName } from "./tasks/tables";
import { NOT_WAITING, type Waiting } from "./waiting";

export interface RouteSlice {
  answer: Route | null;
  /** What passed the arrows in the last minute, by flow. */
  history: History;
  /** When its stages were seen at work. */
  work: WorkTimes;
  /** Why there is no answer. */
  failure: string | null;
}

export interface TasksSlice {
  answer: Tasks | null;
  /** The last minute of every item that was listed in it. */
  histories: RateHistories;
  sorts: Record<TableName, Sort>;
  /** The text by which tasks are found. */
  find: string;
  /** The key of the item whose details are shown. */
  open: string | null;
  failure: string | null;
}

export interface LogSlice extends Pick<LogTail, "filter" | "level_max" | "next"> {
  /** The newest first. */
  events: readonly NumberedEvent[];
  isKnown: boolean;
  message: string;
  isBad: boolean;
}

export interface CallsSlice extends Waiting {
  answer: CallProfile | null;
}

export interface ProfileSlice extends Waiting {
  profile: Profile | null;
}

export interface CaptureSlice extends Waiting {
  answer: Capture | null;
}

/** Everything on the screen, in slices that are drawn apart. */
export interface Admin {
  /** Which page is shown. */
  place: { path: string };
  route: RouteSlice;
  tasks: TasksSlice;
  profile: ProfileSlice;
  calls: CallsSlice;
  capture: CaptureSlice;
  log: LogSlice;
}

const current = signal<Admin>({
  place: { path: "/" },
  route: { answer: null, history: new Map(), work: new Map(), failure: null },
  tasks: {
    answer: null,
    histories: new Map(),
    sorts: INITIAL_SORTS,
    find: "",
    open: null,
    failure: null,
  },
  profile: { ...NOT_WAITING, profile: null },
  calls: { ...NOT_WAITING, answer: null },
  capture: { ...NOT_WAITING, answer: null },
  log: NO_LOG,
});

/** The slices, read-only. */
export const place = computed(() => current.value.place);
export const route = computed(() => current.value.route);
export const tasks = computed(() => current.value.tasks);
export const profile = computed(() => current.value.profile);
export const calls = computed(() => current.value.calls);
export const capture = computed(() => current.value.capture);
export const log = computed(() => current.value.log);

/** Changes a part of a slice. */
export function update<Name extends keyof Admin>(name: Name, part: Partial<Admin[Name]>): void {
  const before = current.peek();
  current.value = { ...before, [name]: { ...before[name], ...part } };
}
