import { compact, count, lowerBound } from "../format/number";
import type { Report } from "../generated/Report";
import { OWN } from "../state/rules";
import { blocks, rules, tab } from "../state/store";
import { TABS, type Tab } from "../state/tab";
import { withoutLines } from "../state/withoutLines";
import { shownLater } from "./part";
import { tabOfKey } from "./tabKeys";
import { choose, WORK } from "./work";

const RulesLine = shownLater(async () => (await import("../rules/RulesLine")).RulesLine);

const NAMES: Record<Tab, string> = {
  overview: "Overview",
  lines: "Lines",
  clients: "Clients",
  rules: "Rules",
  blocks: "Blocks",
};

/** The tab on the screen: the chosen one, or the overview if this data has no such tab. */
export function shownTab(report: Report): Tab {
  return tabsOf(report).includes(tab.value) ? tab.value : "overview";
}

function tabsOf(report: Report): Tab[] {
  return TABS.filter((one) => {
    if (one === "lines") return !withoutLines.value;
    return one !== "clients" || report.distinct.client !== undefined;
  });
}

/** What the work area shows, each with its number. */
export function Tabs({ report }: { report: Report }) {
  const shown = shownTab(report);
  const tabs = tabsOf(report);
  const onKeyDown = (event: KeyboardEvent) => {
    const to = tabOfKey(event.key, tabs.indexOf(shown), tabs.length);
    if (to === null || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    choose(tabs[to]!);
    document.getElementById(tabId(tabs[to]!))?.focus();
  };
  return (
    <div class="tabs" data-testid="tabs">
      <div role="tablist" aria-label="Views" onKeyDown={onKeyDown}>
        {tabs.map((one) => (
          <button
            key={one}
            id={tabId(one)}
            type="button"
            class="tab-button"
            role="tab"
            aria-selected={one === shown}
            aria-controls={WORK}
            tabIndex={one === shown ? 0 : -1}
            data-testid={`${one}-open`}
            onClick={() => choose(one)}
          >
            {NAMES[one]}
            <TabCount of={one} report={report} />
          </button>
        ))}
      </div>
      {rules.value.panels[OWN].text !== null && <RulesLine />}
    </div>
  );
}

/** The id of a tab, which names the work area. */
export function tabId(one: Tab): string {
  return `tab-${one}`;
}

function TabCount({ of: one, report }: { of: Tab; report: Report }) {
  const number = numberOf(one, report);
  if (number === null) return null;
  const isLeast = one === "clients" && report.estimated.includes("client");
  return (
    <span class="tab-count" title={lowerBound(count(number), isLeast)}>
      {lowerBound(compact(number), isLeast)}
    </span>
  );
}

/** The number of what a tab lists; `null` if it is not known. */
function numberOf(one: Tab, report: Report): number | null {
  switch (one) {
    case "overview":
      return null;
    case "lines":
      return report.matching;
    case "clients":
      return report.distinct.client ?? null;
    case "rules":
      return rules.value.panels[OWN].answer?.rules.length ?? null;
    case "blocks":
      return blocks.value.report?.addresses ?? null;
  }
}
