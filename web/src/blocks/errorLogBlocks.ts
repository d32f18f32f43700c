/** What the chart states of the blocks in error logs. */

import type { BlockCause } from "../generated/BlockCause";
import type { BlocksReport } from "../generated/BlocksReport";

/** The number of blocks that error logs state, such as those of nginx's limits. */
export function errorLogBlocks(report: BlocksReport | null): number {
  const own = report?.causes.filter(({ cause }) => ERROR_LOG_CAUSES.has(cause)) ?? [];
  return own.reduce((sum, { blocks }) => sum + blocks, 0);
}

const ERROR_LOG_CAUSES: ReadonlySet<BlockCause> = new Set<BlockCause>([
  "request_limit",
  "request_delay",
  "dry_run",
  "connection_limit",
  "access_rule",
]);
