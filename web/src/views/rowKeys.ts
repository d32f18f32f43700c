/** The keys of a row of a list. */

import { copyText } from "./copy";

/** What keys do with a row. */
export interface RowActions {
  value: string;
  exclude: () => void;
  /** Tells the story of the value; `null` if it has none. */
  story: (() => void) | null;
}

/** Handles a key on a row or on one of its buttons. */
export function takeRowKey(event: KeyboardEvent, { value, exclude, story }: RowActions): void {
  const to = STEPS[event.key];
  if (event.ctrlKey || event.metaKey) {
    copyByKey(event, value);
  } else if (to !== undefined && !event.altKey) {
    const row = rowBeside(event.currentTarget as HTMLElement, to);
    if (row === null) return;
    event.preventDefault();
    row.focus();
  } else if (event.key === "x" || (event.key === "Enter" && event.altKey)) {
    event.preventDefault();
    exclude();
  } else if (event.key === "s" && story !== null) {
    event.preventDefault();
    story();
  }
}

const STEPS: Record<string, "next" | "previous" | "first" | "last"> = {
  ArrowDown: "next",
  ArrowUp: "previous",
  Home: "first",
  End: "last",
};

/** The value of another row of the list. */
function rowBeside(item: HTMLElement, to: (typeof STEPS)[string]): HTMLElement | null {
  const items = {
    next: item.nextElementSibling,
    previous: item.previousElementSibling,
    first: item.parentElement?.firstElementChild,
    last: item.parentElement?.lastElementChild,
  };
  return items[to]?.querySelector<HTMLElement>("button.top-row") ?? null;
}

/** Copies the value by Ctrl+C. Not every browser sends `copy` if nothing is selected. */
function copyByKey(event: KeyboardEvent, value: string): void {
  if (event.key !== "c" || document.getSelection()?.isCollapsed === false) return;
  event.preventDefault();
  void copyText(value);
}
