/** The network of an address, as a condition names it; `null` if it is not an address. */
export function networkOf(client: string): string | null {
  const octets = /^(\d{1,3}\.\d{1,3}\.\d{1,3})\.\d{1,3}$/.exec(client)?.[1];
  if (octets !== undefined) return `${octets}.0/24`;
  const groups = /^([\da-f]{1,4}:[\da-f]{1,4}:[\da-f]{1,4}):[\da-f:]+$/i.exec(client)?.[1];
  return groups === undefined ? null : `${groups}::/48`;
}
