import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { visible } from "../format/text";
import { lines, view } from "../state/store";
import type { LinePanel } from "./control";
import { lookAt } from "./detail";
import { LineDetail } from "./LineDetail";
import { LineRows } from "./LineRows";
import { LineText } from "./LineText";
import { LineTools } from "./LineTools";
import type { ShownLine } from "./shown";

/** The most characters of the active line. */
const WHOLE_MAX = 1 << 16;

interface Props {
  of: LinePanel;
  /** The id of its list, which tells its rows from those of other lists. */
  id: string;
  /** Whether the order is chosen, and a line is shown with all of its fields. */
  isWhole?: boolean;
}

/** The lines of a selection, and the actions on them. */
export function LinesView({ of: panel, id, isWhole = false }: Props) {
  const [active, setActive] = useState(0);
  const { total, shown, messages, refusal, isEstimated, selection } = panel.lines.value;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another selection begins at its first line
  useLayoutEffect(() => setActive(0), [selection]);
  const line = shown.get(active);
  useEffect(() => {
    if (isWhole) lookAt(line?.line ?? null);
  }, [isWhole, line?.line]);
  if (refusal !== null) return <p class="bad">{visible(refusal)}</p>;
  if (total === null) return <p class="muted">Finding the lines…</p>;
  return (
    <>
      <LineTools panel={panel} total={total} hasChoices={isWhole} />
      {messages.map((message) => (
        <p class="hint" key={message} data-testid="lines-message">
          {visible(message)}. What is known of each line is shown instead; the command prints the
          lines themselves.
        </p>
      ))}
      {isEstimated && (
        <p class="hint">Memory ran out for some values, so lines may be missing here.</p>
      )}
      {total > 0 && (
        <div class={isWhole ? "line-columns" : undefined}>
          <LineRows
            of={panel}
            id={id}
            active={active}
            onActivate={setActive}
            isWrapped={isWhole && lines.value.isWrapped}
            isTail={isWhole && lines.value.order === "newest" && view.value?.complete === false}
          />
          {line && (isWhole ? <LineDetail of={line} /> : <Whole of={line} />)}
        </div>
      )}
    </>
  );
}

/** The active line, in full. */
function Whole({ of: line }: { of: ShownLine }) {
  return (
    <pre class="line-whole" data-testid="line-whole">
      <LineText of={line} max={WHOLE_MAX} />
      {line.isCut && <span class="escape">… the line is longer</span>}
    </pre>
  );
}
