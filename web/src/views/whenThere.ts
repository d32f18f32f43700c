/** Elements that are drawn a little later, because their part of the page or an answer is on its way. */

/** How long an element is waited for. */
const PATIENCE_MS = 3_000;

/** Focuses an element as soon as `find` returns it. */
export function focusWhenThere(find: () => HTMLElement | null): void {
  const end_ms = performance.now() + PATIENCE_MS;
  const look = () => {
    const found = find();
    if (found !== null) found.focus({ preventScroll: found.tabIndex < 0 });
    else if (performance.now() < end_ms) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}
