//! The notices and errors of a feed, with the flags that prevent them.

use weir_feed::{BindError, Event, LimitOrigin, Notice};

use crate::outcome::Failure;

/// Writes a notice to the log.
pub(crate) fn report(notice: &Notice) {
    let remedy = remedy(&notice.event).map(|remedy| format!("; {remedy}")).unwrap_or_default();
    tracing::warn!(
        target: "weir_feed",
        listener = notice.listener,
        peer = notice.event.peer().map(|peer| peer.to_string()),
        received_bytes = notice.received_bytes,
        suppressed = (notice.suppressed > 0).then_some(notice.suppressed),
        "{notice}{remedy}"
    );
}

/// Returns a sentence about the flag that prevents the event, if one does.
fn remedy(event: &Event) -> Option<&'static str> {
    match event {
        Event::ConnectionRefused { origin: LimitOrigin::Options, .. } => {
            Some("--connections raises the limit")
        }
        Event::ConnectionRefused { origin: LimitOrigin::OpenFiles, .. } => {
            Some("`ulimit -n` raises it")
        }
        Event::IdleTimeout(..) => Some("--idle sets the limit"),
        Event::CapReached(..) => Some("--cap sets the limit"),
        _ => None,
    }
}

/// Returns the failure of a feed that cannot listen.
pub(crate) fn bind_failure(error: &BindError) -> Failure {
    match error {
        BindError::NoCertificate(_) => {
            Failure::new(format_args!("{error}; name them with --tls-cert and --tls-key"))
        }
        _ => Failure::new(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_name_the_limit_to_raise() {
        let refused = |origin| Event::ConnectionRefused {
            peer: "192.0.2.1:514".parse().map(weir_feed::Peer::tcp).expect("an address"),
            connections_max: 2,
            origin,
        };
        let options = remedy(&refused(LimitOrigin::Options));
        assert!(options.is_some_and(|remedy| remedy.contains("--connections")));
        let open_files = remedy(&refused(LimitOrigin::OpenFiles));
        assert!(open_files.is_some_and(|remedy| remedy.contains("ulimit")));
    }
}
