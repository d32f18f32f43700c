/**
 * Joins what happens within one animation frame, so that a burst of messages is drawn
 * once. A hidden page gets no frames; there a timer keeps the state moving.
 */

const HIDDEN_MS = 250;

const tasks = new Map<string, () => void>();
let isScheduled = false;

/** Runs `task` in the next frame; a later task of the same name takes its place. */
export function inNextFrame(name: string, task: () => void): void {
  tasks.set(name, task);
  if (isScheduled) return;
  isScheduled = true;
  if (document.hidden) setTimeout(run, HIDDEN_MS);
  else requestAnimationFrame(run);
}

function run(): void {
  isScheduled = false;
  const due = [...tasks.values()];
  tasks.clear();
  for (const task of due) task();
}
