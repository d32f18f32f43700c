// The lists of the cards, each behind its tab.

import { byId, until } from "./waiting.mjs";

/** Shows the list of a field in its card. */
export async function openList(page, field) {
  const tab = byId(`list-${field}`);
  if ((await page.$(tab)) !== null) await page.$eval(tab, (one) => one.click());
  await until(
    page,
    (list) => document.querySelector(`${list} ul`)?.getAttribute("aria-busy") === "false",
    byId(`top-${field}`),
  );
}

/**
 * All lists of fields that the log has, in the order of the page, and those of one value. Each is
 * opened once, and what was shown before is shown again.
 */
export function allLists(page) {
  return page.evaluate(async () => {
    const textOf = (parent, selector) => parent.querySelector(selector)?.textContent ?? "";
    const moment = () => new Promise((resolve) => setTimeout(resolve, 4));
    const read = (section, title, distinct) => ({
      field: section.dataset.testid.slice(4),
      title,
      distinct,
      rows: [...section.querySelectorAll(".top-item")].map((item) => {
        const row = item.querySelector('[data-testid="top-row"]');
        return {
          value: row?.dataset.value ?? null,
          count: Number(row?.dataset.count),
          isPressed: row?.getAttribute("aria-pressed") === "true",
          texts: [".top-value", ".top-count", ".top-share"].map((part) => textOf(item, part)),
        };
      }),
    });
    const show = async (card, tab) => {
      tab.click();
      const field = tab.dataset.testid.slice(5);
      const isThere = () =>
        card.querySelector(`[data-testid="top-${CSS.escape(field)}"] ul[aria-busy="false"]`);
      while (isThere() === null) await moment();
      return card.querySelector("section");
    };
    const lists = [];
    for (const card of document.querySelectorAll('[data-testid^="family-"]')) {
      const tabs = [...card.querySelectorAll('[role="tab"]')];
      const before = tabs.find((tab) => tab.getAttribute("aria-selected") === "true");
      for (const tab of tabs.filter((one) => one.dataset.derived === undefined)) {
        const section = await show(card, tab);
        lists.push(read(section, tab.firstChild.textContent, textOf(tab, ".family-count")));
      }
      await show(card, before);
    }
    for (const section of document.querySelectorAll("section.top-list")) {
      if (section.closest('[data-testid^="family-"]') !== null) continue;
      lists.push(read(section, section.querySelector("h2").firstChild.textContent, ""));
    }
    for (const { dataset, children } of document.querySelectorAll('[data-testid="single"]')) {
      const count = Number(dataset.count);
      const [title, value] = [...children].map((part) => part.textContent);
      lists.push({
        field: dataset.field,
        title,
        distinct: "1",
        rows: [
          {
            value: dataset.value,
            count,
            isPressed: false,
            texts: [value, count.toLocaleString("en-GB"), "100%"],
          },
        ],
      });
    }
    return lists;
  });
}

/** The rows of a list that a report with the page's filter has: its own condition is ignored. */
export function rowsOfReport({ rows }) {
  const pressed = rows.filter((row) => row.isPressed);
  return pressed.length > 0 ? pressed : rows;
}

/** Whether a list has something to show: more than one value that stands for a missing value. */
export function hasValues(rows) {
  return rows.length > 1 || rows.some((row) => !["-", ""].includes(row.value));
}
