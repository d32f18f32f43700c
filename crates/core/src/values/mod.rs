//! The distinct values of a data set's text columns: their ids, their memory, their eviction.
//!
//! A text column has few distinct values compared with its rows. So each distinct value is stored
//! once and has a dense id, and a row is an id:
//!
//! 1. A reader's `interner` gives values ids of its own, without a lock.
//! 2. The `dictionary` of a column has the shared ids, in the order in which values first appeared.
//! 3. `store` bounds the memory of all dictionaries together. Beyond it, new values share the id
//!    [`crate::REMAINDER`], and the column is estimated.
//!    `late_values` finds the frequent ones among them, in a reserve of that memory, with a summary
//!    of `frequent_items`.
//! 4. In a sliding window values go out of use. A `sweep` frees the ids that no segment has, as
//!    soon as no block is in flight that was read with them (`generation`).

mod decided_ids;
mod derived_field;
mod dictionary;
mod frequent_items;
mod generation;
mod id_bits;
mod interner;
mod late_values;
mod live_ids;
mod pending_segment;
mod prefetch;
mod short_values;
mod store;
mod stored;
mod sweep;

pub use decided_ids::DecidedIds;
pub use derived_field::DerivedFrom;
pub use dictionary::{Dictionary, StoredValueError};
pub use frequent_items::FrequentItems;
pub use late_values::LateValues;
pub use live_ids::LiveIds;
pub use pending_segment::PendingSegment;
pub use store::Values;
pub use stored::ColumnState;
pub use sweep::{PendingSweep, Sweep};

pub(crate) use generation::{Generations, InFlightGuard};
pub(crate) use interner::{BATCH, LocalInterner};
