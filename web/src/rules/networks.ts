/** Networks as people type them. Pure functions. */

/** The most networks, which is the limit of the server. */
const NETWORKS_MAX = 256;

/** Texts that are networks, and the first that is not. */
export interface TypedNetworks {
  valid: string[];
  wrong: string | null;
}

/** The networks of a text: addresses, or CIDR blocks, between spaces, commas or semicolons. */
export function networksOf(text: string): TypedNetworks {
  const parts = text.split(/[\s,;]+/).filter((part) => part !== "");
  const valid = parts.filter(isNetwork).slice(0, NETWORKS_MAX);
  return { valid, wrong: parts.find((part) => !isNetwork(part)) ?? null };
}

function isNetwork(text: string): boolean {
  const [address = "", prefix, ...rest] = text.split("/");
  const bits = isIpv4(address) ? 32 : isIpv6(address) ? 128 : -1;
  if (bits < 0 || rest.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits);
}

function isIpv4(text: string): boolean {
  const parts = text.split(".");
  return (
    parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && +part < 256)
  );
}

function isIpv6(text: string): boolean {
  if (!/^[0-9a-fA-F:.]+$/.test(text)) return false;
  try {
    return new URL(`http://[${text}]/`).hostname !== "";
  } catch {
    return false;
  }
}
