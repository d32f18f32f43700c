import type { Failure } from "../generated/Failure";
import type { UploadReply } from "../generated/UploadReply";
import type { UploadRequest } from "../generated/UploadRequest";
import { retryDelay } from "../socket/backoff";
import type { Host, SocketLike } from "../socket/host";
import type { FileHandle } from "./fileHandle";
import { type FollowStart, FollowTransfer } from "./followTransfer";
import { MIB } from "./plan";
import { TailFingerprint } from "./tailFingerprint";

/** How often a file is polled, so that new lines are seen well within 200 ms. */
export const POLL_MS = 100;
/** The same while the page is hidden. */
export const POLL_MS_HIDDEN = 1_000;
/** Bytes that are read at once. */
const READ_BYTES = 4 * MIB;

/** After this many failed polls a stopped follower ends without a last read. */
const FAILED_POLLS_MAX = 5;

const REPLACED = "The file was truncated or replaced; the new file is read from its beginning.";
const INCOMPLETE_LINE =
  "The last line was incomplete when the file was read; its rest counts as a line of its own.";
const LOST =
  "The file was truncated or replaced while the connection was lost; " +
  "the part that had not been read is missing.";

/**
 * Sends the content of a file and then the lines appended to it, until it is stopped.
 *
 * The file is polled, because browsers do not report changes. If it became shorter, or the bytes
 * before the current offset changed, it was truncated or replaced: the transfer ends, and a new
 * one begins at the start of the file.
 */
export class Follower {
  /** All transfers of the file, the current one last. */
  readonly transfers: FollowTransfer[] = [];
  private socket: SocketLike | null = null;
  /** Whether the server accepts bytes of the current transfer. */
  private isReady = false;
  private isPolling = false;
  private isStopping = false;
  private fingerprint: TailFingerprint | null;
  /** Size and time of the file when its fingerprint was last checked. */
  private checked: { size: number; lastModified: number } | null = null;
  /** Failed connections in a row. */
  private failures = 0;
  /** Failed polls in a row. */
  private failedPolls = 0;
  private cancelTimer: () => void = () => {};

  constructor(
    private readonly host: Host,
    private readonly path: string,
    private readonly handle: FileHandle,
    private readonly name: string,
    start: FollowStart,
    private readonly newId: () => string,
    private readonly onChange: () => void,
  ) {
    this.fingerprint = start.fingerprint;
    this.add(start);
    if (start.fingerprint?.isLineEnd === false) this.current.message = INCOMPLETE_LINE;
    this.connect();
  }

  get isOver(): boolean {
    return this.current.isOver;
  }

  /** Whether existing content of the file is still being sent. */
  get isBusy(): boolean {
    return !this.isOver && this.current.phase !== "following";
  }

  has(file: string): boolean {
    return this.transfers.some((transfer) => transfer.file === file);
  }

  /** The file of a transfer, and where in it the transfer began; `null` if it was truncated since. */
  async fileOf(file: string): Promise<{ blob: Blob; base: number } | null> {
    const transfer = this.transfers.find((one) => one.file === file);
    if (!transfer || transfer.isReplaced) return null;
    return { blob: await this.handle.getFile(), base: transfer.start.offset };
  }

  /** Reads the rest of the file, including an incomplete last line, and ends. */
  stop(): void {
    this.isStopping = true;
    void this.poll();
  }

  /** Ends at once. */
  abort(message: string): void {
    if (!this.isOver) this.finish("failed", message);
  }

  private get current(): FollowTransfer {
    return this.transfers.at(-1)!;
  }

  private add(start: FollowStart): void {
    this.transfers.push(new FollowTransfer(this.newId(), this.name, start));
    this.onChange();
  }

  private connect(): void {
    const socket = this.host.connect(this.path);
    this.socket = socket;
    socket.onopen = () => this.begin();
    socket.onmessage = (event) => this.receive(JSON.parse(String(event.data)) as UploadReply);
    socket.onclose = () => {
      if (this.socket === socket) this.reconnect();
    };
  }

  private begin(): void {
    const { file, name, start } = this.current;
    const continues = start.continues === null ? {} : { continues: start.continues };
    this.request({ type: "begin", file, name, bytes_total: null, ...continues });
  }

  private receive(reply: UploadReply): void {
    const transfer = this.current;
    const file = reply.type === "error" ? reply.error.file : reply.file;
    if (file !== null && file !== transfer.file) return;
    switch (reply.type) {
      case "ready":
        this.failures = 0;
        this.isReady = true;
        transfer.begin(reply.offset, reply.window_bytes);
        if (transfer.isReplaced) {
          this.end(transfer, transfer.message);
          return;
        }
        break;
      case "ack":
        transfer.acknowledge(this.host.now(), reply.offset);
        break;
      case "done":
        transfer.acknowledge(this.host.now(), reply.offset);
        this.advance(transfer);
        return;
      case "error":
        this.fail(reply.error);
        return;
    }
    this.onChange();
    // The window may have room again; otherwise the timer starts the next poll.
    if (reply.type === "ready" || transfer.phase === "reading") void this.poll();
  }

