//! The client limits of mod_qos of Apache, as mod_qos.c (11.70) counts them.
//!
//! An event is a variable that `SetEnvIf` and its kin set before a request is handled, or that
//! `QS_SetEnvIfStatus` sets when it has been. The count of a client begins with an event and ends
//! when it is older than its time; from the event that makes it reach the number on, every request
//! of the client is rejected. [`replay`] counts.

mod replay;

use regex::bytes::{Regex, RegexBuilder};
use weir_core::{Field, FieldAccessor, RecordFields};

use self::replay::QosReplay;
use crate::error::RuleError;
use crate::event::Events;
use crate::gate::{CannotEnforce, Gate, GateOptions};
use crate::rule::{Family, Line, MissingField, Observer, Replay, Rule};
use crate::windows::{Word, words};

/// The time of a count if none is written.
const DEFAULT_S: u64 = 600;

/// Directives that change no verdict.
const WITHOUT_EFFECT: [&str; 4] =
    ["qs_errorpage", "qs_errorresponsecode", "qs_cliententries", "qs_semmemfile"];

/// A limit of the events of a client.
#[derive(Debug)]
pub(crate) struct QosRule {
    name: String,
    variable: String,
    count: Count,
    /// The directives that set the variable before a request is handled, in order.
    setters: Vec<Setter>,
    /// Statuses that set it afterwards, with the number of events.
    statuses: Vec<(String, u64)>,
    notes: Vec<RuleError>,
}

/// How events are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Count {
    /// The number of events with which requests are rejected.
    number: u64,
    seconds: i64,
    /// Whether connections are refused, too, which ends a count earlier:
    /// `QS_ClientEventBlockCount`.
    blocks_connections: bool,
}

/// A `SetEnvIf`: a pattern for an attribute of the request.
#[derive(Debug, Clone)]
struct Setter {
    variable: String,
    /// The name of the field of the attribute.
    field: String,
    pattern: Regex,
    /// The number of events; `None` if the variable is removed.
    events: Option<u64>,
}

/// Whether a text has such limits.
pub(super) fn looks_like(text: &str) -> bool {
    text.to_ascii_lowercase().contains("qs_clientevent")
}

/// Reads the limits and the directives that set their variables.
///
/// # Errors
/// If there is no limit, one is not valid, or nothing that is followed sets its variable.
pub(crate) fn parse(text: &str, name: &str) -> Result<Vec<QosRule>, RuleError> {
    let mut parsed = Parsed::default();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let words = words(line, start);
        start += line.len();
        if let [directive, arguments @ ..] = &words[..] {
            parsed.directive(directive, arguments)?;
        }
    }
    if parsed.limits.is_empty() {
        return Err(RuleError::new(
            0..0,
            "there is no limit in it that is followed; write, for instance: \
             QS_ClientEventLimitCount 20 600 QS_Limit",
        ));
    }
    let Parsed { limits, setters, statuses, notes } = parsed;
    let has_several = limits.len() > 1;
    let rule = |(range, variable, count): (std::ops::Range<usize>, String, Count)| {
        let of_variable = |other: &str| other.eq_ignore_ascii_case(&variable);
        let setters: Vec<Setter> =
            setters.iter().filter(|it| of_variable(&it.variable)).cloned().collect();
        let mut notes = notes.clone();
        let mut own_statuses = Vec::new();
        for (_, status, events, note) in statuses.iter().filter(|(of, ..)| of_variable(of)) {
            own_statuses.push((status.clone(), *events));
            notes.push(note.clone());
        }
        notes.sort_by_key(|note| note.range.start);
        if own_statuses.is_empty() && setters.iter().all(|setter| setter.events.is_none()) {
            return Err(RuleError::new(
                range,
                format!(
                    "no directive that is followed sets `{variable}`; write it with SetEnvIf, \
                     BrowserMatch or QS_SetEnvIfStatus"
                ),
            ));
        }
        let name = if has_several { format!("{name}-{variable}") } else { name.to_owned() };
        Ok(QosRule { name, variable, count, setters, statuses: own_statuses, notes })
    };
    limits.into_iter().map(rule).collect()
}

/// The directives of a text.
#[derive(Debug, Default)]
struct Parsed {
    limits: Vec<(std::ops::Range<usize>, String, Count)>,
    setters: Vec<Setter>,
    /// Variables, statuses and numbers of events, and what a note says of each.
    statuses: Vec<(String, String, u64, RuleError)>,
    notes: Vec<RuleError>,
}

