//! The close of an HTTP/1 connection whose client may still be sending.
//!
//! A system that closes a socket with unread bytes, or receives bytes for a closed one, resets the
//! connection. The reset discards what the client has not read yet, so a response that refuses an
//! upload before its end could be lost. Therefore the server first closes only its sending side,
//! and discards what the client still sends until the client closes too (RFC 9112 section 9.6).

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::ReadBuf;
use tokio::time::Sleep;

use crate::idle::Activity;
use crate::socket::SocketStream;

/// The time after which the connection closes even if the client still sends. It is enough for
/// several round trips, after which a client has seen the response.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(5);

/// The maximum number of bytes that are discarded. More than the send and receive buffers of both
/// systems hold, so a client that stops at the response never reaches it.
pub(crate) const BYTES_MAX: usize = 64 << 20;

/// The number of bytes that one read discards. The buffer is on the stack.
const READ_BYTES: usize = 16 << 10;

/// The state of a close.
#[derive(Debug, Default)]
pub(crate) enum Linger {
    /// The sending side is open.
    #[default]
    NotBegun,
    /// The sending side is closed.
    Begun {
        /// `None` until the first wait.
        end: Option<Pin<Box<Sleep>>>,
        bytes: usize,
    },
    /// The connection may close.
    Over,
}

impl Linger {
    /// Closes the sending side of a stream, and then reads until the connection may close.
    pub(crate) fn poll(
        &mut self,
        context: &mut Context<'_>,
        stream: &mut SocketStream,
        activity: &Activity,
    ) -> Poll<io::Result<()>> {
        use tokio::io::AsyncWrite;

        if let Self::NotBegun = self {
            ready!(Pin::new(&mut *stream).poll_shutdown(context))?;
            *self = match activity.may_linger() {
                true => Self::Begun { end: None, bytes: 0 },
                false => Self::Over,
            };
        }
        if let Self::Begun { end, bytes } = self {
            ready!(poll_discard(context, stream, activity, end, bytes));
            *self = Self::Over;
        }
        Poll::Ready(Ok(()))
    }
}

/// Discards bytes until the client closes, a limit is reached, or the connection has to make room.
fn poll_discard(
    context: &mut Context<'_>,
    stream: &mut SocketStream,
    activity: &Activity,
    end: &mut Option<Pin<Box<Sleep>>>,
    bytes: &mut usize,
) -> Poll<()> {
    let mut buffer = [0; READ_BYTES];
    while *bytes < BYTES_MAX && !activity.makes_room() {
        let mut buffer = ReadBuf::new(&mut buffer);
        match stream.poll_read_raw(context, &mut buffer) {
            Poll::Ready(Ok(())) if !buffer.filled().is_empty() => *bytes += buffer.filled().len(),
            Poll::Ready(_closed) => return Poll::Ready(()),
            Poll::Pending if *bytes == 0 && !activity.may_send_body() => return Poll::Ready(()),
            Poll::Pending => {
                let end = end.get_or_insert_with(|| Box::pin(tokio::time::sleep(TIMEOUT)));
                return end.as_mut().poll(context);
            }
        }
    }
    Poll::Ready(())
}
