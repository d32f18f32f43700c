import { headValue } from "../state/head";

/**
 * The address of the other page of the same program: the page of the traffic has that of `--admin`,
 * and the other way round. `null` if there is none.
 */
export function neighbour(name: "weir-page" | "weir-admin"): string | null {
  const address = headValue(name);
  return address?.startsWith("http") ? address : null;
}
