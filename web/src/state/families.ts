/** The slice of the families: the list that each card shows, and the lists that were asked for. */

import type { FamilyName, KnownFields } from "../families/families";
import type { FieldList } from "../generated/FieldList";
import type { LiveReply } from "../generated/LiveReply";
import type { Action } from "./action";

/** A column beside the measure by which a list can be sorted. */
export type Sort = "requests" | "error_rate" | "time";

export type ListReply = Extract<LiveReply, { type: "list" }>;

/** A list that was asked for. */
export interface AskedList {
  /** The id of its question, which the answer repeats. */
  query: number;
  field: string;
  /** The order and the question but for the spans: the values of another order are not shown. */
  order: string;
  /** The values; those of the question before until the first answer arrives. */
  answer: FieldList | null;
  /** Whether the answer is that to the question. */
  isAnswered: boolean;
  /** Why there are no values. */
  refusal: string | null;
}

export interface FamiliesSlice {
  /** The field of the list that a card shows, if the person has chosen one. */
  chosen: Partial<Record<FamilyName, string>>;
  /** The fields of the log, as of the last view without a filter. */
  known: KnownFields | null;
  /** By field, the column by which a list is sorted, if it is not the measure. */
  sorts: Readonly<Record<string, Sort>>;
  /** By the number of the list. */
  lists: Readonly<Record<number, AskedList>>;
}

export type FamiliesAction =
  | { type: "list_chosen"; family: FamilyName; field: string }
  | { type: "list_sorted"; field: string; sort: Sort | null }
  | { type: "fields_known"; known: KnownFields | null }
  | { type: "list_asked"; panel: number; query: number; field: string; order: string }
  | { type: "list_ended"; panel: number }
  | { type: "list_reply"; reply: ListReply };

export const NO_FAMILIES: FamiliesSlice = { chosen: {}, known: null, sorts: {}, lists: {} };

/** Returns the slice after an action. */
export function reduceFamilies(before: FamiliesSlice, action: Action): FamiliesSlice {
  switch (action.type) {
    case "list_chosen":
      return { ...before, chosen: { ...before.chosen, [action.family]: action.field } };
    case "list_sorted": {
      const { [action.field]: _, ...others } = before.sorts;
      const sorts = action.sort === null ? others : { ...others, [action.field]: action.sort };
      return { ...before, sorts };
    }
    case "fields_known":
      return { ...before, known: action.known };
    case "list_asked": {
      const { panel, query, field, order } = action;
      const last = before.lists[panel];
      const answer = last?.field === field && last.order === order ? last.answer : null;
      const list = { query, field, order, answer, isAnswered: false, refusal: null };
      return withList(before, panel, list);
    }
    case "list_ended": {
      const { [action.panel]: ended, ...lists } = before.lists;
      return ended ? { ...before, lists } : before;
    }
    case "list_reply":
      return withReply(before, action.reply);
    case "session":
      return { ...NO_FAMILIES, chosen: before.chosen };
    default:
      return before;
  }
}

function withReply(before: FamiliesSlice, reply: ListReply): FamiliesSlice {
  const asked = before.lists[reply.panel];
  if (asked === undefined || asked.query !== reply.query) return before;
  return withList(before, reply.panel, {
    ...asked,
    answer: reply.answer ?? null,
    isAnswered: true,
    refusal: reply.error?.message ?? null,
  });
}

function withList(before: FamiliesSlice, panel: number, list: AskedList): FamiliesSlice {
  return { ...before, lists: { ...before.lists, [panel]: list } };
}
