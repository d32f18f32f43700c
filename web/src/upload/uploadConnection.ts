import type { Failure } from "../generated/Failure";
import type { UploadReply } from "../generated/UploadReply";
import type { UploadRequest } from "../generated/UploadRequest";
import { retryDelay } from "../socket/backoff";
import type { Host, SocketLike } from "../socket/host";
import type { FirstPaintThrottle } from "./firstPaintThrottle";
import { MIB, nextMessageSize } from "./plan";
import type { PlanTuner } from "./planTuner";
import { SecondConnection } from "./secondConnection";
import type { FileTransfer } from "./transfer";

/** The queue that an upload connection belongs to. */
export interface UploadQueue {
  /** Removes the next file from the queue, if there is one. */
  take(): FileTransfer | null;
  /** Whether no other connection sends. Only then does the speed depend on the plan alone. */
  isAlone(): boolean;
  readonly throttle: FirstPaintThrottle;
  changed(transfer: FileTransfer): void;
}

export const UNREADABLE =
  "The file can no longer be read: it was changed, moved or deleted after it was chosen. " +
  "The lines read so far are kept; choose the file again to read it from the beginning.";

/** A shorter rest is sent before a second connection could help. */
const SECOND_CONNECTION_BYTES_MIN = 128 * MIB;

/** How long to retry a file that another connection still holds. */
const BUSY_MS_MAX = 60_000;

/** One upload socket that sends files one after another. */
export class UploadConnection {
  private transfer: FileTransfer | null = null;
  /** Files cancelled while there was no connection; the next connection reports them. */
  private unreported: FileTransfer[] = [];
  private socket: SocketLike | null = null;
  private isOpen = false;
  /** Whether `begin` awaits its answer. Acks that arrive meanwhile belong to the time before. */
  private isBeginning = false;
  /** End of the last message on this socket, in bytes of the file. */
  private sentTo = 0;
  private second: SecondConnection | null = null;
  /** Whether a second connection has failed; the reason may be permanent. */
  private isSingle = false;
  private failures = 0;
  private busySince_ms: number | null = null;
  private cancelTimer: () => void = () => {};

  constructor(
    private readonly host: Host,
    private readonly path: string,
    private readonly tuner: PlanTuner,
    private readonly queue: UploadQueue,
  ) {}

  /** Starts the next file if the connection is idle; closes it if there is none. */
  wake(): void {
    if (this.transfer) return;
    this.transfer = this.queue.take();
    if (!this.transfer && this.unreported.length === 0) this.close();
    else if (this.isOpen) this.greet();
    else if (!this.socket) this.connect();
  }

  /** Sends the part that was held back. The pause does not count for the speed. */
  resume(): void {
    if (this.transfer?.phase !== "reading" || this.isBeginning || !this.isOpen) return;
    this.transfer.restartRate(this.host.now());
    this.pump(this.transfer);
  }

  /** Cancels the file if this connection sends it. */
  cancel(transfer: FileTransfer): void {
    if (this.transfer !== transfer) return;
    if (this.isOpen) this.request({ type: "cancel", file: transfer.file });
    else this.unreported.push(transfer);
    this.finish(transfer, "cancelled");
  }

  /** Ends the current file and the connection. */
  abort(message: string): void {
    const transfer = this.transfer;
    this.transfer = null;
    this.unreported = [];
    this.close();
    if (!transfer) return;
    transfer.finish("failed", message);
    this.queue.changed(transfer);
  }

  private connect(): void {
    // A cancelled file may have left a timer running.
    this.cancelTimer();
    const socket = this.host.connect(this.path);
    this.socket = socket;
    socket.onopen = () => {
      this.isOpen = true;
      this.greet();
    };
    socket.onmessage = (event) => this.receive(JSON.parse(String(event.data)) as UploadReply);
    socket.onclose = () => {
      if (this.socket === socket) void this.reconnect();
    };
  }

  private close(): void {
    this.cancelTimer();
    this.closeSecond();
    const socket = this.socket;
    this.socket = null;
    this.isOpen = false;
    socket?.close();
  }

  /** Reports cancelled files, then begins the current one or takes the next. */
  private greet(): void {
    for (const transfer of this.unreported.splice(0)) {
      this.begin(transfer);
      this.request({ type: "cancel", file: transfer.file });
    }
    if (this.transfer) this.begin(this.transfer);
    else this.wake();
  }

  private begin({ file, name, blob, fingerprint, replay, format }: FileTransfer): void {
    this.isBeginning = true;
    const known = fingerprint === null ? {} : { fingerprint };
    const again = replay === undefined ? {} : { replay };
    const given = format === null ? {} : { format };
    const about = { ...known, ...again, ...given };
    this.request({ type: "begin", file, name, bytes_total: blob.size, ...about });
  }

  private receive(reply: UploadReply): void {
    const transfer = this.transfer;
    const file = reply.type === "error" ? reply.error.file : reply.file;
    // Replies about a cancelled file may still arrive.
    if (!transfer || (file !== null && file !== transfer.file)) return;
    const now_ms = this.host.now();
    switch (reply.type) {
      case "ready":
        this.failures = 0;
        this.busySince_ms = null;
        this.isBeginning = false;
        this.sentTo = reply.offset;
        this.tuner.restart();
        this.queue.throttle.startTimer();
        transfer.begin(now_ms, reply.offset, reply.window_bytes);
        this.pump(transfer);
        break;
      case "ack":
        if (this.isBeginning) return;
        transfer.acknowledge(now_ms, reply.offset);
        if (this.queue.isAlone()) this.tuner.acknowledge(now_ms, transfer.acked);
        this.pump(transfer);
        break;
      case "done":
        transfer.acknowledge(now_ms, reply.offset);
        this.finish(transfer, "done");
        break;
      case "error":
        this.fail(transfer, reply.error);
        break;
    }
  }

