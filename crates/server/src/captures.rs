//! The captures of the page's server: requests and uploads that an operator observes step by step.

use std::convert::Infallible;

use weir_observe::capture::Captures;

/// The titles of the captured heads.
pub(crate) const FROM_CLIENT: &str = "client to server";
pub(crate) const TO_CLIENT: &str = "server to client";

/// The captures that wait for an upload. They have no conditions.
pub type UploadCaptures = Captures<Infallible>;

/// The captures that wait for a request to the page's server. They have no conditions.
pub type PageCaptures = Captures<Infallible>;