impl Parsed {
    fn directive(&mut self, name: &Word<'_>, arguments: &[Word<'_>]) -> Result<(), RuleError> {
        let lower = name.text.to_ascii_lowercase();
        match (&*lower, arguments) {
            ("qs_clienteventblockcount", [number, rest @ ..]) => {
                self.limit(name, number, rest.first(), "QS_Block", true)
            }
            ("qs_clienteventlimitcount", [number, rest @ ..]) => {
                let variable = rest.get(1).map_or("QS_Limit", |word| unquoted(word.text));
                self.limit(name, number, rest.first(), variable, false)
            }
            ("setenvif" | "setenvifnocase", [attribute, pattern, variables @ ..]) => {
                let Some(field) = field_of(unquoted(attribute.text)) else {
                    self.notes.push(attribute.error("this attribute is not followed"));
                    return Ok(());
                };
                self.setters(&field, pattern, variables, lower == "setenvifnocase")
            }
            ("browsermatch" | "browsermatchnocase", [pattern, variables @ ..]) => {
                self.setters("user_agent", pattern, variables, lower == "browsermatchnocase")
            }
            ("qs_setenvifstatus", [status, variable]) => {
                self.status(status, unquoted(variable.text));
                Ok(())
            }
            (lower, _) => {
                let is_container = ["<location", "<directory", "<files", "<virtualhost", "<if "]
                    .iter()
                    .any(|container| format!("{lower} ").starts_with(container));
                if is_container {
                    let message = "what is in this block is taken to hold for all requests";
                    self.notes.push(name.error(message));
                } else if lower.starts_with("qs_") && !WITHOUT_EFFECT.contains(&lower) {
                    self.notes.push(name.error(format_args!("`{}` is not followed", name.text)));
                }
                Ok(())
            }
        }
    }

    fn limit(
        &mut self,
        name: &Word<'_>,
        number: &Word<'_>,
        seconds: Option<&Word<'_>>,
        variable: &str,
        blocks_connections: bool,
    ) -> Result<(), RuleError> {
        let positive = |word: &Word<'_>| {
            let text = unquoted(word.text);
            text.parse::<u32>().ok().filter(|number| *number > 0).map(u64::from).ok_or_else(|| {
                word.error(format_args!("`{text}` is not a number from 1 to {}", u32::MAX))
            })
        };
        let number = positive(number)?;
        let seconds = seconds.map(positive).transpose()?.unwrap_or(DEFAULT_S) as i64;
        if self.limits.iter().any(|(_, known, _)| known.eq_ignore_ascii_case(variable)) {
            return Err(name.error(format_args!("`{variable}` has a limit already")));
        }
        let count = Count { number, seconds, blocks_connections };
        self.limits.push((name.range(), variable.to_owned(), count));
        Ok(())
    }

    fn setters(
        &mut self,
        field: &str,
        pattern: &Word<'_>,
        variables: &[Word<'_>],
        ignores_case: bool,
    ) -> Result<(), RuleError> {
        let compiled = RegexBuilder::new(unquoted(pattern.text))
            .case_insensitive(ignores_case)
            .build()
            .map_err(|error| pattern.error(format_args!("it is not understood: {error}")))?;
        for word in variables {
            let text = unquoted(word.text);
            let (variable, events) = match (text.strip_prefix('!'), text.split_once('=')) {
                (Some(variable), _) => (variable, None),
                (None, Some((variable, value))) => (variable, Some(events_of(value))),
                (None, None) => (text, Some(1)),
            };
            self.setters.push(Setter {
                variable: variable.to_owned(),
                field: field.to_owned(),
                pattern: compiled.clone(),
                events,
            });
        }
        Ok(())
    }

    fn status(&mut self, status: &Word<'_>, variable: &str) {
        let code = unquoted(status.text);
        if code.parse::<u16>().is_err() {
            self.notes.push(status.error("this event is not in an access log"));
            return;
        }
        // Without a value, the status is the value, except of `QS_Block`.
        let (variable, events) = match variable.split_once('=') {
            Some((variable, value)) => (variable, events_of(value)),
            None if variable == "QS_Block" => (variable, 1),
            None => (variable, events_of(code)),
        };
        let note = status.error(
            "what happens at the end of a request is counted in the second in which it arrived",
        );
        self.statuses.push((variable.to_owned(), code.to_owned(), events, note));
    }
}

