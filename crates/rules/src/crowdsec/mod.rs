//! CrowdSec's scenarios, alert for alert.
//!
//! A scenario is a YAML document. It has a filter that selects events, a key that groups them into
//! buckets, and the settings that decide when a bucket overflows. The algorithm is that of CrowdSec
//! 1.4 to 1.6 (pkg/leakybucket) replaying a file, with the time of the log. [`replay`] manages the
//! buckets, [`bucket`] does the arithmetic, [`expression`] implements the language of the filters,
//! and [`observer`] extracts the fields that the parsers of CrowdSec's hub would find in a line.

mod blackhole;
mod bucket;
mod data;
mod duration;
mod evidence;
mod expression;
mod fields;
mod filled_bucket;
mod names;
mod observer;
mod profile;
mod replay;
mod request;
mod scenario;
mod service_observer;
mod service_time;
mod services;
mod subject;
mod summary;
mod tag_table;

use weir_core::{RecordFields, RecordKind};

use self::data::DataFiles;
use self::observer::RecordObserver;
use self::replay::ScenarioReplay;
use self::scenario::{BucketKind, Scenario};
use self::service_observer::ServiceObserver;
use crate::error::{ParseError, RuleError};
use crate::evidence::{LineTally, LogCounts, LookedAt};
use crate::files::RuleFiles;
use crate::rule::{Family, MissingField, Observer, Replay, Rule};
use crate::settings::RuleSettings;

/// A scenario of CrowdSec.
#[derive(Debug)]
pub(crate) struct CrowdSec(Scenario);

impl CrowdSec {
    /// Whether a text looks like a scenario: the keys that every scenario has begin some of its
    /// lines.
    pub(crate) fn looks_like(text: &str) -> bool {
        let has = |key: &str| {
            text.lines().any(|line| {
                line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'))
            })
        };
        has("type") && has("filter") && (has("name") || has("groupby") || has("labels"))
    }

    /// Parses the scenarios of a text.
    ///
    /// # Errors
    /// If the text is not YAML, a document cannot be replayed, or there are more than `rules_max`.
    pub(crate) fn parse(
        text: &str,
        files: &RuleFiles,
        rules_max: usize,
    ) -> Result<Vec<Self>, ParseError> {
        let documents = crate::yaml::documents(text)?;
        if documents.is_empty() {
            return Err(RuleError::new(0..text.len(), "the text has no scenario").into());
        }
        ParseError::check_count(documents.len(), rules_max)?;
        let mut data = DataFiles::new(files);
        let ban_ns = profile::ban_ns(files.text(profile::PROFILES))?;
        let read = |document| Scenario::read(text, document, &mut data, ban_ns).map(Self);
        Ok(documents.iter().map(read).collect::<Result<_, RuleError>>()?)
    }
}

impl Rule for CrowdSec {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn family(&self) -> Family {
        Family::CrowdSec
    }

    fn description(&self) -> String {
        let seconds = |ns: i64| ns as f64 / 1e9;
        let kind = match self.0.kind {
            BucketKind::Trigger => "trigger".to_owned(),
            BucketKind::Leaky { capacity, leak_ns } => {
                format!("leaky, capacity {capacity}, leakspeed {} s", seconds(leak_ns))
            }
            BucketKind::Counter { duration_ns } => {
                format!("counter of {} s", seconds(duration_ns))
            }
            BucketKind::Conditional { leak_ns } => {
                format!("conditional, leakspeed {} s", seconds(leak_ns))
            }
        };
        let blackhole = self.0.blackhole_ns.map(seconds);
        let blackhole = blackhole.map(|s| format!(", blackhole {s} s")).unwrap_or_default();
        format!("{} ({kind}{blackhole})", self.0.description)
    }

    fn notes(&self) -> &[RuleError] {
        &self.0.notes
    }

    fn settings(&self) -> Option<RuleSettings> {
        let (capacity, leak_ns) = self.0.plain_bucket()?;
        Some(RuleSettings {
            threshold: capacity.into(),
            period_ns: u64::try_from(leak_ns).ok()?,
            refill: Some(1),
            trips_at_threshold: false,
        })
    }

    fn sees(&self, kind: RecordKind) -> bool {
        matches!(kind, RecordKind::Request | RecordKind::ErrorLogLine)
    }

    fn bind<'r>(&'r self, fields: &RecordFields) -> Result<Box<dyn Observer + 'r>, MissingField> {
        Ok(Box::new(RecordObserver::new(&self.0, fields)?))
    }

    fn observe_lines<'r>(&'r self) -> Option<Box<dyn Observer + 'r>> {
        let observer = || -> Box<dyn Observer + 'r> { Box::new(ServiceObserver::new(&self.0)) };
        (!self.0.services.is_empty()).then(observer)
    }

    fn looked_at(&self, log: &LogCounts, tally: &LineTally, evaluated: u64) -> LookedAt {
        self.0.evidence(log, tally, evaluated)
    }

    fn replay<'r>(&'r self) -> Box<dyn Replay + 'r> {
        Box::new(ScenarioReplay::new(&self.0))
    }
}
