import type { Host } from "../socket/host";
import { canGrow, type FileHandle, type FileHandlePromise } from "./fileHandle";
import { FirstPaintThrottle } from "./firstPaintThrottle";
import { Follower } from "./follower";
import type { FollowStart } from "./followTransfer";
import { CONNECTIONS } from "./plan";
import { PlanTuner } from "./planTuner";
import { TailFingerprint } from "./tailFingerprint";
import { FileTransfer, type Transfer } from "./transfer";
import { UploadConnection } from "./uploadConnection";

/** A file with the name it is shown by: its own, or its path in a dropped folder. */
export interface NamedFile {
  name: string;
  blob: Blob;
  /** Returns the file as it is later, if the browser supports that. */
  handle?: FileHandlePromise;
  /** The text by which the file is recognised later. */
  fingerprint?: string | null;
  /** The id of the broken upload that it resumes. */
  resumes?: string;
  /** The format of its lines, if it should not be detected. */
  format?: string;
}

/** A file, and the offset in it at which its upload began. */
export interface OpenFile {
  blob: Blob;
  base: number;
}

/** The uploads of one session: a few files at a time, the rest in a queue. */
export class Uploads {
  private transfers: FileTransfer[] = [];
  private readonly taken = new Set<FileTransfer>();
  private readonly followers: Follower[] = [];
  private readonly path: string;
  private readonly connections: UploadConnection[];
  private readonly throttle: FirstPaintThrottle;

  constructor(
    private readonly host: Host,
    readonly session: string,
    private readonly onChange: (all: readonly Transfer[]) => void,
    readonly tuner = new PlanTuner(),
    connections = CONNECTIONS,
    to: "upload" | "discard" = "upload",
  ) {
    const path = `/api/sessions/${session}/${to}`;
    this.path = path;
    const throttle = new FirstPaintThrottle(host, () => {
      for (const connection of this.connections) connection.resume();
    });
    this.throttle = throttle;
    const queue = {
      throttle,
      take: () => this.take(),
      isAlone: () => this.isAlone(),
      changed: () => this.notify(),
    };
    this.connections = Array.from(
      { length: connections },
      () => new UploadConnection(host, path, tuner, queue),
    );
  }

  /** Sends only the beginning of each file until `endThrottle`, or for a while. */
  beginThrottle(): void {
    this.throttle.begin();
  }

  /** Sends the part that was held back: the first lines are painted. */
  endThrottle(): void {
    this.throttle.end();
  }

  /** The file of an upload, as it is now; `null` if the page does not have it any more. */
  async fileOf(file: string): Promise<OpenFile | null> {
    const transfer = this.transfers.find((one) => one.file === file);
    if (transfer) return { blob: transfer.blob, base: 0 };
    const follower = this.followers.find((one) => one.has(file));
    return (await follower?.fileOf(file)) ?? null;
  }

  /** Whether a file is being sent or waits. A followed file counts until it is read to its end. */
  get isBusy(): boolean {
    return (
      this.transfers.some((transfer) => !transfer.isOver) ||
      this.followers.some((follower) => follower.isBusy)
    );
  }

  /** Adds files. With `follow`, those that may grow are read on as they do. */
  add(files: readonly NamedFile[], follow = false): void {
    for (const file of files) {
      if (follow && file.handle && canGrow(file.name)) void this.followOrRead(file, file.handle);
      else this.enqueue(file);
    }
    this.notify();
    this.wake();
  }

  /** Follows a file that was read to its end. */
  async follow(file: string): Promise<void> {
    const transfer = this.transfers.find((one) => one.file === file);
    if (!transfer?.handle || !transfer.isFollowable) return;
    const { handle, name, blob } = transfer;
    transfer.isFollowed = true;
    this.notify();
    // The browser lets the old file be read only while it has not changed.
    const fingerprint = await TailFingerprint.at(blob, blob.size).catch(() => null);
    this.start(handle, name, { offset: blob.size, fingerprint, continues: transfer.file });
  }

  /** Stops following a file; what it has by now is read. */
  stop(file: string): void {
    this.followers.find((follower) => follower.has(file))?.stop();
  }

  /** Cancels a file; the lines read so far are kept. */
  cancel(file: string): void {
    const transfer = this.transfers.find((one) => one.file === file);
    if (!transfer || transfer.isOver) return;
    if (this.taken.has(transfer)) {
      for (const connection of this.connections) connection.cancel(transfer);
    } else {
      transfer.finish("cancelled");
    }
    this.notify();
  }

  /** Cancels a file and forgets it: it was removed from the session. */
  forget(file: string): void {
    this.cancel(file);
    this.transfers = this.transfers.filter((one) => one.file !== file);
    this.notify();
  }

  /** Ends everything, for example when the server no longer has the session. */
  abort(message: string): void {
    for (const transfer of this.transfers) {
      if (!transfer.isOver && !this.taken.has(transfer)) transfer.finish("failed", message);
    }
    for (const connection of this.connections) connection.abort(message);
    for (const follower of this.followers) follower.abort(message);
    this.notify();
  }

  /** The current speed of a transfer in bytes a second. */
  rateOf(transfer: Transfer): number {
    return transfer.rate(this.host.now());
  }

  private take(): FileTransfer | null {
    const next = this.transfers.find((one) => !one.isOver && !this.taken.has(one)) ?? null;
    if (next) this.taken.add(next);
    return next;
  }

  private isAlone(): boolean {
    return this.transfers.filter((one) => this.taken.has(one) && !one.isOver).length < 2;
  }

  private async followOrRead(file: NamedFile, promise: FileHandlePromise): Promise<void> {
    const handle = await promise;
    if (handle) {
      this.start(handle, file.name, { offset: 0, fingerprint: null, continues: null });
      return;
    }
    this.enqueue(file);
    this.notify();
    this.wake();
  }

  private enqueue({ name, blob, handle, fingerprint, resumes, format }: NamedFile): void {
    // A file that was resumed before and failed is replaced.
    this.transfers = this.transfers.filter((one) => one.file !== resumes);
    const transfer = new FileTransfer(resumes ?? randomId(), name, blob, fingerprint ?? null);
    transfer.format = format ?? null;
    this.transfers.push(transfer);
    void handle?.then((handle) => {
      transfer.handle = handle;
      if (transfer.isOver) this.notify();
    });
  }

  private start(handle: FileHandle, name: string, start: FollowStart): void {
    const notify = () => this.notify();
    this.followers.push(new Follower(this.host, this.path, handle, name, start, randomId, notify));
    this.notify();
  }

  private wake(): void {
    for (const connection of this.connections) connection.wake();
  }

  private notify(): void {
    this.onChange([...this.transfers, ...this.followers.flatMap((follower) => follower.transfers)]);
  }
}

/** 128 random bits; `crypto.randomUUID` exists only on secure origins. */
function randomId(): string {
  const random = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
