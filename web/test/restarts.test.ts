import { afterEach, describe, expect, it, vi } from "vitest";
import { HOLD_MS, Restarts } from "../src/control/restarts";
import type { Source } from "../src/generated/Source";
import type { View } from "../src/generated/View";
import { presenceOf } from "../src/socket/session";

const view = (started_unix_ms: number, lines: number | null, complete = false): View =>
  ({
    started_unix_ms,
    complete,
    sources: lines === null ? [] : [{ lines } as Source],
  }) as View;

describe("the views of a program that was restarted", () => {
  function start() {
    const host = { ms: 0, now: () => host.ms };
    return { host, restarts: new Restarts(host) };
  }

  it("are those of a new process", () => {
    const { restarts } = start();
    expect(restarts.take(null, view(1, 5))).toBe("same");
    expect(restarts.take(view(1, 5), view(1, 6))).toBe("same");
    expect(restarts.take(view(1, 6), view(2, 1))).toBe("new");
    expect(restarts.take(view(2, 1), view(2, 2))).toBe("same");
  });

  it("replace the numbers once there are lines, but not much later", () => {
    const { host, restarts } = start();
    expect(restarts.take(view(1, 5), view(2, null))).toBe("hold");
    host.ms = HOLD_MS - 1;
    expect(restarts.take(view(1, 5), view(2, 0))).toBe("hold");
    expect(restarts.take(view(1, 5), view(2, 0, true))).toBe("new");
    expect(restarts.take(view(2, 5), view(3, 0))).toBe("hold");
    host.ms += HOLD_MS;
    expect(restarts.take(view(2, 5), view(3, 0))).toBe("new");
    // A second restart during the first.
    expect(restarts.take(view(3, 5), view(4, 0))).toBe("hold");
    expect(restarts.take(view(3, 5), view(5, 7))).toBe("new");
  });

  it("are shown at once if there was nothing to keep", () => {
    const { restarts } = start();
    expect(restarts.take(view(1, 0), view(2, 0))).toBe("new");
  });
});

describe("whether a session exists", () => {
  afterEach(() => vi.unstubAllGlobals());

  const answered = (status: number, body: string) => {
    vi.stubGlobal("fetch", async () => new Response(body, { status }));
    return presenceOf("web1");
  };
  const refused = (status: number, error: string) =>
    answered(status, JSON.stringify({ error, message: "a sentence" }));

  it("is what Weir says", async () => {
    expect(await answered(200, "{}")).toBe("there");
    expect(await refused(404, "unknown_session")).toBe("gone");
    expect(await refused(404, "session_displaced")).toBe("gone");
    expect(await refused(410, "session_ended")).toBe("gone");
    expect(await refused(401, "no_token")).toBe("locked");
    expect(await refused(503, "stopping")).toBe("unknown");
  });

  it("is not what a proxy says while Weir is restarted", async () => {
    expect(await answered(502, "<h1>Bad Gateway</h1>")).toBe("unknown");
    expect(await answered(404, "<h1>Not Found</h1>")).toBe("unknown");
    expect(await answered(401, "<h1>Log in</h1>")).toBe("unknown");
    vi.stubGlobal("fetch", () => Promise.reject(new TypeError("refused")));
    expect(await presenceOf("web1")).toBe("unknown");
  });
});
