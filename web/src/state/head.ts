/**
 * Returns a value that the server writes into the head of the page: the address of `--admin` or of
 * the page of the traffic, the name of the data set that the program serves, or that it asks for a
 * token. `null` if there is none.
 */
export function headValue(
  name: "weir-page" | "weir-admin" | "weir-served" | "weir-token",
): string | null {
  return document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? null;
}
