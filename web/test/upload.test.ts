import { beforeEach, describe, expect, it } from "vitest";
import { RateMeter } from "../src/socket/rate";
import { MIB, nextMessageSize, type Plan } from "../src/upload/plan";
import { PlanTuner } from "../src/upload/planTuner";
import type { Transfer } from "../src/upload/transfer";
import { UNREADABLE } from "../src/upload/uploadConnection";
import { type NamedFile, Uploads } from "../src/upload/uploads";
import { FakeHost, settle } from "./fakes";

const PLAN: Plan = { message_bytes: 10, in_flight: 4, sockets: 1 };

let host: FakeHost;
let jobs: readonly Transfer[];
let uploads: Uploads;

const file = (name: string, size: number): NamedFile => ({
  name,
  blob: new Blob([new Uint8Array(size)]),
});

function start(lanes: number, ...files: NamedFile[]): void {
  startWith([PLAN], lanes, ...files);
}

function startWith(plans: readonly Plan[], lanes: number, ...files: NamedFile[]): void {
  host = new FakeHost();
  uploads = new Uploads(host, "ab", (changed) => (jobs = changed), new PlanTuner(plans), lanes);
  uploads.add(files);
  if (host.sockets.length > 0) host.last.opens();
}

const ready = (at = 0, offset = 0, window_bytes = 1000) =>
  host.last.says({ type: "ready", file: jobs[at]!.file, offset, window_bytes });
const ack = (offset: number, at = 0) =>
  host.last.says({ type: "ack", file: jobs[at]!.file, offset });
const done = (offset: number, at = 0) =>
  host.last.says({ type: "done", file: jobs[at]!.file, offset });

beforeEach(() => {
  jobs = [];
});

describe("a file that is resumed", () => {
  it("is begun by its old id and sent from where it stopped", () => {
    start(1, { ...file("a.log", 95), resumes: "old", fingerprint: "abc" });
    expect(host.last.texts).toEqual([
      { type: "begin", file: "old", name: "a.log", bytes_total: 95, fingerprint: "abc" },
    ]);
    ready(0, 90);
    expect(host.last.bytes).toBe(5);
  });

  it("is forgotten when it is removed", () => {
    start(1, file("a.log", 95), file("b.log", 5));
    ready();
    uploads.forget(jobs[0]!.file);
    expect(host.last.texts.some((text) => text.type === "cancel")).toBe(true);
    expect(jobs.map((job) => job.name)).toEqual(["b.log"]);
  });
});

describe("one file", () => {
  it("begins, is sent within the window, is acknowledged and ends", () => {
    start(1, file("a.log", 95));
    expect(host.last.path).toBe("/api/sessions/ab/upload");
    expect(host.last.texts).toEqual([
      { type: "begin", file: jobs[0]!.file, name: "a.log", bytes_total: 95 },
    ]);
    expect(host.last.blobs).toHaveLength(0);
    ready();
    expect(host.last.blobs.map((blob) => blob.size)).toEqual([10, 10, 10, 10]);
    ack(7);
    expect(host.last.blobs).toHaveLength(4);
    ack(25);
    expect(host.last.blobs).toHaveLength(6);
    expect(jobs[0]).toMatchObject({ acked: 25, sent: 60, phase: "reading" });
    ack(60);
    ack(95);
    expect(host.last.bytes).toBe(95);
    expect(host.last.texts.at(-1)).toMatchObject({ type: "end" });
    done(95);
    expect(jobs[0]!.phase).toBe("done");
    expect(host.last.isClosed).toBe(true);
    expect(uploads.isBusy).toBe(false);
  });

  it("never has more in flight than the server's window", () => {
    start(1, file("a.log", 1000));
    ready(0, 0, 17);
    let acked = 0;
    for (let turn = 0; turn < 400 && host.last.texts.length < 2; turn += 1) {
      expect(host.last.bytes - acked).toBeLessThanOrEqual(17);
      acked = Math.min(host.last.bytes, acked + 5);
      ack(acked);
    }
    expect(host.last.bytes).toBe(1000);
  });

  it("may be empty", () => {
    start(1, file("empty.log", 0));
    ready();
    expect(host.last.blobs).toHaveLength(0);
    expect(host.last.texts.at(-1)).toMatchObject({ type: "end" });
    done(0);
    expect(jobs[0]!.phase).toBe("done");
  });

  it("fails with the message of the server", () => {
    start(1, file("a.log", 95));
    ready();
    host.last.says({
      type: "error",
      error: { name: "stalled", message: "No byte came for 60 s.", file: jobs[0]!.file },
    });
    expect(jobs[0]).toMatchObject({ phase: "failed", message: "No byte came for 60 s." });
  });
});

