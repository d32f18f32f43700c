//! `http_req_rate` of HAProxy: a stick table, what is tracked in it, and the rate that is denied.

use super::{Preset, client, duration_ns, header_field};
use crate::condition::RuleCondition;
use crate::error::RuleError;
use crate::windows::{Algorithm, Key, KeyPart, Limit, Word, words};

/// Whether a text stores a rate of requests in a stick table.
pub(super) fn looks_like(text: &str) -> bool {
    text.contains("http_req_rate(") && text.contains("stick-table")
}

/// Milliseconds are the unit of a number alone.
const PLAIN_NS: u64 = 1_000_000;

/// What a counter tracks.
struct Track {
    counter: String,
    key: Key,
    condition: Option<RuleCondition>,
}

/// What is read of a configuration.
#[derive(Default)]
struct Configuration<'t> {
    window_ns: Option<u64>,
    tracks: Vec<Track>,
    /// The names of conditions with the counters and rates that they are about.
    acls: Vec<(&'t str, (String, u64))>,
    denied: Vec<(String, u64)>,
    notes: Vec<RuleError>,
}

/// Reads a configuration.
///
/// # Errors
/// If it has no table, nothing is tracked or denied, or a part is not valid.
pub(super) fn parse(text: &str) -> Result<Vec<Preset>, RuleError> {
    let mut configuration = Configuration::default();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let words = words(line, start);
        start += line.len();
        configuration.read(&words)?;
    }
    configuration.presets()
}

