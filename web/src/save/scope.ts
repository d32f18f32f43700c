/** Whom an address of the page serves, in words. */

/** What decides who can open the address. */
export interface Reach {
  /** The host in the address. */
  host: string;
  /** Whether the server asks for a token. */
  needsToken: boolean;
  /** Whether the data set was made by a page, and is freed when no page shows it. */
  isKept: boolean;
}

/** Who can open an address, as a hint. */
export function scopeText({ host, needsToken, isKept }: Reach): string {
  const who = isLoopback(host) ? "opens on this machine only" : `opens for whoever reaches ${host}`;
  const time = isKept ? "" : ", as long as this data set is kept";
  const token = needsToken ? "; asks for the token, which is not in the link" : "";
  return `${who}${time}${token}`;
}

function isLoopback(host: string): boolean {
  return /^(localhost|127\.[\d.]+|\[::1\])$/.test(host.replace(/:\d+$/, ""));
}
