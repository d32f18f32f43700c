import { describe, expect, test } from "vitest";
import type { LineSource } from "../src/generated/LineSource";
import type { SelectedLine } from "../src/generated/SelectedLine";
import { exportCommand, reportCommand } from "../src/lines/command";
import { LineReader } from "../src/lines/reader";
import { fileName } from "../src/save/fileName";
import { LINES_MAX, LineSaver } from "../src/save/lines";
import { curlCommand, reportAddress, rowsAddress } from "../src/save/rows";
import { scopeText } from "../src/save/scope";
import { SvgSurface } from "../src/save/svg";
import { itemAfter } from "../src/save/useMenu";
import { DEFAULT_QUESTION } from "../src/state/state";

const source = (name: string) => ({ name });
const NO_FILTER = { clauses: [], conditions: [] };

test("the scope of a link says who can open it, and for how long", () => {
  const text = (host: string, needsToken = false, isKept = true) =>
    scopeText({ host, needsToken, isKept });
  for (const host of ["127.0.0.1:7878", "localhost", "[::1]:80", "127.1.2.3"])
    expect(text(host)).toBe("opens on this machine only");
  expect(text("127.0.0.1.example:80")).toBe("opens for whoever reaches 127.0.0.1.example:80");
  expect(text("logs.example", true, false)).toBe(
    "opens for whoever reaches logs.example, as long as this data set is kept; asks for the " +
      "token, which is not in the link",
  );
});

describe("names of files", () => {
  test("are harmless, whatever the name of the log", () => {
    for (const [name, file] of [
      ["/var/log/nginx/access.log", "access.log.csv"],
      ['a"; filename="b\r\nSet-Cookie: x', "a___filename__b__Set-Cookie__x.csv"],
      ["..", "rows.csv"],
      ["", "rows.csv"],
      ["C:\\logs\\été.log", "_t_.log.csv"],
      ["evil\u202egol.exe\u0000", "evil_gol.exe_.csv"],
      ["\ud83d\ude00.log", "_.log.csv"],
    ] as const) {
      expect(fileName([source(name)], NO_FILTER, "csv")).toBe(file);
    }
    expect(fileName([], NO_FILTER, "png")).toBe("rows.png");
    expect(fileName([source("a".repeat(5_000))], NO_FILTER, "svg")).toHaveLength(104);
  });

  test("have the filter", () => {
    const clauses = [{ field: "status", op: "=" as const, values: ["404", "403"] }];
    const log = [source("access.log"), source("error.log")];
    expect(fileName(log, { clauses, conditions: [] }, "csv")).toBe("access.log-status_404_403.csv");
    const conditions = ['path^="/../etc"', "bytes>1MB"];
    expect(fileName(log, { clauses: [], conditions }, "csv")).toBe(
      "access.log-path_.._etc_bytes_1MB.csv",
    );
    expect(fileName(log, { clauses: [], conditions: ["\u202e\r\n"] }, "csv")).toBe(
      "access.log.csv",
    );
  });
});

describe("the address of rows", () => {
  test("has the kind, the filter and the zone", () => {
    const question = {
      ...DEFAULT_QUESTION,
      clauses: [{ field: "path", op: "=" as const, values: ["/a&b=c d"] }],
      conditions: ["status=4xx or bytes>1MB"],
      zone: "Europe/Zurich",
    };
    const address = new URL(rowsAddress("s1", question, "request", "csv")!, "http://localhost");
    expect(address.pathname).toBe("/api/sessions/s1/export");
    expect(Object.fromEntries(address.searchParams)).toMatchObject({
      format: "csv",
      kind: "request",
      zone: "Europe/Zurich",
    });
    expect(address.searchParams.getAll("where")).toEqual([
      'path="/a&b=c d"',
      "status=4xx or bytes>1MB",
    ]);
  });

  test("of a report has what the page shows", () => {
    const question = { ...DEFAULT_QUESTION, conditions: ["bytes>1MB"], stack: "method", top: 50 };
    expect(reportAddress("s1", question, "request")).toBe(
      "/api/sessions/s1/report?format=html&kind=request&stack=method&top=50&where=bytes%3E1MB",
    );
  });

  test("is missing if the filter is too long for it", () => {
    const question = { ...DEFAULT_QUESTION, conditions: ["x".repeat(9_000)] };
    expect(rowsAddress("s1", question, "request", "csv")).toBeNull();
    expect(reportAddress("s1", question, "request")).toBeNull();
  });
});

