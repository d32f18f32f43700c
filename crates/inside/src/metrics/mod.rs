//! Metrics: their catalog, their values and their text formats.
//!
//! | subject | file |
//! |---|---|
//! | the catalog of all metrics | `catalog.rs` |
//! | the values at one moment | `scrape.rs` |
//! | the text formats | `text.rs` |
//! | content negotiation | `accept.rs` |

mod accept;
pub(crate) mod catalog;
mod metric;
mod scrape;
mod text;

pub(crate) use self::accept::negotiate_format;
pub use self::catalog::METRICS;
pub use self::metric::{Metric, MetricKind};
pub use self::scrape::{Exemplar, HistogramPoint, Scrape};
pub use self::text::TextFormat;
