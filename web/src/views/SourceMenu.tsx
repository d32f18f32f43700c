import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { count, share } from "../format/number";
import { visible } from "../format/text";
import { isGrowing, rowsOf, shareCounted } from "../state/rows";
import { isUnparsed, screen } from "../state/screen";
import { state } from "../state/store";
import { NEW } from "../state/url";
import { FilePicker } from "./FilePicker";
import { neighbour } from "./neighbour";
import { shownLater } from "./part";

const Progress = shownLater(async () => (await import("./Progress")).Progress);

const MENU = "sources";

/** The sources in one button, and below it each of them with what can be done with it. */
export function SourceMenu() {
  const [isOpen, setOpen] = useState(false);
  const frame = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (!isOpen) return;
    const stop = new AbortController();
    const leave = (event: Event) => {
      if (!frame.current?.contains(event.target as Node)) setOpen(false);
    };
    for (const type of ["pointerdown", "focusin"])
      document.addEventListener(type, leave, { signal: stop.signal });
    return () => stop.abort();
  }, [isOpen]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !isOpen) return;
    // Escape must not undo the last step of the page.
    event.preventDefault();
    event.stopPropagation();
    setOpen(false);
    frame.current?.querySelector("button")?.focus();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape closes what the button in it opens
    <div ref={frame} class="source-menu" onKeyDown={onKeyDown}>
      <button
        type="button"
        class="source-button"
        aria-expanded={isOpen}
        aria-controls={MENU}
        data-testid="sources-open"
        title="Sources: what was read, and what can be added"
        onClick={() => setOpen(!isOpen)}
      >
        <Names />
        <svg class="chevron" viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
          <path d="M2.5 4.5 6 8l3.5-3.5" />
        </svg>
      </button>
      <div id={MENU} class="popover sources" hidden={!isOpen} data-testid="sources">
        {screen.value === "dashboard" && !isUnparsed.value && <Progress />}
        <p class="source-links">
          <FilePicker>Add files…</FilePicker>
          <span class="hint">or drop them anywhere</span>
          <span class="grow" />
          <NewLink />
          <AdminLink />
        </p>
      </div>
    </div>
  );
}

/** The name of the first source, how many there are beside it, and how far they are read. */
function Names() {
  const now = state.value;
  const rows = rowsOf(now);
  const [first] = rows;
  const view = now.view;
  const part = view && isGrowing(view) ? shareCounted(view.sources) : null;
  if (!first) return <span class="source-name">Sources</span>;
  return (
    <>
      <b class="source-name" title={visible(first.name)}>
        {visible(first.name.split("/").at(-1) || first.name || "standard input")}
      </b>
      {rows.length > 1 && <span class="source-more">and {count(rows.length - 1)} more</span>}
      {part !== null && <span class="source-share">{share(part, 1)}</span>}
    </>
  );
}

/** How far the files are read, as a line below the bar. */
export function ReadingLine() {
  const { view } = state.value;
  const part = view && isGrowing(view) ? shareCounted(view.sources) : null;
  if (part === null) return null;
  return <span class="reading-line" style={{ transform: `scaleX(${part})` }} />;
}

/** The way to the page for logs of one's own, which `/` is not if the program serves a data set. */
function NewLink() {
  const { served, session } = state.value;
  if (served === null || session === null) return null;
  return (
    <a
      class="header-link"
      href={NEW}
      data-testid="new-link"
      title="Read other logs, apart from this data set"
    >
      Other logs
    </a>
  );
}

/** The way to the pages of `--admin`, if the program has them. */
export function AdminLink() {
  const admin = neighbour("weir-admin");
  if (admin === null) return null;
  return (
    <a
      class="header-link"
      href={admin}
      data-testid="admin-link"
      title="How the data flows through Weir"
    >
      Inside
    </a>
  );
}
