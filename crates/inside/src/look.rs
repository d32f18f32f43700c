//! What can be looked at, and the wait for it.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use weir_observe::glass::{Capture, Captures, Sight, TooManyCaptures};

/// What can be looked at.
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

    /// Its name in addresses.
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

    /// Several of them, for a person.
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

/// A wait for something to look at. Dropping it ends the wait.
pub struct Look(Box<dyn FnOnce(Duration) -> Waiting + Send>);

type Waiting = Pin<Box<dyn Future<Output = Sight> + Send>>;

impl Look {
    /// Waits for a capture.
    pub fn new<C: Send + Sync + 'static>(capture: Capture<C>) -> Self {
        Self(Box::new(|patience| Box::pin(capture.wait(patience))))
    }

    /// Begins to wait for something on which there are no conditions.
    ///
    /// # Errors
    /// If there is a condition all the same, or too many wait.
    pub(crate) fn without_condition(
        captures: &Arc<Captures<Infallible>>,
        kind: GlassKind,
        condition: Option<&str>,
    ) -> Result<Self, LookError> {
        if condition.is_some() {
            return Err(LookError::NoConditions(kind));
        }
        captures.arm(None).map(Self::new).map_err(LookError::TooMany)
    }

    /// Waits for so long.
    pub(crate) async fn wait(self, patience: Duration) -> Sight {
        (self.0)(patience).await
    }
}

impl fmt::Debug for Look {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Look")
    }
}

/// Why nobody can look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LookError {
    /// The condition is not valid: what is wrong, and a mark at the place.
    Condition(String),
    /// Things of this kind meet no conditions.
    NoConditions(GlassKind),
    /// Too many others wait.
    TooMany(TooManyCaptures),
}

impl fmt::Display for LookError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Condition(why) => formatter.write_str(why),
            Self::NoConditions(kind) => {
                let words = kind.words();
                write!(formatter, "there are no conditions on {words}; leave the condition out")
            }
            Self::TooMany(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for LookError {}
