//! What clients look like by their requests: people, crawlers, programs or attacks, and which of them
//! are good.
//!
//! [`ClientLooks`](weir_view::ClientLooks) and [`GoodReason`](weir_view::GoodReason) are decided in
//! one place, [`assessment`], from [`marks`] of single values and a few counts. The counts are
//! gathered in three ways: of all clients of a data set ([`traits`]), of some clients of a data set
//! with more detail ([`rows`]), and of records that are read one after another ([`requests`]).
//! What clients say of themselves is believed by [`sign_ins`], and bounded by [`minutes`].

mod assessment;
mod classes;
pub(crate) mod marks;
mod minutes;
mod requests;
mod rows;
mod sign_ins;
mod traits;
mod user_paths;

pub(crate) use assessment::ClientAssessment;
pub use requests::ClientRequests;
pub(crate) use rows::{ClientRows, ListedIds};
pub(crate) use traits::ClientTraits;
pub use user_paths::{UserPathAnswers, UserPaths};
