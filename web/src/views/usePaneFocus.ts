import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

/** Leads the focus into a pane, and when it closes back to where it last was on the page. */
export function usePaneFocus(pane: RefObject<HTMLElement | null>): void {
  // Before the paint: the keys that follow belong to the pane.
  useLayoutEffect(() => {
    const shown = pane.current;
    let behind = document.activeElement;
    const note = ({ target }: FocusEvent) => {
      if (target instanceof Element && !shown?.contains(target)) behind = target;
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
