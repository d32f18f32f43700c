//! TCP keep-alive probes (RFC 9293 section 3.8.4), with which the kernel detects dead peers.

use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;

/// The time of silence before the first probe.
const IDLE: Duration = Duration::from_secs(60);
const INTERVAL: Duration = Duration::from_secs(15);
/// The number of unanswered probes after which the kernel ends the connection: two minutes in all.
const PROBES: u32 = 4;

/// Enables keep-alive probes.
pub(crate) fn enable(stream: &TcpStream) {
    let keepalive =
        TcpKeepalive::new().with_time(IDLE).with_interval(INTERVAL).with_retries(PROBES);
    // If the system refuses, the idle limits of the servers still end dead connections.
    let _ = SockRef::from(stream).set_tcp_keepalive(&keepalive);
}
