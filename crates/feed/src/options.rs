//! The options of a feed: its modes, and its limits with their reasons.

use std::num::NonZeroUsize;
use std::str::FromStr;
use std::time::Duration;

use weir_net::socket::BindOptions;

use crate::framing::Framing;
use crate::option_error::OptionError;

/// How far reading may run ahead of the sink. The names follow Erlang's `inet:setopts`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ActiveMode {
    /// Read, wait for the sink, read again (`{active, false}`).
    #[default]
    Passive,
    /// One read may be ahead of the sink (`{active, once}`).
    Once,
    /// This many reads may be ahead of the sink (`{active, N}`).
    Count(NonZeroUsize),
    /// Read everything as it arrives (`{active, true}`), up to [`FeedOptions::cap_bytes`].
    Unlimited,
}

impl ActiveMode {
    /// Returns the mode that allows `reads` reads ahead of the sink; `None` for 0.
    pub fn count(reads: usize) -> Option<Self> {
        NonZeroUsize::new(reads).map(Self::Count)
    }
}

impl FromStr for ActiveMode {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        match text {
            "passive" | "false" => return Ok(Self::Passive),
            "once" => return Ok(Self::Once),
            "unlimited" | "true" => return Ok(Self::Unlimited),
            _ => {}
        }
        let count = text.parse().ok().and_then(Self::count);
        count.ok_or_else(|| {
            OptionError::new(text, "active mode", "passive, once, a number or unlimited")
        })
    }
}

/// The options of a feed. Those of a [`FeedAddress`](crate::FeedAddress) take precedence.
#[derive(Debug, Clone)]
pub struct FeedOptions {
    /// How far reading may run ahead of the sink.
    pub active: ActiveMode,
    /// How lines are separated.
    pub framing: Framing,
    /// The maximum number of open connections of all listeners together. Each takes a few KiB, and
    /// up to [`Self::LINE_FREE_BYTES`] for its partial line. Default 4,096.
    pub connections_max: usize,
    /// The time after which a connection that completes no line is closed. This ends half-open and
    /// silent connections, and those that send single bytes to stay open. Senders of logs may be
    /// silent at night, so the default is an hour. The kernel finds dead peers in two minutes.
    pub idle: Duration,
    /// The time limit of a TLS handshake, which takes a few round trips. Default 10 s.
    pub handshake: Duration,
    /// In unlimited mode, the bytes of one listener that may wait for the sink. Default 64 MiB.
    pub cap_bytes: usize,
    /// The maximum length of a line. The rest of a longer line is skipped. Default 1 MiB.
    pub line_bytes_max: usize,
    /// Memory for the partial lines of all connections, in addition to [`Self::LINE_FREE_BYTES`]
    /// for each. Default 64 MiB.
    pub partial_lines_bytes_max: usize,
    /// The permissions of Unix sockets, and the files of TLS.
    pub bind: BindOptions,
    /// How to raise the limits.
    pub remedies: Remedies,
}

/// The ends of warnings about limits, which follow a semicolon. Only the program that runs the feed
/// knows the names of its options; by default they name none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Remedies {
    /// For [`FeedOptions::connections_max`].
    pub connections: &'static str,
    /// For [`FeedOptions::idle`].
    pub idle: &'static str,
    /// For [`FeedOptions::cap_bytes`].
    pub cap: &'static str,
}

impl FeedOptions {
    /// The memory that the partial line of each connection may always take: enough for usual lines.
    pub const LINE_FREE_BYTES: usize = 16 << 10;

    /// The maximum number of bytes of one read. A larger buffer saves nothing: one system call for
    /// 128 KiB costs little beside the copy, and the bytes stay in the processor's cache.
    pub const CHUNK_BYTES: usize = 128 << 10;

    /// The maximum number of chunks that one listener may read ahead: 64 MiB.
    pub const CHUNKS_AHEAD_MAX: usize = 512;
}

impl Default for FeedOptions {
    fn default() -> Self {
        Self {
            active: ActiveMode::default(),
            framing: Framing::default(),
            connections_max: 4_096,
            idle: Duration::from_secs(3_600),
            handshake: Duration::from_secs(10),
            cap_bytes: 64 << 20,
            line_bytes_max: 1 << 20,
            partial_lines_bytes_max: 64 << 20,
            bind: BindOptions::default(),
            remedies: Remedies::default(),
        }
    }
}
