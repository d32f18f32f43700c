//! Export of spans by OTLP over HTTP ([OpenTelemetry
//! Protocol](https://opentelemetry.io/docs/specs/otlp/)), as JSON.
//!
//! ```text
//! begin: sample, set the parent for the backend -> finish: JSON -> SpanQueue -> export: batches
//! ```
//!
//! A share of the requests is traced, and every request that a trusted sender traces. A traced
//! request has a server span and a client span for the call of the backend. Requests do not wait
//! for the collector: spans that cannot be sent in time are dropped and counted.

mod config;
mod export;
mod otlp;
mod queue;
mod request;
mod sampler;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hyper::HeaderMap;
use hyper::header::HeaderValue;

pub use self::config::TraceConfig;
use self::queue::SpanQueue;
pub(crate) use self::request::{FinishedRequest, RequestTrace};
use self::sampler::Sampler;
use crate::identifiers::{ParentSpan, SpanId, TRACEPARENT, Trace, TraceId};

/// How long a gateway that is shutting down waits for the collector.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// Samples requests, and sends their spans to a collector.
#[derive(Debug)]
pub(crate) struct Traces {
    config: TraceConfig,
    sampler: Sampler,
    queue: Arc<SpanQueue>,
}

/// Counts of the spans of traced requests, by what happened to them. The call of a backend is a
/// span too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpanCounts {
    /// Spans that the collector accepted.
    pub sent: u64,
    /// Spans that were dropped because the queue was full.
    pub dropped: u64,
    /// Spans that the collector refused.
    pub refused: u64,
    /// Spans that were lost because no attempt to send them was answered.
    pub unanswered: u64,
}

/// The properties of a request's sender that matter for traces.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TraceSender {
    /// Whether the sender's flag `sampled` decides.
    pub(crate) is_trusted: bool,
    /// Whether the client used TLS.
    pub(crate) is_tls: bool,
}

impl Traces {
    pub(crate) fn new(config: TraceConfig) -> Self {
        let sampler = Sampler::new(config.share);
        Self { config, sampler, queue: Arc::default() }
    }

    pub(crate) fn config(&self) -> &TraceConfig {
        &self.config
    }

    /// Starts the spans of a request if it is sampled, and sets the span of the backend's call as
    /// the parent in `headers`. A request without a trace gets a new one.
    pub(crate) fn begin(
        &self,
        trace: &mut Option<Trace>,
        headers: &mut HeaderMap,
        sender: TraceSender,
    ) -> Option<Box<RequestTrace>> {
        let parent = trace.as_ref().and_then(|trace| trace.parent);
        if !self.is_sampled(parent, sender) {
            return None;
        }
        let trace_id = match trace {
            Some(trace) => trace.id,
            None => TraceId::random()?,
        };
        let (span, call_span) = (SpanId::random()?, SpanId::random()?);
        let field = format!("00-{}-{}-01", trace_id.as_str(), call_span.as_str());
        headers.insert(TRACEPARENT, HeaderValue::from_str(&field).ok()?);
        *trace = Some(Trace { id: trace_id, parent });
        let parent = parent.map(|parent| parent.id);
        let is_tls = sender.is_tls;
        let queue = self.queue.clone();
        Some(Box::new(RequestTrace { trace_id, parent, span, call_span, is_tls, queue }))
    }

    /// Whether a request is sampled. A trusted sender decides for the whole trace; other senders
    /// must not control the load of the collector.
    fn is_sampled(&self, parent: Option<ParentSpan>, sender: TraceSender) -> bool {
        match parent {
            Some(parent) if sender.is_trusted => parent.is_sampled,
            _ => self.sampler.samples_next(),
        }
    }

    /// Sends spans until `self` is dropped, then the remaining ones.
    pub(crate) fn export(&self) -> impl Future<Output = ()> + Send + use<> {
        export::run(self.queue.clone(), self.config.clone())
    }

    /// Waits until all spans are sent, for at most two seconds.
    pub(crate) async fn flush(&self) {
        // Spans that are left after the timeout are lost.
        let _ = tokio::time::timeout(FLUSH_TIMEOUT, self.queue.flush()).await;
    }

    pub(crate) fn counts(&self) -> SpanCounts {
        let read = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::Relaxed);
        SpanCounts {
            sent: read(&self.queue.sent),
            dropped: read(&self.queue.dropped),
            refused: read(&self.queue.refused),
            unanswered: read(&self.queue.unanswered),
        }
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        self.queue.close();
    }
}
