//! Rates in plain words, such as `max 5 req/s per IP`: not a language that is read, but what is
//! meant can be written in Weir's own.

use crate::windows::Limit;

/// The number of characters of a text that are looked at.
const CHARACTERS_MAX: usize = 200;

/// Words for a unit of time, and how a limit of Weir's own language writes it.
const UNITS: [(&[&str], &str); 4] = [
    (&["s", "sec", "second", "seconds"], "1s"),
    (&["m", "min", "minute", "minutes"], "1m"),
    (&["h", "hr", "hour", "hours"], "1h"),
    (&["d", "day", "days"], "1d"),
];

/// Words for what is counted, and for "in each"; both stand between a number and its unit of time.
const COUNTED: [&str; 7] = ["r", "req", "reqs", "request", "requests", "hit", "hits"];
const IN_EACH: [&str; 6] = ["/", "per", "a", "an", "each", "every"];

/// A rate of a text in plain words, as a limit for each client in Weir's own language.
pub(crate) fn limit_of(text: &str) -> Option<String> {
    let head: String = text.chars().take(CHARACTERS_MAX).collect();
    let words = words(&head.to_ascii_lowercase());
    (0..words.len()).find_map(|at| rate_at(&words[at..]))
}

fn rate_at(words: &[String]) -> Option<String> {
    let (count, rest) = words.split_first()?;
    let count = count.parse::<u64>().ok().filter(|count| (1..=Limit::COUNT_MAX).contains(count))?;
    let unit = match rest.first()?.as_str() {
        "rps" => "1s",
        "rpm" => "1m",
        _ => {
            let is_between = |word: &&String| is_in_each(word) || COUNTED.contains(&word.as_str());
            let between = rest.iter().take_while(is_between).count();
            let is_rate = rest[..between].iter().any(|word| is_in_each(word));
            unit_of(rest.get(between)?).filter(|_| is_rate)?
        }
    };
    let requests = if count == 1 { "request" } else { "requests" };
    Some(format!("limit {count} {requests} in {unit} by client"))
}

fn is_in_each(word: &str) -> bool {
    IN_EACH.contains(&word)
}

fn unit_of(word: &str) -> Option<&'static str> {
    UNITS.iter().find(|(names, _)| names.contains(&word)).map(|(_, unit)| *unit)
}

/// Numbers, words of letters, and slashes.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut last = None;
    for next in text.chars() {
        let kind = match next {
            '0'..='9' => Some(0),
            'a'..='z' => Some(1),
            '/' => Some(2),
            _ => None,
        };
        match words.last_mut().filter(|_| kind.is_some() && kind == last && kind != Some(2)) {
            Some(word) => word.push(next),
            None if kind.is_some() => words.push(next.into()),
            None => {}
        }
        last = kind;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::limit_of;
    use crate::files::RuleFiles;
    use crate::parse::parse_rules;

    #[test]
    fn rates_in_plain_words_are_written_as_limits() {
        for (text, limit) in [
            ("100 requests per minute", "limit 100 requests in 1m by client"),
            ("max 5 req/s per IP", "limit 5 requests in 1s by client"),
            ("60rpm", "limit 60 requests in 1m by client"),
            ("at most 10 r/s", "limit 10 requests in 1s by client"),
            ("1 hit every hour", "limit 1 request in 1h by client"),
            ("limit: 20/day", "limit 20 requests in 1d by client"),
            ("2 of 3 hits per minute", "limit 3 requests in 1m by client"),
        ] {
            assert_eq!(limit_of(text).as_deref(), Some(limit), "{text}");
            parse_rules(limit, "name", None, &RuleFiles::default()).expect(limit);
        }
    }

    #[test]
    fn other_numbers_are_no_rates() {
        let texts =
            ["", "5", "10 s", "5 requests", "0 requests per minute", "10.0.0.0/8", "HTTP/1.1 m"];
        for text in texts.into_iter().chain(["99999999999999999999/s"]) {
            assert_eq!(limit_of(text), None, "{text}");
        }
    }
}
