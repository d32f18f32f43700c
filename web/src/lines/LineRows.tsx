// biome-ignore-all lint/a11y/useSemanticElements: a table cannot be drawn in part
// biome-ignore-all lint/a11y/useFocusableInteractive: the grid has the focus, and its keys
// biome-ignore-all lint/a11y/useKeyWithClickEvents: as above
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { count } from "../format/number";
import { useSize } from "../views/useSize";
import type { LinePanel } from "./control";
import { LineText } from "./LineText";
import {
  isScaled,
  LINE_HEIGHT,
  lastTop,
  lineAfter,
  scrollHeight,
  scrollTopOf,
  topOf,
  topWith,
} from "./scroll";

interface Props {
  of: LinePanel;
  /** The id of the element, which tells its rows from those of other lists. */
  id: string;
  /** The number of the active line. */
  active: number;
  onActivate: (line: number) => void;
}

/** Lines of any number, of which only those on the screen are drawn and fetched. */
export function LineRows({ of: panel, id, active, onActivate }: Props) {
  const { list } = panel;
  const { total, shown, selection } = panel.lines.value;
  const frame = useRef<HTMLDivElement>(null);
  const size = useSize(frame);
  const [top, setTop] = useState(0);
  /** The scroll position that `moveTo` has set, whose event is not a gesture of the person. */
  const own = useRef(0);
  const of = { total: total ?? 0, viewport: size?.height ?? 0 };
  const shownTop = Math.min(top, lastTop(of));
  const first = Math.floor(shownTop);
  const end = Math.min(of.total, first + Math.ceil(of.viewport / LINE_HEIGHT) + 1);
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
  const onScroll = ({ currentTarget }: { currentTarget: HTMLElement }) => {
    if (Math.abs(currentTarget.scrollTop - own.current) < 1) return;
    own.current = -1;
    setTop(topOf(of, currentTarget.scrollTop));
  };
  const onWheel = (event: WheelEvent) => {
    if (!isScaled(of) || event.deltaY === 0) return;
    event.preventDefault();
    const lines = event.deltaMode === 0 ? event.deltaY / LINE_HEIGHT : event.deltaY;
    moveTo(Math.max(0, Math.min(shownTop + lines, lastTop(of))));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const to = lineAfter(event.key, active, of);
    if (to === null || of.total === 0) return;
    event.preventDefault();
    onActivate(to);
    moveTo(topWith(of, shownTop, to));
  };
  const numbers = Array.from({ length: Math.max(0, end - first) }, (_, at) => first + at);
  const isActiveShown = active >= first && active < end;
  return (
    <div
      ref={frame}
      class="line-rows"
      role="grid"
      tabIndex={0}
      aria-label="Lines of the log"
      aria-rowcount={of.total}
      aria-activedescendant={isActiveShown ? `${id}-${active}` : undefined}
      data-testid="line-rows"
      data-total={total ?? ""}
      onScroll={onScroll}
      onWheel={onWheel}
      onKeyDown={onKeyDown}
    >
      <div class="line-sizer" role="presentation" style={{ height: `${scrollHeight(of)}px` }}>
        <div class="line-window" role="presentation" style={{ height: `${of.viewport}px` }}>
          <div
            role="rowgroup"
            style={{ transform: `translateY(${-(shownTop - first) * LINE_HEIGHT}px)` }}
          >
            {numbers.map((number) => {
              const line = shown.get(number);
              return (
                <div
                  key={number}
                  id={`${id}-${number}`}
                  class={number === active ? "line active" : "line"}
                  role="row"
                  aria-rowindex={number + 1}
                  aria-selected={number === active}
                  data-testid="line"
                  onClick={() => onActivate(number)}
                >
                  <span class="line-number" role="gridcell">
                    {count(number + 1)}
                  </span>
                  <span class="line-text" role="gridcell">
                    {line ? <LineText of={line} /> : "…"}
                  </span>
                </div>
              );
            })}
          </div>
        </div>
      </div>
    </div>
  );
}
