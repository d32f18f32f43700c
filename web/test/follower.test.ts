import { beforeEach, describe, expect, it } from "vitest";
import type { FileHandle } from "../src/upload/fileHandle";
import { POLL_MS, POLL_MS_HIDDEN } from "../src/upload/follower";
import type { Transfer } from "../src/upload/transfer";
import { Uploads } from "../src/upload/uploads";
import { FakeHost, settle } from "./fakes";

/** A file that the test writes to. */
class Disk implements FileHandle {
  content = "";
  time = 1;
  isThere = true;

  getFile(): Promise<File> {
    if (!this.isThere) return Promise.reject(new DOMException("gone", "NotFoundError"));
    return Promise.resolve(new File([this.content], "a.log", { lastModified: this.time }));
  }

  append(text: string): void {
    this.write(this.content + text);
  }

  write(text: string): void {
    this.content = text;
    this.time += 1;
  }
}

let host: FakeHost;
let disk: Disk;
let all: readonly Transfer[];
let uploads: Uploads;

beforeEach(() => {
  host = new FakeHost();
  disk = new Disk();
  uploads = new Uploads(host, "ab", (changed) => (all = changed));
});

const last = () => all.at(-1)!;
const says = (message: object) => host.last.says({ file: last().file, ...message });
const ready = (offset = 0, window_bytes = 1000) => says({ type: "ready", offset, window_bytes });
const wait = async () => {
  for (let turn = 0; turn < 4; turn += 1) await settle();
};
const look = async () => {
  host.elapse();
  await wait();
};

async function follow(content: string): Promise<void> {
  disk.write(content);
  uploads.add([{ name: "a.log", blob: await disk.getFile(), handle: Promise.resolve(disk) }], true);
  await settle();
  host.last.opens();
  ready();
  await wait();
}

describe("a followed file", () => {
  it("begins without a length and is sent as it grows", async () => {
    await follow("one\n");
    expect(host.last.texts).toEqual([
      { type: "begin", file: last().file, name: "a.log", bytes_total: null },
    ]);
    expect(host.last.sent).toBe("one\n");
    expect(last()).toMatchObject({ phase: "following", bytes_total: null });
    expect(uploads.isBusy).toBe(false);
    disk.append("two\nthr");
    await look();
    disk.append("ee\n");
    await look();
    await look();
    expect(host.last.sent).toBe("one\ntwo\nthree\n");
    expect(host.delays.at(-1)).toBe(POLL_MS);
    host.hidden = true;
    await look();
    expect(host.delays.at(-1)).toBe(POLL_MS_HIDDEN);
  });

  it("waits while the window is full and continues with the ack", async () => {
    disk.write("0123456789");
    uploads.add(
      [{ name: "a.log", blob: await disk.getFile(), handle: Promise.resolve(disk) }],
      true,
    );
    await settle();
    host.last.opens();
    ready(0, 4);
    await wait();
    expect(host.last.sent).toBe("0123");
    expect(last().phase).toBe("reading");
    says({ type: "ack", offset: 4 });
    await wait();
    says({ type: "ack", offset: 8 });
    await wait();
    expect(host.last.sent).toBe("0123456789");
    expect(last().phase).toBe("following");
  });

  it("is read to its end when a person stops following", async () => {
    await follow("one\n");
    disk.append("tw");
    uploads.stop(last().file);
    await wait();
    expect(host.last.sent).toBe("one\ntw");
    expect(host.last.texts.at(-1)).toEqual({ type: "end", file: last().file });
    says({ type: "done", offset: 6 });
    expect(last()).toMatchObject({ phase: "done", acked: 6 });
    expect(host.last.isClosed).toBe(true);
    expect(host.isWaiting).toBe(false);
  });

  it("may be missing for a while", async () => {
    await follow("one\n");
    disk.isThere = false;
    await look();
    disk.isThere = true;
    disk.append("two\n");
    await look();
    expect(host.last.sent).toBe("one\ntwo\n");
  });

  for (const [how, content] of [
    ["truncated", "new\n"],
    ["replaced by a longer one", "a new line of another file\n"],
  ]) {
    it(`that is ${how} is read from its beginning`, async () => {
      await follow("one\ntwo\nthree\n");
      const first = last().file;
      disk.write(content!);
      await look();
      expect(host.last.texts.at(-1)).toEqual({ type: "end", file: first });
      says({ type: "done", offset: 14 });
      expect(all).toHaveLength(2);
      expect(all[0]!.message).toMatch(/truncated or replaced/);
      expect(host.last.texts.at(-1)).toMatchObject({
        type: "begin",
        file: last().file,
        continues: first,
      });
      ready();
      await wait();
      expect(host.last.sent).toBe(`one\ntwo\nthree\n${content}`);
      expect(last()).toMatchObject({ phase: "following", acked: 0 });
    });
  }

  it("that was only touched continues", async () => {
    await follow("one\n");
    disk.time += 1;
    await look();
    expect(all).toHaveLength(1);
    expect(host.last.sent).toBe("one\n");
  });
});

