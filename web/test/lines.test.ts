import { describe, expect, it } from "vitest";
import type { LinesAnswer } from "../src/generated/LinesAnswer";
import type { SelectedLine } from "../src/generated/SelectedLine";
import type { Source } from "../src/generated/Source";
import { grepCommand, shellQuoted } from "../src/lines/command";
import { LINE_BYTES_MAX, readLines } from "../src/lines/fileLines";
import { markedParts } from "../src/lines/highlight";
import { LineList } from "../src/lines/list";
import { LineReader, type WantedLines } from "../src/lines/reader";
import {
  HEIGHT_MAX,
  isScaled,
  LINE_HEIGHT,
  lastTop,
  lineAfter,
  scrollHeight,
  scrollTopOf,
  topOf,
  topWith,
} from "../src/lines/scroll";
import { KEPT_MAX, keptAround, missingFrom, type ShownLine, WINDOW } from "../src/lines/shown";
import { NO_LINES } from "../src/state/lines";
import { settle } from "./fakes";

const line = (part: Partial<SelectedLine> = {}): SelectedLine => ({
  source: 0,
  offset: 0,
  ...part,
});

describe("the fields of a line", () => {
  const combined =
    '192.0.2.1 - - [22/Nov/2026:10:00:00 +0000] "GET /200?x=1 HTTP/1.1" 200 5 "-" "curl/8"';
  const fields = {
    client: "192.0.2.1",
    method: "GET",
    path: "/200",
    status: "200",
    user_agent: "curl/8",
  };

  it("are marked in their order, without a gap", () => {
    const found = markedParts(combined, line(fields));
    expect(found.map(({ text }) => text).join("")).toBe(combined);
    expect(found.filter(({ mark }) => mark !== null)).toEqual([
      { text: "192.0.2.1", mark: "client" },
      { text: "[22/Nov/2026:10:00:00 +0000]", mark: "time" },
      { text: "GET /200", mark: "request" },
      { text: "200", mark: "status" },
      { text: "curl/8", mark: "agent" },
    ]);
    // The status is that after the request, not the one in its path.
    expect(found.find(({ mark }) => mark === "status")).toBeDefined();
    expect(combined.indexOf('" 200')).toBeGreaterThan(combined.indexOf("/200"));
  });

  it("are marked in other formats, and never overlap", () => {
    const json = '{"time":"2026-11-22T10:00:00.5Z","ip":"::1","uri":"/a/b","status":404}';
    const found = markedParts(json, line({ client: "::1", path: "/a/b", status: "404" }));
    expect(found.map(({ text }) => text).join("")).toBe(json);
    expect(found.flatMap(({ mark }) => mark ?? [])).toEqual([
      "time",
      "client",
      "request",
      "status",
    ]);
    for (const odd of ["", "-", "192.0.2.1", "GET GET GET", "[[[["]) {
      const same = { client: odd, method: odd, path: odd, status: odd, user_agent: odd };
      const parts = markedParts(odd, line(same));
      expect(parts.map(({ text }) => text).join("")).toBe(odd);
    }
  });
});

describe("the lines of a file", () => {
  const long = "x".repeat(LINE_BYTES_MAX + 10);
  const texts = ["one", "", "zwei\r", "dr\u00e9i", long, "last"];
  const encoder = new TextEncoder();
  const offsets = texts.map((_, at) =>
    texts.slice(0, at).reduce((sum, text) => sum + encoder.encode(text).length + 1, 0),
  );
  const blob = new Blob([texts.join("\n")]);

  it("are read back by their offsets", async () => {
    const read = await readLines({ blob, base: 0 }, offsets);
    expect(read.map((line) => line?.text)).toEqual([
      "one",
      "",
      "zwei",
      "dr\u00e9i",
      long.slice(0, LINE_BYTES_MAX),
      "last",
    ]);
    expect(read.map((line) => line?.isCut)).toEqual([false, false, false, false, true, false]);
    const [alone] = await readLines({ blob, base: 0 }, [offsets[3]!]);
    expect(alone?.text).toBe("dr\u00e9i");
    // A file that is followed may begin later than its source.
    const [based] = await readLines({ blob, base: 4 }, [offsets[2]! - 4]);
    expect(based?.text).toBe("zwei");
  });

  it("are none where no line begins", async () => {
    const read = await readLines({ blob, base: 0 }, [1, 2, blob.size, blob.size + 100]);
    expect(read).toEqual([null, null, null, null]);
    expect(await readLines({ blob: new Blob([]), base: 0 }, [0])).toEqual([null]);
  });

  it("are read back in any number", async () => {
    const many = Array.from({ length: 3_000 }, (_, at) => `line ${at} ${"y".repeat(at % 97)}`);
    const starts = many.map((_, at) => many.slice(0, at).join("\n").length + (at > 0 ? 1 : 0));
    const numbers = many.map((_, at) => at).filter((at) => at % 7 === 3);
    const read = await readLines(
      { blob: new Blob([many.join("\n")]), base: 0 },
      numbers.map((at) => starts[at]!),
    );
    expect(read.map((line) => line?.text)).toEqual(numbers.map((at) => many[at]));
  });
});

