//! `http_req_rate` of HAProxy: a stick table, the key that it tracks, and the rate above which
//! requests are denied.

use weir_core::PatternBudget;

use super::{Preset, client, duration_ns, header_field};
use crate::condition::RuleCondition;
use crate::error::RuleError;
use crate::windows::{Algorithm, KeyPart, Limit, LimitKey, Word, lines};

/// Whether a text stores a rate of requests in a stick table.
pub(super) fn looks_like(text: &str) -> bool {
    text.contains("http_req_rate(") && text.contains("stick-table")
}

/// A number without a unit is in milliseconds.
const PLAIN_NS: u64 = 1_000_000;

/// A part of the names of all fetches of a request rate.
const RATE: &str = "http_req_rate";

/// The key that a counter tracks.
struct Track {
    counter: String,
    key: LimitKey,
    condition: Option<RuleCondition>,
}

/// A comparison of the rate of a counter with a number.
#[derive(Debug, Clone)]
struct Comparison<'t> {
    /// The word that names the counter.
    place: Word<'t>,
    counter: String,
    operator: Word<'t>,
    number: u64,
}

/// A rate over which requests are denied.
struct Denial<'t> {
    place: Word<'t>,
    counter: String,
    count: u64,
    notes: Vec<RuleError>,
}

/// A condition of a line: the name of an `acl`, or the words between braces.
struct Term<'a, 't> {
    place: Word<'t>,
    is_negated: bool,
    words: &'a [Word<'t>],
}

/// The parse state of a configuration.
#[derive(Default)]
struct Configuration<'t> {
    window_ns: Option<u64>,
    tracks: Vec<Track>,
    /// The names of conditions, with the comparisons of those that are about a rate.
    acls: Vec<(&'t str, Option<Comparison<'t>>)>,
    denials: Vec<Denial<'t>>,
    /// The kinds of lines that have ended every request in this section.
    ended: Vec<&'t str>,
    /// Notes that apply to all denials.
    notes: Vec<RuleError>,
    /// Counts the expressions of conditions.
    budget: PatternBudget,
}

/// Reads a configuration.
///
/// # Errors
/// If it has no table, nothing is tracked or denied, or a part is not valid.
pub(super) fn parse(text: &str, budget: &PatternBudget) -> Result<Vec<Preset>, RuleError> {
    let mut configuration = Configuration { budget: budget.clone(), ..Configuration::default() };
    for words in lines(text) {
        configuration.read(&words)?;
    }
    configuration.presets()
}

/// Actions after which HAProxy evaluates no other line, because it rejects or answers the request.
const FINAL: [&str; 7] = ["deny", "reject", "tarpit", "return", "silent-drop", "redirect", "auth"];

/// The actions of [`FINAL`] that are supported if they depend on a rate.
const DENIES: [&str; 5] = ["deny", "reject", "tarpit", "return", "silent-drop"];

