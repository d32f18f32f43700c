import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { count } from "../format/number";
import { visible } from "../format/text";
import { StoryButton } from "../story/StoryButton";
import { copyText } from "../views/copy";
import { COPIED_MAX, type LinePanel } from "./control";
import { LineRows } from "./LineRows";
import { LineText } from "./LineText";
import type { ShownLine } from "./shown";

/** How long a button shows what it has done. */
const DONE_MS = 2_500;

/** The most characters of the active line. */
const WHOLE_MAX = 1 << 16;

interface Props {
  of: LinePanel;
  /** The id of its list, which tells its rows from those of other lists. */
  id: string;
  /** Whether a line leads to the story of its client. */
  hasStories?: boolean;
}

/** The lines of a selection, and the actions on them. */
export function LinesView({ of: panel, id, hasStories = false }: Props) {
  const [active, setActive] = useState(0);
  const { total, shown, messages, refusal, isEstimated, selection } = panel.lines.value;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another selection begins at its first line
  useLayoutEffect(() => setActive(0), [selection]);
  if (refusal !== null) return <p class="bad">{visible(refusal)}</p>;
  if (total === null) return <p class="muted">Finding the lines…</p>;
  const line = shown.get(active);
  return (
    <>
      <Buttons panel={panel} total={total} />
      {messages.map((message) => (
        <p class="hint" key={message} data-testid="lines-message">
          {visible(message)}. What is known of each line is shown instead; the command prints the
          lines themselves.
        </p>
      ))}
      {isEstimated && (
        <p class="hint">Memory ran out for some values, so lines may be missing here.</p>
      )}
      {total > 0 && <LineRows of={panel} id={id} active={active} onActivate={setActive} />}
      {line && <Whole of={line} hasStory={hasStories} />}
    </>
  );
}

/** The active line, in full. */
function Whole({ of: line, hasStory }: { of: ShownLine; hasStory: boolean }) {
  return (
    <p class="line-whole" data-testid="line-whole">
      <LineText of={line} max={WHOLE_MAX} />
      {line.isCut && <span class="escape">… the line is longer</span>}
      {hasStory && " "}
      {hasStory && line.line.client && <StoryButton client={line.line.client} hasWords />}
    </p>
  );
}

function Buttons({ panel, total }: { panel: LinePanel; total: number }) {
  const [done, setDone] = useState<string | null>(null);
  useEffect(() => {
    if (done === null) return;
    const timer = setTimeout(() => setDone(null), DONE_MS);
    return () => clearTimeout(timer);
  }, [done]);
  const copyCommand = async () => {
    const isCopied = await copyText(panel.command());
    setDone(isCopied ? "Copied" : "The browser does not allow to copy");
  };
  return (
    <p class="line-buttons">
      <span data-testid="lines-total" data-total={total}>
        {count(total)} {total === 1 ? "line" : "lines"}
      </span>
      {total > 0 && (
        <>
          <button
            type="button"
            class="button small"
            data-testid="lines-copy"
            onClick={async () => setDone(await panel.copyLines())}
          >
            {total > COPIED_MAX ? `Copy the first ${count(COPIED_MAX)} lines` : "Copy lines"}
          </button>
          <button
            type="button"
            class="button small"
            data-testid="lines-command"
            title={visible(panel.command())}
            onClick={() => void copyCommand()}
          >
            Copy as command
          </button>
        </>
      )}
      <span role="status" class="hint" data-testid="lines-done">
        {done}
      </span>
    </p>
  );
}
