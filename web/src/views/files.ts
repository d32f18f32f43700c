/** The files of a drop. */

import type { FileHandlePromise } from "../upload/fileHandle";
import type { NamedFile } from "../upload/uploads";
import { handleIn, handleOf } from "./handles";

/** Maximum number of files of a drop, which is that of a session. */
export const FILES_MAX = 1_000;

export interface DropContent {
  files: NamedFile[];
  /** A sentence about files that were left out. */
  notice: string | null;
}

/** A dropped file or folder. */
interface Item {
  entry: FileSystemEntry | null;
  file: File | null;
  handle: ReturnType<typeof handleOf>;
}

/**
 * Returns the files of a drop, including those in folders, in the order of their names.
 *
 * It reads the transfer synchronously, because the browser empties it after the event.
 */
export async function filesOf(transfer: DataTransfer): Promise<DropContent> {
  const items: Item[] = [...transfer.items]
    .filter((item) => item.kind === "file")
    .map((item) => ({
      entry: item.webkitGetAsEntry(),
      file: item.getAsFile(),
      handle: handleOf(item),
    }));
  const walk = new Walk();
  for (const item of inOrder(items, ({ entry, file }) => entry?.name ?? file?.name ?? "")) {
    if (item.entry?.isDirectory) {
      walk.handleAt = (path) => item.handle.then((folder) => handleIn(folder, path));
      await walk.folder(item.entry as FileSystemDirectoryEntry);
    } else if (item.file) {
      const handle = item.handle.then((one) => (one?.kind === "file" ? one : null));
      walk.take(item.file.name, item.file, handle);
    }
  }
  return { files: walk.files, notice: walk.notice() };
}

/** Whether a drag carries files instead of text of the page. */
export function carriesFiles(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes("Files") ?? false;
}

class Walk {
  readonly files: NamedFile[] = [];
  /** Returns the handle of a file in the current folder. */
  handleAt: (path: readonly string[]) => FileHandlePromise = () => Promise.resolve(null);
  private folders = 0;
  private leftOut = false;
  private readonly unreadable: string[] = [];

  take(name: string, blob: Blob, handle: FileHandlePromise): void {
    if (this.files.length < FILES_MAX) this.files.push({ name, blob, handle });
    else this.leftOut = true;
  }

  async folder(folder: FileSystemDirectoryEntry): Promise<void> {
    this.folders += 1;
    try {
      for (const entry of inOrder(await entriesOf(folder), ({ name }) => name))
        await this.entry(entry);
    } catch {
      this.unreadable.push(folder.name);
    }
  }

  notice(): string | null {
    if (this.unreadable.length > 0) {
      return `${this.unreadable.join(", ")} could not be read. The other files are read.`;
    }
    if (this.leftOut)
      return `There are more than ${FILES_MAX} files; the first ${FILES_MAX} by name are read.`;
    return this.folders > 0 && this.files.length === 0 ? "There is no file in the folder." : null;
  }

  private async entry(entry: FileSystemEntry): Promise<void> {
    // Hidden files belong to the system: .DS_Store, .directory.
    if (this.leftOut || entry.name.startsWith(".")) return;
    if (entry.isDirectory) return this.folder(entry as FileSystemDirectoryEntry);
    try {
      const path = entry.fullPath.replace(/^\//, "");
      const handle = this.handleAt(path.split("/").slice(1));
      this.take(path, await fileOf(entry as FileSystemFileEntry), handle);
    } catch {
      this.unreadable.push(entry.name);
    }
  }
}

/** Reads a folder, which returns its entries in batches and then an empty batch. */
async function entriesOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const found: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((done, fail) =>
      reader.readEntries(done, fail),
    );
    if (some.length === 0) return found;
    found.push(...some);
  }
}

function fileOf(entry: FileSystemFileEntry): Promise<File> {
  return new Promise((done, fail) => entry.file(done, fail));
}

/** Orders `access.log.2` before `access.log.10`, in every language of the browser. */
const NAMES = new Intl.Collator("en", { numeric: true });

function inOrder<T>(things: T[], nameOf: (thing: T) => string): T[] {
  return [...things].sort((a, b) => NAMES.compare(nameOf(a), nameOf(b)));
}
