/** Bytes of a fingerprint: about one line of a log, with its time. */
const FINGERPRINT_BYTES = 256;

/** The last bytes that were read of a file, by which the file is recognised later. */
export class TailFingerprint {
  constructor(
    private readonly bytes: Uint8Array,
    /** Offset in the file where the bytes end. */
    readonly end: number,
  ) {}

  /** Returns the fingerprint of the end of `bytes`, which were read from `offset` on. */
  static after(offset: number, bytes: Uint8Array): TailFingerprint {
    return new TailFingerprint(bytes.slice(-FINGERPRINT_BYTES), offset + bytes.length);
  }

  /** Reads the fingerprint of a file up to the offset `end`. */
  static async at(file: Blob, end: number): Promise<TailFingerprint> {
    const from = Math.max(0, end - FINGERPRINT_BYTES);
    const bytes = new Uint8Array(await file.slice(from, end).arrayBuffer());
    return new TailFingerprint(bytes, end);
  }

  /** Offset in the file where the bytes begin. */
  get from(): number {
    return this.end - this.bytes.length;
  }

  /** Whether the bytes end with a complete line, or are empty. */
  get isLineEnd(): boolean {
    return this.bytes.length === 0 || this.bytes.at(-1) === 10;
  }

  /** Whether `bytes`, read from `from` to `end`, are the same. */
  equals(bytes: Uint8Array): boolean {
    return bytes.length === this.bytes.length && bytes.every((byte, at) => byte === this.bytes[at]);
  }

  /** Whether the file still has the bytes at their offset. */
  async isIn(file: Blob): Promise<boolean> {
    return this.equals(new Uint8Array(await file.slice(this.from, this.end).arrayBuffer()));
  }
}
