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

/**
 * Fields that share a place on the page, in the order of the places: who, what, how it
 * went, then the rest. The short lists stand below each other. The places are fixed, so
 * that no list moves when a filter makes another one shorter.
 */
const PLACES = [
  ["client"],
  ["path"],
  ["status"],
  ["method", "protocol", "host"],
  ["user_agent"],
  ["referer"],
  ["query"],
  ["user", "request"],
];

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

/** The given fields by place; those without a place come last, by name. */
export function fieldPlaces(fields: string[]): string[][] {
  const placed = new Set(PLACES.flat());
  const others = fields.filter((field) => !placed.has(field)).sort();
  return [...PLACES, ...others.map((field) => [field])]
    .map((place) => place.filter((field) => fields.includes(field)))
    .filter((place) => place.length > 0);
}
