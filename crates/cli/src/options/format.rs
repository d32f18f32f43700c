//! The arguments that name the format of the logs.

use std::sync::Arc;

use clap::Args;
use weir_core::Format;
use weir_ingest::FormatChoice;

use crate::format_file::parse_format;
use crate::outcome::Failure;

/// The format of the logs, if it should not be detected.
#[derive(Debug, Clone, Args)]
pub(crate) struct FormatArguments {
    /// The log's format, if it should not be detected: a known name such as COMBINED (see
    /// `weir formats`), also in a wrapper (`COMBINED in SYSLOG`), a log_format of nginx, a
    /// LogFormat of Apache or a log-format of GoAccess, as written in their configuration, or a
    /// file that ends with .toml or goaccess.conf
    #[arg(long, visible_alias = "log-format", value_name = "NAME|DEFINITION")]
    format: Option<String>,

    /// GoAccess's date-format, for a log-format of GoAccess [default: %d/%b/%Y]
    #[arg(long, value_name = "PATTERN", requires = "format")]
    date_format: Option<String>,

    /// GoAccess's time-format, for a log-format of GoAccess [default: %H:%M:%S]
    #[arg(long, value_name = "PATTERN", requires = "format")]
    time_format: Option<String>,

    /// GoAccess's datetime-format, the pattern of `%x` in a log-format of GoAccess
    #[arg(long, value_name = "PATTERN", requires = "format")]
    datetime_format: Option<String>,
}

impl FormatArguments {
    /// The format that the command line names.
    ///
    /// # Errors
    /// If it is not a valid format.
    pub(crate) fn format(&self) -> Result<Option<Format>, Failure> {
        let Some(format) = &self.format else { return Ok(None) };
        let patterns = [
            ("date-format", &self.date_format),
            ("time-format", &self.time_format),
            ("datetime-format", &self.datetime_format),
        ];
        if patterns.iter().all(|(_, pattern)| pattern.is_none()) {
            return parse_format(format).map(Some);
        }
        // The format may be a line of goaccess.conf, with its key.
        let text = format.trim_start();
        let value =
            text.strip_prefix("log-format").filter(|it| it.starts_with(char::is_whitespace));
        let mut definition = format!("log-format {}", value.unwrap_or(text).trim_start());
        for (key, pattern) in patterns {
            if let Some(pattern) = pattern {
                definition.push_str(&format!("\n{key} {pattern}"));
            }
        }
        parse_format(&definition).map(Some)
    }

    /// The format that the command line names, or a search for it.
    ///
    /// # Errors
    /// If it is not a valid format.
    pub(crate) fn choice(&self) -> Result<FormatChoice, Failure> {
        let format = self.format()?;
        Ok(format.map_or(FormatChoice::Detect, |format| FormatChoice::Forced(Arc::new(format))))
    }
}
