/**
 * The address of the other page of the same program, which the server writes into the head: the
 * page of the traffic has that of `--admin`, and the other way round. `null` if there is none.
 */
export function neighbour(name: "weir-page" | "weir-admin"): string | null {
  const address = document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content;
  return address?.startsWith("http") ? address : null;
}
