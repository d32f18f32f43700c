/**
 * Keeps the keyboard focus on the page. When a focused element disappears, such as a chip that was
 * removed, browsers move the focus to the body, and a person has to start over from the top.
 */

import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

/** Where the focus was: the elements around it, the nearest first, each with its place there. */
interface Trace {
  element: Element;
  around: { container: Element; place: number }[];
}

const FOCUSABLE =
  'button:not([disabled]), a[href], input:not([disabled]):not([tabindex="-1"]), select:not([disabled]), [tabindex="0"]';

let trace: Trace | null = null;

/** Watches the focus within an element. Called once. */
export function keepFocus(root: Element): void {
  root.addEventListener("focusin", (event) => {
    if (event.target instanceof Element) trace = traceOf(event.target, root);
  });
  root.addEventListener("focusout", (event) => {
    // A person who clicks beside everything wants no focus; an element that disappears is not
    // connected any more.
    const isLeft = (event as FocusEvent).relatedTarget === null && trace?.element.isConnected;
    if (isLeft) queueMicrotask(leave);
  });
  new MutationObserver(restore).observe(root, { childList: true, subtree: true });
}

function leave(): void {
  if (trace?.element.isConnected) trace = null;
}

function traceOf(element: Element, root: Element): Trace {
  const around: Trace["around"] = [];
  for (
    let container = element.parentElement;
    container && container !== root;
    container = container.parentElement
  ) {
    around.push({ container, place: focusableIn(container).indexOf(element) });
  }
  return { element, around };
}

/** Focuses what has taken the place of the focused element, if that has disappeared. */
function restore(): void {
  if (!trace || trace.element.isConnected) return;
  if (document.activeElement !== null && document.activeElement !== document.body) return;
  for (const { container, place } of trace.around) {
    if (!container.isConnected) continue;
    const candidates = focusableIn(container);
    const near = [...candidates.slice(place), ...candidates.slice(0, place).reverse()];
    if (near.some(takesFocus)) return;
  }
}

/** Focuses an element; returns whether that was possible: one that is not shown takes no focus. */
function takesFocus(element: Element): boolean {
  if (!(element instanceof HTMLElement)) return false;
  element.focus({ preventScroll: true });
  return document.activeElement === element;
}

function focusableIn(container: Element): Element[] {
  return [...container.querySelectorAll(FOCUSABLE)];
}

/**
 * Leads the focus into a pane, and when it closes back to where it last was outside of panes, or where
 * it was when the pane opened.
 */
export function usePaneFocus(pane: RefObject<HTMLElement | null>): void {
  // Before the paint: the keys that follow belong to the pane.
  useLayoutEffect(() => {
    const shown = pane.current;
    let behind = document.activeElement;
    const note = ({ target }: FocusEvent) => {
      if (target instanceof Element && target.closest(".pane") === null) behind = target;
    };
    shown?.querySelector<HTMLElement>("[data-autofocus]")?.focus({ preventScroll: true });
    document.addEventListener("focusin", note);
    return () => {
      document.removeEventListener("focusin", note);
      const { activeElement } = document;
      const isLost = activeElement === document.body || shown?.contains(activeElement);
      if (isLost && behind instanceof HTMLElement) behind.focus({ preventScroll: true });
    };
  }, [pane]);
}
