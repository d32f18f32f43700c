//! Which messages are let through.

use std::fmt;
use std::str::FromStr;

use tracing::Metadata;
use tracing::level_filters::LevelFilter;

/// The longest text of a filter in bytes; the whole program has fewer modules than fit.
const BYTES_MAX: usize = 4 << 10;

/// The levels of messages that are let through: one for all, and others for single crates or modules.
///
/// Its text is a list such as `info,weir_net=warn,weir_gateway::backend=debug`. An entry without a name is for
/// whatever no other entry names; without one, that is `info`. The longest name that fits counts.
///
/// ```
/// let filter: weir_log::Filter = "weir_net=off".parse()?;
/// assert_eq!(filter.to_string(), "info,weir_net=off");
/// assert!("weir_net=loud".parse::<weir_log::Filter>().is_err());
/// # Ok::<(), weir_log::FilterError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    level: LevelFilter,
    /// The longest names first, each once.
    targets: Vec<(String, LevelFilter)>,
}

/// Why a text is not a filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilterError {
    /// It is longer than 4 KiB.
    TooLong,
    /// An entry has no valid level.
    Level {
        /// The entry.
        entry: String,
    },
    /// An entry has no valid name: letters of ASCII, digits and `_`, with `::` between modules.
    Name {
        /// The entry.
        entry: String,
    },
}

impl Filter {
    /// The most detailed level that it lets through anywhere.
    pub fn level_max(&self) -> LevelFilter {
        let levels = self.targets.iter().map(|(_, level)| *level);
        levels.fold(self.level, std::cmp::max)
    }

    /// Whether it lets the messages of a call site through.
    pub(crate) fn lets_through(&self, metadata: &Metadata<'_>) -> bool {
        let target = metadata.target();
        let is_named = |name: &str| {
            let rest = target.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        };
        let named = self.targets.iter().find(|(name, _)| is_named(name));
        *metadata.level() <= named.map_or(self.level, |(_, level)| *level)
    }

    fn set(&mut self, name: &str, level: LevelFilter) {
        self.targets.retain(|(other, _)| other != name);
        self.targets.push((name.to_owned(), level));
    }
}

impl Default for Filter {
    fn default() -> Self {
        Self { level: LevelFilter::INFO, targets: Vec::new() }
    }
}

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        if text.len() > BYTES_MAX {
            return Err(FilterError::TooLong);
        }
        let mut filter = Self::default();
        for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            let (name, word) = match entry.split_once('=') {
                Some((name, word)) => (Some(name.trim()), word.trim()),
                None => (None, entry),
            };
            let level =
                level(word).ok_or_else(|| FilterError::Level { entry: entry.to_owned() })?;
            match name {
                None => filter.level = level,
                Some(name) if is_valid_name(name) => filter.set(name, level),
                Some(_) => return Err(FilterError::Name { entry: entry.to_owned() }),
            }
        }
        filter.targets.sort_by(|(a, _), (b, _)| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        Ok(filter)
    }
}

fn level(word: &str) -> Option<LevelFilter> {
    Some(match word {
        "off" => LevelFilter::OFF,
        "error" => LevelFilter::ERROR,
        "warn" => LevelFilter::WARN,
        "info" => LevelFilter::INFO,
        "debug" => LevelFilter::DEBUG,
        "trace" => LevelFilter::TRACE,
        _ => return None,
    })
}

fn is_valid_name(name: &str) -> bool {
    let is_valid = |module: &str| {
        !module.is_empty()
            && module.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    name.split("::").all(is_valid)
}

impl fmt::Display for Filter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.level)?;
        self.targets.iter().try_for_each(|(name, level)| write!(formatter, ",{name}={level}"))
    }
}

impl fmt::Display for FilterError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(formatter, "the filter is longer than {BYTES_MAX} bytes"),
            Self::Level { entry } => write!(
                formatter,
                "`{entry}` has no valid level; write off, error, warn, info, debug or trace, or a crate and a level \
                 such as weir_net=warn"
            ),
            Self::Name { entry } => write!(
                formatter,
                "`{entry}` has no valid name; write a crate or a module and a level, such as weir_net=warn or \
                 weir_gateway::backend=off"
            ),
        }
    }
}

impl std::error::Error for FilterError {}

#[cfg(test)]
mod tests {
    use super::{BYTES_MAX, Filter, FilterError};

    #[test]
    fn a_filter_is_read_and_written() {
        for (text, written) in [
            ("", "info"),
            ("warn", "warn"),
            (" debug , weir_net = off ", "debug,weir_net=off"),
            ("weir_a=warn,weir_a=error", "info,weir_a=error"),
            ("a=trace,a::b::c=off,a::b=info", "info,a::b::c=off,a::b=info,a=trace"),
        ] {
            let filter: Filter = text.parse().expect("a filter");
            assert_eq!(filter.to_string(), written);
            assert_eq!(written.parse::<Filter>(), Ok(filter));
        }
    }

    #[test]
    fn what_is_not_valid_is_named() {
        let error = |text: &str| text.parse::<Filter>().expect_err("not a filter");
        for entry in ["loud", "INFO", "weir_net=", "weir_net=2", "weir_net"] {
            assert_eq!(error(entry), FilterError::Level { entry: entry.to_owned() });
        }
        for entry in ["=info", "weir-net=info", "a:::b=info", "a::=info", "a.b=info"] {
            assert_eq!(error(entry), FilterError::Name { entry: entry.to_owned() });
        }
        assert_eq!(error(&"info,".repeat(BYTES_MAX / 5 + 1)), FilterError::TooLong);
    }
}
