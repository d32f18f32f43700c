import { computed } from "@preact/signals";
import { bytes } from "../format/bytes";
import { count, plural } from "../format/number";
import { BarButtons } from "../save/BarButtons";
import { isOver, phaseOf, rowsOf } from "../state/rows";
import { filterable } from "../state/screen";
import { state } from "../state/store";
import { Brand } from "./Brand";
import { FilterBar } from "./FilterBar";
import { AdminLink, ReadingLine, SourceMenu } from "./SourceMenu";
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

/** The bar at the top of the page: what is looked at, the filter, and what can be done with it. */
export function Header() {
  const report = filterable.value;
  return (
    <header class={report === null ? "header" : "header filtering"}>
      <Brand href="/" label="Weir, start page" name="Weir" />
      {hasData.value && <SourceMenu />}
      <Reading />
      {report === null ? <span class="grow" /> : <FilterBar report={report} />}
      {!hasData.value && <AdminLink />}
      {report !== null && <BarButtons report={report} />}
      <ThemeToggle class={report === null ? undefined : "in-wide"} />
      <ReadingLine />
    </header>
  );
}

function Reading() {
  const { view } = state.value;
  if (!view || view.sources.length === 0) return null;
  const title = `${bytes(view.memory_bytes)} of memory in use, at most ${bytes(view.memory_bytes_max)}`;
  if (!isComplete.value) {
    const phase = phaseOf(rowsOf(state.value));
    return (
      <span class={`header-state ${phase}`} title={title}>
        {PHASES[phase]}
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
