// Access for everyone, as axe-core checks it.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** Whether a finding is another than that an open menu lies over a part of a tab. */
export const isNotCovered = (finding) => !finding.startsWith('target-size: <button id="tab-');

/** Returns what axe-core finds, with the elements. */
export async function findings(page) {
  await page.evaluate(await readFile(AXE, "utf8"));
  return page.evaluate(async () => {
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
    const { violations } = await window.axe.run(document, { runOnly: tags });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
  });
}
