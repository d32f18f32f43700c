//! Sends spans to the collector.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use hyper::{Method, StatusCode};
use serde::Deserialize;
use serde_json::Value;
use weir_net::glass::shown_target;

use super::config::TraceConfig;
use super::otlp::Envelope;
use super::queue::{Batch, SpanQueue};
use crate::fetch::{FetchAnswer, FetchProblem};
use crate::notices::{Notice, Notices};

/// How often a batch is sent before it is lost.
const TRIES_MAX: u32 = 5;

/// The pause after the first try. It doubles after each.
const PAUSE: Duration = Duration::from_secs(1);

/// The longest pause that a collector can ask for.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Sends batches until the queue ends.
pub(super) async fn run(queue: Arc<SpanQueue>, config: TraceConfig, notices: Notices) {
    let envelope = Envelope::new(&config.service_name);
    let mut headers = config.headers.clone();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let exporter = Exporter { queue, config, headers, notices };
    while let Some(Batch { spans, count }) = exporter.queue.next_batch().await {
        exporter.send(envelope.wrap(&spans).into(), count).await;
        exporter.queue.finish_batch();
    }
}

struct Exporter {
    queue: Arc<SpanQueue>,
    config: TraceConfig,
    headers: HeaderMap,
    notices: Notices,
}

/// What a try came to.
enum Try {
    /// The collector took the batch, except so many spans.
    Taken { rejected: u64, message: String },
    /// The batch may be sent again, after this time if the collector names one.
    Again { pause: Option<Duration>, reason: String },
    /// The collector will not take the batch.
    Refused(String),
}

impl Exporter {
    /// Sends a batch, if need be several times.
    async fn send(&self, body: Bytes, count: u64) {
        let mut pause = PAUSE;
        for number in 1..=TRIES_MAX {
            match self.try_once(body.clone()).await {
                Try::Taken { rejected, message } => {
                    let rejected = rejected.min(count);
                    self.queue.sent.fetch_add(count - rejected, Ordering::Relaxed);
                    if rejected > 0 {
                        self.lose(&self.queue.refused, rejected, &message);
                    }
                    return;
                }
                Try::Refused(reason) => return self.lose(&self.queue.refused, count, &reason),
                Try::Again { reason, .. } if number == TRIES_MAX => {
                    return self.lose(&self.queue.unanswered, count, &reason);
                }
                Try::Again { pause: asked, .. } => {
                    tokio::time::sleep(asked.unwrap_or(pause).min(PAUSE_MAX)).await;
                    pause *= 2;
                }
            }
        }
    }

    async fn try_once(&self, body: Bytes) -> Try {
        let (url, headers) = (&self.config.endpoint, self.headers.clone());
        match self.config.client.send(url, Method::POST, headers, body).await {
            Ok(answer) => judge(&answer),
            Err(error) => match error.problem() {
                FetchProblem::Redirect(_) | FetchProblem::InvalidRequest => {
                    Try::Refused(error.to_string())
                }
                _ => Try::Again { pause: None, reason: error.to_string() },
            },
        }
    }

    fn lose(&self, counter: &AtomicU64, spans: u64, reason: &str) {
        counter.fetch_add(spans, Ordering::Relaxed);
        let endpoint = shown_target(&self.config.endpoint.to_string());
        self.notices.say("traces", || Notice {
            endpoint: Some(endpoint.clone()),
            spans_lost: Some(spans),
            ..Notice::new(format!("traces: {endpoint}: {spans} spans are lost: {reason}"))
        });
    }
}

/// What an answer says of the batch (OTLP, section "OTLP/HTTP Response").
fn judge(answer: &FetchAnswer) -> Try {
    let reason = || format!("the collector answered {}", answer.status);
    match answer.status {
        status if status.is_success() => taken(&answer.body),
        StatusCode::TOO_MANY_REQUESTS
        | StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT => {
            Try::Again { pause: retry_after(&answer.headers), reason: reason() }
        }
        _ => Try::Refused(reason()),
    }
}

/// The seconds of `Retry-After`. A date is not read: the usual pauses do.
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
    /// A number, usually as a text.
    rejected_spans: Value,
    error_message: String,
}

/// An answer that is not understood is a success all the same: its status says so.
fn taken(body: &[u8]) -> Try {
    let response: ExportResponse = serde_json::from_slice(body).unwrap_or_default();
    let PartialSuccess { rejected_spans, error_message } = response.partial_success;
    let rejected = match &rejected_spans {
        Value::String(text) => text.parse().ok(),
        number => number.as_u64(),
    };
    let message = format!("the collector says: {}", error_message.escape_debug());
    Try::Taken { rejected: rejected.unwrap_or(0), message }
}
