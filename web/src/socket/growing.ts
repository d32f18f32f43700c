/** Files that go on growing, as browsers show them. */

/** The part of a `FileSystemFileHandle` that is used: each call gives the file as it is then. */
export interface Handle {
  getFile(): Promise<File>;
}

/** A handle, which the browser may take its time to give; nobody waits for it to read. */
export type HandleToCome = Promise<Handle | null>;

/** Bytes by which a file is known again: a line of a log, with its time. */
const MARK_BYTES = 256;

/** The bytes before a place in a file. */
export class Mark {
  constructor(
    private readonly bytes: Uint8Array,
    /** Where they end. */
    readonly end: number,
  ) {}

  /** The mark at the end of what was read, which began at `offset`. */
  static behind(offset: number, bytes: Uint8Array): Mark {
    return new Mark(bytes.slice(-MARK_BYTES), offset + bytes.length);
  }

  /** The mark at a place in a file. */
  static async at(file: Blob, end: number): Promise<Mark> {
    const from = Math.max(0, end - MARK_BYTES);
    return new Mark(new Uint8Array(await file.slice(from, end).arrayBuffer()), end);
  }

  get from(): number {
    return this.end - this.bytes.length;
  }

  /** True where a line ends here, or none has begun. */
  get isLineEnd(): boolean {
    return this.bytes.length === 0 || this.bytes.at(-1) === 10;
  }

  /** True where `bytes`, which lie where the mark does, are its own. */
  fits(bytes: Uint8Array): boolean {
    return bytes.length === this.bytes.length && bytes.every((byte, at) => byte === this.bytes[at]);
  }

  async isIn(file: Blob): Promise<boolean> {
    return this.fits(new Uint8Array(await file.slice(this.from, this.end).arrayBuffer()));
  }
}

const PACKED = /\.(gz|tgz|zst|bz2|xz|lz4|zip|tar)$/i;

/** False for what is packed: nobody appends to that. */
export function canGrow(name: string): boolean {
  return !PACKED.test(name);
}
