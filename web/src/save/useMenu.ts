import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** The element around the button and the items of a menu, and the handler of its keys. */
interface MenuHandles {
  frame: RefObject<HTMLDivElement | null>;
  onKeyDown: (event: KeyboardEvent) => void;
  /** Closes the menu, and leads the focus back to its button. */
  close: () => void;
}

/** The focus and the keys of a button with a menu, as the ARIA Authoring Practices describe them. */
export function useMenu(isOpen: boolean, setOpen: (isOpen: boolean) => void): MenuHandles {
  const frame = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (!isOpen) return;
    const stop = new AbortController();
    const leave = (event: Event) => {
      if (!frame.current?.contains(event.target as Node)) setOpen(false);
    };
    for (const type of ["pointerdown", "focusin"]) {
      document.addEventListener(type, leave, { signal: stop.signal });
    }
    return () => stop.abort();
  }, [isOpen, setOpen]);
  const close = () => {
    frame.current?.querySelector("button")?.focus();
    setOpen(false);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !isOpen) return;
    const items = itemsIn(frame.current);
    const at = items.indexOf(document.activeElement as HTMLElement);
    if (event.key === "Tab") return close();
    // Escape must not undo the last step of the page, nor a space scroll it.
    const to = itemAfter(event.key, at, items.length);
    if (to === null && event.key !== "Escape" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "Escape") close();
    else if (to === null) items[at]?.click();
    else items[to]?.focus();
  };
  return { frame, onKeyDown, close };
}

/** Leads the focus to the first item of a menu that has opened. */
export function focusFirst(menu: HTMLElement | null): void {
  itemsIn(menu)[0]?.focus({ preventScroll: true });
}

/** The item that a key leads to; `null` if it leads to none. */
export function itemAfter(key: string, at: number, count: number): number | null {
  switch (key) {
    case "ArrowDown":
      return (at + 1) % count;
    case "ArrowUp":
      return (Math.max(at, 0) + count - 1) % count;
    case "Home":
      return 0;
    case "End":
      return count - 1;
    default:
      return null;
  }
}

function itemsIn(frame: HTMLElement | null): HTMLElement[] {
  return [...(frame?.querySelectorAll<HTMLElement>('[role="menuitem"]') ?? [])];
}
