import { useLayoutEffect, useRef } from "preact/hooks";
import { count, plural } from "../format/number";
import type { Completion } from "../state/typed";
import { LogText } from "./LogText";

/** The id of the list, which the text box names. */
export const COMPLETIONS = "filter-completions";

/** The id of one of them. */
export function completionId(at: number): string {
  return `${COMPLETIONS}-${at}`;
}

interface Props {
  listed: readonly Completion[];
  active: number | null;
  choose: (completion: Completion) => void;
}

/** How the text can go on, with the number of records or of values. The focus stays in the text box. */
export function CompletionList({ listed, active, choose }: Props) {
  const list = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (active !== null) list.current?.children[active]?.scrollIntoView({ block: "nearest" });
  }, [active]);
  return (
    <div ref={list} id={COMPLETIONS} class="completions" role="listbox" aria-label="Completions">
      {listed.map((completion, at) => (
        // biome-ignore lint/a11y/useFocusableInteractive: the text box has the focus, and the keys
        // biome-ignore lint/a11y/useKeyWithClickEvents: as above
        <div
          key={completion.text}
          id={completionId(at)}
          class="completion"
          role="option"
          aria-selected={at === active}
          data-testid="completion"
          data-text={completion.text}
          // The text box keeps the focus.
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => choose(completion)}
        >
          <span class="completion-label">
            <LogText value={completion.label} title={false} />
          </span>
          <span class="completion-count">{countText(completion)}</span>
        </div>
      ))}
    </div>
  );
}

function countText({ count: found, isField }: Completion): string {
  if (found === null) return "";
  return isField ? plural(found, "value") : count(found);
}
