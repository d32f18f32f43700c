//! Metrics: what there is to count, the numbers of one moment, and their text.
//!
//! | step | file |
//! |---|---|
//! | the list of all metrics | `catalog.rs` |
//! | the numbers of one moment | `scrape.rs` |
//! | their text in either format | `text.rs` |
//! | which of the formats a client wants | `accept.rs` |

mod accept;
pub(crate) mod catalog;
mod metric;
mod scrape;
mod text;

pub(crate) use self::accept::chosen_format;
pub use self::catalog::METRICS;
pub use self::metric::{Metric, MetricKind};
pub use self::scrape::{Exemplar, HistogramPoint, Scrape};
pub use self::text::TextFormat;
