//! The kinds of subjects that can be captured.

/// The kind of a subject that can be captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaptureKind {
    /// A request of the gateway.
    Request,
    /// A request to the page's server.
    Page,
    /// An upload to the page's server.
    Upload,
    /// A tunnel of the gateway, such as a WebSocket.
    Tunnel,
    /// A request that the gateway itself sends.
    Call,
    /// A connection, or a socket of datagrams, that sends lines.
    Feed,
}

impl CaptureKind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::Request, Self::Tunnel, Self::Call, Self::Page, Self::Upload, Self::Feed];

    /// Returns its name in URLs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Tunnel => "tunnel",
            Self::Call => "call",
            Self::Page => "page",
            Self::Upload => "upload",
            Self::Feed => "feed",
        }
    }

    /// Returns its plural in words, for messages.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Request => "requests of a gateway",
            Self::Tunnel => "tunnels of a gateway",
            Self::Call => "calls of a gateway",
            Self::Page => "requests of the page",
            Self::Upload => "uploads",
            Self::Feed => "feeds",
        }
    }
}
