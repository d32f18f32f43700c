// The gestures that are measured.

import { altClick, byId, drag, row } from "../../web/test-browser/support/page.mjs";

const clickOn = (field, value) => async (page) => (await row(page, field, value)).click();

/** Clicks in the page: what is not on the screen can be clicked as well. */
const press = (selector) => (page) => page.$eval(selector, (one) => one.click());

const typed = (text) => async (page) => {
  await page.focus(byId("filter-box"));
  await page.keyboard.type(text);
  await page.keyboard.press("Enter");
};

/**
 * The gestures on a page with these numbers. Each has a name, the type of the event at which it begins,
 * and what the person does. Without `undo` Escape undoes it, and the numbers are compared. A gesture that
 * asks no new question has `shown` and `gone`: what matches an element once it is done, and undone.
 */
export function gesturesOf({ tops }) {
  const second = (field) => tops[field][1][0];
  const network = `${second("client").split(".").slice(0, 2).join(".")}.0.0/16`;
  return [...filtering(second, network), ...choosing(), ...looking()];
}

function filtering(second, network) {
  return [
    { name: "click on a client", type: "click", act: clickOn("client", second("client")) },
    { name: "click on a path", type: "click", act: clickOn("path", second("path")) },
    { name: "click on a status", type: "click", act: clickOn("status", second("status")) },
    {
      name: "Alt-click on a path",
      type: "click",
      act: async (page) => altClick(page, await row(page, "path", second("path"))),
    },
    { name: "typed: status>=400", type: "submit", act: typed("status>=400") },
    { name: "typed: path~^/[a-m]", type: "submit", act: typed("path~^/[a-m]") },
    { name: "typed: user_agent~(?i)bot", type: "submit", act: typed("user_agent~(?i)bot") },
    { name: "typed: a network", type: "submit", act: typed(`client=${network}`) },
    { name: "zoom by a drag", type: "pointerup", act: (page) => drag(page, 0.3, 0.6) },
  ];
}

/** Changes of what is counted and how it is drawn. */
function choosing() {
  const select = (id, value) => (page) => page.select(byId(id), value);
  const more = (which) => press(`${byId("top-path")} .more button${which}`);
  return [
    {
      name: "stack by method",
      type: "change",
      act: select("stack", "method"),
      undo: select("stack", "status_class"),
    },
    {
      name: "another time zone",
      type: "change",
      act: select("zone", "UTC"),
      undo: select("zone", ""),
    },
    { name: "50 rows of a list", type: "click", act: more(""), undo: more(":last-of-type") },
    ...["errors", "bytes"].map((measure) => ({
      name: `${measure} as the measure`,
      type: "click",
      act: press(byId(`measure-${measure}`)),
      undo: press(byId("measure-requests")),
    })),
  ];
}

/** What is looked at, with the same filter. */
function looking() {
  const chosen = (field) => `${byId(`list-${field}`)}[aria-selected="true"]`;
  const sort = (by) => `${byId("top-path")} ${byId(`sort-${by}`)}`;
  return [
    {
      name: "networks in their card",
      type: "click",
      act: press(byId("list-network")),
      shown: chosen("network"),
      undo: press(byId("list-client")),
      gone: chosen("client"),
    },
    {
      name: "paths by their error rate",
      type: "click",
      act: press(sort("error_rate")),
      shown: `${sort("error_rate")}[aria-pressed="true"]`,
      undo: press(sort("measure")),
      gone: `${sort("measure")}[aria-pressed="true"]`,
    },
    {
      name: "all paths",
      type: "click",
      act: press(byId("whole-path")),
      shown: `${byId("whole-list")} ul[aria-busy="false"]`,
      undo: press(byId("whole-close")),
      gone: `body:not(:has(${byId("whole")}))`,
    },
    {
      name: "the lines",
      type: "click",
      act: press(byId("lines-open")),
      shown: `${byId("line")} .line-text`,
      undo: press(byId("overview-open")),
      gone: byId("family-who"),
    },
    {
      name: "the story of a client",
      type: "click",
      act: press(`${byId("top-client")} ${byId("story-open")}`),
      shown: byId("story-totals"),
      undo: press(byId("story-close")),
      gone: `body:not(:has(${byId("story")}))`,
    },
  ];
}
