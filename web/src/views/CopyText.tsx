import { useState } from "preact/hooks";
import { copyText } from "./copy";

/** How long the button shows that it has copied. */
const COPIED_MS = 1500;

/** Copies lines that are ready to paste. */
export function CopyText({ text }: { text: string }) {
  const [isCopied, setCopied] = useState<boolean | null>(null);
  const copy = async () => {
    setCopied(await copyText(text));
    setTimeout(() => setCopied(null), COPIED_MS);
  };
  return (
    <button type="button" class="button small" data-testid="copy-text" onClick={() => void copy()}>
      <span role="status">
        {isCopied === null ? "Copy" : isCopied ? "Copied" : "The browser does not allow to copy"}
      </span>
    </button>
  );
}
