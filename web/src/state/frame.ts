/**
 * Joins what happens within a short while, so that a burst of messages is drawn once, in one
 * animation frame. A hidden page gets no frames; there a timer keeps the state moving.
 */

/** At most 20 times a second, as often as views come. */
const PERIOD_MS = 50;
/**
 * The longer the changes go on the less each of them matters, down to a picture every 400 ms:
 * what drawing takes, reading and sending do not have.
 */
const PERIOD_MS_MAX = 400;
const GROWTH_SHARE = 3;
/** After so long without a change the next one begins anew. */
const QUIET_MS = 1_000;
/** Drawing takes at most one part in so many of the time. */
const WORK_SHARE = 4;
const HIDDEN_MS = 250;

const tasks = new Map<string, () => void>();
let callOff: (() => void) | null = null;
let nextAt_ms = -Infinity;
let changingSince_ms = -Infinity;
let changedAt_ms = -Infinity;

/**
 * Runs `task` in a coming frame; a later task of the same name takes its place. What is
 * urgent, such as the answer to a question, is drawn in the next frame.
 */
export function inNextFrame(name: string, task: () => void, isUrgent = false): void {
  tasks.set(name, task);
  noteChange();
  if (callOff && !isUrgent) return;
  callOff?.();
  if (document.hidden) callOff = afterTimer(HIDDEN_MS, run);
  else if (isUrgent || performance.now() >= nextAt_ms) callOff = inFrame();
  else callOff = afterTimer(nextAt_ms - performance.now(), () => (callOff = inFrame()));
}

/** Runs `task` after the frame in which this is called: what was changed is laid out and painted then. */
export function afterFrame(task: () => void): void {
  setTimeout(task);
}

function noteChange(): void {
  const now_ms = performance.now();
  if (now_ms - changedAt_ms > QUIET_MS) changingSince_ms = now_ms;
  changedAt_ms = now_ms;
}

function afterTimer(delay_ms: number, task: () => void): () => void {
  const timer = setTimeout(task, delay_ms);
  return () => clearTimeout(timer);
}

function inFrame(): () => void {
  const frame = requestAnimationFrame(run);
  return () => cancelAnimationFrame(frame);
}

function run(): void {
  callOff = null;
  const start_ms = performance.now();
  const growth_ms = (start_ms - changingSince_ms) / GROWTH_SHARE;
  const period_ms = Math.min(PERIOD_MS_MAX, Math.max(PERIOD_MS, growth_ms));
  nextAt_ms = start_ms + period_ms;
  afterFrame(() => {
    const cost_ms = performance.now() - start_ms;
    nextAt_ms = start_ms + Math.max(period_ms, cost_ms * WORK_SHARE);
  });
  const due = [...tasks.values()];
  tasks.clear();
  for (const task of due) task();
}
