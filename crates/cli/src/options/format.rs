//! The arguments that name the format of the logs.

use std::sync::Arc;

use clap::Args;
use weir_core::{AddressBlock, ClientChoice, Format, LineOptions};
use weir_ingest::FormatChoice;

use super::DerivedArguments;
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

    /// The field whose address is the client, such as http_x_forwarded_for when a balancer stands
    /// before the server: of a list the leftmost, unless --trust is given. A line without an address
    /// there has the client of its connection
    #[arg(long, value_name = "FIELD")]
    client: Option<String>,

    /// A network of your proxies, such as 10.0.0.0/8, any number of times: the client is then the
    /// rightmost address of X-Forwarded-For (or of --client) that is in none of them, and the header
    /// counts only on connections from them
    #[arg(long = "trust", value_name = "NETWORK", value_parser = parse_network)]
    trusted: Vec<AddressBlock>,

    /// The year of the first line of each file, for times that are written without one, as syslog
    /// writes them; each other line is of the year that puts it closest to the lines before [default:
    /// from a day in the file's name, or else from when the file was last written]
    #[arg(long, value_name = "YEAR", value_parser = clap::value_parser!(i32).range(1970..=2261))]
    year: Option<i32>,

    #[command(flatten)]
    derived: DerivedArguments,
}

/// Parses a network, or a single address.
fn parse_network(text: &str) -> Result<AddressBlock, String> {
    let address = || text.parse().ok().map(AddressBlock::of);
    AddressBlock::parse(text).or_else(address).ok_or_else(|| {
        "this is not a network; write an address and the length of its prefix, such as 10.0.0.0/8"
            .to_owned()
    })
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
        let options = self.line_options().map(Arc::new);
        if let (Some(format), Some(name)) = (&format, &self.client) {
            let named = format.accessor(name);
            named.map_err(|error| Failure::new(format_args!("--client: {error}")))?;
        }
        Ok(match (format, options) {
            (None, None) => FormatChoice::Detect,
            (None, Some(options)) => FormatChoice::DetectWith(options),
            (Some(format), None) => FormatChoice::Forced(Arc::new(format)),
            (Some(format), Some(options)) => {
                FormatChoice::Forced(Arc::new(format.with_line_options(&options)))
            }
        })
    }

    /// The arguments about derived fields.
    pub(crate) fn derived(&self) -> &DerivedArguments {
        &self.derived
    }

    /// What the command line states about all lines.
    fn line_options(&self) -> Option<LineOptions> {
        let is_chosen = self.client.is_some() || !self.trusted.is_empty();
        let choice = || ClientChoice::new(self.client.clone(), self.trusted.clone());
        let client = is_chosen.then(choice);
        let options = LineOptions { client, year: self.year, ..LineOptions::default() };
        (options != LineOptions::default()).then_some(options)
    }
}
