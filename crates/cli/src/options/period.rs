//! `--since` and `--until`: the period of the records.

use clap::Args;
use jiff::Timestamp;
use weir_core::{ConditionOperator, Zone};
use weir_query::{Moment, Now, PeriodBounds};

use crate::outcome::Failure;

/// The time that records must have.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PeriodArguments {
    /// Leave out records before this time: a date, `today`, `yesterday`, an RFC 3339 time, a time
    /// as the log writes it, seconds since 1970, or a time ago such as `-3d`, `2h` or `30 min ago`
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    since: Option<String>,

    /// Leave out records at this time or later; a date stands for the end of its day
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    until: Option<String>,
}

impl PeriodArguments {
    /// The names of the options that are given.
    pub(crate) fn options(&self) -> impl Iterator<Item = &'static str> {
        let since = self.since.is_some().then_some("--since");
        since.into_iter().chain(self.until.is_some().then_some("--until"))
    }

    /// Whether neither option is given.
    pub(crate) fn is_empty(&self) -> bool {
        self.options().next().is_none()
    }

    /// The period. `zone` is called only if a time has no offset.
    ///
    /// # Errors
    /// If a time is not valid, or if the period ends before it begins.
    pub(crate) fn period(
        &self,
        now: &Now,
        zone: &dyn Fn() -> Zone,
    ) -> Result<PeriodBounds, Failure> {
        let since = parse("--since", self.since.as_deref(), now)?;
        let until = parse("--until", self.until.as_deref(), now)?;
        let since_ns = since.map(|moment| moment.first_ns(zone));
        let until_ns = until.map(|moment| moment.until_ns(zone));
        if let (Some(since_ns), Some(until_ns)) = (since_ns, until_ns)
            && since_ns >= until_ns
        {
            let [since, until] =
                [&self.since, &self.until].map(|text| text.as_deref().unwrap_or_default());
            return Err(Failure::new(format_args!(
                "--since {since} is not before --until {until}; set an earlier --since"
            )));
        }
        Ok(PeriodBounds { since_ns, until_ns })
    }
}

impl PeriodArguments {
    /// The period as conditions on the time. A time that is relative to now becomes a fixed one, to the
    /// second; `today` and `yesterday` stay words, because only the log knows their zone.
    ///
    /// # Errors
    /// If a time is not valid.
    pub(crate) fn conditions(
        &self,
        now: &Now,
    ) -> Result<Vec<(ConditionOperator, String)>, Failure> {
        let since = fixed("--since", self.since.as_deref(), now)?;
        let since = since.map(|(_, time)| (ConditionOperator::GreaterOrEqual, time));
        let until = fixed("--until", self.until.as_deref(), now)?;
        let until = until.map(|(moment, time)| match moment {
            Moment::Day(_) | Moment::DayOf(..) => (ConditionOperator::LessOrEqual, time),
            Moment::Instant(_) | Moment::Local(..) => (ConditionOperator::Less, time),
        });
        Ok(since.into_iter().chain(until).collect())
    }
}

/// A time, with a text for it that does not depend on the present.
fn fixed(option: &str, text: Option<&str>, now: &Now) -> Result<Option<(Moment, String)>, Failure> {
    let Some((moment, text)) = parse(option, text, now)?.zip(text) else { return Ok(None) };
    let is_relative = Moment::parse(text, &now.much_later()).as_ref() != Some(&moment);
    let instant = match moment {
        Moment::Instant(ns) if is_relative => {
            Timestamp::from_second(ns.div_euclid(1_000_000_000)).ok()
        }
        _ => None,
    };
    let text = instant.map_or_else(|| text.trim().to_owned(), |instant| instant.to_string());
    Ok(Some((moment, text)))
}

fn parse(option: &str, text: Option<&str>, now: &Now) -> Result<Option<Moment>, Failure> {
    let Some(text) = text else { return Ok(None) };
    Moment::parse(text, now).map(Some).ok_or_else(|| {
        let examples = Moment::EXAMPLES;
        Failure::new(format_args!("{option}: `{text}` is not a valid time; write it as {examples}"))
    })
}
