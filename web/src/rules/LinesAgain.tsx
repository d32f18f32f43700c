import { bytes } from "../format/bytes";
import type { LinesAgain as Lines } from "../state/rules";

interface Props {
  lines: Lines;
  /** Cancels the replay. */
  onCancel?: () => void;
}

/** How far the lines are read again for a rule that looks at lines. */
export function LinesAgain({ lines: { isWaiting, bytes_done, bytes_total }, onCancel }: Props) {
  const share = bytes_total > 0 ? bytes_done / bytes_total : 1;
  return (
    <div class="lines-again" data-testid="lines-again">
      <p>
        {isWaiting
          ? "The rule looks at whole lines, which are read again once the log is read."
          : `Reading the lines again for this rule: ${bytes(bytes_done)} of ${bytes(bytes_total)}`}
      </p>
      {!isWaiting && (
        <span
          class="meter"
          role="progressbar"
          aria-label="Lines read again"
          aria-valuenow={Math.round(100 * share)}
        >
          <span style={{ transform: `scaleX(${share})` }} />
        </span>
      )}
      {onCancel && (
        <button
          type="button"
          class="button small"
          data-testid="lines-again-cancel"
          onClick={onCancel}
        >
          Cancel
        </button>
      )}
    </div>
  );
}
