//! Those who wait to look at an upload.

use std::convert::Infallible;

use weir_observe::glass::Captures;

/// Those who wait to look at an upload. There are no conditions on uploads.
pub type UploadCaptures = Captures<Infallible>;
