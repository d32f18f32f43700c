//! `--anonymize`: addresses without their last bits.

use clap::Args;
use weir_core::AddressMask;
use weir_ingest::FormatChoice;

/// What of the addresses is hidden.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct AnonymizeArguments {
    /// Hide the last bits of every address, wherever it stands in a line, before anything is counted
    /// or kept: with =1, the default, 8 bits of IPv4 and 64 of IPv6, with =2 16 and 80, with =3 24 and
    /// 96. Conditions see addresses like that too
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
    pub(crate) fn hiding(&self, choice: FormatChoice) -> FormatChoice {
        match self.anonymize {
            Some(mask) => choice.hiding(mask),
            None => choice,
        }
    }
}
