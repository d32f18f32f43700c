import { Chooser } from "./chooser";
import { Follower, type Start } from "./follower";
import { canGrow, type Handle, type HandleToCome, Mark } from "./growing";
import type { Host } from "./host";
import { Job, type Sending } from "./job";
import { Lane } from "./lane";
import { Opening } from "./opening";
import { LANES } from "./policy";

/** A file under the name it is shown by: its own, or its path in a dropped folder. */
export interface NamedFile {
  name: string;
  blob: Blob;
  /** What shows the file as it is later on, where the browser gives that. */
  handle?: HandleToCome;
}

/** The files that one session is sent, some at a time and the rest in a queue. */
export class Uploads {
  private readonly jobs: Job[] = [];
  private readonly followers: Follower[] = [];
  private readonly path: string;
  private readonly lanes: Lane[];
  private readonly opening: Opening;

  constructor(
    private readonly host: Host,
    readonly session: string,
    private readonly changed: (all: readonly Sending[]) => void,
    readonly chooser = new Chooser(),
    lanes = LANES,
    to: "upload" | "discard" = "upload",
  ) {
    const path = `/api/sessions/${session}/${to}`;
    this.path = path;
    const opening = new Opening(host, () => this.lanes.forEach((lane) => lane.goOn()));
    this.opening = opening;
    const owner = {
      opening,
      take: () => this.take(),
      isAlone: () => this.isAlone(),
      changed: () => this.tell(),
    };
    this.lanes = Array.from({ length: lanes }, () => new Lane(host, path, chooser, owner));
  }

  /** Sends only the beginnings of files, until `goOn`, or for a while: nothing is on the screen yet. */
  beginOnly(): void {
    this.opening.begin();
  }

  /** Sends what was held back: the first lines are on the screen. */
  goOn(): void {
    this.opening.end();
  }

  /** True while a file is on its way or waits. What is read of a file that grows is not lost. */
  get isBusy(): boolean {
    return this.jobs.some((job) => !job.isOver) || this.followers.some((one) => one.isBusy);
  }

  /** Reads files; with `follow`, those that can grow are read on as they do. */
  add(files: readonly NamedFile[], follow = false): void {
    for (const file of files) {
      if (follow && file.handle && canGrow(file.name)) void this.followOrRead(file, file.handle);
      else this.queue(file);
    }
    this.tell();
    for (const lane of this.lanes) lane.wake();
  }

  /** Reads on a file that was read to its end. */
  async follow(file: string): Promise<void> {
    const job = this.jobs.find((one) => one.file === file);
    if (!job?.handle || !job.isFollowable) return;
    job.isFollowed = true;
    this.tell();
    // The file as it was may be read as long as it has not changed.
    const mark = await Mark.at(job.blob, job.blob.size).catch(() => null);
    this.start(job.handle, job.name, { offset: job.blob.size, mark, continues: job.file });
  }

  /** Ends the following of a file; what it has by now is read. */
  stop(file: string): void {
    this.followers.find((one) => one.has(file))?.stop();
  }

  /** Gives a file up; what was read of it stands. */
  cancel(file: string): void {
    const job = this.jobs.find((one) => one.file === file);
    if (!job || job.isOver) return;
    if (this.taken.has(job)) for (const lane of this.lanes) lane.cancel(job);
    else job.finish("cancelled");
    this.tell();
  }

  /** Ends everything, such as when the server no longer knows the session. */
  abort(message: string): void {
    for (const job of this.jobs) {
      if (!job.isOver && !this.taken.has(job)) job.finish("failed", message);
    }
    for (const lane of this.lanes) lane.abort(message);
    for (const follower of this.followers) follower.abort(message);
    this.tell();
  }

  /** The speed of a job at this moment. */
  rateOf(one: Sending): number {
    return one.rate(this.host.now());
  }

  private readonly taken = new Set<Job>();

  private take(): Job | null {
    const job = this.jobs.find((one) => !one.isOver && !this.taken.has(one)) ?? null;
    if (job) this.taken.add(job);
    return job;
  }

  private isAlone(): boolean {
    return this.jobs.reduce((on, job) => on + Number(this.taken.has(job) && !job.isOver), 0) < 2;
  }

  private async followOrRead(file: NamedFile, handle: HandleToCome): Promise<void> {
    const known = await handle;
    if (known) return this.start(known, file.name, { offset: 0, mark: null, continues: null });
    this.queue(file);
    this.tell();
    for (const lane of this.lanes) lane.wake();
  }

  private queue({ name, blob, handle }: NamedFile): void {
    const job = new Job(randomId(), name, blob);
    this.jobs.push(job);
    void handle?.then((known) => {
      job.handle = known;
      if (job.isOver) this.tell();
    });
  }

  private start(handle: Handle, name: string, start: Start): void {
    const tell = () => this.tell();
    this.followers.push(new Follower(this.host, this.path, handle, name, start, randomId, tell));
    this.tell();
  }

  private tell(): void {
    this.changed([...this.jobs, ...this.followers.flatMap((one) => one.pieces)]);
  }
}

/** 128 random bits; `crypto.randomUUID` exists only on secure origins. */
function randomId(): string {
  const random = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
