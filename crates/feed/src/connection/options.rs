//! The options of the connections of one listener.

use std::time::Duration;

use crate::address::FeedAddress;
use crate::framing::Framing;
use crate::options::{ActiveMode, FeedOptions};

/// The [`FeedOptions`] of a connection, with those of the listener's address applied.
#[derive(Debug)]
pub(crate) struct ConnectionOptions {
    pub(crate) active: ActiveMode,
    pub(crate) framing: Framing,
    pub(crate) idle: Duration,
    pub(crate) cap_bytes: usize,
    pub(crate) line_bytes_max: usize,
}

impl ConnectionOptions {
    pub(crate) fn new(feed: &FeedOptions, address: &FeedAddress) -> Self {
        Self {
            active: address.active.unwrap_or(feed.active),
            framing: address.framing.unwrap_or(feed.framing),
            idle: feed.idle,
            cap_bytes: feed.cap_bytes,
            line_bytes_max: feed.line_bytes_max,
        }
    }
}
