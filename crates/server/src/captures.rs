//! Those who wait to look at something of the page's server.

use std::convert::Infallible;

use weir_observe::glass::Captures;

/// Those who wait to look at an upload. There are no conditions on uploads.
pub type UploadCaptures = Captures<Infallible>;

/// Those who wait to look at a request. There are no conditions on requests to the page's server.
pub type PageCaptures = Captures<Infallible>;
