import { beforeEach, describe, expect, it } from "vitest";
import { BYTES_BEFORE_PAINT, WAIT_MS_MAX } from "../src/upload/firstPaintThrottle";
import { MIB } from "../src/upload/plan";
import { PlanTuner } from "../src/upload/planTuner";
import type { Transfer } from "../src/upload/transfer";
import { Uploads } from "../src/upload/uploads";
import { FakeHost, type FakeSocket, settle } from "./fakes";

const SIZE = 400 * MIB;

let host: FakeHost;
let jobs: readonly Transfer[];
let uploads: Uploads;
let first: FakeSocket;

const blob = (size: number) =>
  ({ size, slice: (from: number, to: number) => blob(to - from) }) as unknown as Blob;
const ready = (offset = 0) =>
  first.says({ type: "ready", file: jobs[0]!.file, offset, window_bytes: 64 * MIB });
const ack = (offset: number) => first.says({ type: "ack", file: jobs[0]!.file, offset });

function start(...sizes: number[]): void {
  uploads.add(sizes.map((size, at) => ({ name: `${at}.log`, blob: blob(size) })));
  first = host.sockets[0]!;
  for (const socket of [...host.sockets]) socket.opens();
}

beforeEach(() => {
  host = new FakeHost();
  uploads = new Uploads(host, "ab", (changed) => (jobs = changed), new PlanTuner());
  uploads.beginThrottle();
});

describe("before the first picture", () => {
  it("only the beginning is sent, over one connection, and then all", () => {
    start(SIZE);
    ready();
    ack(BYTES_BEFORE_PAINT - 100);
    expect(first.bytes).toBe(BYTES_BEFORE_PAINT);
    expect(host.sockets).toHaveLength(1);
    expect(first.texts.map((text) => text.type)).toEqual(["begin"]);
    uploads.endThrottle();
    expect(first.bytes).toBeGreaterThan(BYTES_BEFORE_PAINT);
    expect(host.sockets).toHaveLength(2);
    expect(host.isWaiting).toBe(false);
  });

  it("a picture that does not come delays nothing", () => {
    start(SIZE);
    ready();
    expect(host.delays).toEqual([WAIT_MS_MAX]);
    host.elapse();
    expect(first.bytes).toBeGreaterThan(BYTES_BEFORE_PAINT);
  });

  it("a file that is smaller is sent whole and ended", () => {
    start(1000);
    ready();
    expect(first.bytes).toBe(1000);
    expect(first.texts.at(-1)).toMatchObject({ type: "end" });
  });

  it("each of several files sends its beginning", () => {
    start(SIZE, SIZE);
    const second = host.sockets[1]!;
    ready();
    second.says({ type: "ready", file: jobs[1]!.file, offset: 0, window_bytes: 64 * MIB });
    expect([first.bytes, second.bytes]).toEqual([BYTES_BEFORE_PAINT, BYTES_BEFORE_PAINT]);
    uploads.endThrottle();
    expect(first.bytes).toBeGreaterThan(BYTES_BEFORE_PAINT);
    expect(second.bytes).toBeGreaterThan(BYTES_BEFORE_PAINT);
  });

  it("a file that is resumed further on waits as well", () => {
    start(SIZE);
    ready(2 * MIB);
    expect(first.bytes).toBe(0);
    host.elapse();
    expect(first.bytes).toBeGreaterThan(0);
  });

  it("the pause does not count for the speed", () => {
    start(SIZE);
    ready();
    host.time += 10;
    ack(BYTES_BEFORE_PAINT);
    host.time += 990;
    uploads.endThrottle();
    host.time += 10;
    ack(BYTES_BEFORE_PAINT + MIB);
    expect(uploads.rateOf(jobs[0]!)).toBeCloseTo(100 * MIB, -3);
  });

  it("a connection that is lost meanwhile sends nothing until it is open again", async () => {
    start(SIZE);
    ready();
    first.breaks();
    await settle();
    uploads.endThrottle();
    expect(first.bytes).toBe(BYTES_BEFORE_PAINT);
  });
});

it("a session that already shows lines holds nothing back", () => {
  uploads.endThrottle();
  start(SIZE);
  ready();
  expect(first.bytes).toBeGreaterThan(BYTES_BEFORE_PAINT);
});
