/**
 * Merges tasks within a short time, so that a burst of messages is drawn once, in one animation
 * frame. A hidden page gets no frames, so a timer takes their place.
 */

/** At most 20 times a second, the rate of the views. */
const PERIOD_MS = 50;
/**
 * The longer changes go on the less each of them matters, so the period grows up to this limit:
 * time spent on drawing is lost for reading and sending.
 */
const PERIOD_MS_MAX = 400;
const GROWTH_SHARE = 3;
/** After this time without a change the period starts small again. */
const QUIET_MS = 1_000;
/** Drawing takes at most a fourth of the time. */
const WORK_SHARE = 4;
const HIDDEN_MS = 250;

const tasks = new Map<string, () => void>();
let cancel: (() => void) | null = null;
let nextAt_ms = -Infinity;
let changingSince_ms = -Infinity;
let changedAt_ms = -Infinity;

/**
 * Runs `task` in a later frame; a newer task of the same name replaces it. An urgent task, such as
 * the answer to a question, runs at once, so that the next frame shows it.
 */
export function inNextFrame(name: string, task: () => void, isUrgent = false): void {
  tasks.set(name, task);
  noteChange();
  if (cancel && !isUrgent) return;
  cancel?.();
  if (document.hidden) cancel = afterTimer(HIDDEN_MS, run);
  else if (isUrgent) run();
  else if (performance.now() >= nextAt_ms) cancel = inFrame();
  else cancel = afterTimer(nextAt_ms - performance.now(), () => (cancel = inFrame()));
}

/** Runs `task` after the current frame, when its changes are laid out and painted. */
export function afterFrame(task: () => void): void {
  setTimeout(task);
}

/** Runs `task` after the next frame is painted. The returned function cancels it. */
export function afterPaint(task: () => void): () => void {
  if (document.hidden) return afterTimer(HIDDEN_MS, task);
  let cancel: () => void;
  const frame = requestAnimationFrame(() => {
    cancel = afterTimer(0, task);
  });
  cancel = () => cancelAnimationFrame(frame);
  return () => cancel();
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
  cancel = null;
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
