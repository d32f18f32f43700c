//! The functions of CrowdSec's expressions that need no more than their arguments.

use std::ops::Range;

use weir_core::nearest_name;

use super::characters::{self, characters};
use super::json;
use super::syntax::Part;
use super::text_functions::{
    address, escaped, fits_wildcard, formatted, is_in_range, joined, length, list, mapped, parsed,
    replaced, shown, split, to_number, unescaped,
};
use super::value::{Kind, Value};
use crate::error::{Reason, RuleError};

/// Functions by name, with the kinds of their arguments and of their value. If a function has two
/// names, CrowdSec's comes before that of expr-lang.
const FUNCTIONS: &[(&str, Function, &[Kind], Kind)] = {
    use Function as F;
    use Kind::{Any, Boolean, List, Number, Text};
    &[
        ("Upper", F::Upper, &[Text], Text),
        ("upper", F::Upper, &[Text], Text),
        ("Lower", F::Lower, &[Text], Text),
        ("lower", F::Lower, &[Text], Text),
        ("len", F::Length, &[Any], Number),
        ("TrimSpace", F::TrimSpace, &[Text], Text),
        ("Trim", F::Trim, &[Text, Text], Text),
        ("TrimPrefix", F::TrimPrefix, &[Text, Text], Text),
        ("TrimSuffix", F::TrimSuffix, &[Text, Text], Text),
        ("hasPrefix", F::HasPrefix, &[Text, Text], Boolean),
        ("hasSuffix", F::HasSuffix, &[Text, Text], Boolean),
        ("PathUnescape", F::PathUnescape, &[Text], Text),
        ("QueryUnescape", F::QueryUnescape, &[Text], Text),
        ("PathEscape", F::PathEscape, &[Text], Text),
        ("QueryEscape", F::QueryEscape, &[Text], Text),
        ("Replace", F::Replace, &[Text, Text, Text, Number], Text),
        ("ReplaceAll", F::ReplaceAll, &[Text, Text, Text], Text),
        ("Split", F::Split, &[Text, Text], List),
        ("Fields", F::Words, &[Text], List),
        ("Join", F::Join, &[List, Text], Text),
        ("Match", F::WildcardMatch, &[Text, Text], Boolean),
        ("Atof", F::ParseFloat, &[Text], Number),
        ("int", F::ToInteger, &[Any], Number),
        ("float", F::ToFloat, &[Any], Number),
        ("string", F::ToText, &[Any], Text),
        ("ToString", F::ToText, &[Any], Text),
        ("IpInRange", F::IpInRange, &[Text, Text], Boolean),
        ("IsIP", F::IsIp, &[Text], Boolean),
        ("IsIPV4", F::IsIpv4, &[Text], Boolean),
        ("IsIPV6", F::IsIpv6, &[Text], Boolean),
        ("Sprintf", F::Format, &[Text], Text),
        ("JsonExtract", F::JsonExtract, &[Text, Text], Text),
        ("LogInfo", F::LogInfo, &[Text], Boolean),
    ]
};

/// Functions of CrowdSec that need more than a log, and what they need.
const UNSUPPORTED: &[(&str, &str)] = &[
    ("GetDecisionsCount", "it asks CrowdSec's own database"),
    ("GetDecisionsSinceCount", "it asks CrowdSec's own database"),
    ("GetActiveDecisionsCount", "it asks CrowdSec's own database"),
    ("GetActiveDecisionsTimeLeft", "it asks CrowdSec's own database"),
    ("LookupHost", "it asks a name server"),
    ("Hostname", "it asks the machine that CrowdSec runs on"),
    ("TimeNow", "a replay has only the times of the log"),
    ("CrowdsecCTI", "it asks a service"),
    ("Distance", "it needs the places of addresses, from a database"),
    ("MedianInterval", "functions of times are not supported"),
    ("GeoIPEnrich", "it needs a database of places"),
    ("GeoIPASNEnrich", "it needs a database of networks"),
    ("GeoIPRangeEnrich", "it needs a database of networks"),
];

/// A function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Upper,
    Lower,
    Length,
    TrimSpace,
    Trim,
    TrimPrefix,
    TrimSuffix,
    HasPrefix,
    HasSuffix,
    PathUnescape,
    QueryUnescape,
    PathEscape,
    QueryEscape,
    Replace,
    ReplaceAll,
    Split,
    Words,
    Join,
    WildcardMatch,
    ParseFloat,
    ToInteger,
    ToFloat,
    ToText,
    IpInRange,
    IsIp,
    IsIpv4,
    IsIpv6,
    Format,
    JsonExtract,
    LogInfo,
}

impl Function {
    pub(super) fn by_name(name: &str) -> Option<Self> {
        FUNCTIONS.iter().find(|entry| entry.0 == name).map(|entry| entry.1)
    }

    /// Why a function cannot be called.
    pub(super) fn refusal(name: &str) -> String {
        if let Some((_, reason)) = UNSUPPORTED.iter().find(|(known, _)| *known == name) {
            return format!("`{name}` is not supported: {reason}");
        }
        let names: Vec<&str> = FUNCTIONS
            .iter()
            .map(|entry| entry.0)
            .chain([
                "File",
                "RegexpInFile",
                "LookupFile",
                "any",
                "all",
                "none",
                "one",
                "count",
                "filter",
                "map",
            ])
            .collect();
        match nearest_name(name, names.iter().copied()) {
            Some(nearest) => {
                format!("the function `{name}` is not supported; did you mean `{nearest}`?")
            }
            None => format!(
                "the function `{name}` is not supported; docs/rules.md lists those that are"
            ),
        }
    }

