//! Captures of single requests, uploads and feeds, for all parts of the program.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use weir_observe::glass::{Capture, Captures, Sight, TooManyCaptures};

/// The kind of a subject that can be captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GlassKind {
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

impl GlassKind {
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

/// A capture that waits for its subject, independent of the type of its condition. Dropping it ends
/// the wait.
pub struct PendingCapture(Box<dyn FnOnce(Duration) -> SightFuture + Send>);

type SightFuture = Pin<Box<dyn Future<Output = Sight> + Send>>;

impl PendingCapture {
    /// Wraps a capture.
    pub fn new<C: Send + Sync + 'static>(capture: Capture<C>) -> Self {
        Self(Box::new(|patience| Box::pin(capture.wait(patience))))
    }

    /// Starts a capture of a kind that does not support conditions.
    ///
    /// # Errors
    /// If there is a condition, or if too many captures wait.
    pub(crate) fn without_condition(
        captures: &Arc<Captures<Infallible>>,
        kind: GlassKind,
        condition: Option<&str>,
    ) -> Result<Self, StartCaptureError> {
        if condition.is_some() {
            return Err(StartCaptureError::NoConditions(kind));
        }
        captures.arm(None).map(Self::new).map_err(StartCaptureError::TooMany)
    }

    /// Waits at most `patience`.
    pub(crate) async fn wait(self, patience: Duration) -> Sight {
        (self.0)(patience).await
    }
}

impl fmt::Debug for PendingCapture {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PendingCapture")
    }
}

/// The reason why a capture cannot start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartCaptureError {
    /// The condition is invalid. The message marks the position of the error.
    Condition(String),
    /// This kind does not support conditions.
    NoConditions(GlassKind),
    /// Too many captures wait already.
    TooMany(TooManyCaptures),
}

impl fmt::Display for StartCaptureError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Condition(why) => formatter.write_str(why),
            Self::NoConditions(kind) => {
                let words = kind.words();
                write!(formatter, "{words} do not support a condition; leave it out")
            }
            Self::TooMany(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for StartCaptureError {}
