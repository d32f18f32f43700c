import { computed } from "@preact/signals";
import { bytes } from "../format/bytes";
import { count, plural } from "../format/number";
import { isOver, phaseOf, rowsOf } from "../state/rows";
import { state } from "../state/store";
import { NEW } from "../state/url";
import { Brand } from "./Brand";
import { FilePicker } from "./FilePicker";
import { neighbour } from "./neighbour";
import { ThemeToggle } from "./ThemeToggle";

const hasData = computed(() => state.value.session !== null);
const isComplete = computed(() => {
  const { view } = state.value;
  // A file that was just added is not in a view yet.
  return (
    view?.complete &&
    view.sources.length > 0 &&
    rowsOf(state.value).every((row) => isOver(row.phase))
  );
});

const PHASES = {
  reading: "Reading…",
  following: "Following",
  listening: "Listening",
  orphaned: "Not everything was read",
};

/** The bar at the top of the page. */
export function Header() {
  return (
    <header class="header">
      <Brand href="/" label="Weir, start page" name="Weir" />
      <Reading />
      <span class="grow" />
      {hasData.value && <FilePicker>Add files…</FilePicker>}
      <NewLink />
      <AdminLink />
      <ThemeToggle />
    </header>
  );
}

function Reading() {
  const { view } = state.value;
  if (!view || view.sources.length === 0) return null;
  const title = `${bytes(view.memory_bytes)} of memory in use, at most ${bytes(view.memory_bytes_max)}`;
  if (!isComplete.value) {
    return (
      <span class="header-state" title={title}>
        {PHASES[phaseOf(rowsOf(state.value))]}
      </span>
    );
  }
  const whole = rowsOf(state.value).every((row) => row.phase === "done");
  const unread = view.sources.filter((source) => source.unread !== undefined).length;
  return (
    <span
      class={whole && unread === 0 ? "header-state complete" : "header-state partial"}
      title={title}
      data-testid="session-complete"
    >
      {whole ? readText(unread, view.sources.length) : "Ended, not everything was read"}
    </span>
  );
}

/** What was read of sources of which no line was read in some. */
function readText(unread: number, all: number): string {
  if (unread === 0) return "Everything read";
  return unread === all
    ? "No line was read"
    : `${count(unread)} of ${plural(all, "file")} not read`;
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
function AdminLink() {
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