describe("a lost connection", () => {
  it("continues at the offset that the server names", async () => {
    start(1, file("a.log", 95));
    ready();
    ack(30);
    host.last.breaks();
    await settle();
    expect(jobs[0]!.phase).toBe("interrupted");
    expect(host.delays).toEqual([250]);
    host.elapse();
    host.last.opens();
    expect(host.last.texts[0]).toMatchObject({ type: "begin", file: jobs[0]!.file });
    ready(0, 24);
    expect(jobs[0]).toMatchObject({ phase: "reading", sent: 64, acked: 24 });
    ack(64);
    ack(95);
    done(95);
    expect(host.last.bytes).toBe(95 - 24);
    expect(jobs[0]!.phase).toBe("done");
  });

  it("is retried with longer and longer pauses, up to a limit", async () => {
    start(1, file("a.log", 95));
    for (let turn = 0; turn < 7; turn += 1) {
      host.last.breaks();
      await settle();
      host.elapse();
    }
    expect(host.delays).toEqual([250, 500, 1000, 2000, 4000, 5000, 5000]);
  });

  it("is not retried if the file itself is gone", async () => {
    start(1, file("a.log", 95), file("b.log", 5));
    ready();
    host.readable = false;
    host.last.breaks();
    await settle();
    expect(jobs[0]).toMatchObject({ phase: "failed", message: UNREADABLE });
    host.last.opens();
    expect(host.last.texts).toMatchObject([
      { type: "begin", name: "a.log" },
      { type: "cancel", file: jobs[0]!.file },
      { type: "begin", name: "b.log" },
    ]);
  });

  it("can be cancelled while it is awaited", async () => {
    start(1, file("a.log", 95));
    ready();
    host.last.breaks();
    await settle();
    uploads.cancel(jobs[0]!.file);
    expect(jobs[0]!.phase).toBe("cancelled");
    expect(host.isWaiting).toBe(false);
    host.last.opens();
    expect(host.last.texts.map((text) => text.type)).toEqual(["begin", "cancel"]);
    expect(host.last.isClosed).toBe(true);
  });

  it("is retried for a cancelled file, so that the server learns of it", async () => {
    start(1, file("a.log", 95));
    host.last.breaks();
    await settle();
    uploads.cancel(jobs[0]!.file);
    host.last.breaks();
    await settle();
    host.elapse();
    host.last.opens();
    expect(host.last.texts.map((text) => text.type)).toEqual(["begin", "cancel"]);
  });

  it("that was cancelled leaves no second connection to the next file", async () => {
    start(1, file("a.log", 95), file("b.log", 5));
    ready();
    host.last.breaks();
    await settle();
    uploads.cancel(jobs[0]!.file);
    expect(host.sockets).toHaveLength(2);
    expect(host.isWaiting).toBe(false);
  });
});

