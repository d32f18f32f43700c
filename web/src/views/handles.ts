/** File handles, which return a file as it is later. Only Chromium has them. */

import type { FileHandle } from "../upload/fileHandle";
import type { NamedFile } from "../upload/uploads";

interface NamedHandle extends FileHandle {
  readonly kind: "file";
  readonly name: string;
}

interface FolderHandle {
  readonly kind: "directory";
  getDirectoryHandle(name: string): Promise<FolderHandle>;
  getFileHandle(name: string): Promise<NamedHandle>;
}

type AnyHandle = NamedHandle | FolderHandle;

interface Item {
  getAsFileSystemHandle?(): Promise<AnyHandle | null>;
}

type Picker = (options: { multiple: boolean }) => Promise<NamedHandle[]>;

/** Whether this browser can follow files. It supports that only on secure origins. */
export const canFollow: boolean =
  typeof DataTransferItem !== "undefined" && "getAsFileSystemHandle" in DataTransferItem.prototype;

/** Returns the handle of a dropped item. Must be called during the event. */
export async function handleOf(item: DataTransferItem): Promise<AnyHandle | null> {
  try {
    return (await (item as Item).getAsFileSystemHandle?.()) ?? null;
  } catch {
    // System folders and files that a page has created have no handle.
    return null;
  }
}

/** Returns the handle of a file in a dropped folder, by its path inside of the folder. */
export async function handleIn(
  folder: AnyHandle | null,
  path: readonly string[],
): Promise<FileHandle | null> {
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

/** Opens the file dialogue. Returns `null` if the browser has only the `<input>` dialogue. */
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
