import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { capitalized, visible } from "../format/text";
import { focusFirst } from "./useMenu";

/** What every menu is given. */
export interface OpenMenu {
  id: string;
  close: () => void;
}

interface MenuProps extends OpenMenu {
  label: string;
  /** For tests: whether everything that its items state is known. */
  isProbed?: boolean;
  children: ComponentChildren;
}

/** The items of a button in the bar. The first one has the focus. */
export function Menu({ id, close, label, isProbed, children }: MenuProps) {
  const menu = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    keepInside(menu.current);
    focusFirst(menu.current);
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keys of its items become clicks
    <div
      ref={menu}
      id={id}
      class="menu"
      role="menu"
      tabIndex={-1}
      aria-label={label}
      data-testid={id}
      data-probed={isProbed}
      onClick={(event) => isChoice(event.target) && close()}
    >
      {children}
    </div>
  );
}

/** Items that belong together, with a heading. */
export function Group({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is not part of a menu
    <div role="group" aria-label={label} class="menu-group">
      <span class="menu-caption" aria-hidden="true">
        {label}
      </span>
      {children}
    </div>
  );
}

interface ItemProps {
  id: string;
  label: string;
  hint: string;
  /** Whether the hint is a command. */
  isCommand?: boolean | undefined;
  /** Why it cannot be chosen; `null` if it can. */
  problem?: string | null;
  choose: () => void;
}

/** Something that is done. */
export function Item({ id, label, hint, isCommand, problem = null, choose }: ItemProps) {
  return (
    <button
      type="button"
      role="menuitem"
      class="menu-item"
      tabIndex={-1}
      aria-disabled={problem !== null}
      data-testid={id}
      onClick={() => problem === null && choose()}
    >
      {problem === null ? (
        <Words label={label} hint={hint} isCommand={isCommand} />
      ) : (
        <Words label={label} hint={visible(capitalized(problem))} />
      )}
    </button>
  );
}

interface FileItemProps {
  id: string;
  label: string;
  hint: string;
  /** Where the server has the file; `null` if it has none. */
  address: string | null;
  /** Why there is no address. */
  problem: string;
  onSave?: () => void;
}

/** A file of the server. It is a link, because the browser saves it while the server writes it. */
export function FileItem({ id, label, hint, address, problem, onSave }: FileItemProps) {
  if (address === null)
    return <Item id={id} label={label} hint={hint} problem={problem} choose={() => {}} />;
  return (
    <a
      role="menuitem"
      class="menu-item"
      tabIndex={-1}
      href={address}
      download
      data-testid={id}
      onClick={onSave}
    >
      <Words label={label} hint={hint} />
    </a>
  );
}

function Words({ label, hint, isCommand }: Pick<ItemProps, "label" | "hint" | "isCommand">) {
  return (
    <>
      <span>{label}</span>
      <span class={isCommand ? "menu-hint command" : "menu-hint"}>{hint}</span>
    </>
  );
}

function isChoice(target: EventTarget | null): boolean {
  const item = target instanceof Element ? target.closest('[role="menuitem"]') : null;
  return item !== null && item.getAttribute("aria-disabled") !== "true";
}

/** The distance of the menu from the edge of the window, in pixels. */
const EDGE = 8;

/** Moves a menu to the left or right that would be cut there. */
function keepInside(menu: HTMLElement | null): void {
  if (!menu) return;
  const { left, right } = menu.getBoundingClientRect();
  const beyond = right - (document.documentElement.clientWidth - EDGE);
  const by = beyond > 0 ? -beyond : Math.max(0, EDGE - left);
  if (by !== 0) menu.style.transform = `translateX(${by}px)`;
}
