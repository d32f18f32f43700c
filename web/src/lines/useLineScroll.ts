import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useSize } from "../views/useSize";
import type { LinePanel } from "./control";
import { isScaled, type List, lastTop, scrollTopOf, topOf } from "./scroll";

/** What is on the screen of a list of lines, and what moves it. */
interface LineScroll {
  of: List;
  /** The line at the top, with a fraction. */
  top: number;
  /** The lines on the screen. */
  first: number;
  end: number;
  moveTo: (top: number) => void;
  onScroll: (event: { currentTarget: HTMLElement }) => void;
  onWheel: (event: WheelEvent) => void;
}

/**
 * Scrolls through the lines of a panel, whose height is given in pixels, and fetches what is on the
 * screen. `onMoved` is told by how many lines the list has moved on below the person.
 */
export function useLineScroll(
  frame: RefObject<HTMLDivElement | null>,
  panel: LinePanel,
  height: number,
  onMoved: (by: number) => void,
): LineScroll {
  const { list } = panel;
  const { total, selection, moved } = panel.lines.value;
  const size = useSize(frame);
  const [top, setTop] = useState(0);
  /** The scroll position that `moveTo` has set, whose event is not a gesture of the person. */
  const own = useRef(0);
  const of = { total: total ?? 0, viewport: size?.height ?? 0, height };
  const shownTop = Math.min(top, lastTop(of));
  const first = Math.floor(shownTop);
  const end = Math.min(of.total, first + Math.ceil(of.viewport / height) + 1);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another selection has other lines
  useEffect(() => list.show(first, end), [list, first, end, selection]);
  const moveTo = (to: number) => {
    setTop(to);
    if (!frame.current) return;
    frame.current.scrollTop = scrollTopOf(of, to);
    own.current = frame.current.scrollTop;
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another selection moves the list
  useLayoutEffect(() => moveTo(0), [selection]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the line at the top stays there
  useLayoutEffect(() => moveTo(shownTop), [height]);
  const before = useRef(moved);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only lines that came before move it
  useLayoutEffect(() => {
    const by = moved - before.current;
    before.current = moved;
    if (by === 0) return;
    moveTo(Math.max(0, top + by));
    onMoved(by);
  }, [moved]);
  const onScroll = ({ currentTarget }: { currentTarget: HTMLElement }) => {
    if (Math.abs(currentTarget.scrollTop - own.current) < 1) return;
    own.current = -1;
    setTop(topOf(of, currentTarget.scrollTop));
  };
  const onWheel = (event: WheelEvent) => {
    if (!isScaled(of) || event.deltaY === 0) return;
    event.preventDefault();
    const lines = event.deltaMode === 0 ? event.deltaY / height : event.deltaY;
    moveTo(Math.max(0, Math.min(shownTop + lines, lastTop(of))));
  };
  return { of, top: shownTop, first, end, moveTo, onScroll, onWheel };
}