/// The number of events of a value: itself if it is a number over 0.
fn events_of(value: &str) -> u64 {
    value.parse::<u32>().ok().filter(|events| *events > 0).map_or(1, u64::from)
}

fn unquoted(text: &str) -> &str {
    let inner = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}

/// The name of the field of an attribute of `SetEnvIf`.
fn field_of(attribute: &str) -> Option<String> {
    Some(match attribute.to_ascii_lowercase().as_str() {
        "request_uri" => "path".to_owned(),
        "request_method" => "method".to_owned(),
        "request_protocol" => "protocol".to_owned(),
        "remote_addr" => "client".to_owned(),
        "remote_user" => "user".to_owned(),
        "user-agent" => "user_agent".to_owned(),
        "referer" => "referer".to_owned(),
        "host" => "host".to_owned(),
        "remote_host" | "server_addr" => return None,
        header if header.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') => {
            format!("http_{}", header.replace('-', "_"))
        }
        _ => return None,
    })
}

impl Rule for QosRule {
    fn name(&self) -> &str {
        &self.name
    }

    fn family(&self) -> Family {
        Family::ModQos
    }

    fn description(&self) -> String {
        let Count { number, seconds, blocks_connections } = self.count;
        let what = if blocks_connections { "and its connections " } else { "" };
        format!("{number} times {} in {seconds} s, then a client {what}rejected", self.variable)
    }

    fn notes(&self) -> &[RuleError] {
        &self.notes
    }

    fn bind<'r>(&'r self, fields: &RecordFields) -> Result<Box<dyn Observer + 'r>, MissingField> {
        let accessor = |name: &str| fields.accessor(name).map_err(MissingField::from);
        accessor("client")?;
        if !self.statuses.is_empty() {
            accessor("status")?;
        }
        let setters = self.setters.iter().map(|setter| Ok((accessor(&setter.field)?, setter)));
        Ok(Box::new(QosObserver {
            setters: setters.collect::<Result<_, MissingField>>()?,
            statuses: &self.statuses,
            is_arrival: fields.has_arrival_times(),
        }))
    }

    fn replay<'r>(&'r self) -> Box<dyn Replay + 'r> {
        Box::new(QosReplay::new(self.count))
    }

    fn gate(&self, _: &RecordFields, _: GateOptions) -> Result<Box<dyn Gate>, CannotEnforce> {
        if !self.statuses.is_empty() {
            return Err(CannotEnforce::without_field("status"));
        }
        Err(CannotEnforce::new(
            "when mod_qos ends a count depends on its connections, which a gate does not follow; write \
             the limit as `limit 20 requests in 10m by client as first`, with `where` for its variable",
        ))
    }
}

/// Emits an event for each request, with the client, and its number of events on arrival and after
/// it has been handled. The tag is whether its time is that of the arrival.
struct QosObserver<'r> {
    setters: Vec<(FieldAccessor, &'r Setter)>,
    statuses: &'r [(String, u64)],
    is_arrival: bool,
}

