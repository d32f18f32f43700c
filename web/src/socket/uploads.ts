import { Chooser } from "./chooser";
import type { Host } from "./host";
import { Job } from "./job";
import { Lane } from "./lane";
import { LANES } from "./policy";

/** A file under the name it is shown by: its own, or its path in a dropped folder. */
export interface NamedFile {
  name: string;
  blob: Blob;
}

/** The files that one session is sent, some at a time and the rest in a queue. */
export class Uploads {
  private readonly jobs: Job[] = [];
  private readonly lanes: Lane[];

  constructor(
    private readonly host: Host,
    readonly session: string,
    private readonly changed: (jobs: readonly Job[]) => void,
    readonly chooser = new Chooser(),
    lanes = LANES,
    to: "upload" | "discard" = "upload",
  ) {
    const path = `/api/sessions/${session}/${to}`;
    const owner = { take: () => this.take(), isAlone: () => this.isAlone(), changed: () => this.tell() };
    this.lanes = Array.from({ length: lanes }, () => new Lane(host, path, chooser, owner));
  }

  /** True while a file is on its way or waits. */
  get isBusy(): boolean {
    return this.jobs.some((job) => !job.isOver);
  }

  add(files: readonly NamedFile[]): void {
    for (const { name, blob } of files) this.jobs.push(new Job(randomId(), name, blob));
    this.tell();
    for (const lane of this.lanes) lane.wake();
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
    this.tell();
  }

  /** The speed of a job at this moment. */
  rateOf(job: Job): number {
    return job.rate(this.host.now());
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

  private tell(): void {
    this.changed(this.jobs);
  }
}

/** 128 random bits; `crypto.randomUUID` exists only on secure origins. */
function randomId(): string {
  const random = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
