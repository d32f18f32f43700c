import { beforeEach, describe, expect, it } from "vitest";
import { Chooser } from "../src/socket/chooser";
import type { Sending } from "../src/socket/job";
import { OPENING_BYTES, OPENING_MS_MAX } from "../src/socket/opening";
import { MIB } from "../src/socket/policy";
import { Uploads } from "../src/socket/uploads";
import { FakeHost, type FakeSocket, settle } from "./fakes";

const SIZE = 400 * MIB;

let host: FakeHost;
let jobs: readonly Sending[];
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
  uploads = new Uploads(host, "ab", (changed) => (jobs = changed), new Chooser());
  uploads.beginOnly();
});

describe("before the first picture", () => {
  it("only the beginning is sent, over one connection, and then all", () => {
    start(SIZE);
    ready();
    ack(OPENING_BYTES - 100);
    expect(first.bytes).toBe(OPENING_BYTES);
    expect(host.sockets).toHaveLength(1);
    expect(first.texts.map((text) => text.type)).toEqual(["begin"]);
    uploads.goOn();
    expect(first.bytes).toBeGreaterThan(OPENING_BYTES);
    expect(host.sockets).toHaveLength(2);
    expect(host.isWaiting).toBe(false);
  });

  it("nothing waits for a picture that does not come", () => {
    start(SIZE);
    ready();
    expect(host.delays).toEqual([OPENING_MS_MAX]);
    host.elapse();
    expect(first.bytes).toBeGreaterThan(OPENING_BYTES);
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
    expect([first.bytes, second.bytes]).toEqual([OPENING_BYTES, OPENING_BYTES]);
    uploads.goOn();
    expect(first.bytes).toBeGreaterThan(OPENING_BYTES);
    expect(second.bytes).toBeGreaterThan(OPENING_BYTES);
  });

  it("a file that is taken up again further on waits as well", () => {
    start(SIZE);
    ready(2 * MIB);
    expect(first.bytes).toBe(0);
    host.elapse();
    expect(first.bytes).toBeGreaterThan(0);
  });

  it("the pause does not count as time of sending", () => {
    start(SIZE);
    ready();
    host.time += 10;
    ack(OPENING_BYTES);
    host.time += 990;
    uploads.goOn();
    host.time += 10;
    ack(OPENING_BYTES + MIB);
    expect(uploads.rateOf(jobs[0]!)).toBeCloseTo(100 * MIB, -3);
  });

  it("a connection that is lost meanwhile sends nothing until it is there again", async () => {
    start(SIZE);
    ready();
    first.breaks();
    await settle();
    uploads.goOn();
    expect(first.bytes).toBe(OPENING_BYTES);
  });
});

it("a session that shows something already holds nothing back", () => {
  uploads.goOn();
  start(SIZE);
  ready();
  expect(first.bytes).toBeGreaterThan(OPENING_BYTES);
});
