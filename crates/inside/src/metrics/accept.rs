//! Content negotiation of the metrics format.

use weir_net::Preference;

use super::text::TextFormat;

/// Chooses the format that `Accept` prefers (RFC 9110 section 12.5.1); the default is Prometheus.
pub(crate) fn negotiate_format(accepted: &str) -> TextFormat {
    let mut open_metrics = 0;
    // `*/*` and `text/*` count only if no range names the type itself.
    let (mut plain, mut plain_by_wildcard) = (None, None);
    for range in Preference::list(accepted) {
        let version = range.parameter("version").map(|version| version.trim_matches('"'));
        // An invalid weight counts as 0: it does not select a format instead of the default one.
        let quality = range.weight(0);
        match range.name.to_ascii_lowercase().as_str() {
            "application/openmetrics-text" if version.is_none_or(|it| it == "1.0.0") => {
                open_metrics = open_metrics.max(quality);
            }
            "text/plain" => plain = plain.max(Some(quality)),
            "text/*" | "*/*" => plain_by_wildcard = plain_by_wildcard.max(Some(quality)),
            _ => {}
        }
    }
    let plain = plain.or(plain_by_wildcard).unwrap_or_default();
    match open_metrics > 0 && open_metrics >= plain {
        true => TextFormat::OpenMetrics,
        false => TextFormat::Prometheus,
    }
}

#[cfg(test)]
mod tests {
    use super::{TextFormat, negotiate_format};

    #[test]
    fn a_client_gets_what_it_asks_for() {
        use TextFormat::{OpenMetrics, Prometheus};
        for (accepted, expected) in [
            ("", Prometheus),
            ("*/*", Prometheus),
            ("text/html, */*;q=0.8", Prometheus),
            ("application/openmetrics-text", OpenMetrics),
            ("Application/OpenMetrics-Text; Version=\"1.0.0\"", OpenMetrics),
            ("application/openmetrics-text;version=0.0.1", Prometheus),
            ("application/openmetrics-text;q=0", Prometheus),
            ("application/openmetrics-text;q=nonsense", Prometheus),
            // The headers of Prometheus 2 and 3.
            (
                "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                 text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                OpenMetrics,
            ),
            (
                "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.6,*/*;q=0.1",
                Prometheus,
            ),
            ("application/openmetrics-text;q=0.5, text/plain;q=0.4, */*", OpenMetrics),
        ] {
            assert_eq!(negotiate_format(accepted), expected, "{accepted}");
        }
    }
}
