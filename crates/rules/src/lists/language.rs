//! The lines of a list.
//!
//! ```text
//! line    = ( "allow" | "deny" ) ( "all" | network | "where" condition ) [ ";" ]
//!         | network [ comment ]
//! network = address [ "/" length ]
//! comment = ( "#" | ";" | "//" ) text
//! ```

use std::net::IpAddr;

use weir_core::PatternBudget;

use crate::condition::RuleCondition;
use crate::error::{Reason, RuleError};
use crate::networks::Network;

/// The entry of one line.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) denies: bool,
    pub(super) matcher: Matcher,
}

/// The requests that an entry matches.
#[derive(Debug)]
pub(super) enum Matcher {
    All,
    Network(Network),
    Condition(Box<RuleCondition>),
}

/// The most mistakes that are listed; the others are counted.
const MISTAKES_MAX: usize = 20;

/// The number of lines that are examined to recognise a list.
const LINES_LOOKED_AT: usize = 20;

/// Whether a text is a list: most of its first lines are list entries.
pub(crate) fn looks_like(text: &str) -> bool {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let (mut valid, mut all) = (0, 0);
    for line in lines.filter(|line| !is_comment(line)).take(LINES_LOOKED_AT) {
        let first = line.split_whitespace().next().unwrap_or_default();
        let is_directive = matches!(first.trim_end_matches(';'), "allow" | "deny");
        valid += usize::from(is_directive || network(without_comment(line)).is_ok());
        all += 1;
    }
    valid * 2 > all
}

/// Reads a list. Lines that are neither a network nor begin with `allow` or `deny` are returned as
/// mistakes, because long lists have some.
///
/// # Errors
/// If an `allow` or `deny` line is not valid, or no line is.
pub(super) fn parse(
    text: &str,
    budget: &PatternBudget,
) -> Result<(Vec<Entry>, Vec<RuleError>), RuleError> {
    let (mut entries, mut mistakes) = (Vec::new(), Vec::new());
    let (mut start, mut others) = (0, 0_u64);
    for whole in text.split_inclusive('\n') {
        let line = whole.trim();
        let at = start + (whole.len() - whole.trim_start().len());
        start += whole.len();
        if line.is_empty() || is_comment(line) {
            continue;
        }
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match word.trim_end_matches(';') {
            word @ ("allow" | "deny") => {
                let rest_at = at + line.len() - rest.trim_start().len();
                let matcher = matcher(rest.trim_start(), rest_at, budget)?;
                entries.push(Entry { denies: word == "deny", matcher });
            }
            _ => match network(without_comment(line)) {
                Ok(network) => {
                    entries.push(Entry { denies: true, matcher: Matcher::Network(network) });
                }
                Err(_) if mistakes.len() >= MISTAKES_MAX => others += 1,
                Err(message) => mistakes.push(RuleError::new(at..at + line.len(), message)),
            },
        }
    }
    if others > 0 {
        let message = format!("{others} more lines are not networks or addresses");
        mistakes.push(RuleError::new(text.len()..text.len(), message));
    }
    match (entries.is_empty(), mistakes.is_empty()) {
        (true, true) => Err(RuleError::new(
            0..0,
            "the list is empty; write a network in each line, such as 192.0.2.0/24",
        )),
        (true, false) => Err(mistakes.remove(0)),
        _ => Ok((entries, mistakes)),
    }
}

fn is_comment(line: &str) -> bool {
    line.starts_with(['#', ';']) || line.starts_with("//")
}

/// Removes the comment of a line.
fn without_comment(line: &str) -> &str {
    let end = ["#", ";", "//"].iter().filter_map(|mark| line.find(mark)).min();
    line[..end.unwrap_or(line.len())].trim_end()
}

