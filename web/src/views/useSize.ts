import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

export interface Size {
  width: number;
  height: number;
  /** Device pixels per CSS pixel. */
  ratio: number;
}

/**
 * Returns the current size of an element, and `null` before the first layout. `ofWidth` is for an
 * element whose height follows its content: its height is 0, and changes of it are ignored.
 */
export function useSize(element: RefObject<HTMLElement | null>, ofWidth = false): Size | null {
  const [size, setSize] = useState<Size | null>(null);
  useLayoutEffect(() => {
    const measured = element.current;
    if (!measured) return;
    const measure = () => {
      const now = {
        width: measured.clientWidth,
        height: ofWidth ? 0 : measured.clientHeight,
        ratio: devicePixelRatio || 1,
      };
      setSize((before) => (before && isSame(before, now) ? before : now));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(measured);
    const stop = new AbortController();
    // A window that moves to another screen may keep its size but change its pixel ratio.
    addEventListener("resize", measure, { signal: stop.signal });
    return () => {
      observer.disconnect();
      stop.abort();
    };
  }, [element, ofWidth]);
  return size;
}

function isSame(a: Size, b: Size): boolean {
  return a.width === b.width && a.height === b.height && a.ratio === b.ratio;
}
