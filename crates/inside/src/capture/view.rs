//! Conversion of captures to the page's data.

use std::time::{Duration, UNIX_EPOCH};

use weir_observe::capture::{Capture, Step, StepTotal};
use weir_view::{CaptureHead, CaptureStep, CaptureTotal};

/// Nanoseconds per second.
const NS: f64 = 1e9;

/// Converts a capture.
pub(super) fn capture(capture: &Capture) -> weir_view::Capture {
    let begun = capture.begun_at.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let head = |(title, text): &(&'static str, String)| CaptureHead {
        title: (*title).to_owned(),
        text: text.clone(),
    };
    weir_view::Capture {
        name: capture.name.clone(),
        begun: begun.as_secs_f64(),
        duration: capture.duration.as_secs_f64(),
        has_ended: capture.has_ended,
        summary: summary(&capture.totals),
        steps: capture.steps.iter().map(step).collect(),
        first_steps: capture.first_steps as u64,
        steps_left_out: capture.steps_left_out,
        totals: capture.totals.iter().map(total).collect(),
        heads: capture.texts.iter().map(head).collect(),
    }
}

fn step(step: &Step) -> CaptureStep {
    CaptureStep {
        name: step.name.to_owned(),
        begun: step.begun_ns as f64 / NS,
        duration: step.duration_ns as f64 / NS,
        bytes: step.bytes,
        detail: step.detail.clone(),
    }
}

fn total(total: &StepTotal) -> CaptureTotal {
    CaptureTotal {
        name: total.name.to_owned(),
        count: total.count,
        duration: total.duration_ns as f64 / NS,
        bytes: total.bytes,
        bytes_median: total.bytes_median,
    }
}

/// Summarizes the totals, such as `12345 × read, 4100 bytes at the median (0.200 s)`; `None` if no
/// step repeats.
fn summary(totals: &[StepTotal]) -> Option<String> {
    if totals.iter().all(|total| total.count < 2) {
        return None;
    }
    let one = |total: &StepTotal| {
        let seconds = total.duration_ns as f64 / NS;
        let median = total.bytes_median.map(|bytes| format!(", {bytes} bytes at the median"));
        format!("{} × {}{} ({seconds:.3} s)", total.count, total.name, median.unwrap_or_default())
    };
    Some(totals.iter().map(one).collect::<Vec<_>>().join("; "))
}

#[cfg(test)]
mod tests {
    use super::{StepTotal, summary};

    #[test]
    fn many_parts_have_a_summary() {
        let total = |name, count, bytes_median| {
            let (duration_ns, bytes) = (1_500_000_000, None);
            StepTotal { name, count, duration_ns, bytes, bytes_median }
        };
        assert_eq!(summary(&[total("read", 1, None)]), None);
        let text = summary(&[total("read", 12, Some(4096)), total("wait", 1, None)]);
        let expected = "12 × read, 4096 bytes at the median (1.500 s); 1 × wait (1.500 s)";
        assert_eq!(text.as_deref(), Some(expected));
    }
}