describe("scrolling", () => {
  it("reaches every line of a list of any length", () => {
    for (const total of [1, 5, 16, 17, 1_000, 400_000, 4_000_000, 1e9]) {
      const list = { total, viewport: 360, height: LINE_HEIGHT };
      const height = scrollHeight(list);
      expect(height).toBeLessThanOrEqual(HEIGHT_MAX);
      expect(topOf(list, 0)).toBe(0);
      expect(topOf(list, Math.max(0, height - 360))).toBeCloseTo(lastTop(list), 6);
      for (const line of [0, 1, Math.floor(total / 3), total - 1]) {
        const top = topWith(list, 0, line);
        expect(top).toBeLessThanOrEqual(line);
        expect(top + 360 / LINE_HEIGHT).toBeGreaterThanOrEqual(Math.min(line + 1, total) - 1e-9);
        // The scrollbar keeps the place, exactly as long as it is not scaled.
        const back = topOf(list, scrollTopOf(list, top));
        expect(Math.abs(back - top)).toBeLessThan(isScaled(list) ? total / 1e6 : 1e-6);
      }
    }
  });

  it("moves by keys within the list", () => {
    const list = { total: 100, viewport: 220, height: LINE_HEIGHT };
    const lineTo = (key: string, line: number) => lineAfter(key, line, list);
    expect(
      ["ArrowDown", "ArrowUp", "PageDown", "PageUp", "Home", "End"].map((key) => lineTo(key, 50)),
    ).toEqual([51, 49, 59, 41, 0, 99]);
    expect([lineTo("ArrowUp", 0), lineTo("ArrowDown", 99), lineTo("PageDown", 95)]).toEqual([
      0, 99, 99,
    ]);
    expect(lineTo("a", 3)).toBeNull();
  });
});

describe("the windows of a list", () => {
  const shown = (...numbers: number[]) =>
    new Map(numbers.map((at) => [at, { line: line(), text: null, isCut: false } as ShownLine]));
  const range = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, at) => from + at);

  it("are fetched once", () => {
    expect(missingFrom(shown(), 0, 10)).toBe(0);
    expect(missingFrom(shown(), WINDOW + 7, WINDOW + 9)).toBe(WINDOW);
    const first = shown(...range(0, WINDOW));
    expect(missingFrom(first, 0, WINDOW)).toBeNull();
    expect(missingFrom(first, WINDOW - 5, WINDOW + 5)).toBe(WINDOW);
    // The rest of a window that came in parts.
    expect(missingFrom(shown(...range(0, 12)), 5, 20)).toBe(12);
  });

  it("are forgotten far from the screen", () => {
    const all = shown(...range(0, KEPT_MAX + WINDOW));
    const kept = keptAround(all, KEPT_MAX);
    expect(kept.size).toBeLessThan(all.size);
    expect(kept.has(KEPT_MAX) && !kept.has(0)).toBe(true);
  });
});

