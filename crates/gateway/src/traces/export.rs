//! Sends spans to the collector.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use hyper::{Method, StatusCode};
use serde::Deserialize;
use serde_json::Value;
use weir_net::redaction::shown_target;

use super::config::TraceConfig;
use super::otlp::Envelope;
use super::queue::{Batch, SpanQueue};
use crate::fetch::{FetchAnswer, FetchProblem};

/// How often a batch is sent before it is discarded.
const ATTEMPTS_MAX: u32 = 5;

/// The pause after the first attempt. It doubles after each attempt.
const PAUSE: Duration = Duration::from_secs(1);

/// The longest pause that a collector can request.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// How often the number of dropped spans is compared.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);

/// The least time between two reports of dropped spans.
const REPORT_INTERVAL: Duration = Duration::from_secs(10);

/// Sends batches until the queue ends.
pub(super) async fn run(queue: Arc<SpanQueue>, config: TraceConfig) {
    let envelope = Envelope::new(&config.service_name);
    let mut headers = config.headers.clone();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let exporter = Exporter::new(queue, config, headers);
    let sending = async {
        while let Some(Batch { spans, count }) = exporter.queue.next_batch().await {
            exporter.send(envelope.wrap(&spans).into(), count).await;
            exporter.queue.finish_batch();
        }
    };
    tokio::select! {
        () = sending => {
            exporter.report_dropped();
        }
        never = exporter.watch_dropped() => match never {},
    }
}

struct Exporter {
    queue: Arc<SpanQueue>,
    config: TraceConfig,
    headers: HeaderMap,
    /// How many dropped spans have been reported.
    dropped_reported: AtomicU64,
}

/// The outcome of one attempt to send a batch.
enum ExportOutcome {
    /// The collector accepted the batch, except for `rejected` spans.
    Accepted { rejected: u64, message: String },
    /// The batch may be sent again, after `pause` if the collector requests one.
    Retry { pause: Option<Duration>, reason: String },
    /// The collector refused the batch.
    Refused(String),
}

impl Exporter {
    fn new(queue: Arc<SpanQueue>, config: TraceConfig, headers: HeaderMap) -> Self {
        Self { queue, config, headers, dropped_reported: AtomicU64::new(0) }
    }

    /// Sends a batch, with retries.
    async fn send(&self, body: Bytes, count: u64) {
        let mut pause = PAUSE;
        for number in 1..=ATTEMPTS_MAX {
            match self.send_once(body.clone()).await {
                ExportOutcome::Accepted { rejected, message } => {
                    let rejected = rejected.min(count);
                    self.queue.sent.fetch_add(count - rejected, Ordering::Relaxed);
                    if rejected > 0 {
                        self.count_lost(&self.queue.refused, rejected, &message);
                    }
                    return;
                }
                ExportOutcome::Refused(reason) => {
                    return self.count_lost(&self.queue.refused, count, &reason);
                }
                ExportOutcome::Retry { reason, .. } if number == ATTEMPTS_MAX => {
                    return self.count_lost(&self.queue.unanswered, count, &reason);
                }
                ExportOutcome::Retry { pause: asked, .. } => {
                    tokio::time::sleep(asked.unwrap_or(pause).min(PAUSE_MAX)).await;
                    pause *= 2;
                }
            }
        }
    }

    async fn send_once(&self, body: Bytes) -> ExportOutcome {
        let (url, headers) = (&self.config.endpoint, self.headers.clone());
        match self.config.client.send(url, Method::POST, headers, body).await {
            Ok(answer) => classify(&answer),
            Err(error) => match error.problem() {
                FetchProblem::Redirect(_) | FetchProblem::InvalidRequest => {
                    ExportOutcome::Refused(error.to_string())
                }
                _ => ExportOutcome::Retry { pause: None, reason: error.to_string() },
            },
        }
    }

