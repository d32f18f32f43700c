//! Zones, whose directives differ by kind of limit only in a few parameters.

use std::fmt;

use super::parameters::unknown_parameter;
use super::template::Template;
use super::tokens::{Directive, Word};
use crate::error::RuleError;

/// A zone of a kind of limits: the arguments of a directive such as `limit_req_zone`.
#[derive(Debug, Clone)]
pub(crate) struct Zone<P> {
    pub(crate) name: String,
    /// The key by which requests are counted.
    pub(crate) key: Template,
    /// The size in bytes, if it is configured.
    pub(crate) bytes: Option<usize>,
    pub(crate) parameters: P,
}

/// The parameters of a zone besides its key, its name and its size.
pub(crate) trait ZoneParameters: Default + fmt::Debug + Send + Sync + 'static {
    /// The name of the directive.
    const DIRECTIVE: &'static str;

    /// An example of the directive, for messages.
    const EXAMPLE: &'static str;

    /// The names of all parameters, for messages.
    const NAMES: &'static [&'static str];

    /// Reads a parameter. Returns whether the directive has it.
    ///
    /// # Errors
    /// If its value is not valid.
    fn read(&mut self, word: &Word) -> Result<bool, RuleError>;
}

impl<P: ZoneParameters> Zone<P> {
    /// Reads a directive.
    ///
    /// # Errors
    /// If the directive is not a valid zone.
    pub(super) fn parse(directive: &Directive) -> Result<Self, RuleError> {
        let (mut key, mut name, mut bytes, mut parameters) = (None, None, None, P::default());
        for word in &directive.arguments {
            if let Some(value) = word.text.strip_prefix("zone=") {
                name = Some(zone_name(value, word)?);
                bytes = zone_bytes(value);
            } else if parameters.read(word)? {
                // It is one of the kind's own.
            } else if key.is_none() && !word.text.contains('=') {
                key = Some(Template::parse(word)?);
            } else {
                return Err(unknown_parameter(word, P::NAMES));
            }
        }
        let missing = |what: &str| {
            directive.name.error(format_args!("{what} is missing; write: {}", P::EXAMPLE))
        };
        Ok(Self {
            name: name.ok_or_else(|| missing("zone=NAME:SIZE"))?,
            key: key.ok_or_else(|| missing("the key"))?,
            bytes,
            parameters,
        })
    }
}

/// The name in the value of `zone=`.
fn zone_name(value: &str, word: &Word) -> Result<String, RuleError> {
    let name = value.split_once(':').map_or(value, |(name, _)| name);
    match name {
        "" => Err(word.error("the zone has no name; write zone=NAME:SIZE, such as zone=one:10m")),
        name => Ok(name.to_owned()),
    }
}

/// Parses the size in the value of `zone=` to bytes: a number with `k`, `m` or no unit, as
/// `ngx_parse_size` reads it. Only a gate uses it.
fn zone_bytes(value: &str) -> Option<usize> {
    let (_, size) = value.split_once(':')?;
    let (digits, unit) = match size.as_bytes().last()? {
        b'k' | b'K' => (&size[..size.len() - 1], 1 << 10),
        b'm' | b'M' => (&size[..size.len() - 1], 1 << 20),
        _ => (size, 1),
    };
    digits.parse::<usize>().ok()?.checked_mul(unit)
}
