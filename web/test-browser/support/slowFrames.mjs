// A page whose frames and timers are late, as on a machine that is busy. It exposes tests that read
// too early what is drawn a frame after their action.

/** How late each frame is, in milliseconds. The variable `WEIR_SLOW_FRAMES` of the suite. */
const LATE_MS = Number(process.env.WEIR_SLOW_FRAMES ?? 0);
/** Timers are late by this part of it. */
const TIMER_SHARE = 0.25;
/** How much slower Chromium runs the page. */
const CPU_SLOWDOWN = 6;

/** Makes a page slow if the variable is set. Only Chromium can slow its processor down. */
export async function slowDown(page, browserName) {
  if (LATE_MS === 0) return;
  await page.evaluateOnNewDocument(delayFrames, LATE_MS, LATE_MS * TIMER_SHARE);
  if (browserName === "chromium") await page.emulateCPUThrottling(CPU_SLOWDOWN);
}

/** Runs in the page before its own scripts. */
function delayFrames(frame_ms, timer_ms) {
  const { requestAnimationFrame, cancelAnimationFrame, setTimeout, clearTimeout } = window;
  /** The frames that were asked for, each with how it is cancelled. */
  const asked = new Map();
  let last = 0;
  window.requestAnimationFrame = (task) => {
    last += 1;
    const id = last;
    const timer = setTimeout(() => {
      const frame = requestAnimationFrame((now) => {
        asked.delete(id);
        task(now);
      });
      asked.set(id, () => cancelAnimationFrame(frame));
    }, frame_ms);
    asked.set(id, () => clearTimeout(timer));
    return id;
  };
  window.cancelAnimationFrame = (id) => {
    asked.get(id)?.();
    asked.delete(id);
  };
  window.setTimeout = (task, delay_ms = 0, ...args) =>
    setTimeout(task, delay_ms + timer_ms, ...args);
}
