import type { Failure } from "../generated/Failure";
import type { UploadReply } from "../generated/UploadReply";
import type { UploadRequest } from "../generated/UploadRequest";
import { retryDelay } from "./backoff";
import type { Chooser } from "./chooser";
import type { Host, SocketLike } from "./host";
import type { Job } from "./job";
import type { Opening } from "./opening";
import { Partner } from "./partner";
import { MIB, nextMessage } from "./policy";

/** What a lane needs from the queue it belongs to. */
export interface LaneOwner {
  /** The next file to send, if there is one. */
  take(): Job | null;
  /** True while no other lane sends: only then do speeds tell of the plan. */
  isAlone(): boolean;
  /** Up to where a file may be sent by now. */
  readonly opening: Opening;
  changed(job: Job): void;
}

export const UNREADABLE =
  "The file can no longer be read: it was changed, moved or deleted after it was chosen. " +
  "What was read stands; choose the file again to read it anew.";

/** A smaller rest is sent before a second connection could have helped. */
const PAIR_BYTES_MIN = 128 * MIB;

/** How long a file that another connection still has is asked for again. */
const BUSY_MS_MAX = 60_000;

/** One upload socket that sends files one after another. */
export class Lane {
  private job: Job | null = null;
  /** Files given up while there was no connection; the server is told on the next one. */
  private untold: Job[] = [];
  private socket: SocketLike | null = null;
  private open = false;
  /** `begin` was said and not answered yet: what is acknowledged meanwhile calls for nothing. */
  private isBeginning = false;
  /** Where the last message on this socket ends. */
  private sentTo = 0;
  private partner: Partner | null = null;
  /** A second connection failed once; there are reasons that stay. */
  private isSingle = false;
  private failures = 0;
  private busySince_ms: number | null = null;
  private calledOff: () => void = () => {};

  constructor(
    private readonly host: Host,
    private readonly path: string,
    private readonly chooser: Chooser,
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

  /** Goes on with what was held back; the time that it was does not count as time of sending. */
  goOn(): void {
    if (this.job?.phase !== "reading" || this.isBeginning || !this.open) return;
    this.job.restartRate(this.host.now());
    this.pump(this.job);
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
    this.part();
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
    this.isBeginning = true;
    this.say({ type: "begin", file: job.file, name: job.name, bytes_total: job.blob.size });
  }

  private receive(reply: UploadReply): void {
    const job = this.job;
    const file = reply.type === "error" ? reply.error.file : reply.file;
    // Replies to a file that was given up may still be on their way.
    if (!job || (file !== null && file !== job.file)) return;
    const now_ms = this.host.now();
    switch (reply.type) {
      case "ready":
        this.failures = 0;
        this.busySince_ms = null;
        this.isBeginning = false;
        this.sentTo = reply.offset;
        this.chooser.restart();
        this.owner.opening.note();
        job.begin(now_ms, reply.offset, reply.window_bytes);
        this.pump(job);
        break;
      case "ack":
        if (this.isBeginning) return;
        job.acknowledge(now_ms, reply.offset);
        if (this.owner.isAlone()) this.chooser.acknowledge(now_ms, job.acked);
        this.pump(job);
        break;
      case "done":
        job.acknowledge(now_ms, reply.offset);
        this.over(job, "done");
        break;
      case "error":
        this.refused(job, reply.error);
        break;
    }
  }

  private refused(job: Job, error: Failure): void {
    if (error.name === "interrupted") {
      if (!this.isBeginning) this.startOver(job);
      return;
    }
    if (error.name === "file_busy" && this.isWorthWaiting()) {
      this.calledOff();
      this.calledOff = this.host.later(retryDelay(1), () => this.begin(job));
      return;
    }
    this.over(job, "failed", error.message);
  }

  /** The server may take a while to notice that the connection before is gone. */
  private isWorthWaiting(): boolean {
    this.busySince_ms ??= this.host.now();
    return this.host.now() - this.busySince_ms < BUSY_MS_MAX;
  }

  /** Sends as much as the window allows. The browser reads each slice as it sends it. */
  private pump(job: Job): void {
    this.pair(job);
    for (;;) {
      const size = this.sendOne(job);
      if (size === 0) break;
    }
    if (job.sent === job.blob.size && !job.ended) {
      job.ended = true;
      this.say({ type: "end", file: job.file });
    }
    this.owner.changed(job);
  }

  private sendOne(job: Job): number {
    const partner = this.partner?.isJoined ? this.partner : null;
    const { opening } = this.owner;
    // The stretches that the chooser times begin behind what is sent ahead.
    const { plan, until } =
      this.owner.isAlone() && opening.isOver
        ? this.chooser.planAt(job.sent, partner !== null)
        : { plan: this.chooser.best, until: opening.bytes_max };
    job.plan = plan;
    const bytes_per_second = job.rate(this.host.now());
    const at = { ...job, bytes_total: job.blob.size, bytes_per_second };
    const size = Math.min(nextMessage(plan, at), until - job.sent);
    if (size <= 0) return 0;
    const bytes = job.blob.slice(job.sent, job.sent + size);
    // The two take turns.
    if (partner && plan.sockets > 1 && partner.sentTo <= this.sentTo) partner.send(job.sent, bytes);
    else this.send(job, bytes);
    job.sent += size;
    return size;
  }

  private send(job: Job, bytes: Blob): void {
    if (this.sentTo !== job.sent) this.say({ type: "block", file: job.file, offset: job.sent });
    this.socket?.send(bytes);
    this.sentTo = job.sent + bytes.size;
  }

  /** Opens a second connection for a large file. */
  private pair(job: Job): void {
    const isLarge = job.blob.size - job.sent >= PAIR_BYTES_MIN;
    if (
      this.partner ||
      this.isSingle ||
      !isLarge ||
      !this.owner.isAlone() ||
      !this.owner.opening.isOver
    )
      return;
    const partner: Partner = new Partner(
      this.host,
      this.path,
      job.file,
      () => this.pump(job),
      () => this.lost(partner, job),
    );
    this.partner = partner;
  }

  /** Gives the second connection back. */
  private part(): void {
    this.partner?.close();
    this.partner = null;
  }

  private lost(partner: Partner, job: Job): void {
    if (this.partner !== partner) return;
    this.partner = null;
    this.isSingle = true;
    if (this.job === job && this.open && !this.isBeginning && partner.sentTo > job.acked) {
      this.startOver(job);
    }
  }

  /** What was on its way is lost in part: asks from where to go on. */
  private startOver(job: Job): void {
    this.part();
    this.begin(job);
  }

  private over(
    job: Job,
    phase: "done" | "failed" | "cancelled",
    message: string | null = null,
  ): void {
    this.job = null;
    this.isBeginning = false;
    this.busySince_ms = null;
    this.calledOff();
    this.part();
    job.finish(phase, message);
    this.owner.changed(job);
    this.wake();
  }

  /** A broken connection is tried again, unless it is the file that broke it. */
  private async broke(): Promise<void> {
    this.calledOff();
    this.part();
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
        this.over(job, "failed", UNREADABLE);
        return;
      }
    }
    if (!job && this.untold.length === 0) return;
    this.calledOff = this.host.later(retryDelay(this.failures), () => this.connect());
  }

  private say(request: UploadRequest): void {
    this.socket?.send(JSON.stringify(request));
  }
}
