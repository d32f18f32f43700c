/**
 * Joins what happens within a short while, so that a burst of messages is drawn once, in one
 * animation frame. A hidden page gets no frames; there a timer keeps the state moving.
 */

/** At most 20 times a second, as often as views come. */
const PERIOD_MS = 50;
/** Drawing takes at most one part in so many of the time, as it takes it from reading. */
const WORK_SHARE = 4;
const HIDDEN_MS = 250;

const tasks = new Map<string, () => void>();
let isScheduled = false;
let nextAt_ms = -Infinity;

/** Runs `task` in a coming frame; a later task of the same name takes its place. */
export function inNextFrame(name: string, task: () => void): void {
  tasks.set(name, task);
  if (isScheduled) return;
  isScheduled = true;
  const wait_ms = nextAt_ms - performance.now();
  if (document.hidden) setTimeout(run, HIDDEN_MS);
  else if (wait_ms > 0) setTimeout(() => requestAnimationFrame(run), wait_ms);
  else requestAnimationFrame(run);
}

function run(): void {
  isScheduled = false;
  const start_ms = performance.now();
  nextAt_ms = start_ms + PERIOD_MS;
  // The first task after the frame: what was changed is laid out and painted by then.
  setTimeout(() => {
    const cost_ms = performance.now() - start_ms;
    nextAt_ms = start_ms + Math.max(PERIOD_MS, cost_ms * WORK_SHARE);
  });
  const due = [...tasks.values()];
  tasks.clear();
  for (const task of due) task();
}
