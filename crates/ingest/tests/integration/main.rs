//! The integration tests of this crate, in one binary: it is linked once.

mod damage;
mod drip;
mod encodings;
mod eviction_model;
mod finding;
mod follow;
mod format_drift;
mod held;
mod late_formats;
mod oracle;
mod ordered;
mod packed;
mod records;
mod request_totals;
mod side_by_side;
mod sources;
mod state;
mod w3c;