/// Reads the requests that an `allow` or `deny` line matches.
fn matcher(text: &str, at: usize, budget: &PatternBudget) -> Result<Matcher, RuleError> {
    let error = |length: usize, message: String| {
        RuleError::new(at.saturating_sub(usize::from(length == 0))..at + length, message)
    };
    if let Some(condition) = text.strip_prefix("where").filter(|it| it.starts_with(' ')) {
        let start = at + text.len() - condition.len();
        let condition = RuleCondition::parse(condition, budget);
        let condition = condition.map_err(|error| error.moved_by(start))?;
        return Ok(Matcher::Condition(Box::new(condition)));
    }
    let text = without_comment(text);
    match text {
        "" => Err(error(0, "`all`, a network or `where` and a condition is missing".to_owned())),
        "all" => Ok(Matcher::All),
        text => network(text).map(Matcher::Network).map_err(|message| {
            error(text.len(), format!("{message}; write one, `all`, or `where` and a condition"))
        }),
    }
}

/// Reads a network or an address.
fn network(text: &str) -> Result<Network, Reason> {
    let (address, length) = match text.split_once('/') {
        Some((address, length)) => (address, Some(length)),
        None => (text, None),
    };
    let not_network = || Reason::from(format!("`{text}` is not a network or an address"));
    let address: IpAddr = address.parse().map_err(|_| not_network())?;
    let Some(length) = length else { return Ok(Network::of(address)) };
    let (family, most) = if address.is_ipv4() { ("IPv4", 32) } else { ("IPv6", 128) };
    let number = length.parse::<u8>().ok().filter(|_| !length.starts_with('+'));
    number
        .and_then(|length| Network::new(address, length))
        .ok_or_else(|| format!("`/{length}` is not a valid {family} prefix (0 to {most})").into())
}

#[cfg(test)]
mod tests {
    use weir_core::PatternBudget;

    use proptest::prelude::*;

    use super::{looks_like, parse};

    #[test]
    fn lists_are_recognised() {
        for text in ["# x\n192.0.2.0/24", "2001:db8::1 ; why", "deny all;", "allow where a=b"] {
            assert!(looks_like(text), "{text}");
        }
        for text in ["", "192.0.2.7 - - [x] \"GET\"", "denyall", "limit 5 in 1m", "# 192.0.2.7"] {
            assert!(!looks_like(text), "{text}");
        }
    }

    #[test]
    fn mistakes_in_a_list_are_named_at_their_lines() {
        let text = "192.0.2.0/24 # a\n\n10.0.0.0/40\n; b\nx\n2001:db8::/32 ; c\n192.0.2.7//d\n";
        let (entries, mistakes) =
            parse(text, &PatternBudget::default()).expect("some lines are valid");
        assert_eq!(entries.len(), 3);
        let named: Vec<_> = mistakes.iter().map(|it| (it.line(text), &*it.message)).collect();
        let [first, second] = &named[..] else { panic!("{named:?}") };
        assert_eq!(*first, (3, "`/40` is not a valid IPv4 prefix (0 to 32)"));
        assert_eq!(*second, (5, "`x` is not a network or an address"));
        let (_, mistakes) =
            parse(&format!("::1\n{}", "x\n".repeat(100)), &PatternBudget::default())
                .expect("one is valid");
        assert_eq!(mistakes.len(), 21);
        assert_eq!(mistakes[20].message, "80 more lines are not networks or addresses");
    }

    #[test]
    fn mistakes_in_directives_are_refused_at_their_place() {
        for (text, place, message) in [
            ("", "", "the list is empty"),
            ("deny", "", "is missing"),
            ("deny;", "", "is missing"),
            ("allow 10.0.0.0/8;\ndeny 10.0.0.0/40;", "10.0.0.0/40", "`/40` is not a valid"),
            ("deny al;", "al;", "`al` is not a network or an address; write one, `all`"),
            ("deny where status==404", "==404", "`==` is not an operator"),
            ("x\ny", "x", "`x` is not a network"),
        ] {
            let error = parse(text, &PatternBudget::default()).expect_err(text);
            assert!(error.message.contains(message), "{text}: {}", error.message);
            if !place.is_empty() {
                assert_eq!(Some(error.range.start), text.find(place), "{text}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_text_is_read_or_refused(text in "((deny|allow) )?[a-z0-9./:;#é \n]{0,40}") {
            looks_like(&text);
            if let Err(error) = parse(&text, &PatternBudget::default()) {
                prop_assert!(error.range.start <= text.len());
                error.excerpt(&text);
            }
        }
    }
}
