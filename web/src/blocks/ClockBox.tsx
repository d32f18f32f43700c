import { useState } from "preact/hooks";
import type { BlockClock } from "../generated/BlockClock";
import { blocks } from "../state/store";
import { setClockOffset } from "./control";
import { clockText, durationText, parseOffset } from "./words";

const MISTAKE = "Write the offset as 2h, -30min or 90s, up to 48h.";

/** What is known of the clocks of the two logs, and a box that sets their offset. */
export function ClockBox({ clock, refusal }: { clock: BlockClock; refusal: string | null }) {
  const { clockOffset_s } = blocks.value;
  const sign = clock.offset_s < 0 ? "-" : "";
  const current = `${sign}${durationText(Math.abs(clock.offset_s))}`;
  const [typed, setTyped] = useState<string | null>(null);
  const [isWrong, setWrong] = useState(false);
  const submit = (event: Event) => {
    event.preventDefault();
    const offset_s = parseOffset(typed ?? current);
    setWrong(offset_s === null);
    if (offset_s === null) return;
    setTyped(null);
    setClockOffset(offset_s);
  };
  const estimate = () => {
    setTyped(null);
    setWrong(false);
    setClockOffset(null);
  };
  return (
    <form class="clock-box" onSubmit={submit}>
      <p data-testid="blocks-clock">{clockText(clock)}</p>
      <label>
        Ahead by{" "}
        <input
          type="text"
          size={10}
          value={typed ?? current}
          aria-invalid={isWrong}
          data-testid="blocks-offset"
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="button small" data-testid="blocks-set">
        Set
      </button>
      {clockOffset_s !== null && (
        <button type="button" class="link" data-testid="blocks-estimate" onClick={estimate}>
          Estimate
        </button>
      )}
      {(isWrong || refusal !== null) && (
        <p class="bad" role="alert">
          {isWrong ? MISTAKE : refusal}
        </p>
      )}
    </form>
  );
}
