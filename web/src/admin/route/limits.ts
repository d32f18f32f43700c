/** The words and numbers of what the process uses of its limits. */

import { bytes } from "../../format/bytes";
import { count } from "../../format/number";
import type { ServiceLimit } from "../../generated/ServiceLimit";
import type { ServiceLimitKind } from "../../generated/ServiceLimitKind";

interface Words {
  name: string;
  /** What happens at the limit. */
  effect: string;
  isBytes: boolean;
}

const WORDS: Record<ServiceLimitKind, Words> = {
  memory: {
    name: "Memory of the process",
    effect: "Above it the system ends the process. --memory and --total-memory keep it below.",
    isBytes: true,
  },
  data_memory: {
    name: "Memory of the data sets",
    effect: "At it uploads end with what was read, and windows drop their oldest records.",
    isBytes: true,
  },
  files: {
    name: "Open files",
    effect: "Without a free one no log and no connection can be opened. `ulimit -n` raises it.",
    isBytes: false,
  },
  page_connections: {
    name: "Connections to the page",
    effect: "At it an idle one makes room, or a new one is refused. --page-connections sets it.",
    isBytes: false,
  },
  gateway_connections: {
    name: "Connections to the gateway",
    effect: "At it an idle one makes room, or a new one is refused.",
    isBytes: false,
  },
};

/** A limit as the page shows it. */
export interface ShownLimit {
  name: string;
  effect: string;
  /** `12 of 1,024`, or `12` without a limit. */
  text: string;
  /** The part that is used, 0 to 1; `null` without a limit. */
  share: number | null;
}

/** A limit in words. */
export function shownLimit({ limit, used, used_max }: ServiceLimit): ShownLimit {
  const { name, effect, isBytes } = WORDS[limit];
  const write = isBytes ? bytes : count;
  if (used_max === undefined) return { name, effect, text: write(used), share: null };
  const share = used_max === 0 ? 1 : Math.min(1, used / used_max);
  return { name, effect, text: `${write(used)} of ${write(used_max)}`, share };
}