    pub(super) fn kind(self) -> Kind {
        self.entry().map_or(Kind::Any, |entry| entry.3)
    }

    fn entry(self) -> Option<&'static (&'static str, Self, &'static [Kind], Kind)> {
        FUNCTIONS.iter().find(|entry| entry.1 == self)
    }

    /// Checks the number and the kinds of the arguments.
    pub(super) fn check(self, arguments: &[Part], range: &Range<usize>) -> Result<(), RuleError> {
        let Some((name, _, kinds, _)) = self.entry() else { return Ok(()) };
        let has_more = self == Self::Format && !arguments.is_empty();
        if arguments.len() != kinds.len() && !has_more {
            let (needed, given) = (kinds.len(), arguments.len());
            let message = format!("`{name}` has {needed} arguments, and {given} are given");
            return Err(RuleError::new(range.clone(), message));
        }
        for (argument, kind) in arguments.iter().zip(*kinds) {
            super::parse::require(argument, *kind)?;
        }
        Ok(())
    }

    /// The value for arguments; `queue_length` is the number of events in the bucket.
    ///
    /// # Errors
    /// If there is no value, or a text or list longer than `bytes_max`.
    pub(super) fn value<'a>(
        self,
        arguments: &[Value<'a>],
        queue_length: usize,
        bytes_max: usize,
    ) -> Result<Value<'a>, Reason> {
        let text = |index: usize| match arguments.get(index) {
            Some(Value::Text(text)) => Ok(&text[..]),
            other => {
                let found = other.map_or("nothing", |value| value.kind().noun());
                Err(Reason::from(format!("an argument is {found} instead of a text")))
            }
        };
        let owned = |text: Vec<u8>| Ok(Value::Text(text.into()));
        let boolean = |value| Ok(Value::Boolean(value));
        match self {
            Self::Upper => owned(mapped(text(0)?, u8::to_ascii_uppercase, char::to_uppercase)),
            Self::Lower => owned(mapped(text(0)?, u8::to_ascii_lowercase, char::to_lowercase)),
            Self::Length => length(arguments.first(), queue_length).map(Value::Integer),
            Self::TrimSpace => owned(characters::trimmed(text(0)?, char::is_whitespace).to_vec()),
            Self::Trim => {
                let set: Vec<char> = characters(text(1)?).map(|(character, _)| character).collect();
                owned(characters::trimmed(text(0)?, |character| set.contains(&character)).to_vec())
            }
            Self::TrimPrefix => {
                let all = text(0)?;
                owned(all.strip_prefix(text(1)?).unwrap_or(all).to_vec())
            }
            Self::TrimSuffix => {
                let all = text(0)?;
                owned(all.strip_suffix(text(1)?).unwrap_or(all).to_vec())
            }
            Self::HasPrefix => boolean(text(0)?.starts_with(text(1)?)),
            Self::HasSuffix => boolean(text(0)?.ends_with(text(1)?)),
            Self::PathUnescape => owned(unescaped(text(0)?, false)),
            Self::QueryUnescape => owned(unescaped(text(0)?, true)),
            Self::PathEscape => owned(escaped(text(0)?, b"-_.~$&+=:@", false)),
            Self::QueryEscape => owned(escaped(text(0)?, b"-_.~", true)),
            Self::Replace => {
                let count = arguments.get(3).and_then(Value::number).unwrap_or(-1.0);
                let count = if count < 0.0 { usize::MAX } else { count as usize };
                owned(replaced(text(0)?, text(1)?, text(2)?, count, bytes_max)?)
            }
            Self::ReplaceAll => {
                owned(replaced(text(0)?, text(1)?, text(2)?, usize::MAX, bytes_max)?)
            }
            Self::Split => list(split(text(0)?, text(1)?), bytes_max),
            Self::Words => list(characters::words(text(0)?).into_iter(), bytes_max),
            Self::Join => owned(joined(arguments.first(), text(1)?, bytes_max)?),
            Self::WildcardMatch => boolean(fits_wildcard(text(0)?, text(1)?)),
            // CrowdSec takes what is not a number as 0.
            Self::ParseFloat => Ok(Value::Float(parsed(text(0)?).unwrap_or(0.0))),
            Self::ToInteger => to_number(arguments.first())
                .map(|number| Value::Integer(number as i64))
                .ok_or_else(|| "it is not a number".into()),
            Self::ToFloat => to_number(arguments.first())
                .map(Value::Float)
                .ok_or_else(|| "it is not a number".into()),
            Self::ToText => owned(shown(arguments.first())),
            Self::IpInRange => boolean(is_in_range(text(0)?, text(1)?)),
            Self::IsIp => boolean(address(text(0)?).is_some()),
            Self::IsIpv4 => boolean(address(text(0)?).is_some_and(|ip| ip.is_ipv4())),
            Self::IsIpv6 => boolean(address(text(0)?).is_some_and(|ip| ip.is_ipv6())),
            Self::Format => {
                formatted(text(0)?, &arguments[1..], bytes_max).map(|text| Value::Text(text.into()))
            }
            Self::JsonExtract => owned(json::extract(text(0)?, text(1)?)),
            Self::LogInfo => boolean(true),
        }
    }
}
