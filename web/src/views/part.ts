/** Parts of the page that are loaded when they are needed first. */

import { type ReadonlySignal, signal } from "@preact/signals";
import { type FunctionComponent, h } from "preact";
import { useEffect } from "preact/hooks";
import { dispatch } from "../state/store";

/** A part of the page. */
export interface Part<T> {
  /** What was loaded; `null` until then. */
  readonly loaded: ReadonlySignal<T | null>;
  /** Loads it, if it is not there and not on its way. */
  load(): void;
}

const FAILED = "A part of the page could not be loaded, because Weir does not answer. Try again.";

/** Says that a part is missing. */
export function partFailed(): void {
  dispatch({ type: "notice", message: FAILED });
}

/** A part that `fetch` loads. */
export function partOf<T>(fetch: () => Promise<T>): Part<T> {
  const loaded = signal<T | null>(null);
  let isOnItsWay = false;
  const load = () => {
    if (loaded.peek() !== null || isOnItsWay) return;
    isOnItsWay = true;
    fetch()
      .then((found) => {
        loaded.value = found;
      })
      .catch(partFailed)
      .finally(() => {
        isOnItsWay = false;
      });
  };
  return { loaded, load };
}

/** A component that is loaded when it is shown first; until then it shows nothing. */
export function shownLater<Props extends object>(
  fetch: () => Promise<FunctionComponent<Props>>,
): FunctionComponent<Props> {
  const part = partOf(async () => ({ View: await fetch() }));
  return (props) => {
    const shown = usePart(part);
    return shown && h(shown.View, props);
  };
}

/** Loads a part as soon as it is needed; returns it once it is there and needed. */
export function usePart<T>({ loaded, load }: Part<T>, isNeeded = true): T | null {
  useEffect(() => {
    if (isNeeded) load();
  });
  return isNeeded ? loaded.value : null;
}
