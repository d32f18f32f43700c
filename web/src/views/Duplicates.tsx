import { useLayoutEffect, useRef } from "preact/hooks";
import { type DuplicateChoice, decide } from "../control/duplicates";
import { plural } from "../format/number";
import { state } from "../state/store";
import { LogText } from "./LogText";

/** Names that are listed; the others are counted. */
const NAMES_SHOWN = 5;

/** Asks what to do with files that the data set already has. */
export function Duplicates() {
  const { duplicates } = state.value;
  return duplicates && <Question names={duplicates.names} />;
}

function Question({ names }: { names: string[] }) {
  const dialog = useRef<HTMLDialogElement>(null);
  // Before the paint: the keys that follow belong to the dialog.
  useLayoutEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
  }, []);
  const more = names.length - NAMES_SHOWN;
  const choose = (choice: DuplicateChoice) => () => void decide(choice);
  return (
    <dialog
      ref={dialog}
      class="dialog"
      aria-labelledby="duplicates-title"
      data-testid="duplicates"
      onCancel={choose("skip")}
      // Escape must not undo the last step of the page behind.
      onKeyDown={(event) => event.stopPropagation()}
    >
      <h2 id="duplicates-title">
        {names.length === 1 ? "This file is already here" : "These files are already here"}
      </h2>
      <ul>
        {names.slice(0, NAMES_SHOWN).map((name, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two files may have the same name
          <li key={at}>
            <LogText value={name} />
          </li>
        ))}
        {more > 0 && <li>and {plural(more, "other file")}</li>}
      </ul>
      <p>
        Name, size, and the first and last bytes are the same. Kept twice, each line counts twice.
      </p>
      <p class="dialog-buttons">
        <button type="button" class="button primary" autofocus onClick={choose("skip")}>
          Skip
        </button>
        <button type="button" class="button" onClick={choose("replace")}>
          Replace
        </button>
        <button type="button" class="button" onClick={choose("keep both")}>
          Keep both
        </button>
      </p>
    </dialog>
  );
}
