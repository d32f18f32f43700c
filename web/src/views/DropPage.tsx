import { useEffect } from "preact/hooks";
import { chooseFollow, loadSender } from "../control/uploads";
import { state } from "../state/store";
import { FilePicker } from "./FilePicker";
import { canFollow } from "./handles";
import { shownLater } from "./part";

const Formats = shownLater(async () => (await import("./Formats")).Formats);

/** The page with nothing loaded. */
export function DropPage() {
  // What sends files is there before a person has found one; else it is loaded again.
  useEffect(() => void loadSender().catch(() => {}), []);
  return (
    <section class="drop-page">
      <div class="drop-zone" data-testid="drop-zone">
        <Picture />
        <h1>Drop logs here</h1>
        <p class="lead">
          One file or many, of any size, plain, compressed, or in a .tar or .zip. The picture grows
          while they are read.
        </p>
        <FilePicker primary>Choose files…</FilePicker>
        <FollowChoice />
        <Served />
        <p class="promise">
          Nothing is written to disk and everything stays on this machine: the lines go straight to
          the Weir that serves this page, and are gone when it stops.
        </p>
      </div>
      <Formats />
    </section>
  );
}

/** The way to what the program serves. */
function Served() {
  const { served } = state.value;
  if (served === null) return null;
  return (
    <p>
      This Weir also shows <a href="/">{served}</a>. What you drop here stays apart from it.
    </p>
  );
}

/** The choice to follow files, or why that is not possible. */
function FollowChoice() {
  if (!canFollow) {
    return (
      <p class="follow-choice muted">
        This browser cannot follow a log that is still being written;{" "}
        <code>weir --follow FILE</code> can.
      </p>
    );
  }
  return (
    <label class="follow-choice">
      <input
        type="checkbox"
        checked={state.value.follow}
        data-testid="follow"
        onChange={(event) => chooseFollow(event.currentTarget.checked)}
      />{" "}
      Follow: keep reading appended lines
    </label>
  );
}

/** A histogram of traffic. */
function Picture() {
  const bars = [14, 22, 18, 30, 26, 38, 34, 46, 40, 52, 30, 20, 16, 24, 20, 14];
  return (
    <svg class="drop-picture" viewBox="0 0 160 64" width="160" height="64" aria-hidden="true">
      {bars.map((height, at) => (
        <rect
          // biome-ignore lint/suspicious/noArrayIndexKey: the bars never change
          key={at}
          class={at === 9 ? "burst" : undefined}
          x={at * 10 + 1}
          y={60 - height}
          width="8"
          height={height}
          rx="1"
        />
      ))}
      <rect class="ground" x="0" y="62" width="160" height="1" />
    </svg>
  );
}
