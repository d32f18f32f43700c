//! `--anonymize`: addresses without their last bits.

use clap::Args;
use weir_core::AddressMask;
use weir_ingest::FormatChoice;

use crate::outcome::Failure;

/// What of the addresses is hidden.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct AnonymizeArguments {
    /// Hide the last bits of addresses, wherever they stand in a line, before anything is counted or
    /// kept (docs/security.md has the limits): with =1, the default, 8 bits of IPv4 and 64 of IPv6,
    /// with =2 16 and 80, with =3 24 and 96. Conditions see addresses like that too. Only report,
    /// count, export and save have this option: the other commands and the page show lines as they
    /// are, or a data set that weir save --anonymize has written
    #[arg(long, value_name = "LEVEL", num_args = 0..=1, require_equals = true,
        default_missing_value = "1", value_parser = parse_level)]
    anonymize: Option<AddressMask>,
}

fn parse_level(text: &str) -> Result<AddressMask, String> {
    let mask = text.parse().ok().and_then(AddressMask::of_level);
    mask.ok_or_else(|| "there are the levels 1, 2 and 3".to_owned())
}

impl AnonymizeArguments {
    /// Whether addresses are to be hidden.
    pub(crate) fn is_on(&self) -> bool {
        self.anonymize.is_some()
    }

    /// The choice, whose formats hide addresses if they are to be hidden.
    ///
    /// # Errors
    /// If a derived field of the formats needs whole addresses.
    pub(crate) fn hiding(&self, choice: FormatChoice) -> Result<FormatChoice, Failure> {
        let Some(mask) = self.anonymize else { return Ok(choice) };
        let choice = choice.hiding(mask);
        check_hidden(&choice)?;
        Ok(choice)
    }
}

/// The derived fields that would be wrong about an address without its last bits.
const OF_WHOLE_ADDRESSES: [&str; 5] = ["crawler_verified", "country", "city", "asn", "asn_name"];

/// Checks that no derived field needs the whole addresses that formats hide.
///
/// # Errors
/// If one does.
pub(crate) fn check_hidden(choice: &FormatChoice) -> Result<(), Failure> {
    let Some(options) = choice.line_options().filter(|it| it.mask.is_some()) else { return Ok(()) };
    let mut names = options.derived.iter().map(|field| field.name());
    match names.find(|name| OF_WHOLE_ADDRESSES.contains(name)) {
        Some(name) => Err(Failure::new(format_args!(
            "--anonymize: `{name}` needs whole addresses, and would be wrong about hidden ones; \
             leave out one of them"
        ))),
        None => Ok(()),
    }
}
