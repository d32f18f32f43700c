// Coming in by the link with the access token.

import assert from "node:assert/strict";
import { byId, until } from "../support/page.mjs";

export function entering(define) {
  // A link has a token if other machines can reach the server, and the link of the demo has a rule too.
  const options = { command: ["demo"], args: ["--listen", "0.0.0.0:0", "--insecure-http"] };
  define(
    "the link with the token leads to its rule",
    async ({ page, server }) => {
      assert.match(server.url.search, /^\?token=/);
      const rule = decodeURIComponent(server.url.hash.replace(/^#rule=/, ""));
      assert.match(rule, /limit/);
      await page.goto(server.url);
      await page.waitForSelector(byId("rule-box"));
      await until(page, () => location.search === "");
      assert.equal(new URL(page.url()).hash, server.url.hash);
      assert.equal(await page.$eval(byId("rule-box"), (box) => box.value), rule);
    },
    options,
  );
}