  private fail(transfer: FileTransfer, error: Failure): void {
    if (error.name === "interrupted") {
      if (!this.isBeginning) this.startOver(transfer);
      return;
    }
    if (error.name === "file_busy" && this.shouldRetryBusy()) {
      this.cancelTimer();
      this.cancelTimer = this.host.later(retryDelay(1), () => this.begin(transfer));
      return;
    }
    this.finish(transfer, "failed", error.message);
  }

  /** The server may take a while to notice that the previous connection is gone. */
  private shouldRetryBusy(): boolean {
    this.busySince_ms ??= this.host.now();
    return this.host.now() - this.busySince_ms < BUSY_MS_MAX;
  }

  /** Sends as much as the window allows. The browser reads each slice as it sends it. */
  private pump(transfer: FileTransfer): void {
    this.openSecond(transfer);
    for (;;) {
      const size = this.sendNext(transfer);
      if (size === 0) break;
    }
    if (transfer.sent === transfer.blob.size && !transfer.isEndSent) {
      transfer.isEndSent = true;
      this.request({ type: "end", file: transfer.file });
    }
    this.queue.changed(transfer);
  }

  /** Sends one message and returns its size; 0 if none may be sent now. */
  private sendNext(transfer: FileTransfer): number {
    const second = this.second?.isJoined ? this.second : null;
    const { throttle } = this.queue;
    // The stretches that the tuner times begin after the throttled part.
    const { plan, until } =
      this.queue.isAlone() && throttle.isOver
        ? this.tuner.planAt(transfer.sent, second !== null)
        : { plan: this.tuner.best, until: throttle.bytes_max };
    transfer.plan = plan;
    const bytes_per_second = transfer.rate(this.host.now());
    const at = { ...transfer, bytes_total: transfer.blob.size, bytes_per_second };
    const size = Math.min(nextMessageSize(plan, at), until - transfer.sent);
    if (size <= 0) return 0;
    const bytes = transfer.blob.slice(transfer.sent, transfer.sent + size);
    // The two connections take turns.
    if (second && plan.sockets > 1 && second.sentTo <= this.sentTo) {
      second.send(transfer.sent, bytes);
    } else {
      this.send(transfer, bytes);
    }
    transfer.sent += size;
    return size;
  }

  private send({ file, sent }: FileTransfer, bytes: Blob): void {
    if (this.sentTo !== sent) this.request({ type: "block", file, offset: sent });
    this.socket?.send(bytes);
    this.sentTo = sent + bytes.size;
  }

  /** Opens a second connection if the file is large and the only one. */
  private openSecond(transfer: FileTransfer): void {
    if (this.second || this.isSingle) return;
    const isLarge = transfer.blob.size - transfer.sent >= SECOND_CONNECTION_BYTES_MIN;
    if (!isLarge || !this.queue.isAlone() || !this.queue.throttle.isOver) return;
    const second: SecondConnection = new SecondConnection(
      this.host,
      this.path,
      transfer.file,
      () => this.pump(transfer),
      () => this.loseSecond(second, transfer),
    );
    this.second = second;
  }

  private closeSecond(): void {
    this.second?.close();
    this.second = null;
  }

  private loseSecond(second: SecondConnection, transfer: FileTransfer): void {
    if (this.second !== second) return;
    this.second = null;
    this.isSingle = true;
    const isSending = this.transfer === transfer && this.isOpen && !this.isBeginning;
    if (isSending && second.sentTo > transfer.acked) this.startOver(transfer);
  }

  /** Begins again, because part of the data in flight is lost. */
  private startOver(transfer: FileTransfer): void {
    this.closeSecond();
    this.begin(transfer);
  }

  private finish(
    transfer: FileTransfer,
    phase: "done" | "failed" | "cancelled",
    message: string | null = null,
  ): void {
    this.transfer = null;
    this.isBeginning = false;
    this.busySince_ms = null;
    this.cancelTimer();
    this.closeSecond();
    transfer.finish(phase, message);
    this.queue.changed(transfer);
    this.wake();
  }

  /** Reconnects after a while, unless the connection broke because the file is unreadable. */
  private async reconnect(): Promise<void> {
    this.cancelTimer();
    this.closeSecond();
    this.socket = null;
    this.isOpen = false;
    this.failures += 1;
    const transfer = this.transfer;
    if (transfer) {
      transfer.phase = "interrupted";
      this.queue.changed(transfer);
      const isReadable = await this.host.isReadable(transfer.blob.slice(transfer.acked));
      // The file may have been cancelled during the check.
      if (this.transfer !== transfer || this.socket) return;
      if (!isReadable) {
        this.unreported.push(transfer);
        this.finish(transfer, "failed", UNREADABLE);
        return;
      }
    }
    if (!transfer && this.unreported.length === 0) return;
    this.cancelTimer = this.host.later(retryDelay(this.failures), () => this.connect());
  }

  private request(request: UploadRequest): void {
    this.socket?.send(JSON.stringify(request));
  }
}