describe("a lost connection", () => {
  it("continues at the offset that the server names", async () => {
    await follow("one\ntwo\nthr");
    host.last.breaks();
    expect(last().phase).toBe("interrupted");
    disk.append("ee\n");
    host.elapse();
    host.last.opens();
    ready(8);
    await wait();
    expect(host.last.sent).toBe("three\n");
    disk.append("four\n");
    await look();
    expect(host.last.sent).toBe("three\nfour\n");
  });

  it("reports lines that cannot be sent again", async () => {
    await follow("one\ntwo\nthr");
    host.last.breaks();
    disk.write("other lines than there were\n");
    host.elapse();
    host.last.opens();
    ready(8);
    await wait();
    expect(host.last.sent).toBe("");
    expect(host.last.texts.at(-1)).toMatchObject({ type: "end" });
    expect(last().message).toMatch(/missing/);
    // The connection breaks again: `end` is sent once more, and nothing of the other file.
    host.last.breaks();
    host.elapse();
    host.last.opens();
    ready(8);
    await wait();
    expect(host.last.sent).toBe("");
    expect(host.last.texts.at(-1)).toMatchObject({ type: "end" });
  });
});

describe("a file that was read", () => {
  async function read(content: string): Promise<string> {
    disk.write(content);
    uploads.add([{ name: "a.log", blob: await disk.getFile(), handle: Promise.resolve(disk) }]);
    await settle();
    host.last.opens();
    ready();
    says({ type: "done", offset: content.length });
    expect(last()).toMatchObject({ phase: "done", isFollowable: true });
    return last().file;
  }

  it("can be followed from its end", async () => {
    const first = await read("one\n");
    disk.append("two\n");
    await uploads.follow(first);
    expect(all[0]!.isFollowable).toBe(false);
    host.last.opens();
    expect(host.last.texts).toMatchObject([{ type: "begin", continues: first }]);
    ready();
    await wait();
    expect(host.last.sent).toBe("two\n");
    expect(last().message).toBeNull();
  });

  it("reports that its last line was incomplete", async () => {
    await uploads.follow(await read("one\ntw"));
    host.last.opens();
    ready();
    disk.append("o\n");
    await wait();
    await look();
    expect(host.last.sent).toBe("o\n");
    expect(last().message).toMatch(/last line was incomplete/);
  });

  it("cannot be followed if it is compressed, or if the browser has no handle", async () => {
    const blob = new Blob(["x"]);
    uploads.add([{ name: "a.log.gz", blob, handle: Promise.resolve(disk) }], true);
    expect(last().bytes_total).toBe(1);
    uploads.add([{ name: "b.log", blob, handle: Promise.resolve(null) }], true);
    await settle();
    expect(last().bytes_total).toBe(1);
  });
});
