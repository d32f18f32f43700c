//! Variables of ModSecurity that a line of an access log has.

use weir_core::PatternBudget;

use super::expression::{Expression, Search};
use crate::error::Reason;

/// The part of a request that a rule tests.
#[derive(Debug, Clone)]
pub(super) enum Source {
    Uri,
    /// The path and the query as they were sent.
    RawUri,
    RequestLine,
    Method,
    Protocol,
    Filename,
    Basename,
    QueryString,
    /// The values of the query's parameters.
    Arguments(Names),
    ArgumentNames(Names),
    /// A header, or another field of the log by its name in it.
    LogField(String),
    /// One of [`LOGGED_HEADERS`], if the log has it.
    Header(&'static str),
    /// Variables of the transaction.
    Transaction(Names),
    /// The last value that any rule matched so far.
    Matched,
    /// The values that the links of the chain matched so far.
    AllMatched,
}

/// The members of a collection that a variable means.
#[derive(Debug, Clone)]
pub(super) enum Names {
    All,
    /// The one with this name, in lower case.
    One(String),
    /// Those whose names an expression matches.
    Matching(Expression),
}

impl Names {
    /// # Errors
    /// If the name is an expression that is not valid.
    fn new(text: Option<&str>, budget: &PatternBudget) -> Result<Self, Reason> {
        let Some(text) = text else { return Ok(Self::All) };
        match text.strip_prefix('/').and_then(|text| text.strip_suffix('/')) {
            Some(expression) => {
                let expression = format!("(?i){expression}");
                Expression::new(&expression, false, budget).map(Self::Matching)
            }
            None => Ok(Self::One(text.to_ascii_lowercase())),
        }
    }

    /// The name, if only one is meant.
    pub(super) fn single(&self) -> Option<&str> {
        match self {
            Self::One(name) => Some(name),
            Self::All | Self::Matching(_) => None,
        }
    }

