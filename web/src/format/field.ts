/** What fields are called on the page. */

const TITLES: Record<string, string> = {
  client: "Clients",
  path: "Paths",
  status: "Status",
  method: "Methods",
  host: "Hosts",
  referer: "Referers",
  user_agent: "User agents",
  protocol: "Protocols",
  query: "Query strings",
  user: "Users",
  request: "Raw requests",
};

const LABELS: Record<string, string> = {
  status_class: "status class",
  user_agent: "user agent",
  request: "raw request",
};

/** The order of the lists: who, what, how it went, then the rest. */
const ORDER = Object.keys(TITLES);

/** The title of a field's list. */
export function fieldTitle(field: string): string {
  const title = TITLES[field];
  if (title) return title;
  const words = fieldLabel(field);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The field's name in a sentence or on a chip. */
export function fieldLabel(field: string): string {
  return LABELS[field] ?? field.replaceAll("_", " ");
}

/** Known fields in their order, then the others by name. */
export function fieldOrder(fields: string[]): string[] {
  const rank = (field: string): number => {
    const at = ORDER.indexOf(field);
    return at < 0 ? ORDER.length : at;
  };
  return [...fields].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}
