/** Files that the page itself writes. */

/** A browser reads the file while it saves it, so its address stays valid for this time. */
const KEPT_MS = 60_000;

/** Saves a file under a name, where the browser puts what is downloaded. */
export function download(name: string, file: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS);
}
