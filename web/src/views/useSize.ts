import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

export interface Size {
  width: number;
  height: number;
  /** Device pixels per CSS pixel. */
  ratio: number;
}

/** Returns the current size of an element, and `null` before the first layout. */
export function useSize(element: RefObject<HTMLElement | null>): Size | null {
  const [size, setSize] = useState<Size | null>(null);
  useLayoutEffect(() => {
    const measured = element.current;
    if (!measured) return;
    const measure = () =>
      setSize({
        width: measured.clientWidth,
        height: measured.clientHeight,
        ratio: devicePixelRatio || 1,
      });
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
  }, [element]);
  return size;
}
