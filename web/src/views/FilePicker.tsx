import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { addFiles, notify } from "../control/session";
import { pickFiles } from "./handles";

/** A button that opens the browser's file dialogue. */
export function FilePicker({
  children,
  primary,
}: {
  children: ComponentChildren;
  primary?: boolean;
}) {
  const input = useRef<HTMLInputElement>(null);
  const onChange = () => {
    const files = [...(input.current?.files ?? [])].map((blob) => ({ name: blob.name, blob }));
    // Otherwise choosing the same file again would not be a change.
    if (input.current) input.current.value = "";
    void addFiles(files);
  };
  const pick = async () => {
    try {
      const files = await pickFiles();
      if (files === null) input.current?.click();
      else await addFiles(files);
    } catch (error) {
      notify(
        `The files could not be opened. ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  };
  return (
    <>
      <button
        type="button"
        class={primary ? "button primary" : "button"}
        onClick={() => void pick()}
      >
        {children}
      </button>
      <input
        ref={input}
        // The button is what a person presses, and what a screen reader finds.
        hidden
        type="file"
        multiple
        data-testid="file-input"
        onChange={onChange}
      />
    </>
  );
}
