/** The condition whose text is in the filter box, to be changed. */

import { signal } from "@preact/signals";
import type { Chip } from "../state/chips";

export const editing = signal<Chip | null>(null);
