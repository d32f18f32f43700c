//! The distinct values of a data set's text columns: their ids, their memory, their eviction.

mod dictionary;
mod interner;
mod live_ids;
mod prefetch;
mod store;
mod sweep;

pub use dictionary::Dictionary;
pub use live_ids::LiveIds;
pub use store::Values;
pub use sweep::ReadBefore;

pub(crate) use interner::{BATCH, LocalInterner};
