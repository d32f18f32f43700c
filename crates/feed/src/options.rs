//! How a feed works and its limits, each with its reason.

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
    /// Read all that comes (`{active, true}`), up to [`FeedOptions::cap_bytes`].
    Unlimited,
}

impl ActiveMode {
    /// The mode with `reads` reads ahead; `None` for 0.
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

/// How a feed works. Options of a [`FeedAddress`](crate::FeedAddress) take precedence.
#[derive(Debug, Clone)]
pub struct FeedOptions {
    /// How connections are read.
    pub active: ActiveMode,
    /// How lines are separated.
    pub framing: Framing,
    /// Open connections of all listeners together. Each takes a few KiB, and up to
    /// [`Self::LINE_FREE_BYTES`] for its partial line. Default 4,096.
    pub connections_max: usize,
    /// A connection that completes no line for this long is closed: half-open and silent ones,
    /// and those that send single bytes to stay open. Senders of logs may be silent at night, so
    /// the default is an hour; the kernel finds dead peers in two minutes.
    pub idle: Duration,
    /// How long a TLS handshake may take. It is a few round trips. Default 10 s.
    pub handshake: Duration,
    /// In unlimited mode: the bytes of one listener that may wait for the sink. Default 64 MiB.
    pub cap_bytes: usize,
    /// The length of a line; the rest of a longer one is skipped. Default 1 MiB.
    pub line_bytes_max: usize,
    /// Memory for the partial lines of all connections, beyond [`Self::LINE_FREE_BYTES`] for
    /// each. Default 64 MiB.
    pub partial_lines_bytes_max: usize,
    /// The permissions of Unix sockets, and the files of TLS.
    pub bind: BindOptions,
}

impl FeedOptions {
    /// Memory that the partial line of each connection may always take: enough for usual lines.
    pub const LINE_FREE_BYTES: usize = 16 << 10;

    /// Bytes of one read. More saves nothing: one system call in 128 KiB costs little beside the
    /// copy, and the bytes stay in the processor's cache.
    pub const CHUNK_BYTES: usize = 128 << 10;

    /// Chunks of one listener that may be read ahead: 64 MiB.
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
        }
    }
}
