//! Zones of caddy-ratelimit in a Caddyfile.

use super::{Preset, client, duration_ns, header_field};
use crate::condition::RuleCondition;
use crate::error::RuleError;
use crate::windows::{Algorithm, Key, KeyPart, Limit, Word, words};

/// Whether a text has `rate_limit` with a zone.
pub(super) fn looks_like(text: &str) -> bool {
    text.contains("rate_limit") && lines(text).iter().any(|line| is_zone(line))
}

/// The lines with their words.
fn lines(text: &str) -> Vec<Vec<Word<'_>>> {
    let mut start = 0;
    let line = |line| {
        let words = words(line, start);
        start += line.len();
        words
    };
    text.split_inclusive('\n').map(line).collect()
}

fn is_zone(line: &[Word<'_>]) -> bool {
    matches!(line, [first, _, last] if first.text == "zone" && last.text == "{")
}

/// A zone that is read.
struct Zone<'t> {
    name: Word<'t>,
    key: Option<Key>,
    window_ns: Option<u64>,
    events: Option<u64>,
    conditions: Vec<String>,
    notes: Vec<RuleError>,
}

/// Reads the zones.
///
/// # Errors
/// If there is none, or one lacks its window or its events.
pub(super) fn parse(text: &str) -> Result<Vec<Preset>, RuleError> {
    let (mut presets, mut zone, mut depth) = (Vec::new(), None::<Zone<'_>>, 0_usize);
    for line in lines(text) {
        let Some(first) = line.first().copied() else { continue };
        if is_zone(&line) {
            let (key, window_ns, events) = Default::default();
            let (conditions, notes) = Default::default();
            zone = Some(Zone { name: line[1], key, window_ns, events, conditions, notes });
            depth = 0;
            continue;
        }
        let Some(current) = &mut zone else { continue };
        match (first.text, line.get(1)) {
            ("}", _) if depth == 0 => presets.extend(zone.take().map(Zone::preset).transpose()?),
            ("}", _) => depth -= 1,
            ("match", Some(open)) if open.text == "{" => depth += 1,
            (_, Some(value)) if depth == 0 => current.read(first, *value)?,
            (_, Some(_)) => current.read_condition(&line),
            _ => {}
        }
    }
    match presets.is_empty() {
        true => Err(RuleError::new(0..0, "there is no `zone NAME { ... }` that ends with `}`")),
        false => Ok(presets),
    }
}

impl Zone<'_> {
    fn read(&mut self, name: Word<'_>, value: Word<'_>) -> Result<(), RuleError> {
        match name.text {
            "key" => self.key = Some(key(value)?),
            "window" => {
                let window_ns = duration_ns(value.text, 0).ok_or_else(|| {
                    value.error(format!("`{}` is not a duration from 1ms to 366d", value.text))
                })?;
                self.window_ns = Some(window_ns);
            }
            "events" => {
                let events = value.text.parse().ok();
                let is_valid = |events: &u64| (1..=Limit::COUNT_MAX).contains(events);
                self.events = Some(events.filter(is_valid).ok_or_else(|| {
                    value.error(format!("`{}` is not a number of events from 1", value.text))
                })?);
            }
            other => self.notes.push(name.error(format!("`{other}` is not followed"))),
        }
        Ok(())
    }

    /// Reads a line of a matcher of requests.
    fn read_condition(&mut self, line: &[Word<'_>]) {
        let values: Vec<&str> = line[1..].iter().map(|word| word.text).collect();
        let quoted = |value: &str| format!("'{value}'");
        let paths = || {
            let path = |value: &&str| match value.strip_suffix('*') {
                Some(prefix) => format!("path^={}", quoted(prefix)),
                None => format!("path={}", quoted(value)),
            };
            values.iter().map(path).collect::<Vec<_>>().join(" or ")
        };
        let list = || values.iter().map(|value| quoted(value)).collect::<Vec<_>>().join(",");
        let condition = match line[0].text {
            "method" => format!("method={}", list()),
            "host" => format!("host={}", list()),
            "path" if values.iter().all(|value| !value.trim_end_matches('*').contains('*')) => {
                format!("({})", paths())
            }
            other => {
                let message = format!("the matcher `{other}` is not followed: all requests match");
                self.notes.push(line[0].error(message));
                return;
            }
        };
        self.conditions.push(condition);
    }

    fn preset(self) -> Result<Preset, RuleError> {
        let missing = |what: &str| self.name.error(format!("the zone has no `{what}`"));
        let count = self.events.ok_or_else(|| missing("events"))?;
        let window_ns = self.window_ns.ok_or_else(|| missing("window"))?;
        let condition = match &self.conditions[..] {
            [] => None,
            conditions => Some(
                RuleCondition::parse(&conditions.join(" and "))
                    .map_err(|error| self.name.error(error.message))?,
            ),
        };
        let limit = Limit {
            name: Some(self.name.text.to_owned()),
            count,
            window_ns,
            burst: count,
            algorithm: Algorithm::SlidingRing,
            key: self.key.unwrap_or_default(),
            condition,
        };
        Ok(Preset { limit, notes: self.notes })
    }
}

/// The key of a zone: a placeholder, or a text that all requests have.
fn key(word: Word<'_>) -> Result<Key, RuleError> {
    let text = word.text.trim_matches('"');
    let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    let Some(name) = inner else {
        return match text.contains('{') {
            true => Err(word.error("a key of several placeholders is not supported; write one")),
            false => Ok(Key::default()),
        };
    };
    let after = |prefixes: &[&str]| prefixes.iter().find_map(|it| name.strip_prefix(it));
    let field = match name {
        "remote_host" | "client_ip" | "http.request.remote.host" | "http.vars.client_ip" => {
            return Ok(Key(client()));
        }
        "host" | "http.request.host" => "host".to_owned(),
        "path" | "uri.path" | "http.request.uri.path" => "path".to_owned(),
        "method" | "http.request.method" => "method".to_owned(),
        _ => match (
            after(&["header.", "http.request.header."]),
            after(&["cookie.", "http.request.cookie."]),
        ) {
            (Some(header), _) => header_field(header),
            (_, Some(cookie)) => format!("cookie_{cookie}"),
            _ => {
                let message = format!("the log has no field for the placeholder `{name}`");
                return Err(word.error(message));
            }
        },
    };
    Ok(Key(vec![KeyPart::Field(field)]))
}

#[cfg(test)]
mod tests {
    use super::{looks_like, parse};

    const TEXT: &str = "example.com {
    rate_limit {
        zone login {
            match {
                method POST
                path /login* /signin
                header X-A b
            }
            key    {remote_host}
            window 1m30s
            events 5
        }
        zone all {
            key    static
            events 100
            window 1s
        }
        sweep_interval 1m
    }
}";

    #[test]
    fn zones_are_limits() {
        assert!(looks_like(TEXT));
        let presets = parse(TEXT).expect("it is valid");
        let texts: Vec<String> = presets.iter().map(|preset| preset.limit.to_string()).collect();
        let login = r#"limit 5 requests in 90s by client where method="POST" and (path^="/login" or path="/signin") as sliding"#;
        assert_eq!(texts, [login, "limit 100 requests in 1s as sliding"]);
        assert_eq!(presets[0].limit.name.as_deref(), Some("login"));
        let notes: Vec<usize> = presets[0].notes.iter().map(|note| note.line(TEXT)).collect();
        assert_eq!(notes, [7]);
    }

    #[test]
    fn mistakes_are_refused_at_their_place() {
        for (text, place, message) in [
            ("zone a {\nevents 5\n}", "a {", "no `window`"),
            ("zone a {\nwindow 1m\n}", "a {", "no `events`"),
            ("zone a {\nwindow 1y\n}", "1y", "`1y` is not a duration"),
            ("zone a {\nevents x\n}", "x\n", "`x` is not a number"),
            ("zone a {\nkey {nonsense}\n}", "{nonsense}", "`nonsense`"),
            ("zone a {\nevents 5", "", "that ends with"),
        ] {
            let error = parse(text).err().expect(text);
            assert!(error.message.contains(message), "{text}: {}", error.message);
            assert_eq!(Some(error.range.start), text.find(place), "{text}");
        }
    }
}
