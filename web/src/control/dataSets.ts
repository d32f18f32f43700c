/**
 * The data sets that were made in this browser, and others that it has opened by their addresses.
 * Without an access token the server lists none, because the address of an upload is the only key
 * to it.
 */

import type { Source } from "../generated/Source";
import { endSession, presenceOf } from "../socket/session";
import type { DataSet } from "../state/state";
import { dispatch, state } from "../state/store";

const KEY = "weir-data-sets";
/** More than a server holds. */
const KEPT = 64;

/** The action that waits for room on the server. */
let retry: () => Promise<void> = async () => {};

/** Remembers a data set, and its name once its sources are known. */
export function noteDataSet(session: string, sources: readonly Source[] | null): void {
  // What the program serves cannot be freed.
  if (session === state.value.served) return;
  const known = stored();
  const before = known.find((one) => one.session === session);
  const name = sources === null ? (before?.name ?? "") : nameOf(sources);
  if (before?.name === name) return;
  const others = known.filter((one) => one.session !== session);
  store([...others, { session, name }].slice(-KEPT));
}

/** Offers to free a data set of this browser, and keeps `again`, which needs the room. */
export async function offerRoom(again: () => Promise<void>): Promise<void> {
  retry = again;
  const existing = await Promise.all(
    stored().map(async (one) => ((await presenceOf(one.session)) === "there" ? [one] : [])),
  );
  const freeable = existing.flat();
  store(freeable);
  dispatch({ type: "freeable", freeable });
}

/** Ends a data set, and retries the action that needed the room. */
export async function free(session: string): Promise<void> {
  try {
    await endSession(session);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    dispatch({ type: "notice", message: `The data set could not be freed. ${why}` });
    return;
  }
  store(stored().filter((one) => one.session !== session));
  dispatch({ type: "freeable", freeable: null });
  if (state.value.session === session) return;
  await retry();
}

/** Closes the list without freeing any. */
export function keepAll(): void {
  dispatch({ type: "freeable", freeable: null });
}

function nameOf(sources: readonly Source[]): string {
  const first = sources[0]?.name ?? "";
  return sources.length > 1 ? `${first} and ${sources.length - 1} more` : first;
}

function stored(): DataSet[] {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(value) ? value.filter(isDataSet) : [];
  } catch {
    return [];
  }
}

function isDataSet(value: unknown): value is DataSet {
  const { session, name } = (value ?? {}) as Partial<DataSet>;
  return typeof session === "string" && typeof name === "string";
}

function store(known: DataSet[]): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(known));
  } catch {
    // Without storage there is nothing to offer.
  }
}
