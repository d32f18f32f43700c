//! The distinct values of a data set's text columns: their ids, their memory, their eviction.

mod dictionary;
mod generation;
mod interner;
mod live_ids;
mod pending_segment;
mod prefetch;
mod store;
mod sweep;

pub use dictionary::Dictionary;
pub use live_ids::LiveIds;
pub use pending_segment::PendingSegment;
pub use store::Values;
pub use sweep::{PendingSweep, Sweep};

pub(crate) use generation::{Generations, InFlightGuard};
pub(crate) use interner::{BATCH, LocalInterner};
