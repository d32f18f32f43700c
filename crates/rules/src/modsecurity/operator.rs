//! Operators of ModSecurity.

use std::net::IpAddr;

use regex::bytes::RegexBuilder;
use weir_core::{AddressBlock, PatternBudget};

use crate::bounded_regex::BoundedRegex;
use crate::error::Reason;
use crate::files::RuleFiles;

/// The largest size of a compiled expression, in bytes.
const REGEX_BYTES_MAX: usize = 4 << 20;

/// A test of a value.
#[derive(Debug, Clone)]
pub(super) enum Operator {
    Matches(BoundedRegex),
    Contains(Vec<u8>),
    Equals(Vec<u8>),
    BeginsWith(Vec<u8>),
    EndsWith(Vec<u8>),
    /// The value is a part of this text.
    Within(Vec<u8>),
    InNetworks(Vec<AddressBlock>),
    /// The value as a number lies between these.
    Between(i64, i64),
    /// A comparison with a variable of the transaction, by the name of the operator.
    Variable(String, String),
    Always,
    Never,
}

impl Operator {
    /// An operator by its name without `@`.
    ///
    /// # Errors
    /// With the reason if it is not known, or its argument is not valid.
    pub(super) fn new(name: &str, argument: &str, files: &RuleFiles) -> Result<Self, Reason> {
        let budget = files.budget();
        let bytes = || argument.as_bytes().to_vec();
        let number =
            || argument.trim().parse::<i64>().map_err(|_| format!("`{argument}` is not a number"));
        Ok(match name.to_ascii_lowercase().as_str() {
            "rx" => Self::Matches(expression(&format!("(?s-u){argument}"), budget)?),
            "pm" => words(argument.split_whitespace(), budget)?,
            "pmfromfile" | "pmf" => {
                let name = argument.rsplit('/').next().unwrap_or(argument);
                let text = files
                    .text(name)
                    .ok_or_else(|| format!("the file `{name}` was not given with the rule"))?;
                let lines = text.lines().map(str::trim);
                let kept = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
                words(kept, budget)?
            }
            "contains" | "strmatch" => Self::Contains(bytes()),
            "containsword" => {
                let word = regex::escape(argument);
                Self::Matches(expression(&format!("(?-u)(?:^|\\W){word}(?:\\W|$)"), budget)?)
            }
            "streq" => Self::Equals(bytes()),
            "beginswith" => Self::BeginsWith(bytes()),
            "endswith" => Self::EndsWith(bytes()),
            "within" => Self::Within(bytes()),
            "ipmatch" => Self::InNetworks(networks(argument)?),
            "eq" => Self::Between(number()?, number()?),
            "ge" => Self::Between(number()?, i64::MAX),
            "gt" => Self::Between(number()?.saturating_add(1), i64::MAX),
            "le" => Self::Between(i64::MIN, number()?),
            "lt" => Self::Between(i64::MIN, number()?.saturating_sub(1)),
            "unconditionalmatch" => Self::Always,
            "nomatch" => Self::Never,
            _ => return Err(format!("the operator @{name} is not supported").into()),
        })
    }

    pub(super) fn accepts(&self, value: &[u8]) -> bool {
        let contains = |whole: &[u8], part: &[u8]| {
            part.is_empty() || whole.windows(part.len()).any(|window| window == part)
        };
        match self {
            Self::Matches(regex) => regex.is_match(value),
            Self::Contains(text) => contains(value, text),
            Self::Equals(text) => value == text,
            Self::BeginsWith(text) => value.starts_with(text),
            Self::EndsWith(text) => value.ends_with(text),
            Self::Within(text) => contains(text, value),
            Self::InNetworks(networks) => AddressBlock::any_contains(networks, value),
            Self::Between(min, max) => {
                let number = std::str::from_utf8(value).ok().and_then(|it| it.trim().parse().ok());
                (*min..=*max).contains(&number.unwrap_or(0))
            }
            Self::Always => true,
            Self::Variable(..) | Self::Never => false,
        }
    }
}

/// An operator that finds one of some texts, without regard to upper and lower case.
fn words<'t>(
    texts: impl Iterator<Item = &'t str>,
    budget: &PatternBudget,
) -> Result<Operator, Reason> {
    let texts: Vec<String> = texts.map(regex::escape).collect();
    if texts.is_empty() {
        Ok(Operator::Never)
    } else {
        Ok(Operator::Matches(expression(&format!("(?i-u){}", texts.join("|")), budget)?))
    }
}

fn expression(text: &str, budget: &PatternBudget) -> Result<BoundedRegex, Reason> {
    let builder = &mut RegexBuilder::new(text);
    let built = BoundedRegex::build(builder, text.len(), REGEX_BYTES_MAX, budget);
    built.map_err(|error| {
        let text = error.to_string();
        let last = text.lines().last().unwrap_or_default().trim();
        format!("the expression cannot be translated: {}", last.trim_start_matches("error: "))
            .into()
    })
}

fn networks(text: &str) -> Result<Vec<AddressBlock>, Reason> {
    let network = |text: &str| {
        let address = || text.parse::<IpAddr>().ok().map(AddressBlock::of);
        AddressBlock::parse(text)
            .or_else(address)
            .ok_or_else(|| Reason::from(format!("`{text}` is not a network or an address")))
    };
    let pieces = text.split([',', ' ']).map(str::trim).filter(|piece| !piece.is_empty());
    pieces.map(network).collect()
}

#[cfg(test)]
mod tests {
    use super::Operator;
    use crate::files::RuleFiles;

    #[test]
    fn operators_are_those_of_the_manual() {
        let mut files = RuleFiles::default();
        files.add("bad.data".to_owned(), "# bad\nnikto\n\nsqlmap/1\n".to_owned());
        for (name, argument, accepted, refused) in [
            ("pmFromFile", "x/bad.data", "a SQLMAP/1.2", "# bad"),
            ("rx", "^/a.b$", "/a\nb", "/a.b/"),
            ("pm", "Nikto sqlmap", "x NIKTO/2", "nik to"),
            ("contains", "../", "/../x", "/..x"),
            ("containsWord", "union", "a union b", "reunions"),
            ("streq", "GET", "GET", "get"),
            ("beginsWith", "/admin", "/admin/x", "/x/admin"),
            ("endsWith", ".php", "/a.php", "/a.php5"),
            ("within", "GET POST", "POST", "PUT"),
            ("ipMatch", "192.0.2.0/24,2001:db8::1", "192.0.2.9", "192.0.3.9"),
            ("ge", "5", "5", "4"),
            ("lt", "5", "4", "5"),
            ("unconditionalMatch", "", "x", ""),
        ] {
            let operator = Operator::new(name, argument, &files).expect(name);
            assert!(operator.accepts(accepted.as_bytes()), "{name} {accepted}");
            let always = name == "unconditionalMatch";
            assert!(always || !operator.accepts(refused.as_bytes()), "{name} {refused}");
        }
        for (name, argument, reason) in [
            ("detectSQLi", "", "not supported"),
            ("rx", "(?<!a)b", "cannot be translated"),
            ("rx", "(", "cannot be translated"),
            ("pmFromFile", "other.data", "the file `other.data` was not given"),
            ("ge", "x", "not a number"),
            ("ipMatch", "x", "not a network"),
        ] {
            let error = Operator::new(name, argument, &files).expect_err(name);
            assert!(error.to_string().contains(reason), "{name}: {error}");
        }
    }
}