impl<'t> Configuration<'t> {
    fn read(&mut self, line: &[Word<'t>]) -> Result<(), RuleError> {
        let Some(first) = line.first() else { return Ok(()) };
        match (first.text, line.get(1)) {
            ("frontend" | "listen", _) => self.ended.clear(),
            ("stick-table", _) => self.read_table(line)?,
            ("acl", Some(name)) => self.read_acl(*name, &line[2..])?,
            ("http-request", Some(action)) => self.read_action(line, *action)?,
            ("tcp-request", Some(_)) => {
                if let Some(action) = line.get(2) {
                    self.read_action(line, *action)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn read_acl(&mut self, name: Word<'t>, words: &[Word<'t>]) -> Result<(), RuleError> {
        let comparison = comparison(words)?;
        let earlier = self.acls.iter().find(|(known, _)| *known == name.text);
        if earlier.is_some_and(|(_, earlier)| earlier.is_some() || comparison.is_some()) {
            let message = format!("of several lines about `{}`, one rate is followed", name.text);
            self.notes.push(name.error(message));
        }
        self.acls.push((name.text, comparison));
        Ok(())
    }

    fn read_action(&mut self, line: &[Word<'t>], action: Word<'t>) -> Result<(), RuleError> {
        let kind = line[0].text;
        if action.text.starts_with("track-sc") {
            if self.ended.contains(&kind) {
                let message = "requests that a line before this one rejects or answers count here, \
                               and not in HAProxy";
                self.notes.push(action.error(message));
            }
            return self.read_track(line, action);
        }
        if matches!(action.text, "allow" | "accept") {
            let message = format!(
                "`{}` is not followed: requests that it lets pass are rejected over the rate",
                action.text
            );
            self.notes.push(action.error(message));
        }
        if DENIES.contains(&action.text) {
            self.read_denial(line)?;
        }
        if FINAL.contains(&action.text) {
            self.ended.push(kind);
        }
        Ok(())
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

    fn read_track(&mut self, line: &[Word<'t>], action: Word<'t>) -> Result<(), RuleError> {
        let counter = action.text.trim_start_matches("track-sc").to_owned();
        let at = line.iter().position(|word| word.start == action.start).unwrap_or(0);
        let word = line.get(at + 1).ok_or_else(|| action.error("what is tracked is missing"))?;
        let key = key(*word)?;
        let condition = self.condition(line);
        if self.tracks.iter().any(|track| track.counter == counter) {
            let message =
                format!("of several lines that track counter {counter}, the first is used");
            self.notes.push(action.error(message));
        }
        self.tracks.push(Track { counter, key, condition });
        Ok(())
    }

    /// The condition after `if`, if it can be evaluated on a log.
    fn condition(&mut self, line: &[Word<'t>]) -> Option<RuleCondition> {
        let at = line.iter().position(is_condition)?;
        let condition = match (line[at].text, &terms(&line[at + 1..])[..]) {
            ("if", [Term { is_negated: false, words: [fetch, value], .. }]) => match fetch.text {
                "path_beg" => Some(format!("path^='{}'", value.text)),
                "path" => Some(format!("path='{}'", value.text)),
                "method" => Some(format!("method='{}'", value.text)),
                _ => None,
            },
            _ => None,
        };
        let condition = condition.and_then(|text| RuleCondition::parse(&text, &self.budget).ok());
        if condition.is_none() {
            let message = "the condition is not followed: all requests are tracked";
            self.notes.push(line[at].error(message));
        }
        condition
    }

    /// Reads a line that rejects requests, if it depends on a rate.
    fn read_denial(&mut self, line: &[Word<'t>]) -> Result<(), RuleError> {
        let Some(at) = line.iter().position(is_condition) else { return Ok(()) };
        let terms = terms(&line[at + 1..]);
        let mut rates = terms.iter().map(|term| self.comparison_of(term));
        let Some(followed) = rates.position(|rate| !matches!(rate, Ok(None))) else {
            return Ok(());
        };
        let Some(comparison) = self.comparison_of(&terms[followed])? else { return Ok(()) };
        let is_negated = terms[followed].is_negated ^ (line[at].text == "unless");
        let count = comparison.most(is_negated)?;
        let message = "this condition is not followed: the rate alone decides here";
        let others = terms.iter().enumerate().filter(|(term, _)| *term != followed);
        let notes = others.map(|(_, term)| term.place.error(message)).collect();
        let Comparison { place, counter, .. } = comparison;
        self.denials.push(Denial { place, counter, count, notes });
        Ok(())
    }

    /// The comparison that a term is about, if it is about a rate.
    fn comparison_of(&self, term: &Term<'_, 't>) -> Result<Option<Comparison<'t>>, RuleError> {
        match term.words {
            [name] if !name.text.contains(RATE) => {
                let name = name.text.trim_start_matches('!');
                let known = self.acls.iter().find(|(known, acl)| *known == name && acl.is_some());
                Ok(known.and_then(|(_, comparison)| comparison.clone()))
            }
            words => comparison(words),
        }
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
        for Denial { place, counter, count, notes } in std::mem::take(&mut self.denials) {
            let Some(track) = self.tracks.iter().find(|track| track.counter == counter) else {
                let message = "no line tracks this counter, so this line is not followed";
                self.notes.push(place.error(message));
                continue;
            };
            let limit = Limit {
                name: Some(format!("sc{counter}")),
                key: track.key.clone(),
                condition: track.condition.clone(),
                ..Limit::new(count, window_ns, Algorithm::TwoPeriods)
            };
            presets.push(Preset { limit, notes });
        }
        for preset in &mut presets {
            preset.notes.extend(self.notes.iter().cloned());
        }
        if presets.is_empty() {
            Err(missing(
                "`http-request deny if { sc_http_req_rate(0) gt 20 }` for a counter that is tracked",
            ))
        } else {
            Ok(presets)
        }
    }
}

impl Comparison<'_> {
    /// The rate up to which requests pass if they are rejected when the comparison holds, or does
    /// not.
    fn most(&self, is_negated: bool) -> Result<u64, RuleError> {
        match (self.operator.text, is_negated) {
            ("gt", false) | ("le", true) => Ok(self.number),
            ("ge", false) | ("lt", true) => Ok(self.number.saturating_sub(1)),
            (other, false) => {
                Err(self.operator.error(format!("`{other}` is not supported; write `gt` or `ge`")))
            }
            (other, true) => Err(self.operator.error(format!(
                "`{other}` of a condition that is negated is not supported; write `le` or `lt`"
            ))),
        }
    }
}

fn is_condition(word: &Word<'_>) -> bool {
    matches!(word.text, "if" | "unless")
}

/// The terms of a condition, without the `or` between them.
fn terms<'a, 't>(words: &'a [Word<'t>]) -> Vec<Term<'a, 't>> {
    let mut terms = Vec::new();
    let (mut at, mut is_negated) = (0, false);
    while let Some(place) = words.get(at) {
        let text = place.text.trim_start_matches('!');
        is_negated ^= (place.text.len() - text.len()) % 2 == 1;
        let inner = at + 1;
        match text {
            "" => {
                at += 1;
                continue;
            }
            "or" | "||" => at += 1,
            "{" => {
                let length = words[inner..].iter().position(|word| word.text == "}");
                let end = length.map_or(words.len(), |length| inner + length);
                terms.push(Term { place: *place, is_negated, words: &words[inner..end] });
                at = end + 1;
            }
            _ => {
                let words = &words[at..inner];
                terms.push(Term { place: *place, is_negated, words });
                at += 1;
            }
        }
        is_negated = false;
    }
    terms
}

/// The comparison of `sc_http_req_rate(0) gt 20` or `sc0_http_req_rate gt 20`, if it is one of a
/// rate.
fn comparison<'t>(words: &[Word<'t>]) -> Result<Option<Comparison<'t>>, RuleError> {
    let at = words.iter().position(|word| word.text.contains(RATE));
    let Some(at) = at else { return Ok(None) };
    let place = words[at];
    let numbered = place.text.strip_prefix("sc").and_then(|rest| rest.split_once('_'));
    let numbered = numbered.filter(|(number, _)| number.parse::<u8>().is_ok());
    let inner = place.text.split_once('(').map(|(_, inner)| inner.trim_end_matches(')'));
    let counter = match (numbered, inner) {
        (Some((number, _)), _) => number,
        (_, Some(inner)) => inner.split(',').next().unwrap_or_default(),
        _ => place.text.split('_').next().unwrap_or_default(),
    };
    let (Some(operator), Some(number)) = (words.get(at + 1), words.get(at + 2)) else {
        return Err(place.error("the rate that is denied is missing; write `gt 20` after this"));
    };
    let value: u64 =
        number.text.parse().ok().filter(|it| *it <= Limit::COUNT_MAX).ok_or_else(|| {
            number.error(format!("`{}` is not a number of requests", number.text))
        })?;
    let counter = counter.to_owned();
    Ok(Some(Comparison { place, counter, operator: *operator, number: value }))
}

/// The key of an expression that is tracked.
fn key(word: Word<'_>) -> Result<LimitKey, RuleError> {
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
    Ok(LimitKey(parts))
}

#[cfg(test)]
mod tests {
    use weir_core::PatternBudget;

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
            let presets = parse(&text, &PatternBudget::default()).expect(&text);
            assert_eq!(presets[0].limit.to_string(), expected);
            assert!(presets[0].notes.is_empty(), "{text}");
        }
    }

    const TABLE: &str = "stick-table type ip size 1m expire 30s store http_req_rate(10s)\n";

    #[test]
    fn conditions_of_a_denial_are_followed_or_named() {
        let rate = "sc_http_req_rate(0)";
        for (lines, count, notes) in [
            ("http-request deny if fast", 20, vec![]),
            ("http-request deny if !slow", 19, vec![]),
            ("http-request deny unless slow", 19, vec![]),
            ("http-request deny unless ! fast", 20, vec![]),
            ("http-request deny unless { RATE le 2 }", 2, vec![]),
            ("http-request deny if !{ RATE lt 2 }", 1, vec![]),
            ("http-request deny if ! { RATE le 2 }", 2, vec![]),
            ("http-request deny deny_status 429 if fast !trusted", 20, vec!["!trusted"]),
            ("http-request deny if trusted fast", 20, vec!["trusted"]),
            ("http-request deny if { RATE gt 2 } !{ src 192.0.2.0/24 }", 2, vec!["!{"]),
            ("http-request deny if { RATE gt 2 } { path_beg /a } or fast", 2, vec!["{", "fast"]),
            ("http-request deny if { path /a } || fast", 20, vec!["{"]),
            ("http-request deny if fast TRUE", 20, vec!["TRUE"]),
            ("http-request deny if fast { path_beg /a", 20, vec!["{"]),
            ("http-request allow if trusted\nhttp-request deny if fast", 20, vec!["allow"]),
            ("http-request track-sc0 hdr(x)\nhttp-request deny if fast", 20, vec!["track-sc0"]),
            ("acl fast path /a\nhttp-request deny if fast", 20, vec!["fast"]),
            (
                "http-request deny if { path /a }\nhttp-request track-sc1 path\nhttp-request deny if fast",
                20,
                vec!["track-sc1"],
            ),
            ("http-request deny if fast\nfrontend b\nhttp-request track-sc1 path", 20, vec![]),
            (
                "http-request deny if fast\nhttp-request deny if { sc_http_req_rate(2) gt 1 }",
                20,
                vec!["sc_http_req_rate(2)"],
            ),
        ] {
            let text = format!(
                "{TABLE}http-request track-sc0 src\nacl trusted src 192.0.2.0/24\n\
                 acl fast RATE gt 20\nacl slow RATE lt 20\n{lines}\n"
            );
            let text = text.replace("RATE", rate);
            let preset = parse(&text, &PatternBudget::default()).expect(lines).remove(0);
            assert_eq!(preset.limit.count, count, "{lines}");
            let places: Vec<&str> =
                preset.notes.iter().map(|note| &text[note.range.clone()]).collect();
            assert_eq!(places, notes, "{lines}");
        }
    }

    #[test]
    fn each_denial_is_a_limit_with_its_own_notes() {
        let text = format!(
            "{TABLE}http-request track-sc0 src\nhttp-request track-sc1 path\n\
             http-request deny if {{ sc0_http_req_rate(st) gt 20 }} !trusted\n\
             http-request tarpit if {{ sc1_http_req_rate ge 6 }}\n\
             http-request deny if {{ path /a }}\n"
        );
        let presets = parse(&text, &PatternBudget::default()).expect("it is valid");
        let limits: Vec<(String, usize)> =
            presets.iter().map(|it| (it.limit.to_string(), it.notes.len())).collect();
        let expected = [
            ("limit 20 requests in 10s by client as two-periods".to_owned(), 1),
            ("limit 5 requests in 10s by path as two-periods".to_owned(), 0),
        ];
        assert_eq!(limits, expected);
    }

    #[test]
    fn tables_and_keys_are_read() {
        let deny = "http-request deny if { sc0_http_req_rate gt 5 }";
        for (table, track, expected) in [
            ("store http_req_rate(500)", "src", "limit 5 requests in 500ms by client"),
            ("store gpc0,http_req_rate(1m),conn_cur", "src", "limit 5 requests in 1m by client"),
            ("store http_req_rate(1d)", "src,ipmask(24)", "limit 5 requests in 1d by client/24"),
            (
                "store http_req_rate(10s)",
                "hdr(User-Agent)",
                "limit 5 requests in 10s by user_agent",
            ),
            ("store http_req_rate(10s)", "method", "limit 5 requests in 10s by method"),
            (
                "store http_req_rate(10s)",
                "src if { path_beg /a }",
                "limit 5 requests in 10s by client where path^=\"/a\"",
            ),
            (
                "store http_req_rate(10s)",
                "src if !{ path_beg /a }",
                "limit 5 requests in 10s by client",
            ),
            (
                "store http_req_rate(10s)",
                "src if { path_beg /a /b }",
                "limit 5 requests in 10s by client",
            ),
            (
                "store http_req_rate(10s)",
                "src if { path /a } { method GET }",
                "limit 5 requests in 10s by client",
            ),
        ] {
            let text = format!(
                "frontend a # one\n\tstick-table type ip size 1m expire 10d {table}\n\thttp-request track-sc0 {track}\n\t{deny}\n"
            );
            let preset = parse(&text, &PatternBudget::default()).expect(&text).remove(0);
            assert_eq!(preset.limit.to_string(), format!("{expected} as two-periods"), "{text}");
            let is_unfollowed = track.contains(" if ") && !expected.contains("where");
            assert_eq!(preset.notes.len(), usize::from(is_unfollowed), "{text}");
        }
    }

    #[test]
    fn words_in_any_order_are_read_or_refused() {
        let words = [
            "acl",
            "http-request",
            "tcp-request",
            "stick-table",
            "deny",
            "track-sc0",
            "if",
            "unless",
            "{",
            "}",
            "!",
            "!{",
            "fast",
            "sc_http_req_rate(0)",
            "http_req_rate(",
            "gt",
            "5",
            "\n",
        ];
        let mut state = 7_u32;
        for _ in 0..5_000 {
            let mut text = TABLE.to_owned();
            for _ in 0..40 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                text.push_str(words[(state >> 16) as usize % words.len()]);
                text.push(' ');
            }
            if let Err(error) = parse(&text, &PatternBudget::default()) {
                assert!(error.range.end <= text.len() && !error.message.is_empty(), "{text}");
            }
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
            ("http-request deny unless { sc_http_req_rate(0) gt 5 }", "gt", "`gt` of a condition"),
            ("http-request deny if { sc_http_req_rate(0) gt", "sc_http", "the rate that is denied"),
            ("http-request track-sc0", "track-sc0", "what is tracked is missing"),
        ] {
            let text = format!("{table}{lines}");
            let error = parse(&text, &PatternBudget::default()).err().expect(lines);
            assert!(error.message.contains(message), "{lines}: {}", error.message);
            if !place.is_empty() {
                assert_eq!(Some(error.range.start), text.rfind(place), "{lines}");
            }
        }
        let text = format!(
            "{table}http-request track-sc0 src unless x\nhttp-request deny if {{ sc_http_req_rate(0) gt 5 }}"
        );
        let notes: Vec<usize> = parse(&text, &PatternBudget::default()).expect("it is valid")[0]
            .notes
            .iter()
            .map(|it| it.line(&text))
            .collect();
        assert_eq!(notes, [1, 2]);
    }
}
