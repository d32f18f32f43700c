/** A rule of which a test changes the parts that it is about. */

import type { ReplayedKey } from "../src/generated/ReplayedKey";
import type { ReplayedRule } from "../src/generated/ReplayedRule";

/** A client that trips the rule. */
export const key = (part: Partial<ReplayedKey> = {}): ReplayedKey => ({
  key: "192.0.2.1",
  verdict: "rejected",
  time: "2026-11-22T10:00:00Z",
  source: "a",
  line: 1,
  peak: 19,
  margin: 14,
  passed: 6,
  delayed: 0,
  rejected: 14,
  undecided: 0,
  ...part,
});

/** A replayed rule that this client trips. */
export const rule = (part: Partial<ReplayedRule> = {}): ReplayedRule => ({
  name: "mine",
  family: "nginx",
  description: "limit_req",
  looked_at: { lines: 26, unparsed: 0, records: 25, evaluated: 24 },
  exactness: "exact",
  keys: { seen: 3, tripped: 1, undecided: 0 },
  requests: { passed: 10, delayed: 0, rejected: 14, undecided: 0 },
  trips: [key()],
  closest: [],
  bans: [],
  alerts: [],
  ...part,
});