test("the report command has what the page shows", () => {
  const log = { name: "a b.log", unparsed_lines: 0, too_long_lines: 0 };
  const question = {
    ...DEFAULT_QUESTION,
    clauses: [{ field: "status", op: "=" as const, values: ["404"] }],
    conditions: ["path~'x'"],
    zone: "UTC",
    kind: "error_log_line" as const,
    stack: "level",
    top: 50,
  };
  expect(reportCommand(question, [log as never])).toBe(
    "weir report --kind error-log-line --stack level --top 50 --tz UTC " +
      "--where status=404 --where 'path~'\\''x'\\''' 'a b.log'",
  );
  expect(exportCommand(question, "error_log_line", [log as never], "a_b.log-x.parquet")).toBe(
    "weir export --output a_b.log-x.parquet --kind error-log-line --tz UTC " +
      "--where status=404 --where 'path~'\\''x'\\''' 'a b.log'",
  );
});

test("the curl command has the address of the rows", () => {
  const question = { ...DEFAULT_QUESTION, conditions: ["path='/a$b' and status!=404"] };
  const address = rowsAddress("s1", question, "request", "parquet")!;
  const quoted =
    "'http://127.0.0.1:7878/api/sessions/s1/export?format=parquet&kind=request" +
    "&where=path%3D%27%2Fa%24b%27+and+status%21%3D404'";
  expect(curlCommand("http://127.0.0.1:7878", address, false)).toBe(`curl -OJ ${quoted}`);
  expect(curlCommand("http://127.0.0.1:7878", address, true)).toBe(
    `curl -OJ -H "Authorization: Bearer $TOKEN" ${quoted}`,
  );
});

describe("an SVG image", () => {
  const measure = (text: string) => ({ width: text.length * 6 }) as TextMetrics;

  test("has no markup and no control characters of the log", () => {
    const surface = new SvgSurface(measure);
    surface.font = "600 17px 'A\"<b>', sans-serif";
    surface.fillText('<script>alert("1")</script>&\u0000\u202e\ud800', 1.234, 2);
    const image = surface.image(10, 20, "<title>");
    expect(image).toContain("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;\\x00\\u202e");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose
    expect(image).not.toMatch(/<script|<b>|[\u0000-\u0009\u000b-\u001f\u202e]|\p{Cs}/u);
    expect(image).toContain('font-weight="600"');
    expect(image).toContain('x="1.23"');
    expect(image).toContain("<title>&lt;title&gt;</title>");
  });

  test("places text as a canvas does", () => {
    const surface = new SvgSurface(measure);
    Object.assign(surface, { font: "10px a", textAlign: "right", textBaseline: "top" });
    surface.fillText("x", 5, 5);
    surface.globalAlpha = 0.5;
    surface.fillRect(0, 0.005, 1, 2);
    const image = surface.image(1, 1, "");
    expect(image).toContain('y="13" font-family="a" font-size="10" text-anchor="end"');
    expect(image).toContain(
      '<rect x="0" y="0.01" width="1" height="2" fill="#000000" fill-opacity="0.5"/>',
    );
  });
});

test("arrows walk through a menu and around its ends", () => {
  expect(itemAfter("ArrowDown", -1, 3)).toBe(0);
  expect(itemAfter("ArrowDown", 2, 3)).toBe(0);
  expect(itemAfter("ArrowUp", 0, 3)).toBe(2);
  expect(itemAfter("ArrowUp", -1, 3)).toBe(2);
  expect([itemAfter("Home", 1, 3), itemAfter("End", 1, 3), itemAfter("a", 1, 3)]).toEqual([
    0,
    2,
    null,
  ]);
});

