import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useMenu } from "./useMenu";

interface Props {
  /** The name in tests and in ids: `share`. */
  name: string;
  /** What a screen reader says. */
  label: string;
  /** What is in the button. */
  face: ComponentChildren;
  /** Further classes of the frame around the button and its menu. */
  class?: string;
  onOpen: () => void;
  /** The menu; it is loaded when it is opened first. */
  children: (id: string, close: () => void) => ComponentChildren;
}

/** A button that opens a menu below it. */
export function MenuButton({ name, label, face, class: more, onOpen, children }: Props) {
  const [isOpen, setOpen] = useState(false);
  const { frame, onKeyDown, close } = useMenu(isOpen, setOpen);
  const id = `${name}-menu`;
  const toggle = () => {
    if (!isOpen) onOpen();
    setOpen(!isOpen);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys are those of the menu in it
    <div ref={frame} class={`menu-frame ${more ?? ""}`} onKeyDown={onKeyDown}>
      <button
        type="button"
        class="button quiet menu-button"
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        data-testid={`${name}-open`}
        onClick={toggle}
      >
        {face}
      </button>
      {isOpen && children(id, close)}
    </div>
  );
}
