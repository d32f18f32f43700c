/** The symbols of buttons. Each has words beside it, or a label for a screen reader. */

const PATHS = {
  share: "M8 10V2m0 0L5 5m3-3 3 3M4 8H3v6h10V8h-1",
  save: "M8 2v8m0 0L5 7m3 3 3-3M3 13h10",
  close: "m4 4 8 8m0-8-8 8",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 0 0 0-9m3.5 8 3.5 3.5",
} as const;

/** A symbol, in the colour of the text around it. */
export function Icon({ name }: { name: keyof typeof PATHS }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** Three dots: what has no room in the bar. */
export function Dots() {
  return (
    <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <g fill="currentColor">
        <circle cx="3" cy="8" r="1.4" />
        <circle cx="8" cy="8" r="1.4" />
        <circle cx="13" cy="8" r="1.4" />
      </g>
    </svg>
  );
}