describe("lines", () => {
  const own: LineSource = { number: 0, name: "a.log", file: "", access: "server" };
  const noFile = async () => null;

  /** A saver of lines that a server has; `windows` are the most lines of each of its answers. */
  function saverOf(lines: Partial<SelectedLine>[], windows: number[], totals = [lines.length]) {
    let answers = 0;
    const reader: LineReader = new LineReader(4, (panel, query, { from, count }) => {
      const most = Math.min(count, windows[answers % windows.length]!);
      const total = totals[Math.min(answers, totals.length - 1)]!;
      answers += 1;
      const shown = lines
        .slice(from, from + most)
        .map((line) => ({ source: 0, offset: 0, ...line }));
      const answer = {
        kind: "request" as const,
        total,
        from,
        lines: shown,
        sources: [own],
        source_numbers: [0],
      };
      queueMicrotask(() => reader.take({ type: "lines", panel, query, answer }));
    });
    return new LineSaver(reader, noFile);
  }

  test("are those of all windows, byte for byte, whatever their size", async () => {
    const lines = Array.from({ length: 1_203 }, (_, at) =>
      at % 100 === 7
        ? { text: `\ufffd${at}`, text_hex: `ff${at.toString(16).padStart(4, "0")}` }
        : { text: `line ${at} é` },
    );
    const bytes = lines.flatMap((line) => [
      ...("text_hex" in line && line.text_hex
        ? Buffer.from(line.text_hex, "hex")
        : Buffer.from(line.text)),
      10,
    ]);
    for (const windows of [[500], [1], [3, 200, 77]]) {
      const shares: number[] = [];
      const saved = await saverOf(lines, windows).read((share) => shares.push(share));
      if ("problem" in saved) throw new Error(saved.problem);
      expect(saved.lines).toBe(lines.length);
      expect([...new Uint8Array(await saved.file.arrayBuffer())]).toEqual(bytes);
      expect(shares).toEqual([...shares].sort((a, b) => a - b));
      expect(shares.at(-1)).toBe(1);
    }
  });

  test("are read again if they change, and not for ever", async () => {
    const lines = Array.from({ length: 10 }, (_, at) => ({ text: String(at) }));
    const once = await saverOf(lines, [4], [9, 10]).read(() => {});
    expect(once).toMatchObject({ lines: 10 });
    const always = await saverOf(lines, [4], [5, 6, 7, 8, 9, 10]).read(() => {});
    expect(always).toEqual({ problem: expect.stringMatching(/^The lines change/) });
  });

  test("are refused if they were not kept, are cut, or are too many", async () => {
    const refusal = async (lines: Partial<SelectedLine>[], total = 1) =>
      (await saverOf(lines, [500], [total]).probe()).problem;
    expect(await refusal([{}])).toMatch(/^Not all of these lines can be read/);
    expect(await refusal([{ text: "a", cut: true }])).toMatch(/too long/);
    expect(await refusal([{ text: "a" }], LINES_MAX + 1)).toMatch(/1,000,001 lines/);
    expect(await refusal([], 0)).toBe("No line matches the filter");
    expect(await refusal([{ text: "a" }])).toBeNull();
  });

  test("are given up if they are stopped or the connection breaks", async () => {
    const stopped = new LineSaver(new LineReader(4, () => {}), noFile);
    const reading = stopped.read(() => {});
    stopped.stop();
    expect(await reading).toEqual({ problem: "Stopped: nothing was saved" });
    const reader = new LineReader(4, () => {});
    const lost = new LineSaver(reader, noFile).read(() => {});
    reader.stop();
    expect(await lost).toEqual({ problem: "The connection was lost: nothing was saved" });
  });
});
