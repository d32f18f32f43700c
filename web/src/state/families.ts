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
  /** The number of values that are skipped. */
  from: number;
  /** The number of values that the answer has skipped. */
  answerFrom: number;
}

/** The list whose values are all at hand, in a pane. */
export interface Whole {
  field: string;
  /** A text that the values contain; empty for all of them. */
  search: string;
  /** The place of the first row that is shown, from 0. */
  from: number;
  /** The number of rows after it. */
  count: number;
  /** Whether all rows are asked for, to be saved. */
  isSaving: boolean;
}

export interface FamiliesSlice {
  /** The field of the list that a card shows, if the person has chosen one. */
  chosen: Partial<Record<FamilyName, string>>;
  /** The card of the list that was chosen last; `null` before one was. */
  picked: FamilyName | null;
  /** The fields of the log, as of the last view without a filter. */
  known: KnownFields | null;
  /** By field, the column by which a list is sorted, if it is not the measure. */
  sorts: Readonly<Record<string, Sort>>;
  /** By the number of the list. */
  lists: Readonly<Record<number, AskedList>>;
  /** The whole list on the screen; `null` if there is none. */
  whole: Whole | null;
}

/** What is known of a list when it is asked for. */
export type NewList = Pick<AskedList, "query" | "field" | "order" | "from">;

export type FamiliesAction =
  | { type: "list_chosen"; family: FamilyName; field: string }
  | { type: "list_sorted"; field: string; sort: Sort | null }
  | { type: "fields_known"; known: KnownFields | null }
  | { type: "list_asked"; panel: number; list: NewList }
  | { type: "list_ended"; panel: number }
  | { type: "list_reply"; reply: ListReply }
  | { type: "whole_opened"; whole: Whole | null }
  | { type: "whole_changed"; part: Partial<Whole> };

export const NO_FAMILIES: FamiliesSlice = {
  chosen: {},
  picked: null,
  known: null,
  sorts: {},
  lists: {},
  whole: null,
};

/** Returns the slice after an action. */
export function reduceFamilies(before: FamiliesSlice, action: Action): FamiliesSlice {
  switch (action.type) {
    case "list_chosen":
      return {
        ...before,
        picked: action.family,
        chosen: { ...before.chosen, [action.family]: action.field },
      };
    case "list_sorted": {
      const { [action.field]: _, ...others } = before.sorts;
      const sorts = action.sort === null ? others : { ...others, [action.field]: action.sort };
      return { ...before, sorts };
    }
    case "fields_known":
      return { ...before, known: action.known };
    case "list_asked": {
      const { panel, list } = action;
      const last = before.lists[panel];
      const isSame = last?.field === list.field && last.order === list.order;
      return withList(before, panel, {
        ...list,
        answer: isSame ? last.answer : null,
        answerFrom: isSame ? last.answerFrom : 0,
        isAnswered: false,
        refusal: null,
      });
    }
    case "list_ended": {
      const { [action.panel]: ended, ...lists } = before.lists;
      return ended ? { ...before, lists } : before;
    }
    case "list_reply":
      return withReply(before, action.reply);
    case "whole_opened":
      return { ...before, whole: action.whole };
    case "whole_changed":
      return { ...before, whole: before.whole && { ...before.whole, ...action.part } };
    // The help takes the place of the list.
    case "help":
      return action.isShown ? { ...before, whole: null } : before;
    case "session":
      return { ...NO_FAMILIES, chosen: before.chosen, picked: before.picked };
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
    answerFrom: asked.from,
    isAnswered: true,
    refusal: reply.error?.message ?? null,
  });
}

function withList(before: FamiliesSlice, panel: number, list: AskedList): FamiliesSlice {
  return { ...before, lists: { ...before.lists, [panel]: list } };
}