    pub(super) fn has(&self, name: &[u8]) -> bool {
        match self {
            Self::All => true,
            Self::One(one) => one.as_bytes().eq_ignore_ascii_case(name),
            Self::Matching(expression) => {
                matches!(expression.search(name, false), Search::Match(_))
            }
        }
    }
}

/// The field with the address of the client.
pub(super) const CLIENT: &str = "client";

/// The fields with the headers that most logs have.
pub(super) const LOGGED_HEADERS: [&str; 3] = ["user_agent", "referer", "host"];

/// A variable of a rule.
#[derive(Debug, Clone)]
pub(super) struct Variable {
    pub(super) source: Source,
    /// Whether the variable is the number of values.
    pub(super) is_count: bool,
    /// Whether its values are excluded from those of the others.
    pub(super) is_excluded: bool,
}

/// Reads the variables of a rule. Returns those that an access log has, and the others by name.
///
/// # Errors
/// The reason, if an access log has none of the variables, or lacks an excluded one.
pub(super) fn variables(
    text: &str,
    budget: &PatternBudget,
) -> Result<(Vec<Variable>, Vec<String>), Reason> {
    let (mut known, mut missing) = (Vec::new(), Vec::new());
    for text in split_variables(text) {
        match variable(text, budget) {
            Ok(variable) => known.push(variable),
            Err(_) if text.starts_with('!') => {}
            Err(_) if text == "REQUEST_HEADERS" => {
                missing.push(text.to_owned());
                known.extend(LOGGED_HEADERS.map(|field| Variable {
                    source: Source::Header(field),
                    is_count: false,
                    is_excluded: false,
                }));
            }
            Err(_) => missing.push(text.to_owned()),
        }
    }
    if known.iter().all(|variable| variable.is_excluded) {
        // One of them is enough to say which part of a request the rule is about.
        let first = missing.first().map_or("", |name| name.trim_start_matches('&'));
        let collection = first.split_once([':', '/']).map_or(first, |(collection, _)| collection);
        return Err(format!("`{collection}` is not in an access log").into());
    }
    Ok((known, missing))
}

/// The most bytes of an expression of names.
const NAME_EXPRESSION_BYTES_MAX: usize = 1_000;

/// The variables of a list, without the space around them. An expression of names, between
/// slashes, may have the mark that separates them.
pub(super) fn split_variables(text: &str) -> Vec<&str> {
    let (mut variables, mut rest) = (Vec::new(), text);
    loop {
        let end = rest.find(['|', ',']).unwrap_or(rest.len());
        let end = rest[..end].find(':').and_then(|at| expression_end(rest, at + 1)).unwrap_or(end);
        variables.push(rest[..end].trim());
        match rest.get(end + 1..) {
            Some(after) => rest = after,
            None => return variables,
        }
    }
}

/// The end of the expression of names, such as `/^a|b$/`, that begins at `start`.
fn expression_end(text: &str, start: usize) -> Option<usize> {
    let is_path = text.get(..start)?.trim_start_matches(['!', '&']).eq_ignore_ascii_case("XML:");
    let quote = text[start..].starts_with('\'');
    let opening = start + usize::from(quote);
    if is_path || !text[opening..].starts_with('/') {
        return None;
    }
    let bytes = text.as_bytes();
    let last = bytes.len().min(opening + NAME_EXPRESSION_BYTES_MAX);
    let ends = |at: usize| matches!(bytes.get(at), None | Some(b'|' | b','));
    let closes = |at: &usize| {
        let after = at + 1 + usize::from(quote && bytes.get(at + 1) == Some(&b'\''));
        bytes[*at] == b'/' && bytes[at - 1] != b'\\' && ends(after)
    };
    let closing = (opening + 1..last).find(closes)?;
    Some(closing + 1 + usize::from(quote))
}

/// Reads a variable.
///
/// # Errors
/// The reason, if an access log does not have it.
pub(super) fn variable(whole: &str, budget: &PatternBudget) -> Result<Variable, Reason> {
    let (is_excluded, text) = flag(whole, '!');
    let (is_count, text) = flag(text, '&');
    let (name, part) = match text.split_once(':') {
        Some((name, part)) => (name, Some(part.trim_matches('\''))),
        None => (text, None),
    };
    let source = match (name.to_ascii_uppercase().as_str(), part) {
        ("REQUEST_URI", None) => Source::Uri,
        ("REQUEST_URI_RAW", None) => Source::RawUri,
        ("REQUEST_LINE", None) => Source::RequestLine,
        ("REQUEST_METHOD", None) => Source::Method,
        ("REQUEST_PROTOCOL", None) => Source::Protocol,
        ("REQUEST_FILENAME", None) => Source::Filename,
        ("REQUEST_BASENAME", None) => Source::Basename,
        ("QUERY_STRING", None) => Source::QueryString,
        ("ARGS" | "ARGS_GET", part) => Source::Arguments(Names::new(part, budget)?),
        ("ARGS_NAMES" | "ARGS_GET_NAMES", part) => Source::ArgumentNames(Names::new(part, budget)?),
        ("REMOTE_ADDR", None) => Source::LogField(CLIENT.to_owned()),
        ("REMOTE_USER", None) => Source::LogField("user".to_owned()),
        ("REQUEST_HEADERS", Some(header)) => Source::LogField(header_field(header)),
        ("RESPONSE_STATUS", None) => Source::LogField("status".to_owned()),
        ("TX", part) => Source::Transaction(Names::new(part, budget)?),
        ("MATCHED_VAR", None) => Source::Matched,
        ("MATCHED_VARS", None) => Source::AllMatched,
        _ => return Err(format!("{text} is not in an access log").into()),
    };
    Ok(Variable { source, is_count, is_excluded })
}

fn flag(text: &str, mark: char) -> (bool, &str) {
    match text.strip_prefix(mark) {
        Some(text) => (true, text),
        None => (false, text),
    }
}

fn header_field(name: &str) -> String {
    match name.to_ascii_lowercase().replace('-', "_").as_str() {
        "host" => "host".to_owned(),
        "user_agent" => "user_agent".to_owned(),
        "referer" => "referer".to_owned(),
        other => format!("http_{other}"),
    }
}

/// The field that a source needs.
pub(super) fn needed_field(source: &Source) -> Option<&str> {
    Some(match source {
        source if source.is_derived() => return None,
        Source::Header(name) => name,
        Source::LogField(name) => name,
        Source::Method => "method",
        Source::Protocol => "protocol",
        _ => "path",
    })
}

impl Source {
    /// Whether it is computed by the rules, and not a part of the request.
    pub(super) fn is_derived(&self) -> bool {
        matches!(self, Self::Transaction(_) | Self::Matched | Self::AllMatched)
    }

    /// Whether an exclusion of this source excludes a member of another one.
    pub(super) fn covers(&self, other: &Self, name: &[u8]) -> bool {
        match (self, other) {
            (Self::Arguments(names), Self::Arguments(_))
            | (Self::ArgumentNames(names), Self::ArgumentNames(_)) => names.has(name),
            (Self::LogField(field), Self::LogField(other)) => field == other,
            (Self::LogField(field), Self::Header(other)) => field == other,
            (Self::Header(field), Self::Header(other)) => field == other,
            (Self::Header(field), Self::LogField(other)) => field == other,
            (Self::Arguments(_) | Self::ArgumentNames(_) | Self::Transaction(_), _) => false,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::split_variables;

    #[test]
    fn expressions_of_names_may_have_the_mark_between_variables() {
        for (text, expected) in [
            ("ARGS|!ARGS:q , &TX:a", &["ARGS", "!ARGS:q", "&TX:a"][..]),
            ("!ARGS:/^(?:a|b,c)$/|XML:/*|ARGS", &["!ARGS:/^(?:a|b,c)$/", "XML:/*", "ARGS"]),
            (r"ARGS:'/a\/|b/'|TX:/c/", &[r"ARGS:'/a\/|b/'", "TX:/c/"]),
            ("REQUEST_COOKIES:/x|ARGS", &["REQUEST_COOKIES:/x", "ARGS"]),
            ("ARGS:/", &["ARGS:/"]),
            ("ARGS:'/é/'é|", &["ARGS:'/é/'é", ""]),
            ("", &[""]),
        ] {
            assert_eq!(split_variables(text), expected, "{text}");
        }
    }
}
