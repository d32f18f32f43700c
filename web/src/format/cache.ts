/** How often the caches of a gateway knew the answer. */

import type { Report } from "../generated/Report";
import { count, plural, share } from "./number";

/** The fields in which a gateway records what its caches said, with their titles. */
const CACHES = [
  ["token_cache", "Token cache"],
  ["lookup_cache", "Look-up cache"],
  ["session_cache", "Session cache"],
] as const;

/**
 * Questions after which a cache that never knew an answer is more than new. A session check that never
 * hit, which nobody saw, is why this is shown at all.
 */
const COLD_MAX = 100;

/** A cache and its hits. */
export interface CacheFigure {
  field: string;
  title: string;
  hits: number;
  /** How often it was asked. */
  asked: number;
  /** The share of hits. */
  rate: string;
  note: string;
  /** Whether it is of no use. */
  isUseless: boolean;
}

/** The caches that the records of a report asked. */
export function cachesOf({ kind, top }: Pick<Report, "kind" | "top">): CacheFigure[] {
  if (kind !== "request") return [];
  return CACHES.flatMap(([field, title]) => {
    const rows = (top[field] ?? []).filter((row) => !row.absent && !row.remainder);
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