impl Observer for QosObserver<'_> {
    fn observe(&mut self, line: &Line<'_>, events: &mut Events) {
        let Some(record) = line.record else { return };
        let Some(client) = record.text(Field::Client) else { return };
        let mut at_arrival = 0;
        for (field, setter) in &self.setters {
            let value = field.value(record).filter(|value| value.as_ref() != b"-");
            if setter.pattern.is_match(&value.unwrap_or_default()) {
                at_arrival = setter.events.unwrap_or(0);
            }
        }
        let status = record.text(Field::Status).unwrap_or_default();
        let of_status = self.statuses.iter().rev().find(|(of, _)| of.as_bytes() == status);
        // A request counts once.
        let at_end = of_status.filter(|_| at_arrival == 0).map_or(0, |(_, events)| *events);
        let duration_ns = match self.is_arrival {
            true => 0,
            false => record.number(Field::RequestTime).unwrap_or(0),
        };
        let time = (record.time.map(|time| time.unix_ns), duration_ns);
        let texts = [client, &at_arrival.to_le_bytes()[..], &at_end.to_le_bytes()[..]];
        events.put((line.number, u32::from(self.is_arrival)), time, texts);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weir_core::{Format, LineParser, Record};

    use super::parse;
    use crate::event::Events;
    use crate::rule::{Line, Rule};

    /// The events of a line when it arrives and at its end.
    fn events(text: &str, line: &str) -> (u64, u64) {
        let rule = parse(text, "test").expect(text).remove(0);
        let format = r#"$remote_addr $msec "$request" $status "$http_user_agent""#;
        let format = Format::parse(format).expect("a format");
        let mut observer = rule.bind(&format.record_fields()).expect("it has the fields");
        let mut parser = LineParser::new(Arc::new(format));
        let mut record = Record::new();
        parser.parse(line.as_bytes(), &mut record).expect("it fits");
        let mut events = Events::default();
        let line = Line { number: 0, bytes: line.as_bytes(), record: Some(&record) };
        observer.observe(&line, &mut events);
        let event = events.iter().next().expect("an event");
        let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("8 bytes"));
        let texts: Vec<&[u8]> = event.texts.collect();
        assert_eq!(texts[0], b"192.0.2.7");
        (number(texts[1]), number(texts[2]))
    }

    #[test]
    fn variables_are_set_as_apache_sets_them() {
        let line = r#"192.0.2.7 1.5 "POST /Login?q=/x HTTP/1.1" 401 "curl/8.0""#;
        for (setters, expected) in [
            ("SetEnvIf Request_URI ^/Login$ QS_Limit", (1, 0)),
            ("SetEnvIf Request_URI \"^/login$\" QS_Limit", (0, 0)),
            ("SetEnvIfNoCase Request_URI ^/login$ QS_Limit=7", (7, 0)),
            ("SetEnvIf Request_Method POST other QS_Limit=x", (1, 0)),
            (
                "SetEnvIf Remote_Addr ^192\\. QS_Limit\nSetEnvIf Request_Method POST !QS_Limit",
                (0, 0),
            ),
            ("BrowserMatch ^curl QS_Limit", (1, 0)),
            ("BrowserMatchNoCase ^CURL qs_limit", (1, 0)),
            ("QS_SetEnvIfStatus 401 QS_Limit", (0, 401)),
            ("QS_SetEnvIfStatus 401 QS_Limit=2", (0, 2)),
            ("QS_SetEnvIfStatus 401 QS_Limit\nBrowserMatch ^curl QS_Limit", (1, 0)),
            ("QS_SetEnvIfStatus 404 QS_Limit", (0, 0)),
        ] {
            let text = format!("{setters}\nQS_ClientEventLimitCount 5");
            assert_eq!(events(&text, line), expected, "{text}");
        }
        let text = "QS_ClientEventBlockCount 5\nQS_SetEnvIfStatus 401 QS_Block";
        assert_eq!(events(text, line), (0, 1));
    }

    #[test]
    fn each_limit_is_a_rule() {
        let text = "QS_ClientEventBlockCount 20 300\nQS_ClientEventLimitCount 5 60 login\n\
                    QS_SetEnvIfStatus 401 QS_Block\nSetEnvIf Request_URI ^/login login\n\
                    QS_SetEnvIf a b c\nQS_ErrorPage /x\n<Location /x>\n</Location>";
        let rules = parse(text, "qos").expect(text);
        let shown: Vec<String> =
            rules.iter().map(|rule| format!("{}: {}", rule.name(), rule.description())).collect();
        assert_eq!(
            shown,
            [
                "qos-QS_Block: 20 times QS_Block in 300 s, then a client and its connections rejected",
                "qos-login: 5 times login in 60 s, then a client rejected",
            ]
        );
        let lines: Vec<usize> = rules[0].notes().iter().map(|note| note.line(text)).collect();
        assert_eq!(lines, [3, 5, 7]);
    }

    #[test]
    fn mistakes_are_refused_at_their_place() {
        for (text, place, message) in [
            ("QS_ClientEventLimitCount 0", "0", "`0` is not a number"),
            ("QS_ClientEventBlockCount 5 x", "x", "`x` is not a number"),
            ("QS_ClientEventLimitCount 5 60 a", "QS_ClientEventLimitCount", "sets `a`"),
            ("SetEnvIf Host ( a\nQS_ClientEventLimitCount 5 60 a", "(", "not understood"),
            ("QS_ClientEventPerSecLimit 5", "QS_", "there is no limit"),
        ] {
            let error = parse(text, "test").expect_err(text);
            assert!(error.message.contains(message), "{text}: {error}");
            assert_eq!(Some(error.range.start), text.find(place), "{text}");
        }
    }
}