  private fail(error: Failure): void {
    if (error.name !== "file_busy") {
      this.finish("failed", error.message);
      return;
    }
    this.cancelTimer();
    this.cancelTimer = this.host.later(retryDelay(1), () => this.begin());
  }

  /** Begins the next transfer after the end of one; ends if the follower was stopped. */
  private advance(transfer: FollowTransfer): void {
    if (this.isStopping) {
      this.finish("done", transfer.message);
      return;
    }
    transfer.phase = "done";
    this.isReady = false;
    this.add({ offset: 0, fingerprint: null, continues: transfer.file });
    this.begin();
  }

  private finish(phase: "done" | "failed", message: string | null): void {
    this.cancelTimer();
    const socket = this.socket;
    this.socket = null;
    this.isReady = false;
    socket?.close();
    this.current.phase = phase;
    this.current.message = message;
    this.onChange();
  }

  private reconnect(): void {
    this.cancelTimer();
    this.socket = null;
    this.isReady = false;
    this.failures += 1;
    this.current.phase = "interrupted";
    this.onChange();
    this.cancelTimer = this.host.later(retryDelay(this.failures), () => this.connect());
  }

  /** Reads the file, and schedules the next poll. */
  private async poll(): Promise<void> {
    const transfer = this.current;
    if (this.isPolling || !this.isReady || transfer.isEndSent) return;
    this.isPolling = true;
    this.cancelTimer();
    let hasMore = false;
    try {
      hasMore = await this.read(transfer);
      this.failedPolls = 0;
    } catch {
      // The file does not exist at the moment, or changed during the read.
      this.failedPolls += 1;
      if (this.isStopping && this.failedPolls >= FAILED_POLLS_MAX) {
        this.end(transfer, transfer.message);
      }
    }
    this.isPolling = false;
    if (this.current !== transfer || !this.isReady || transfer.isEndSent) return;
    if (hasMore) {
      void this.poll();
      return;
    }
    const pause_ms = this.host.isHidden() ? POLL_MS_HIDDEN : POLL_MS;
    this.cancelTimer = this.host.later(pause_ms, () => void this.poll());
  }

  /** Sends new bytes, up to a limit. Returns whether more can be sent at once. */
  private async read(transfer: FollowTransfer): Promise<boolean> {
    const file = await this.handle.getFile();
    if (file.size < transfer.offset) return this.replace(transfer);
    this.fingerprint ??= await this.readFingerprint(transfer, file);
    const isChecked =
      this.checked?.size === file.size && this.checked.lastModified === file.lastModified;
    const size = Math.min(file.size - transfer.offset, READ_BYTES, transfer.room);
    if (isChecked && size <= 0) return this.settle(transfer, file);
    // The fingerprint and the new bytes are usually adjacent and read together.
    const isAdjacent = this.fingerprint.end === transfer.offset;
    if (!isAdjacent && !(await this.fingerprint.isIn(file))) return this.replace(transfer);
    const from = isAdjacent ? this.fingerprint.from : transfer.offset;
    const end = transfer.offset + Math.max(0, size);
    const bytes = new Uint8Array(await file.slice(from, end).arrayBuffer());
    // The connection may have been lost during the read.
    if (this.current !== transfer || !this.isReady) return false;
    const old = transfer.offset - from;
    if (isAdjacent && !this.fingerprint.equals(bytes.subarray(0, old))) {
      return this.replace(transfer);
    }
    this.checked = { size: file.size, lastModified: file.lastModified };
    const added = bytes.slice(old);
    if (added.length > 0) {
      this.fingerprint = TailFingerprint.after(from, bytes);
      this.socket?.send(added.buffer);
      transfer.sent += added.length;
    }
    return this.settle(transfer, file);
  }

  /** Updates the phase after a read. Returns whether more can be sent at once. */
  private settle(transfer: FollowTransfer, file: File): boolean {
    const isAll = transfer.offset >= file.size;
    if (isAll && this.isStopping) this.end(transfer, transfer.message);
    const phase = isAll ? "following" : "reading";
    if (transfer.phase !== phase) {
      transfer.phase = phase;
      this.onChange();
    }
    return !isAll && transfer.room > 0;
  }

  private async readFingerprint(transfer: FollowTransfer, file: File): Promise<TailFingerprint> {
    const fingerprint = await TailFingerprint.at(file, transfer.offset);
    if (!fingerprint.isLineEnd) transfer.message = INCOMPLETE_LINE;
    return fingerprint;
  }

  /** Ends the transfer of a file that was truncated or replaced. */
  private replace(transfer: FollowTransfer): false {
    if (transfer.isEndSent || this.current !== transfer || !this.isReady) return false;
    const isLost = this.fingerprint !== null && this.fingerprint.end > transfer.offset;
    transfer.isReplaced = true;
    this.fingerprint = null;
    this.checked = null;
    this.end(transfer, isLost ? LOST : REPLACED);
    return false;
  }

  private end(transfer: FollowTransfer, message: string | null): void {
    if (!this.isReady || transfer.isEndSent) return;
    transfer.isEndSent = true;
    transfer.message = message;
    this.request({ type: "end", file: transfer.file });
    this.onChange();
  }

  private request(request: UploadRequest): void {
    this.socket?.send(JSON.stringify(request));
  }
}
