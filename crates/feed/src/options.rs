//! How a feed works and what it may take. Every limit is here with its reason.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// How far reading may be ahead of the work: the names are those of Erlang's `inet:setopts`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Active {
    /// Read only when there is room (`{active, false}`).
    #[default]
    Passive,
    /// One read is armed; the work arms the next (`{active, once}`).
    Once,
    /// So many reads are armed; the work arms each again (`{active, N}`).
    Times(NonZeroUsize),
    /// Read whatever comes (`{active, true}`), up to [`FeedOptions::cap_bytes`].
    Unlimited,
}

impl Active {
    /// So many reads; `None` for 0.
    pub fn times(reads: usize) -> Option<Self> {
        NonZeroUsize::new(reads).map(Self::Times)
    }
}

impl FromStr for Active {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "passive" | "false" => return Ok(Self::Passive),
            "once" => return Ok(Self::Once),
            "unlimited" | "true" => return Ok(Self::Unlimited),
            _ => {}
        }
        let times = text.parse().ok().and_then(Self::times);
        times.ok_or_else(|| {
            format!("`{text}` is no way to read; there are passive, once, a number and unlimited")
        })
    }
}

/// How the lines of a stream are told from one another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Framing {
    /// By the first bytes of a connection: a number, a space and `<` begin a counted frame.
    #[default]
    Auto,
    /// By line feeds.
    Newline,
    /// By counts of octets (RFC 6587 section 3.4.1).
    Octets,
}

impl FromStr for Framing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "newline" => Ok(Self::Newline),
            "octets" => Ok(Self::Octets),
            _ => Err(format!("`{text}` is no framing; there are auto, newline and octets")),
        }
    }
}

/// The permissions of a Unix socket. Who may write to it may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketMode(u32);

impl SocketMode {
    /// The bits as chmod(2) has them.
    pub fn bits(self) -> u32 {
        self.0
    }
}

impl FromStr for SocketMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_octal =
            (3..=4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        let bits = u32::from_str_radix(text, 8).ok().filter(|bits| is_octal && *bits <= 0o777);
        bits.map(Self).ok_or_else(|| {
            format!("`{text}` is no mode of a socket; write it in octal, as 0660 or 0666")
        })
    }
}

/// How a feed works. Options of an [`Address`](crate::Address) go before these.
#[derive(Debug, Clone)]
pub struct FeedOptions {
    /// How connections are read.
    pub active: Active,
    /// How lines are told.
    pub framing: Framing,
    /// Connections at a time, of all listeners together. Each takes a few KiB, and up to
    /// [`Self::LINE_FREE_BYTES`] for a line that has begun. Default 4,096.
    pub connections_max: usize,
    /// A connection that completes no line for so long is closed: half-open ones, idle ones, and
    /// those that send a byte now and then to be kept. Senders of logs may have nothing to say
    /// at night, so the default is an hour; the kernel finds dead peers in two minutes.
    pub idle: Duration,
    /// A TLS handshake takes a few round trips; one that takes longer than this is ended.
    /// Default 10 s.
    pub handshake: Duration,
    /// Where reading is unlimited: bytes of one listener that wait for the work, at the most.
    /// Default 64 MiB.
    pub cap_bytes: usize,
    /// Lines longer than this are counted and skipped. Default 1 MiB.
    pub line_bytes_max: usize,
    /// What all lines that have begun may take together, beyond
    /// [`Self::LINE_FREE_BYTES`] each. Default 64 MiB.
    pub lines_begun_bytes_max: usize,
    /// The permissions of Unix sockets, as chmod(1) has them in octal; where there are none, those
    /// that the process's umask leaves.
    pub socket_mode: Option<SocketMode>,
    /// The certificate chain of TLS, in PEM.
    pub tls_certificate: Option<PathBuf>,
    /// The private key of TLS, in PEM.
    pub tls_key: Option<PathBuf>,
}

impl FeedOptions {
    /// What a line that has begun may take of each connection, whatever the others take: any
    /// usual line.
    pub const LINE_FREE_BYTES: usize = 16 << 10;

    /// Bytes that are read at once, at the most. More saves no time: a system call a 128 KiB is
    /// nothing beside copying them; and this stays in the processor's cache.
    pub const CHUNK_BYTES: usize = 128 << 10;

    /// What reads that are armed ahead of the work may take, of one listener: 64 MiB.
    pub const CHUNKS_AHEAD_MAX: usize = 512;
}

impl Default for FeedOptions {
    fn default() -> Self {
        Self {
            active: Active::default(),
            framing: Framing::default(),
            connections_max: 4_096,
            idle: Duration::from_secs(3_600),
            handshake: Duration::from_secs(10),
            cap_bytes: 64 << 20,
            line_bytes_max: 1 << 20,
            lines_begun_bytes_max: 64 << 20,
            socket_mode: None,
            tls_certificate: None,
            tls_key: None,
        }
    }
}
