import { useLayoutEffect, useState } from "preact/hooks";
import { type Completion, completionsOf, type Known } from "../state/typed";

/** The list of completions of a text box, and what its keys do with it. */
interface Completions {
  /** Those that are listed; empty if the list is closed. */
  listed: readonly Completion[];
  /** The number of the one that Enter chooses; `null` if none is. */
  active: number | null;
  /** Opens the list, as typing does. */
  open: () => void;
  close: () => void;
  /** Handles a key; returns whether it was for the list. */
  takeKey: (event: KeyboardEvent) => boolean;
}

/** The completions of a text, in the pattern of an editable combobox of the ARIA Authoring Practices. */
export function useCompletions(
  text: string,
  known: Known,
  choose: (completion: Completion) => void,
): Completions {
  const [isOpen, setOpen] = useState(false);
  const [active, setActive] = useState<number | null>(null);
  const listed = isOpen ? completionsOf(text, known) : [];
  // biome-ignore lint/correctness/useExhaustiveDependencies: another text has other completions
  useLayoutEffect(() => setActive(null), [text]);
  const at = active !== null && active < listed.length ? active : null;
  const close = () => {
    setOpen(false);
    setActive(null);
  };
  const move = (by: 1 | -1) => {
    setOpen(true);
    const { length } = completionsOf(text, known);
    // Before the first and after the last one is the text itself.
    const place = ((at ?? -1) + 1 + by + length + 1) % (length + 1);
    setActive(place === 0 ? null : place - 1);
  };
  const takeKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.isComposing) return false;
    switch (event.key) {
      case "ArrowDown":
        move(1);
        return true;
      case "ArrowUp":
        move(-1);
        return true;
      case "Enter":
        if (at !== null) choose(listed[at]!);
        return at !== null;
      case "Escape":
        close();
        return at !== null;
      case "Tab":
        close();
        return false;
      default:
        return false;
    }
  };
  return { listed, active: at, open: () => setOpen(true), close, takeKey };
}
