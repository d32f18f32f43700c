/** Names that the server uses in place of values of the log. */

/** The group of the records without the field. */
export const NO_VALUE = "(none)";
/** The group of all values beyond the most frequent ones. */
export const ALL_OTHER_VALUES = "(all other values)";
/** The field with the first digit of the status: `2xx`, `4xx`. */
export const STATUS_CLASS = "status_class";
/** The status class of the records without a valid status. */
export const NO_CLASS = "other";