describe("several files", () => {
  it("go one after another on one socket", () => {
    start(1, file("a.log", 5), file("b.log", 5));
    expect(jobs.map((job) => job.phase)).toEqual(["waiting", "waiting"]);
    ready();
    done(5);
    expect(host.sockets).toHaveLength(1);
    expect(host.last.texts.at(-1)).toMatchObject({ type: "begin", name: "b.log" });
    ready(1);
    done(5, 1);
    expect(jobs.every((job) => job.phase === "done")).toBe(true);
  });

  it("are spread over the connections", () => {
    start(2, file("a.log", 5), file("b.log", 5), file("c.log", 5));
    expect(host.sockets).toHaveLength(2);
  });

  it("are cancelled one by one, and late replies are ignored", () => {
    start(1, file("a.log", 95), file("b.log", 5), file("c.log", 5));
    ready();
    uploads.cancel(jobs[1]!.file);
    expect(jobs[1]!.phase).toBe("cancelled");
    uploads.cancel(jobs[0]!.file);
    expect(host.last.texts.slice(-2)).toMatchObject([
      { type: "cancel" },
      { type: "begin", name: "c.log" },
    ]);
    ack(40, 0);
    expect(jobs[0]).toMatchObject({ phase: "cancelled", acked: 0 });
    ready(2);
    done(5, 2);
    expect(jobs[2]!.phase).toBe("done");
  });

  it("all end with their session", () => {
    start(1, file("a.log", 95), file("b.log", 5));
    ready();
    uploads.abort("gone");
    expect(jobs.map((job) => [job.phase, job.message])).toEqual([
      ["failed", "gone"],
      ["failed", "gone"],
    ]);
    expect(host.last.isClosed).toBe(true);
  });
});

describe("the next message", () => {
  const at = {
    sent: 0,
    acked: 0,
    bytes_total: 1000 * MIB,
    window_bytes: 64 * MIB,
    bytes_per_second: 500 * MIB,
  };
  const plan: Plan = { message_bytes: 32 * MIB, in_flight: 2, sockets: 1 };

  it("is cut to half of a small window, and is never empty", () => {
    const small = { ...at, bytes_total: 1000 };
    expect(nextMessageSize(PLAN, small)).toBe(10);
    expect(nextMessageSize(PLAN, { ...small, window_bytes: 10 })).toBe(5);
    expect(nextMessageSize(PLAN, { ...small, window_bytes: 1 })).toBe(1);
    expect(nextMessageSize(PLAN, { ...small, sent: 997, acked: 900 })).toBe(0);
    expect(nextMessageSize(PLAN, { ...small, sent: 997, acked: 990 })).toBe(3);
  });

  it("is small while the speed is unknown, and then as large as the plan has it", () => {
    const unknown = { ...at, bytes_per_second: 0 };
    expect(nextMessageSize(plan, unknown)).toBe(2 * MIB);
    expect(nextMessageSize(plan, { ...unknown, sent: 2 * MIB })).toBe(2 * MIB);
    expect(nextMessageSize(plan, { ...unknown, sent: 4 * MIB })).toBe(0);
    expect(nextMessageSize(plan, at)).toBe(32 * MIB);
    expect(nextMessageSize(plan, { ...at, sent: 33 * MIB, acked: MIB })).toBe(32 * MIB);
    expect(nextMessageSize(plan, { ...at, sent: 34 * MIB, acked: MIB })).toBe(0);
  });

  it("is at most what a slow connection sends in about a second", () => {
    const slow = { ...at, sent: 100 * MIB, acked: 99 * MIB, bytes_per_second: 8 * MIB };
    expect(nextMessageSize(plan, slow)).toBe(4 * MIB);
    expect(nextMessageSize(plan, { ...slow, bytes_per_second: 0 })).toBe(2 * MIB);
  });
});

describe("rate", () => {
  it("covers the last few seconds and falls while nothing moves", () => {
    const meter = new RateMeter();
    expect(meter.rate(0)).toBe(0);
    for (let at = 0; at <= 10_000; at += 100) meter.add(at, at * 5);
    expect(meter.rate(10_000)).toBeCloseTo(5000);
    expect(meter.rate(13_000)).toBeLessThan(3000);
    expect(meter.rate(20_000)).toBeLessThan(1000);
  });
});
