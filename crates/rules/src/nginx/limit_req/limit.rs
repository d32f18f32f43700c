//! `limit_req_zone` and `limit_req`.

use super::bucket::{REQUEST, Rate};
use crate::arrivals::ZoneLimit;
use crate::error::RuleError;
use crate::nginx::configuration::{
    Directive, LimitKind, NUMBER_MAX, Word, Zone, ZoneParameters, find_zone, unknown_parameter,
    whole_number,
};
use crate::settings::RuleSettings;

/// A zone of requests.
pub(crate) type RequestZone = Zone<Drain>;

/// The rate at which the counts of a zone drain.
#[derive(Debug, Clone)]
pub(crate) struct Drain {
    pub(crate) rate: Rate,
    /// The rate as written, such as `10r/s`.
    rate_text: String,
}

impl Default for Drain {
    fn default() -> Self {
        Self { rate: Rate(REQUEST), rate_text: "1r/s".to_owned() }
    }
}

/// A `limit_req`: the excess in a zone that is let through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Limit {
    /// The number of the zone.
    pub(crate) zone: usize,
    /// In thousandths of a request; more is rejected.
    pub(crate) burst: i64,
    /// In thousandths of a request; more is delayed. `i64::MAX` with `nodelay`.
    pub(crate) delay: i64,
}

impl Limit {
    /// The numbers of the limit and of its zone, as written.
    pub(super) fn settings(&self, zone: &RequestZone) -> RuleSettings {
        let (number, seconds) = split_rate(&zone.parameters.rate_text).unwrap_or(("1", 1));
        RuleSettings {
            threshold: u64::try_from(self.burst / REQUEST).unwrap_or_default(),
            period_ns: seconds * 1_000_000_000,
            refill: number.parse().ok(),
            trips_at_threshold: false,
        }
    }
}

impl ZoneParameters for Drain {
    const DIRECTIVE: &'static str = "limit_req_zone";
    const EXAMPLE: &'static str = "limit_req_zone $binary_remote_addr zone=one:10m rate=1r/s;";
    const NAMES: &'static [&'static str] = &["zone", "rate", "sync"];

    fn read(&mut self, word: &Word) -> Result<bool, RuleError> {
        if let Some(value) = word.text.strip_prefix("rate=") {
            *self = Self { rate: parse_rate(value, word)?, rate_text: value.to_owned() };
            return Ok(true);
        }
        // `sync` only decides where the zone is stored; it changes no count.
        Ok(word.text == "sync")
    }
}

impl ZoneLimit for Limit {
    fn zone(&self) -> usize {
        self.zone
    }
}

impl LimitKind for Limit {
    type Zone = Drain;

    const NAME: &'static str = "limit_req";
    const DRY_RUN: &'static str = "limit_req_dry_run";
    const EXAMPLE: &'static str = "limit_req_zone $binary_remote_addr zone=one:10m rate=1r/s; \
                                   limit_req zone=one burst=5;";

    /// Reads `limit_req zone=NAME [burst=N] [nodelay | delay=N]`.
    fn parse(directive: &Directive, zones: &[RequestZone]) -> Result<Self, RuleError> {
        let (mut zone, mut burst, mut delay) = (None, 0, 0);
        for word in &directive.arguments {
            if let Some(value) = word.text.strip_prefix("zone=") {
                zone = Some(find_zone(value, word, zones)?);
            } else if let Some(value) = word.text.strip_prefix("burst=") {
                burst = requests(value, word, 1)?;
            } else if let Some(value) = word.text.strip_prefix("delay=") {
                delay = requests(value, word, 1)?;
            } else if word.text == "nodelay" {
                delay = i64::MAX;
            } else {
                return Err(unknown_parameter(word, &["zone", "burst", "delay", "nodelay"]));
            }
        }
        let missing = || directive.name.error("zone=NAME is missing");
        Ok(Self { zone: zone.ok_or_else(missing)?, burst, delay })
    }

    fn text(&self, zones: &[RequestZone]) -> String {
        let zone = &zones[self.zone];
        let delay = match self.delay {
            i64::MAX => " nodelay".to_owned(),
            0 => String::new(),
            delay => format!(" delay={}", delay / REQUEST),
        };
        format!(
            "zone {} rate={} burst={}{delay}",
            zone.name,
            zone.parameters.rate_text,
            self.burst / REQUEST
        )
    }
}

/// Parses a rate, `Nr/s` or `Nr/m`, to thousandths of a request per second, rounded down as in
/// nginx.
fn parse_rate(text: &str, word: &Word) -> Result<Rate, RuleError> {
    let invalid = || {
        word.error(format_args!(
            "`{text}` is not a valid rate; write requests in a second or a minute, such as 10r/s or 30r/m"
        ))
    };
    let (number, seconds) = split_rate(text).ok_or_else(invalid)?;
    let number = whole_number(number).filter(|number| *number > 0).ok_or_else(invalid)?;
    Ok(Rate(number * REQUEST / seconds as i64))
}

/// Splits a rate into its number and the seconds of its unit.
fn split_rate(text: &str) -> Option<(&str, u64)> {
    let of_unit = |unit: &str, seconds| Some((text.strip_suffix(unit)?, seconds));
    of_unit("r/s", 1).or_else(|| of_unit("r/m", 60))
}

fn requests(text: &str, word: &Word, min: i64) -> Result<i64, RuleError> {
    let number = whole_number(text).filter(|number| *number >= min);
    number.map(|number| number * REQUEST).ok_or_else(|| {
        word.error(format_args!("`{text}` is not a number of requests from {min} to {NUMBER_MAX}"))
    })
}
