/** Handles by which a browser shows files as they are later on. Chromium has them. */

import type { Handle } from "../socket/growing";
import type { NamedFile } from "../socket/uploads";

interface FileHandle extends Handle {
  readonly kind: "file";
  readonly name: string;
}

interface FolderHandle {
  readonly kind: "directory";
  getDirectoryHandle(name: string): Promise<FolderHandle>;
  getFileHandle(name: string): Promise<FileHandle>;
}

type AnyHandle = FileHandle | FolderHandle;

interface Item {
  getAsFileSystemHandle?(): Promise<AnyHandle | null>;
}

type Picker = (options: { multiple: boolean }) => Promise<FileHandle[]>;

/** True where this browser can follow files. It has to trust the page's address, too. */
export const canFollow: boolean =
  typeof DataTransferItem !== "undefined" && "getAsFileSystemHandle" in DataTransferItem.prototype;

/** The handle of what was dropped; it has to be asked for before the event is over. */
export async function handleOf(item: DataTransferItem): Promise<AnyHandle | null> {
  try {
    return (await (item as Item).getAsFileSystemHandle?.()) ?? null;
  } catch {
    // Some folders are the system's, and what a page made itself has no handle.
    return null;
  }
}

/** The handle of a file in a dropped folder, by its path from there. */
export async function handleIn(
  folder: AnyHandle | null,
  path: readonly string[],
): Promise<Handle | null> {
  try {
    let at = folder;
    for (const name of path.slice(0, -1)) {
      if (at?.kind !== "directory") return null;
      at = await at.getDirectoryHandle(name);
    }
    const name = path.at(-1);
    return at?.kind === "directory" && name !== undefined ? await at.getFileHandle(name) : null;
  } catch {
    return null;
  }
}

/** Lets a person choose files; `null` where the browser's older dialogue has to do. */
export async function pickFiles(): Promise<NamedFile[] | null> {
  const picker = (globalThis as { showOpenFilePicker?: Picker }).showOpenFilePicker;
  if (!picker) return null;
  try {
    const handles = await picker({ multiple: true });
    return await Promise.all(
      handles.map(async (handle) => ({
        name: handle.name,
        blob: await handle.getFile(),
        handle: Promise.resolve(handle),
      })),
    );
  } catch (error) {
    const name = error instanceof DOMException ? error.name : "";
    if (name === "AbortError") return [];
    if (name === "SecurityError" || name === "NotAllowedError") return null;
    throw error;
  }
}
