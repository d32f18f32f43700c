/** Files out of what was dropped or picked. */

export interface Dropped {
  files: File[];
  /** Names of folders, which cannot be read as files. */
  folders: string[];
}

/** Must be called within the drop event: the browser empties the list after it. */
export function filesOf(transfer: DataTransfer): Dropped {
  const dropped: Dropped = { files: [], folders: [] };
  for (const item of transfer.items) {
    if (item.kind !== "file") continue;
    const entry = item.webkitGetAsEntry();
    const file = item.getAsFile();
    if (entry?.isDirectory) dropped.folders.push(entry.name);
    else if (file) dropped.files.push(file);
  }
  return dropped;
}

/** True where a drag carries files rather than text of the page. */
export function carriesFiles(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes("Files") ?? false;
}
