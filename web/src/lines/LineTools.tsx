import { useEffect, useState } from "preact/hooks";
import { count } from "../format/number";
import { visible } from "../format/text";
import type { LineOrder } from "../generated/LineOrder";
import { lines } from "../state/store";
import { copyText } from "../views/copy";
import { COPIED_MAX, type LinePanel, orderBy, wrap } from "./control";

/** How long a button shows what it has done. */
const DONE_MS = 2_500;

const ORDERS: readonly (readonly [LineOrder, words: string, title: string])[] = [
  ["newest", "Newest first", "By time, across all files"],
  ["oldest", "Oldest first", "By time, across all files"],
  ["source", "As in the files", "File by file, as weir grep prints them"],
];

interface Props {
  panel: LinePanel;
  total: number;
  /** Whether the order and the wrapping can be chosen. */
  hasChoices: boolean;
}

/** What can be done with the lines of a list. */
export function LineTools({ panel, total, hasChoices }: Props) {
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
    <div class="line-buttons">
      {hasChoices && <Choices />}
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
    </div>
  );
}

function Choices() {
  const { order, isWrapped } = lines.value;
  return (
    <>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be laid out as a row everywhere */}
      <div class="segments" role="group" aria-label="Order">
        {ORDERS.map(([one, words, title]) => (
          <button
            key={one}
            type="button"
            class="segment"
            aria-pressed={one === order}
            title={title}
            data-testid={`lines-${one}`}
            onClick={() => orderBy(one)}
          >
            {words}
          </button>
        ))}
      </div>
      <button
        type="button"
        class="button small"
        aria-pressed={isWrapped}
        title="Show up to three rows of a long line"
        data-testid="lines-wrap"
        onClick={() => wrap(!isWrapped)}
      >
        Wrap
      </button>
    </>
  );
}
