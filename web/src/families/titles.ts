/** The names of lists on their tabs, which stand beside the title of their card. */

import { fieldTitle } from "../format/field";
import { ownValue } from "../format/ownValue";

const TITLES: Record<string, string> = {
  network: "Networks",
  country: "Countries",
  city: "Cities",
  asn_name: "Providers",
  "path/1": "First segments",
  extension: "Extensions",
  agent_family: "Browsers",
  system: "Systems",
  device: "Devices",
  crawler: "Crawlers",
  crawler_kind: "Kinds of crawlers",
  referer_host: "Sites",
  referer_kind: "Kinds of sites",
  campaign: "Campaigns",
  hour: "Hours",
  weekday: "Weekdays",
  date: "Days",
};

/** The name of the list of a field. A field that is logged has the name that it has in a report. */
export function listTitle(field: string, derived: readonly string[]): string {
  const own = derived.includes(field) ? ownValue(TITLES, field) : undefined;
  return own ?? fieldTitle(field);
}
