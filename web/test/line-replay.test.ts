import { beforeEach, describe, expect, it } from "vitest";
import type { RulesReply } from "../src/state/rules";
import { NO_RULE, withReply } from "../src/state/rules";
import { LineReplay, type ReplayProgress } from "../src/upload/lineReplay";
import { UNREADABLE } from "../src/upload/uploadConnection";
import { FakeHost, settle } from "./fakes";

let host: FakeHost;
let progress: ReplayProgress[];
let failures: string[];

const file = (id: string, size: number) => ({
  file: id,
  name: `${id}.log`,
  blob: new Blob([new Uint8Array(size)]),
  fingerprint: id === "a" ? "0123" : null,
});

function start(...sizes: number[]): LineReplay {
  host = new FakeHost();
  const files = sizes.map((size, at) => file("abc".charAt(at), size));
  const replay = new LineReplay(
    host,
    "s",
    "r",
    files,
    (at) => progress.push(at),
    (message) => failures.push(message),
  );
  host.last.opens();
  return replay;
}

const ready = (id: string) =>
  host.last.says({ type: "ready", file: id, offset: 0, window_bytes: 1000 });
const done = (id: string, offset: number) => host.last.says({ type: "done", file: id, offset });

beforeEach(() => {
  progress = [];
  failures = [];
});

describe("files that are sent again for a replay", () => {
  it("are sent one after the other over one connection, with the id of the replay", () => {
    start(95, 5);
    expect(host.last.path).toBe("/api/sessions/s/upload");
    const begin = { type: "begin", bytes_total: 95, replay: "r" };
    expect(host.last.texts).toEqual([{ ...begin, file: "a", name: "a.log", fingerprint: "0123" }]);
    ready("a");
    expect(host.last.bytes).toBe(95);
    host.last.says({ type: "ack", file: "a", offset: 50 });
    expect(progress.at(-1)).toEqual({ bytes_done: 50, bytes_total: 100 });
    done("a", 95);
    expect(host.last.texts.at(-1)).toMatchObject({ type: "begin", file: "b", replay: "r" });
    ready("b");
    done("b", 5);
    expect(progress.at(-1)).toEqual({ bytes_done: 100, bytes_total: 100 });
    expect(host.sockets).toHaveLength(1);
    expect(host.last.isClosed).toBe(true);
    expect(failures).toEqual([]);
  });

  it("end with the replay, without a word about the upload of the same id", () => {
    const replay = start(95, 5);
    ready("a");
    replay.end();
    expect(host.last.isClosed).toBe(true);
    expect(host.last.texts.filter(({ type }) => type === "cancel")).toEqual([]);
    expect(host.sockets).toHaveLength(1);
  });

  it("are not sent after the server has refused one", () => {
    start(95, 5);
    const error = { name: "file_changed", message: "the file has changed", file: "a" };
    host.last.says({ type: "error", error });
    expect(failures).toEqual(["the file has changed"]);
    expect(host.last.texts.filter(({ type }) => type === "begin")).toHaveLength(1);
    expect(host.last.isClosed).toBe(true);
  });

  it("fail if the browser cannot read one any more", async () => {
    start(95);
    ready("a");
    host.readable = false;
    host.last.breaks();
    await settle();
    expect(failures).toEqual([UNREADABLE]);
  });

  it("are refused if the connection was lost, because the replay has ended with it", async () => {
    start(95);
    ready("a");
    host.last.breaks();
    await settle();
    host.elapse();
    host.last.opens();
    const error = { name: "unknown_replay", message: "no question waits", file: "a" };
    host.last.says({ type: "error", error });
    expect(failures).toEqual(["no question waits"]);
  });
});

describe("a panel whose lines are read again", () => {
  const asked = { ...NO_RULE, text: "[web]", asked: 3, isAnswered: false };
  const reply = (part: Partial<RulesReply>): RulesReply => ({
    type: "rules",
    panel: 0,
    query: 3,
    ...part,
  });
  const needed = (bytes: number[]) => ({
    replay: "r",
    remedy: "",
    files: bytes.map((bytes) => ({ file: "a", name: "a.log", bytes })),
  });

  it("shows how many bytes are needed, and waits for uploads", () => {
    const waiting = withReply(asked, reply({ lines: needed([]) }));
    expect(waiting).toMatchObject({ isAnswered: false, lines: { isWaiting: true } });
    const lines = { isWaiting: false, bytes_done: 0, bytes_total: 100 };
    expect(withReply(waiting, reply({ lines: needed([95, 5]) }))).toMatchObject({ lines });
  });

  it("is done with an answer and with a refusal", () => {
    const reading = withReply(asked, reply({ lines: needed([95]) }));
    const answer = { rules: [], notes: [], complete: true };
    expect(withReply(reading, reply({ answer }))).toMatchObject({ answer, lines: null });
    const error = { name: "bad_rule", message: "a.log has changed", file: null };
    expect(withReply(reading, reply({ error }))).toMatchObject({
      refusal: "a.log has changed",
      lines: null,
    });
  });

  it("ignores lines for an older question", () => {
    expect(withReply(asked, reply({ query: 2, lines: needed([95]) }))).toBe(asked);
  });
});
