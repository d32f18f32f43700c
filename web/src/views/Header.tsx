import { computed } from "@preact/signals";
import { bytes } from "../format/bytes";
import { isOver, phaseOf, rowsOf } from "../state/rows";
import { state } from "../state/store";
import { FilePicker } from "./FilePicker";
import { theme, toggleTheme } from "./theme";

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
      <a class="brand" href="/" aria-label="Weir, start page">
        <Logo />
        <span>Weir</span>
      </a>
      <Reading />
      <span class="grow" />
      {hasData.value && <FilePicker>Add files…</FilePicker>}
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
  return (
    <span
      class={whole ? "header-state complete" : "header-state partial"}
      title={title}
      data-testid="session-complete"
    >
      {whole ? "Everything read" : "Ended, not everything was read"}
    </span>
  );
}

function ThemeToggle() {
  const dark = theme.value === "dark";
  return (
    <button
      type="button"
      class="button icon"
      data-testid="theme-toggle"
      aria-label={dark ? "Use the light theme" : "Use the dark theme"}
      title={dark ? "Light theme" : "Dark theme"}
      onClick={toggleTheme}
    >
      <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
        <circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" stroke-width="1.5" />
        <path d="M8 2a6 6 0 0 1 0 12z" fill="currentColor" />
      </svg>
    </button>
  );
}

function Logo() {
  return (
    <svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true">
      <path class="water" d="M1 9h9c4 0 3 10 7 10h6" />
      <path class="wall" d="M8 21v-8l5 8z" />
    </svg>
  );
}
