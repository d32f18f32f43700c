/** The hit rates of a gateway's caches. */

import type { Report } from "../generated/Report";
import { count, plural, share } from "./number";
import { ownValue } from "./ownValue";

/** The fields in which a gateway records the results of its caches, with their titles. */
const CACHES = [
  ["token_cache", "Token cache"],
  ["lookup_cache", "Lookup cache"],
  ["session_cache", "Session cache"],
] as const;

/**
 * Lookups after which a cache without a hit is no longer just new. The page shows this because of a
 * session cache that never hit, which nobody noticed.
 */
const COLD_MAX = 100;

/** A cache and its hits. */
export interface CacheFigure {
  field: string;
  title: string;
  hits: number;
  /** The number of lookups. */
  asked: number;
  /** The share of hits. */
  rate: string;
  note: string;
  /** Whether it has had many lookups and no hit. */
  isUseless: boolean;
}

/** The caches that were used for the records of a report. */
export function cachesOf({ kind, top }: Pick<Report, "kind" | "top">): CacheFigure[] {
  if (kind !== "request") return [];
  return CACHES.flatMap(([field, title]) => {
    const rows = (ownValue(top, field) ?? []).filter((row) => !row.absent && !row.remainder);
    const of = (value: string) => rows.find((row) => row.value === value)?.count ?? 0;
    const [hits, misses, renewed] = [of("hit"), of("miss"), of("renewed")];
    const asked = hits + misses + renewed;
    if (asked === 0) return [];
    const isUseless = hits === 0 && asked >= COLD_MAX;
    const parts = [plural(hits, "hit"), plural(misses, "miss", "misses")];
    if (renewed > 0) parts.push(`${count(renewed)} renewed`);
    const note = isUseless ? `never hit in ${count(asked)} requests` : parts.join(" · ");
    return [{ field, title, hits, asked, rate: share(hits, asked), note, isUseless }];
  });
}
