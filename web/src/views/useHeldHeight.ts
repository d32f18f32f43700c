import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

/**
 * Keeps an element at the end of the page so high that the window stays where it is: when a filter
 * shortens what is in it, the browser would otherwise scroll up, and what a person has just pressed
 * would move away. The height ends when the person scrolls up.
 */
export function useHeldHeight(element: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const hold = () => {
      const held = element.current;
      if (held) held.style.minHeight = `${Math.max(0, scrollY + innerHeight - topOf(held))}px`;
    };
    const stop = new AbortController();
    addEventListener("scroll", hold, { passive: true, signal: stop.signal });
    addEventListener("resize", hold, { passive: true, signal: stop.signal });
    return () => stop.abort();
  }, [element]);
}

/** The distance of an element from the top of the page. */
function topOf(element: HTMLElement): number {
  return element.getBoundingClientRect().top + scrollY;
}
