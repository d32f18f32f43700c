import { theme, toggleTheme } from "./theme";

/** Switches between the light and the dark theme. */
export function ThemeToggle({ class: more = "" }: { class?: string | undefined }) {
  const dark = theme.value === "dark";
  return (
    <button
      type="button"
      class={`button icon ${more}`}
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
