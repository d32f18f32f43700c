/** Files that may grow while they are read. */

/** The part of a `FileSystemFileHandle` that is used: each call returns the file as it is then. */
export interface FileHandle {
  getFile(): Promise<File>;
}

/** A handle that the browser may take a while to return. Reading does not wait for it. */
export type FileHandlePromise = Promise<FileHandle | null>;

const COMPRESSED = /\.(gz|tgz|zst|bz2|xz|lz4|zip|tar)$/i;

/** Whether a file of this name may grow. Compressed files and archives do not. */
export function canGrow(name: string): boolean {
  return !COMPRESSED.test(name);
}
