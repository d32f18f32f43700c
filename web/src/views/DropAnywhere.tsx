import { useLayoutEffect, useState } from "preact/hooks";
import { addFiles, notify } from "../control/session";
import { visible } from "../format/text";
import { carriesFiles, filesOf } from "./files";

/** Accepts files anywhere on the page, and shows that while they hover. */
export function DropAnywhere() {
  const [hovering, setHovering] = useState(false);
  // Before the first paint: without it a dropped file would replace the page.
  useLayoutEffect(() => listen(setHovering), []);
  return hovering ? (
    <div class="drop-veil" aria-hidden="true">
      <p>Drop to read</p>
    </div>
  ) : null;
}

function listen(setHovering: (hovering: boolean) => void): () => void {
  const stop = new AbortController();
  const options = { signal: stop.signal };
  addEventListener("dragover", (event) => over(event, setHovering), options);
  addEventListener(
    "dragleave",
    (event) => event.relatedTarget === null && setHovering(false),
    options,
  );
  addEventListener("drop", (event) => dropped(event, setHovering), options);
  return () => stop.abort();
}

function over(event: DragEvent, setHovering: (hovering: boolean) => void): void {
  if (!carriesFiles(event)) return;
  // Otherwise the browser would open the file instead of the page.
  event.preventDefault();
  if (event.dataTransfer) event.dataTransfer.dropEffect = "copy";
  setHovering(true);
}

function dropped(event: DragEvent, setHovering: (hovering: boolean) => void): void {
  if (!event.dataTransfer || !carriesFiles(event)) return;
  event.preventDefault();
  setHovering(false);
  void filesOf(event.dataTransfer).then(async ({ files, notice }) => {
    await addFiles(files);
    if (notice !== null) notify(visible(notice));
  });
}