impl<'t> Configuration<'t> {
    fn read(&mut self, line: &[Word<'t>]) -> Result<(), RuleError> {
        let Some(first) = line.first() else { return Ok(()) };
        let second = line.get(1).map_or("", |word| word.text);
        match (first.text, second) {
            ("stick-table", _) => self.read_table(line),
            ("acl", name) => {
                if let Some(rate) = rate(&line[2..])? {
                    self.acls.push((name, rate));
                }
                Ok(())
            }
            ("http-request" | "tcp-request", _) => {
                let action = line.iter().find(|word| word.text.contains("track-sc"));
                match action {
                    Some(action) => self.read_track(line, *action),
                    None => self.read_denied(line),
                }
            }
            _ => Ok(()),
        }
    }

    fn read_table(&mut self, line: &[Word<'_>]) -> Result<(), RuleError> {
        let Some(store) = line.iter().find(|word| word.text.contains("http_req_rate(")) else {
            return Ok(());
        };
        let from = store.text.find("http_req_rate(").unwrap_or(0) + "http_req_rate(".len();
        let inner = store.text[from..].split(')').next().unwrap_or_default();
        let window_ns = duration_ns(inner, PLAIN_NS)
            .ok_or_else(|| store.error(format!("`{inner}` is not a period; write 10s")))?;
        let after = |name: &str| {
            let at = line.iter().position(|word| word.text == name)?;
            line.get(at + 1).copied()
        };
        if let Some(expire) = after("expire")
            && duration_ns(expire.text, PLAIN_NS).is_none_or(|it| it < 2 * window_ns)
        {
            let message = "an entry that expires before two periods are over is not followed";
            self.notes.push(expire.error(message));
        }
        if self.window_ns.replace(window_ns).is_some() {
            self.notes.push(store.error("of several tables, the last is used for all counters"));
        }
        Ok(())
    }

    fn read_track(&mut self, line: &[Word<'_>], action: Word<'_>) -> Result<(), RuleError> {
        let counter = action.text.split("track-sc").nth(1).unwrap_or_default().to_owned();
        let at = line.iter().position(|word| word.start == action.start).unwrap_or(0);
        let word = line.get(at + 1).ok_or_else(|| action.error("what is tracked is missing"))?;
        let key = key(*word)?;
        let condition = self.condition(line);
        self.tracks.push(Track { counter, key, condition });
        Ok(())
    }

    /// The condition after `if`, if it can be told from a log.
    fn condition(&mut self, line: &[Word<'_>]) -> Option<RuleCondition> {
        let at = line.iter().position(|word| matches!(word.text, "if" | "unless"))?;
        let words: Vec<&str> =
            line[at + 1..].iter().map(|word| word.text).filter(|it| !"{}".contains(it)).collect();
        let condition = match (line[at].text, &words[..]) {
            ("if", ["path_beg", path]) => Some(format!("path^='{path}'")),
            ("if", ["path", path]) => Some(format!("path='{path}'")),
            ("if", ["method", method]) => Some(format!("method='{method}'")),
            _ => None,
        };
        let condition = condition.and_then(|text| RuleCondition::parse(&text).ok());
        if condition.is_none() {
            let message = "the condition is not followed: all requests are tracked";
            self.notes.push(line[at].error(message));
        }
        condition
    }

    fn read_denied(&mut self, line: &[Word<'_>]) -> Result<(), RuleError> {
        let denies = |word: &Word<'_>| {
            matches!(word.text, "deny" | "reject" | "tarpit" | "return" | "silent-drop")
        };
        if !line.iter().any(denies) {
            return Ok(());
        }
        let Some(at) = line.iter().position(|word| word.text == "if") else { return Ok(()) };
        let named = |word: &Word<'_>| self.acls.iter().find(|(name, _)| *name == word.text);
        let found = match line[at + 1..].iter().find_map(named) {
            Some((_, rate)) => Some(rate.clone()),
            None => rate(&line[at + 1..])?,
        };
        let conditions = line[at + 1..].iter().filter(|word| word.text == "{").count();
        if found.is_some() && (conditions > 1 || line.iter().any(|word| word.text == "or")) {
            self.notes.push(line[at].error("only the rate of these conditions is followed"));
        }
        self.denied.extend(found);
        Ok(())
    }

    fn presets(mut self) -> Result<Vec<Preset>, RuleError> {
        let missing = |what: &str| RuleError::new(0..0, format!("there is no {what} in it"));
        let window_ns = self
            .window_ns
            .ok_or_else(|| missing("`stick-table` that stores http_req_rate(10s)"))?;
        if self.tracks.is_empty() {
            return Err(missing("`http-request track-sc0 src`"));
        }
        let mut presets = Vec::new();
        for (counter, count) in std::mem::take(&mut self.denied) {
            let Some(track) = self.tracks.iter().find(|track| track.counter == counter) else {
                continue;
            };
            let limit = Limit {
                name: Some(format!("sc{counter}")),
                count,
                window_ns,
                burst: count,
                algorithm: Algorithm::TwoPeriods,
                key: track.key.clone(),
                condition: track.condition.clone(),
            };
            presets.push(Preset { limit, notes: std::mem::take(&mut self.notes) });
        }
        match presets.is_empty() {
            true => Err(missing(
                "`http-request deny if { sc_http_req_rate(0) gt 20 }` for a counter that is tracked",
            )),
            false => Ok(presets),
        }
    }
}

/// The counter of `sc_http_req_rate(0) gt 20` or `sc0_http_req_rate gt 20`, and the rate up to which
/// requests pass.
fn rate(words: &[Word<'_>]) -> Result<Option<(String, u64)>, RuleError> {
    let at = words.iter().position(|word| word.text.contains("http_req_rate"));
    let Some(at) = at else { return Ok(None) };
    let fetch = words[at];
    let inner = fetch.text.split_once('(').map(|(_, inner)| inner.trim_end_matches(')'));
    let counter = match inner {
        Some(inner) => inner.split(',').next().unwrap_or_default(),
        None => fetch.text.trim_start_matches("sc").split('_').next().unwrap_or_default(),
    };
    let (Some(operator), Some(number)) = (words.get(at + 1), words.get(at + 2)) else {
        return Err(fetch.error("the rate that is denied is missing; write `gt 20` after this"));
    };
    let value: u64 =
        number.text.parse().ok().filter(|it| *it <= Limit::COUNT_MAX).ok_or_else(|| {
            number.error(format!("`{}` is not a number of requests", number.text))
        })?;
    match operator.text {
        "gt" => Ok(Some((counter.to_owned(), value))),
        "ge" => Ok(Some((counter.to_owned(), value.saturating_sub(1)))),
        other => Err(operator.error(format!("`{other}` is not supported; write `gt` or `ge`"))),
    }
}

/// The key of an expression that is tracked.
fn key(word: Word<'_>) -> Result<Key, RuleError> {
    let argument = |prefix: &str| word.text.strip_prefix(prefix)?.strip_suffix(')');
    let parts = match word.text {
        "src" => client(),
        "path" => vec![KeyPart::Field("path".to_owned())],
        "method" => vec![KeyPart::Field("method".to_owned())],
        text => {
            let mask = argument("src,ipmask(").map(|bits| bits.split(',').collect::<Vec<_>>());
            let header = argument("req.hdr(").or(argument("hdr("));
            let bits = |text: &&str, max: u8| text.parse().ok().filter(|bits| *bits <= max);
            match (mask.as_deref(), header) {
                (_, Some(name)) => vec![KeyPart::Field(header_field(name))],
                (Some([v4, rest @ ..]), _) => {
                    let v6 = rest.first().map_or(Some(128), |v6| bits(v6, 128));
                    let (Some(v4), Some(v6)) = (bits(v4, 32), v6) else {
                        return Err(word.error("write a mask as `ipmask(24)` or `ipmask(24,64)`"));
                    };
                    vec![KeyPart::Network { field: "client".to_owned(), v4, v6 }]
                }
                _ => {
                    return Err(word.error(format!(
                        "what `{text}` tracks cannot be told from a log; src, src,ipmask(24), \
                         req.hdr(NAME), path and method can"
                    )));
                }
            }
        }
    };
    Ok(Key(parts))
}

#[cfg(test)]
mod tests {
    use super::{looks_like, parse};

    #[test]
    fn a_rate_is_a_limit() {
        for (lines, expected) in [
            (
                "http-request track-sc0 src\nhttp-request deny deny_status 429 if { sc_http_req_rate(0) gt 20 }",
                "limit 20 requests in 10s by client as two-periods",
            ),
            (
                "http-request track-sc1 src,ipmask(24,64) if { path_beg /api }\nacl fast sc1_http_req_rate ge 21\nhttp-request deny if fast",
                "limit 20 requests in 10s by client/24/64 where path^=\"/api\" as two-periods",
            ),
            (
                "tcp-request content track-sc2 req.hdr(X-Key) table t\nhttp-request tarpit if { sc_http_req_rate(2,t) gt 5 }",
                "limit 5 requests in 10s by http_x_key as two-periods",
            ),
        ] {
            let text =
                format!("stick-table type ip size 1m expire 30s store http_req_rate(10s)\n{lines}");
            assert!(looks_like(&text));
            let presets = parse(&text).expect(&text);
            assert_eq!(presets[0].limit.to_string(), expected);
            assert!(presets[0].notes.is_empty(), "{text}");
        }
    }

    #[test]
    fn mistakes_are_refused_at_their_place() {
        let table = "stick-table type ip size 1m expire 5s store http_req_rate(10s)\n";
        for (lines, place, message) in [
            ("http-request track-sc0 src", "", "there is no `http-request deny"),
            ("", "", "track-sc0 src"),
            ("http-request track-sc0 dst", "dst", "cannot be told from a log"),
            ("http-request deny if { sc_http_req_rate(0) gt x }", "x }", "`x` is not a number"),
            ("http-request deny if { sc_http_req_rate(0) lt 5 }", "lt", "`lt` is not supported"),
        ] {
            let text = format!("{table}{lines}");
            let error = parse(&text).err().expect(lines);
            assert!(error.message.contains(message), "{lines}: {}", error.message);
            if !place.is_empty() {
                assert_eq!(Some(error.range.start), text.rfind(place), "{lines}");
            }
        }
        let text = format!(
            "{table}http-request track-sc0 src unless x\nhttp-request deny if {{ sc_http_req_rate(0) gt 5 }}"
        );
        let notes: Vec<usize> =
            parse(&text).expect("it is valid")[0].notes.iter().map(|it| it.line(&text)).collect();
        assert_eq!(notes, [1, 2]);
    }
}
