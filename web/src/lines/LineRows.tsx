// biome-ignore-all lint/a11y/useSemanticElements: a table cannot be drawn in part
// biome-ignore-all lint/a11y/useFocusableInteractive: the grid has the focus, and its keys
// biome-ignore-all lint/a11y/useKeyWithClickEvents: as above
import { useRef } from "preact/hooks";
import { count } from "../format/number";
import { tellStory } from "../story/tell";
import { copyText } from "../views/copy";
import type { LinePanel } from "./control";
import { exactText } from "./copying";
import { LineText } from "./LineText";
import { LINE_HEIGHT, lineAfter, scrollHeight, topWith, WRAPPED_HEIGHT } from "./scroll";
import type { ShownLine } from "./shown";
import { useLineScroll } from "./useLineScroll";

interface Props {
  of: LinePanel;
  /** The id of the element, which tells its rows from those of other lists. */
  id: string;
  /** The number of the active line. */
  active: number;
  onActivate: (line: number) => void;
  /** Whether a long line takes several rows. */
  isWrapped?: boolean;
  /** Whether the newest lines come at the top while the data grows. */
  isTail?: boolean;
}

/** Lines of any number, of which only those on the screen are drawn and fetched. */
export function LineRows({ of: panel, id, active, onActivate, ...looks }: Props) {
  const { isWrapped = false, isTail = false } = looks;
  const { total, shown } = panel.lines.value;
  const frame = useRef<HTMLDivElement>(null);
  const height = isWrapped ? WRAPPED_HEIGHT : LINE_HEIGHT;
  const follow = (by: number) => onActivate(Math.max(0, active + by));
  const scroll = useLineScroll(frame, panel, height, follow);
  const { of, top, first, end } = scroll;
  const onKeyDown = (event: KeyboardEvent) => {
    if (isCopyKey(event)) return copyActive(event, shown.get(active));
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "s") return tellStoryOf(shown.get(active));
    const to = lineAfter(event.key, active, of);
    if (to === null || of.total === 0) return;
    event.preventDefault();
    onActivate(to);
    scroll.moveTo(topWith(of, top, to));
  };
  const numbers = Array.from({ length: Math.max(0, end - first) }, (_, at) => first + at);
  const isActiveShown = active >= first && active < end;
  return (
    <div class="line-list">
      {isTail && <Tail above={Math.round(top)} showNewest={() => scroll.moveTo(0)} />}
      <div
        ref={frame}
        class={isWrapped ? "line-rows wrapped" : "line-rows"}
        role="grid"
        tabIndex={0}
        aria-label="Lines of the log"
        aria-rowcount={of.total}
        aria-activedescendant={isActiveShown ? `${id}-${active}` : undefined}
        data-testid="line-rows"
        data-total={total ?? ""}
        onScroll={scroll.onScroll}
        onWheel={scroll.onWheel}
        onKeyDown={onKeyDown}
        onCopy={(event) => copySelected(event, (at) => shown.get(at))}
      >
        <div class="line-sizer" role="presentation" style={{ height: `${scrollHeight(of)}px` }}>
          <div class="line-window" role="presentation" style={{ height: `${of.viewport}px` }}>
            <div role="rowgroup" style={{ transform: `translateY(${-(top - first) * height}px)` }}>
              {numbers.map((number) => (
                <Row
                  key={number}
                  id={`${id}-${number}`}
                  number={number}
                  line={shown.get(number)}
                  isActive={number === active}
                  onActivate={onActivate}
                />
              ))}
            </div>
          </div>
        </div>
      </div>
    </div>
  );
}

interface TailProps {
  /** The lines above those on the screen. */
  above: number;
  showNewest: () => void;
}

/** What comes while the data grows: the newest lines, or none while a person reads further down. */
function Tail({ above, showNewest }: TailProps) {
  return (
    <p class="line-tail" data-testid="line-tail" data-held={above > 0}>
      {above === 0 ? (
        <>
          <span class="live-dot" aria-hidden="true" />
          The newest lines come at the top. Scroll to hold the list.
        </>
      ) : (
        <>
          Held: {count(above)} newer.{" "}
          <button type="button" class="link" data-testid="line-newest" onClick={showNewest}>
            Show them
          </button>
        </>
      )}
    </p>
  );
}

interface RowProps {
  id: string;
  number: number;
  line: ShownLine | undefined;
  isActive: boolean;
  onActivate: (line: number) => void;
}

function Row({ id, number, line, isActive, onActivate }: RowProps) {
  return (
    <div
      id={id}
      class={classOf(line, isActive)}
      role="row"
      aria-rowindex={number + 1}
      aria-selected={isActive}
      data-testid="line"
      onClick={() => onActivate(number)}
    >
      <span class="line-number" role="gridcell" data-beside>
        {count(number + 1)}
      </span>
      <span class="line-text" role="gridcell">
        {line ? <LineText of={line} number={number} /> : "…"}
      </span>
    </div>
  );
}

/** The look of a line: an error has a mark at its edge. */
function classOf(line: ShownLine | undefined, isActive: boolean): string {
  const digit = line?.line.status?.charAt(0);
  const mark = digit === "4" || digit === "5" ? ` s${digit}` : "";
  return `line${mark}${isActive ? " active" : ""}`;
}

function tellStoryOf(line: ShownLine | undefined): void {
  if (line?.line.client) tellStory({ field: "client", value: line.line.client });
}

function isCopyKey(event: KeyboardEvent): boolean {
  return (event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "c";
}

/** Copies the active line, unless a text is selected. */
function copyActive(event: KeyboardEvent, line: ShownLine | undefined): void {
  if (!line || line.text === null || getSelection()?.isCollapsed === false) return;
  event.preventDefault();
  void copyText(line.text);
}

/** Copies the selected text as it stands in the log. */
function copySelected(event: ClipboardEvent, lineOf: (number: number) => ShownLine | undefined) {
  const selection = getSelection();
  if (!selection || selection.isCollapsed || selection.rangeCount === 0) return;
  const text = exactText(selection.getRangeAt(0).cloneContents(), lineOf);
  event.clipboardData?.setData("text/plain", text);
  event.preventDefault();
}