    /// Reports spans that the queue has dropped, also while an attempt to send others takes long.
    async fn watch_dropped(&self) -> Infallible {
        loop {
            tokio::time::sleep(WATCH_INTERVAL).await;
            if self.report_dropped() {
                tokio::time::sleep(REPORT_INTERVAL).await;
            }
        }
    }

    /// Reports how many spans were dropped so far. Returns false if none was since the last report.
    fn report_dropped(&self) -> bool {
        let dropped = self.queue.dropped.load(Ordering::Relaxed);
        if self.dropped_reported.swap(dropped, Ordering::Relaxed) == dropped {
            return false;
        }
        let endpoint = shown_target(&self.config.endpoint.to_string());
        tracing::warn!(
            target: "weir_gateway",
            endpoint = &*endpoint,
            spans_lost = dropped,
            "traces: {endpoint}: {dropped} spans are lost so far, because they came faster than the \
             collector takes them; trace a smaller share of the requests"
        );
        true
    }

    fn count_lost(&self, counter: &AtomicU64, spans: u64, reason: &str) {
        counter.fetch_add(spans, Ordering::Relaxed);
        let endpoint = shown_target(&self.config.endpoint.to_string());
        tracing::warn!(
            target: "weir_gateway",
            endpoint = &*endpoint,
            spans_lost = spans,
            "traces: {endpoint}: {spans} spans are lost: {reason}"
        );
    }
}

/// Determines the outcome from an answer (OTLP, section "OTLP/HTTP Response").
fn classify(answer: &FetchAnswer) -> ExportOutcome {
    let reason = || format!("the collector answered {}", answer.status);
    match answer.status {
        status if status.is_success() => read_success(&answer.body),
        StatusCode::TOO_MANY_REQUESTS
        | StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT => {
            ExportOutcome::Retry { pause: retry_after(&answer.headers), reason: reason() }
        }
        _ => ExportOutcome::Refused(reason()),
    }
}

/// Returns the seconds of `Retry-After`. A date is ignored, because the default pauses are good
/// enough.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ExportResponse {
    partial_success: PartialSuccess,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PartialSuccess {
    /// A number, usually as a string.
    rejected_spans: Value,
    error_message: String,
}

/// Reads the body of a success. A malformed body counts as a success too, because of the status.
fn read_success(body: &[u8]) -> ExportOutcome {
    let response: ExportResponse = serde_json::from_slice(body).unwrap_or_default();
    let PartialSuccess { rejected_spans, error_message } = response.partial_success;
    let rejected = match &rejected_spans {
        Value::String(text) => text.parse().ok(),
        number => number.as_u64(),
    };
    let message = format!("the collector says: {}", error_message.escape_debug());
    ExportOutcome::Accepted { rejected: rejected.unwrap_or(0), message }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::Ordering;
    use std::time::Duration;

    use hyper::header::HeaderMap;

    use super::{Exporter, REPORT_INTERVAL, SpanQueue, TraceConfig, WATCH_INTERVAL};

    #[tokio::test(start_paused = true)]
    async fn dropped_spans_are_reported_while_the_collector_is_slow() {
        let endpoint = "http://127.0.0.1:9/v1/traces".parse().expect("an address");
        let config = TraceConfig::new(endpoint, None, HeaderMap::new()).expect("a configuration");
        let queue = Arc::<SpanQueue>::default();
        let exporter = Exporter::new(queue.clone(), config, HeaderMap::new());
        let reported = || exporter.dropped_reported.load(Ordering::Relaxed);
        let span = vec![b' '; 3 << 20];
        let watch_for = async |time| {
            tokio::select! {
                never = exporter.watch_dropped() => match never {},
                () = tokio::time::sleep(time) => {}
            }
        };
        watch_for(10 * REPORT_INTERVAL).await;
        assert_eq!(reported(), 0, "none was dropped");
        (0..5).for_each(|_| queue.put(&span, 2));
        watch_for(WATCH_INTERVAL + Duration::from_millis(1)).await;
        assert_eq!(reported(), 8);
        assert!(!exporter.report_dropped(), "none was dropped after the report");
    }
}
