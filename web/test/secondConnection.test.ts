import { beforeEach, describe, expect, it } from "vitest";
import { MIB, type Plan } from "../src/upload/plan";
import { PlanTuner } from "../src/upload/planTuner";
import type { Transfer } from "../src/upload/transfer";
import { Uploads } from "../src/upload/uploads";
import { FakeHost, type FakeSocket, settle } from "./fakes";

const PAIRED: Plan = { message_bytes: 16 * MIB, in_flight: 4, sockets: 2 };
const SIZE = 400 * MIB;
const WINDOW = 64 * MIB;

let host: FakeHost;
let job: Transfer;
let first: FakeSocket;

/** A file without content in memory. */
const large = {
  size: SIZE,
  slice: (from: number, to: number) => ({ size: to - from, from }),
} as unknown as Blob;

function blocks(socket: FakeSocket): number[] {
  return socket.blobs.map((blob) => (blob as unknown as { from: number }).from);
}

const ready = (offset = 0) =>
  first.says({ type: "ready", file: job.file, offset, window_bytes: WINDOW });
const ack = (offset: number) => first.says({ type: "ack", file: job.file, offset });
const fail = (name: string) =>
  first.says({ type: "error", error: { name, message: name, file: job.file } });

beforeEach(() => {
  host = new FakeHost();
  let jobs: readonly Transfer[] = [];
  const uploads = new Uploads(
    host,
    "ab",
    (changed) => (jobs = changed),
    new PlanTuner([PAIRED]),
    1,
  );
  uploads.add([{ name: "large.log", blob: large }]);
  job = jobs[0]!;
  first = host.last;
  first.opens();
  ready();
});

/** Opens the second connection, which then takes its turns. */
function pair(): FakeSocket {
  const second = host.last;
  second.opens();
  expect(second.texts).toEqual([{ type: "join", file: job.file }]);
  second.says({ type: "joined", file: job.file });
  ack(job.sent);
  return second;
}

describe("a large file", () => {
  it("is sent over two connections, every byte once and at its offset", () => {
    const second = pair();
    expect(second).not.toBe(first);
    while (job.acked < SIZE) ack(Math.min(job.sent, job.acked + 16 * MIB));
    expect(second.blobs.length).toBeGreaterThan(3);
    const offsets = new Map<number, number>();
    for (const socket of [first, second]) {
      let at = 0;
      for (const said of socket.log) {
        if ("size" in said) {
          offsets.set(at, said.size as number);
          at += said.size as number;
        } else if (said.type === "block") {
          expect(said.offset).toBeGreaterThanOrEqual(at);
          at = said.offset as number;
        }
      }
    }
    let covered = 0;
    while (covered < SIZE) {
      const size = offsets.get(covered);
      expect(size, `the block at ${covered}`).toBeDefined();
      covered += size!;
    }
    expect([...offsets.values()].reduce((sum, size) => sum + size, 0)).toBe(SIZE);
    expect(first.texts.at(-1)).toMatchObject({ type: "end" });
    first.says({ type: "done", file: job.file, offset: SIZE });
    expect(second.isClosed).toBe(true);
  });

  it("starts over when the second connection breaks with blocks in flight", () => {
    const second = pair();
    while (second.blobs.length === 0) ack(job.sent);
    const before = first.blobs.length;
    second.breaks();
    expect(first.texts.at(-1)).toMatchObject({ type: "begin", file: job.file });
    // Nothing is sent before the answer, even if acks and errors arrive meanwhile.
    ack(job.sent);
    fail("interrupted");
    expect(first.blobs).toHaveLength(before);
    expect(first.texts.filter((text) => text.type === "begin")).toHaveLength(2);
    ready(3 * MIB);
    expect(blocks(first)[before]).toBe(3 * MIB);
    // No second attempt with two.
    expect(host.sockets).toHaveLength(2);
  });

  it("starts over when the server lost the second connection", () => {
    pair();
    fail("interrupted");
    expect(first.texts.at(-1)).toMatchObject({ type: "begin" });
    ready(MIB);
    expect(job).toMatchObject({ phase: "reading", acked: MIB });
  });

  it("continues alone if the second connection is refused", () => {
    const second = host.last;
    second.opens();
    second.says({ type: "error", error: { name: "not_begun", message: "", file: job.file } });
    expect(second.isClosed).toBe(true);
    while (job.acked < SIZE) ack(job.sent);
    first.says({ type: "done", file: job.file, offset: SIZE });
    expect(job.phase).toBe("done");
  });

  it("closes both connections when the first breaks", async () => {
    const second = pair();
    first.breaks();
    await settle();
    expect(second.isClosed).toBe(true);
    expect(job.phase).toBe("interrupted");
  });

  it("waits a while if another connection still holds the file", async () => {
    first.breaks();
    await settle();
    host.elapse();
    first = host.last;
    first.opens();
    fail("file_busy");
    expect(job.phase).toBe("interrupted");
    host.elapse();
    expect(first.texts.filter((text) => text.type === "begin")).toHaveLength(2);
    host.time += 61_000;
    fail("file_busy");
    expect(job).toMatchObject({ phase: "failed", message: "file_busy" });
  });
});
