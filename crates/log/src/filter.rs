//! The filter of messages by level and module.

use std::fmt;
use std::str::FromStr;

use tracing::Metadata;
use tracing::level_filters::LevelFilter;

use crate::log::LEVEL_MAX;

/// The longest filter in bytes. It has room for every module of the program.
const BYTES_MAX: usize = 4 << 10;

/// The crates that log, which are the first part of a message's source.
const PARTS: [&str; 6] =
    ["weir", "weir_feed", "weir_gateway", "weir_inside", "weir_net", "weir_server"];

/// The most detailed level that is logged: one default, and overrides for crates or modules.
///
/// It is written as a list such as `info,weir_net=warn,weir_gateway::backend=debug`. The entry
/// without a name is the default; if there is none, the default is `info`. If several names match,
/// the longest applies.
///
/// ```
/// let filter: weir_log::LogFilter = "weir_net=off".parse()?;
/// assert_eq!(filter.to_string(), "info,weir_net=off");
/// assert!("weir_net=loud".parse::<weir_log::LogFilter>().is_err());
/// # Ok::<(), weir_log::LogFilterError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFilter {
    level: LevelFilter,
    /// Levels by crate or module: unique names, the longest first.
    targets: Vec<(String, LevelFilter)>,
}

/// The reason why a text is not a valid filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogFilterError {
    /// The text is longer than 4 KiB.
    TooLong,
    /// An entry has no valid level.
    Level {
        /// The entry.
        entry: String,
    },
    /// An entry has no valid name: ASCII letters, digits and `_`, with `::` between modules.
    Name {
        /// The entry.
        entry: String,
    },
}

impl LogFilter {
    /// Returns the most detailed level of any entry.
    pub fn level_max(&self) -> LevelFilter {
        let levels = self.targets.iter().map(|(_, level)| *level);
        levels.fold(self.level, std::cmp::max)
    }

    /// Returns a sentence for each entry that has no effect: a level that is not compiled into this
    /// build, and a name that no part of the program has.
    pub fn notes(&self) -> Vec<String> {
        self.notes_for(LEVEL_MAX)
    }

    fn notes_for(&self, level_max: LevelFilter) -> Vec<String> {
        let mut notes = Vec::new();
        if self.level_max() > level_max {
            notes.push(format!(
                "this build has no messages below {level_max}; a debug build has them"
            ));
        }
        let part = |name: &str| name.split("::").next().unwrap_or_default().to_owned();
        for (name, _) in
            self.targets.iter().rev().filter(|(name, _)| !PARTS.contains(&&*part(name)))
        {
            let parts = PARTS.join(", ");
            notes
                .push(format!("no part of the program has the name {name}; the parts are {parts}"));
        }
        notes
    }

    /// Returns whether messages of a call site are logged.
    pub(crate) fn allows(&self, metadata: &Metadata<'_>) -> bool {
        let target = metadata.target();
        let matches = |name: &str| {
            let rest = target.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        };
        let entry = self.targets.iter().find(|(name, _)| matches(name));
        *metadata.level() <= entry.map_or(self.level, |(_, level)| *level)
    }

    fn set(&mut self, name: &str, level: LevelFilter) {
        self.targets.retain(|(other, _)| other != name);
        self.targets.push((name.to_owned(), level));
    }
}

impl Default for LogFilter {
    fn default() -> Self {
        Self { level: LevelFilter::INFO, targets: Vec::new() }
    }
}

impl FromStr for LogFilter {
    type Err = LogFilterError;

    fn from_str(text: &str) -> Result<Self, LogFilterError> {
        if text.len() > BYTES_MAX {
            return Err(LogFilterError::TooLong);
        }
        let mut filter = Self::default();
        for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            let (name, word) = match entry.split_once('=') {
                Some((name, word)) => (Some(name.trim()), word.trim()),
                None => (None, entry),
            };
            let level =
                level(word).ok_or_else(|| LogFilterError::Level { entry: entry.to_owned() })?;
            match name {
                None => filter.level = level,
                Some(name) if is_valid_name(name) => filter.set(name, level),
                Some(_) => return Err(LogFilterError::Name { entry: entry.to_owned() }),
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

impl fmt::Display for LogFilter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.level)?;
        self.targets.iter().try_for_each(|(name, level)| write!(formatter, ",{name}={level}"))
    }
}

impl fmt::Display for LogFilterError {
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

impl std::error::Error for LogFilterError {}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tracing::level_filters::LevelFilter;

    use super::{BYTES_MAX, LogFilter, LogFilterError, PARTS};

    #[test]
    fn a_filter_is_read_and_written() {
        for (text, written) in [
            ("", "info"),
            ("warn", "warn"),
            (" debug , weir_net = off ", "debug,weir_net=off"),
            ("weir_a=warn,weir_a=error", "info,weir_a=error"),
            ("a=trace,a::b::c=off,a::b=info", "info,a::b::c=off,a::b=info,a=trace"),
        ] {
            let filter: LogFilter = text.parse().expect("a filter");
            assert_eq!(filter.to_string(), written);
            assert_eq!(written.parse::<LogFilter>(), Ok(filter));
        }
    }

    #[test]
    fn entries_without_an_effect_are_named() {
        let notes = |text: &str, level_max| {
            text.parse::<LogFilter>().expect("a filter").notes_for(level_max)
        };
        let (info, trace) = (LevelFilter::INFO, LevelFilter::TRACE);
        assert!(notes("warn,weir_gateway::backend=info,weir=off", info).is_empty());
        assert!(notes("debug,weir_net=trace", trace).is_empty());
        for text in ["debug", "info,weir_net=debug"] {
            let found = notes(text, info);
            assert!(found.len() == 1 && found[0].contains("no messages below info"), "{found:?}");
        }
        let found = notes("info,nosuch=warn,weir_nets::a=off", trace);
        assert_eq!(found.len(), 2, "{found:?}");
        let expected =
            "no part of the program has the name nosuch; the parts are weir, weir_feed, ";
        assert!(found.iter().any(|note| note.starts_with(expected)), "{found:?}");
    }

    #[test]
    fn all_crates_that_log_are_parts() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crates");
        for folder in std::fs::read_dir(crates).expect("a folder").flatten() {
            let name = folder.file_name().into_string().expect("a name");
            let part = if name == "cli" { "weir".to_owned() } else { format!("weir_{name}") };
            if name != "log" && logs(&folder.path().join("src")) {
                assert!(PARTS.contains(&&*part), "{part} is missing in PARTS");
            }
        }
    }

    /// Returns whether a file below a folder has an event of `tracing`.
    fn logs(folder: &Path) -> bool {
        let events =
            ["error", "warn", "info", "debug", "trace"].map(|it| format!("tracing::{it}!("));
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).any(|path| match path.is_dir() {
            true => logs(&path),
            false => {
                let text = std::fs::read_to_string(path).unwrap_or_default();
                events.iter().any(|event| text.contains(event))
            }
        })
    }

    #[test]
    fn what_is_not_valid_is_named() {
        let error = |text: &str| text.parse::<LogFilter>().expect_err("not a filter");
        for entry in ["loud", "INFO", "weir_net=", "weir_net=2", "weir_net"] {
            assert_eq!(error(entry), LogFilterError::Level { entry: entry.to_owned() });
        }
        for entry in ["=info", "weir-net=info", "a:::b=info", "a::=info", "a.b=info"] {
            assert_eq!(error(entry), LogFilterError::Name { entry: entry.to_owned() });
        }
        assert_eq!(error(&"info,".repeat(BYTES_MAX / 5 + 1)), LogFilterError::TooLong);
    }
}