describe("a list of lines", () => {
  const answerOf = (from: number, total: number, access: "server" | "page"): LinesAnswer => ({
    kind: "request",
    total,
    from,
    lines: Array.from({ length: Math.min(WINDOW, total - from) }, (_, at) =>
      line({
        offset: 4 * (from + at),
        client: "::1",
        ...(access === "server" && { text: `${from + at}` }),
      }),
    ),
    sources: [{ number: 0, name: "a.log", file: "f", access }],
    source_numbers: [0],
  });

  function start(blob: Blob | null = null) {
    const asked: [number, number][] = [];
    const reader = new LineReader(0, (_panel, id, { from }) => asked.push([id, from]));
    let lines = NO_LINES;
    const list = new LineList(reader, () => Promise.resolve(blob && { blob, base: 0 }), {
      read: () => lines,
      write: (changed) => {
        lines = changed;
      },
    });
    const reply = (answer: LinesAnswer) =>
      reader.take({ type: "lines", panel: 0, query: asked.at(-1)![0], answer });
    return { asked, reader, list, reply, lines: () => lines };
  }

  it("asks only for what is on the screen, and for the newest", async () => {
    const { asked, list, reply, lines } = start();
    list.restart();
    list.show(0, 20);
    reply(answerOf(0, 10_000, "server"));
    await settle();
    expect(asked.map(([, from]) => from)).toEqual([0]);
    list.show(5_010, 5_030);
    list.show(9_000, 9_020);
    reply(answerOf(5_000, 10_000, "server"));
    await settle();
    expect(asked.map(([, from]) => from)).toEqual([0, 5_000, 9_000]);
    reply(answerOf(9_000, 10_000, "server"));
    await settle();
    const { total, shown } = lines();
    expect([total, shown.get(3)?.text, shown.get(9_005)?.text]).toEqual([10_000, "3", "9005"]);
    // Another selection begins at its first line, and keeps the old total until its own is known.
    const { selection } = lines();
    list.restart();
    expect(lines()).toMatchObject({ total: 10_000, selection: selection + 1 });
    expect(lines().shown.size).toBe(0);
    reply(answerOf(0, 10_000, "server"));
    await settle();
    list.show(9_000, 9_020);
    reply(answerOf(9_000, 10_000, "server"));
    await settle();
    // More lines may have moved those that are there.
    list.refresh();
    reply(answerOf(9_000, 10_001, "server"));
    await settle();
    expect([...lines().shown.keys()][0]).toBe(9_000);
  });

  it("holds still while lines come before those on the screen", async () => {
    const wanted: WantedLines[] = [];
    const reader = new LineReader(0, (_panel, _id, one) => wanted.push(one));
    let lines = NO_LINES;
    const place = { read: () => lines, write: (changed: typeof lines) => (lines = changed) };
    const list = new LineList(
      reader,
      () => Promise.resolve(null),
      place,
      () => "newest",
    );
    const reply = (answer: LinesAnswer) =>
      reader.take({ type: "lines", panel: 0, query: wanted.length, answer });
    list.restart();
    reply(answerOf(0, 500, "server"));
    await settle();
    list.show(40, 60);
    list.refresh();
    expect(wanted.at(-1)).toEqual({
      from: 0,
      count: WINDOW,
      order: "newest",
      around: { source: 0, offset: 160 },
    });
    // Seven lines came: what was the fortieth is the forty-seventh.
    const answer = answerOf(0, 507, "server");
    answer.lines.forEach((one) => (one.offset -= 28));
    reply(answer);
    await settle();
    expect(lines.moved).toBe(7);
    expect(lines.shown.get(47)?.line.offset).toBe(160);
    // At its beginning it shows the newest.
    list.show(0, 20);
    list.refresh();
    expect(wanted.at(-1)).toMatchObject({ from: 0, order: "newest" });
    expect(wanted.at(-1)?.around).toBeUndefined();
  });

  it("reads the lines of a file of the page", async () => {
    const { list, reply, lines } = start(new Blob(["::1\n::1\n::1"]));
    list.restart();
    reply(answerOf(0, 3, "page"));
    await settle();
    await settle();
    expect([...lines().shown.values()].map(({ text }) => text)).toEqual(["::1", "::1", "::1"]);
  });

  it("says why there are no lines", async () => {
    for (const [blob, part] of [
      [null, "not on this page any more"],
      [new Blob(["::2\n::2\n::2"]), "has changed"],
    ] as const) {
      const { list, reply, lines } = start(blob);
      list.restart();
      reply(answerOf(0, 3, "page"));
      await settle();
      await settle();
      const { shown, messages } = lines();
      expect(shown.get(0)?.text).toBeNull();
      expect(messages.join()).toContain(part);
    }
    const { asked, list, reader, lines } = start();
    list.restart();
    const error = { name: "bad_query", message: "no", file: null };
    reader.take({ type: "lines", panel: 0, query: asked[0]![0], error });
    await settle();
    expect(lines().refusal).toBe("no");
  });

  it("ignores replies to earlier questions", async () => {
    const { asked, list, reader, lines } = start();
    list.restart();
    list.restart();
    reader.take({ type: "lines", panel: 0, query: asked[0]![0], answer: answerOf(0, 7, "server") });
    await settle();
    expect(lines().total).toBeNull();
  });
});

describe("the command", () => {
  const source = (name: string, part: Partial<Source> = {}) =>
    ({ name, unparsed_lines: 0, too_long_lines: 0, ...part }) as Source;

  it("names the conditions and the files", () => {
    const selection = {
      clauses: [{ field: "status", op: "=" as const, values: ["404", "500"] }],
      conditions: ["path~'x' or bot"],
      zone: "Europe/Berlin",
    };
    expect(grepCommand(selection, [source("a.log"), source("my logs/b.log")])).toBe(
      "weir grep --no-filename --tz Europe/Berlin --where status=404,500 " +
        "--where 'path~'\\''x'\\'' or bot' '' a.log 'my logs/b.log'",
    );
    const none = { clauses: [], conditions: [], zone: null };
    expect(grepCommand(none, [source("a.log")])).toBe("weir grep '' a.log");
    expect(grepCommand(none, [source("-a.log")])).toBe("weir grep '' -- -a.log");
    for (const part of [{ unparsed_lines: 1 }, { too_long_lines: 1 }])
      expect(grepCommand(none, [source("a.log", part)])).toBe("weir export --to lines a.log");
    const members = ["x.zip/a.log", "x.zip/b.log", "standard input"].map((name) => source(name));
    expect(grepCommand(none, members)).toBe("weir grep --no-filename '' x.zip -");
  });

  it("is safe in a shell", () => {
    for (const [word, quoted] of [
      ["a.log", "a.log"],
      ["-rf", "-rf"],
      ["", "''"],
      ["$(reboot)`x`", "'$(reboot)`x`'"],
      ["it's", "'it'\\''s'"],
      ["a\nb\u001b[31m", "$'a\\x0ab\\x1b[31m'"],
      ["\u009b'\\", "$'\\xc2\\x9b\\x27\\\\'"],
      ["\u00e9t\u00e9", "'\u00e9t\u00e9'"],
    ] as const) {
      expect(shellQuoted(word)).toBe(quoted);
    }
  });
});
