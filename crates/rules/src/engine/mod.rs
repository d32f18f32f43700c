//! What the replays of limits have in common when they decide: the outcome of a request, and bounds
//! over times that are only known to the second.

mod notes;
mod outcome;
mod presence;

pub(crate) use self::notes::{not_replayed, whole_seconds};
pub(crate) use self::outcome::{Outcome, for_each_disagreement};
pub(crate) use self::presence::{PossiblyPresent, Span, SurelyPresent};
