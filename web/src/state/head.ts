/**
 * Returns a value that the server writes into the head of the page: the address of `--admin` or of
 * the page of the traffic, or the name of the data set that the program serves. `null` if there is
 * none.
 */
export function headValue(name: "weir-page" | "weir-admin" | "weir-served"): string | null {
  return document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? null;
}
