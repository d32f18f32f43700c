//! `--step`: the step of the histogram.

use weir_view::Report;

use crate::display::{separated, step};
use crate::terminal::shown_buckets;

/// The steps by name, in seconds.
const STEPS: [(&str, u64); 16] = [
    ("1s", 1),
    ("5s", 5),
    ("15s", 15),
    ("30s", 30),
    ("1m", 60),
    ("5m", 300),
    ("15m", 900),
    ("30m", 1_800),
    ("1h", 3_600),
    ("3h", 10_800),
    ("6h", 21_600),
    ("12h", 43_200),
    ("1d", 86_400),
    ("1w", 604_800),
    ("1month", 2_592_000),
    ("1y", 31_536_000),
];

/// The names of the steps, the shortest first.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    STEPS.iter().map(|(name, _)| *name)
}

/// Parses a step. Returns its length in seconds.
pub(super) fn parse(text: &str) -> Result<u64, String> {
    let known = STEPS.iter().find(|(name, _)| *name == text);
    known.map(|(_, step_s)| *step_s).ok_or_else(|| {
        let names: Vec<&str> = names().collect();
        format!(
            "use one of {}; or --group time/STEP for others, such as time/10m",
            names.join(", ")
        )
    })
}

/// Returns notes about a histogram whose steps are longer than `--step` says: in the report, or in the chart
/// of this number of columns.
pub(super) fn notes(step_s: Option<u64>, report: &Report, columns: Option<usize>) -> Vec<String> {
    let (Some(step_s), Some(histogram)) = (step_s, &report.histogram) else {
        return Vec::new();
    };
    let asked = length(step_s);
    if histogram.step_s != step_s {
        return vec![format!(
            "--step: the log is too long for steps of {asked}; those of the histogram are of {}; name a period \
             with --since and --until",
            length(histogram.step_s)
        )];
    }
    let shown_s = columns.map(|columns| shown_buckets(histogram, columns).1);
    match shown_s.filter(|shown_s| *shown_s != step_s) {
        None => Vec::new(),
        Some(shown_s) => vec![format!(
            "--step: {} steps of {asked} are more than the screen has columns; the chart shows steps of {}; \
             --json, --csv and --html have all, and --group time/STEP the largest",
            separated(histogram.buckets.len() as u64),
            length(shown_s)
        )],
    }
}

/// A length in words: `5 minutes`, `an hour`.
fn length(step_s: u64) -> String {
    let text = step(step_s);
    match text.as_bytes().first() {
        Some(b'0'..=b'9') => text,
        Some(b'h') => format!("an {text}"),
        _ => format!("a {text}"),
    }
}

#[cfg(test)]
mod tests {
    use weir_core::histogram_steps_s;

    use weir_view::{Histogram, Report};

    use super::{STEPS, notes, parse};

    #[test]
    fn a_longer_step_is_said() {
        let histogram = Histogram { step_s: 300, ..Histogram::default() };
        let report = Report { histogram: Some(histogram), ..Report::default() };
        assert_eq!(notes(None, &report, Some(80)), Vec::<String>::new());
        assert_eq!(notes(Some(300), &report, Some(80)), Vec::<String>::new());
        let longer = notes(Some(1), &report, None);
        assert!(
            longer[0].contains(
                "too long for steps of a second; those of the histogram are of 5 minutes"
            ),
            "{longer:?}"
        );
    }

    #[test]
    fn each_step_up_to_a_year_has_a_name() {
        let named: Vec<u64> = STEPS.iter().map(|(_, step_s)| *step_s).collect();
        let known: Vec<u64> =
            histogram_steps_s().take_while(|step_s| *step_s <= 31_536_000).collect();
        assert_eq!(named, known);
        assert_eq!(parse("15m"), Ok(900));
        for text in ["", "2m", "60s", "1", "m", "1M", "-1m"] {
            assert!(parse(text).is_err_and(|error| error.contains("use one of 1s, 5s")), "{text}");
        }
    }
}
