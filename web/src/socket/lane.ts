import type { UploadReply } from "../generated/UploadReply";
import type { UploadRequest } from "../generated/UploadRequest";
import { retryDelay } from "./backoff";
import type { Host, SocketLike } from "./host";
import type { Job } from "./job";
import { nextMessage, type Policy } from "./policy";

/** What a lane needs from the queue it belongs to. */
export interface LaneOwner {
  /** The next file to send, if there is one. */
  take(): Job | null;
  changed(job: Job): void;
}

export const UNREADABLE =
  "The file can no longer be read: it was changed, moved or deleted after it was chosen. " +
  "What was read stands; choose the file again to read it anew.";

/** One upload socket that sends files one after another. */
export class Lane {
  private job: Job | null = null;
  /** Files given up while there was no connection; the server is told on the next one. */
  private untold: Job[] = [];
  private socket: SocketLike | null = null;
  private open = false;
  private failures = 0;
  private calledOff: () => void = () => {};

  constructor(
    private readonly host: Host,
    private readonly path: string,
    private readonly policy: Policy,
    private readonly owner: LaneOwner,
  ) {}

  /** Starts the next file if the lane is free; without one, gives the socket back. */
  wake(): void {
    if (this.job) return;
    this.job = this.owner.take();
    if (!this.job && this.untold.length === 0) this.close();
    else if (this.open) this.greet();
    else if (!this.socket) this.connect();
  }

  /** Gives up the file if this lane sends it. */
  cancel(job: Job): void {
    if (this.job !== job) return;
    if (this.open) this.say({ type: "cancel", file: job.file });
    else this.untold.push(job);
    this.over(job, "cancelled");
  }

  /** Ends the lane's file and its connection. */
  abort(message: string): void {
    const job = this.job;
    this.job = null;
    this.untold = [];
    this.close();
    if (!job) return;
    job.finish("failed", message);
    this.owner.changed(job);
  }

  private connect(): void {
    // A file that was given up may have left a wait behind.
    this.calledOff();
    const socket = this.host.connect(this.path);
    this.socket = socket;
    socket.onopen = () => {
      this.open = true;
      this.greet();
    };
    socket.onmessage = (event) => this.receive(JSON.parse(String(event.data)) as UploadReply);
    socket.onclose = () => {
      if (this.socket === socket) void this.broke();
    };
  }

  private close(): void {
    this.calledOff();
    const socket = this.socket;
    this.socket = null;
    this.open = false;
    socket?.close();
  }

  /** What is said first on a connection, and when the lane goes on to another file. */
  private greet(): void {
    for (const job of this.untold.splice(0)) {
      this.begin(job);
      this.say({ type: "cancel", file: job.file });
    }
    if (this.job) this.begin(this.job);
    else this.wake();
  }

  private begin(job: Job): void {
    this.say({ type: "begin", file: job.file, name: job.name, bytes_total: job.blob.size });
  }

  private receive(reply: UploadReply): void {
    const job = this.job;
    const file = reply.type === "error" ? reply.error.file : reply.file;
    // Replies to a file that was given up may still be on their way.
    if (!job || (file !== null && file !== job.file)) return;
    switch (reply.type) {
      case "ready":
        this.failures = 0;
        job.begin(this.host.now(), reply.offset, reply.window_bytes);
        return this.pump(job);
      case "ack":
        job.acknowledge(this.host.now(), reply.offset);
        return this.pump(job);
      case "done":
        job.acknowledge(this.host.now(), reply.offset);
        return this.over(job, "done");
      case "error":
        return this.over(job, "failed", reply.error.message);
    }
  }

  /** Sends as much as the window allows. The browser reads each slice as it sends it. */
  private pump(job: Job): void {
    for (;;) {
      const size = nextMessage(this.policy, { ...job, bytes_total: job.blob.size });
      if (size === 0) break;
      this.socket?.send(job.blob.slice(job.sent, job.sent + size));
      job.sent += size;
    }
    if (job.sent === job.blob.size && !job.ended) {
      job.ended = true;
      this.say({ type: "end", file: job.file });
    }
    this.owner.changed(job);
  }

  private over(job: Job, phase: "done" | "failed" | "cancelled", message: string | null = null): void {
    this.job = null;
    job.finish(phase, message);
    this.owner.changed(job);
    this.wake();
  }

  /** A broken connection is tried again, unless it is the file that broke it. */
  private async broke(): Promise<void> {
    this.socket = null;
    this.open = false;
    this.failures += 1;
    const job = this.job;
    if (job) {
      job.phase = "interrupted";
      this.owner.changed(job);
      const readable = await this.host.isReadable(job.blob.slice(job.acked));
      // While the file was tried the user may have given it up.
      if (this.job !== job || this.socket) return;
      if (!readable) {
        this.untold.push(job);
        return this.over(job, "failed", UNREADABLE);
      }
    }
    if (!job && this.untold.length === 0) return;
    this.calledOff = this.host.later(retryDelay(this.failures), () => this.connect());
  }

  private say(request: UploadRequest): void {
    this.socket?.send(JSON.stringify(request));
  }
}
