//! The fields of the values after a known line, from a sample of them.
//!
//! A name or a unit needs evidence. A key that is one of nginx's variables, or the short form of one
//! that nginx's documentation uses, has the meaning of that variable if its values have the form in
//! which nginx writes them. A suffix (`_ms`) and a unit in the values themselves are evidence too.
//! Every other value is a text under its key, or under its place: `extra_1`, `extra_2`.

use super::evidence::{Evidence, FORWARDED_FOR};
use crate::field::Field;
use crate::format::compiled::Format;
use crate::format::notation::is_plain_variable;
use crate::format::program::Program;
use crate::format::program::sink::Sink;
use crate::format::program::tail::{MORE_VALUES, Quote, Tail, TailValues};

/// The most keys and the most places that become fields. Further values are kept as one text.
const VALUES_MAX: usize = 64;

const SECOND_NS: u64 = 1_000_000_000;

/// The values after some lines.
#[derive(Debug, Default)]
pub(super) struct TailSample {
    keys: Vec<(Vec<u8>, Evidence)>,
    places: Vec<PlaceSample>,
    /// The values of the line that has most of them, in their order.
    layout: Vec<(Slot, Quote)>,
}

/// The values at one place.
#[derive(Debug, Default)]
struct PlaceSample {
    evidence: Evidence,
    values: u64,
    quoted: u64,
}

/// The index of a key or of a place.
#[derive(Debug, Clone, Copy)]
enum Slot {
    Key(usize),
    Place(usize),
}

impl TailSample {
    /// Adds the values of a line from `at` on.
    pub(super) fn add(&mut self, line: &[u8], at: usize) {
        let (mut place, mut layout) = (0, Vec::new());
        for value in TailValues::new(line, at).into_iter().flatten() {
            let (slot, evidence) = match value.key {
                Some(key) => {
                    let known = self.keys.iter().position(|(known, _)| known == key);
                    let index = known.unwrap_or(self.keys.len());
                    if index == VALUES_MAX {
                        continue;
                    }
                    if known.is_none() {
                        self.keys.push((key.to_vec(), Evidence::default()));
                    }
                    (Slot::Key(index), &mut self.keys[index].1)
                }
                None => {
                    place += 1;
                    if place > VALUES_MAX {
                        continue;
                    }
                    self.places.resize_with(self.places.len().max(place), PlaceSample::default);
                    let sample = &mut self.places[place - 1];
                    sample.values += 1;
                    sample.quoted += u64::from(value.quote == Quote::Double);
                    (Slot::Place(place - 1), &mut sample.evidence)
                }
            };
            evidence.add(value.text);
            layout.push((slot, value.quote));
        }
        if layout.len() > self.layout.len() {
            self.layout = layout;
        }
    }

    /// The format of lines in the format `base` with these values after them. `definition` is that
    /// of the base in the notation of nginx. `None` if there are no values.
    pub(super) fn put_after(&self, base: &Format, definition: &str) -> Option<Format> {
        let values = self.layout.len();
        let Program::Line(program) = base.program() else { return None };
        if values == 0 {
            return None;
        }
        let plural = if values == 1 { "" } else { "s" };
        let name = format!("{} and {values} more value{plural}", base.name());
        let mut format = base.clone().with_name(&name);
        let keys = self.keys.iter();
        let keys: Vec<_> =
            keys.map(|(key, evidence)| sink_of_key(key, evidence, &mut format)).collect();
        let places = self.places.iter().enumerate();
        let places: Vec<_> = places
            .map(|(place, PlaceSample { evidence, values, quoted })| {
                let is_like_main = self.layout.len() == 1 && evidence.is_empty();
                let is_quoted = quoted * 2 > *values;
                let is_named = is_quoted && (evidence.are_forwarded_addresses() || is_like_main);
                let name = format!("extra_{}", place + 1);
                text_field(if is_named { FORWARDED_FOR } else { &name }, &mut format)
            })
            .collect();
        let definition = [definition, &self.definition(&self.layout, &keys, &places)].concat();
        let as_text: Vec<_> = keys.iter().map(plain_variable).collect();
        let suggestion = self.definition(&self.whole_layout(), &as_text, &places);
        let suggestion = format!("{} and{suggestion}", base.name());
        let more = format.add_extra_field(MORE_VALUES);
        let sinks = |values: Vec<(Sink, String)>| values.into_iter().map(|(sink, _)| sink);
        let keys = self.keys.iter().map(|(key, _)| key.clone()).zip(sinks(keys));
        let tail = Tail { keys: keys.collect(), places: sinks(places).collect(), more };
        format.set_tail(definition, Program::Line(program.clone().with_tail(tail)));
        format.set_suggestion(suggestion);
        Some(format)
    }

    /// The layout of the longest line, and behind it what only other lines have.
    fn whole_layout(&self) -> Vec<(Slot, Quote)> {
        let mut layout = self.layout.clone();
        let has = |is: &dyn Fn(&Slot) -> bool| self.layout.iter().any(|(slot, _)| is(slot));
        let keys = (0..self.keys.len())
            .filter(|index| !has(&|slot| matches!(slot, Slot::Key(one) if one == index)))
            .map(Slot::Key);
        let places = (0..self.places.len())
            .filter(|index| !has(&|slot| matches!(slot, Slot::Place(one) if one == index)))
            .map(Slot::Place);
        layout.extend(keys.chain(places).map(|slot| (slot, Quote::None)));
        layout
    }

    /// The values of a line in the notation of nginx.
    fn definition(
        &self,
        layout: &[(Slot, Quote)],
        keys: &[(Sink, String)],
        places: &[(Sink, String)],
    ) -> String {
        let mut text = String::new();
        for (slot, quote) in layout {
            text.push(' ');
            let variable = match slot {
                Slot::Key(index) => {
                    text.push_str(&String::from_utf8_lossy(&self.keys[*index].0));
                    text.push('=');
                    &keys[*index].1
                }
                Slot::Place(index) => &places[*index].1,
            };
            let (open, close) = match quote {
                Quote::None => ("", ""),
                Quote::Double => ("\"", "\""),
                Quote::Bracket => ("[", "]"),
            };
            text.push_str(&[open, variable, close].concat());
        }
        text
    }
}

/// The sink of a keyed value, and its variable in a definition.
fn sink_of_key(key: &[u8], evidence: &Evidence, format: &mut Format) -> (Sink, String) {
    let key = String::from_utf8_lossy(key).replace(['-', '.'], "_");
    let lower = key.to_ascii_lowercase();
    if let Some((sink, variable)) = known_value(&lower, evidence)
        && format.add_field(sink.fields()[0])
    {
        return (sink, variable);
    }
    text_field(extra_name(&lower, evidence).unwrap_or(&key), format)
}

/// The sink of a value without a known field, and its variable in a definition.
fn text_field(name: &str, format: &mut Format) -> (Sink, String) {
    let index = format.add_extra_field(name);
    (Sink::Extra(index), format!("${}", format.extra_fields()[index]))
}

/// The variable of a value in a suggestion. The name of a text must be no variable of another kind,
/// whose form its values do not have.
fn plain_variable((sink, variable): &(Sink, String)) -> (Sink, String) {
    let is_other = matches!(sink, Sink::Extra(_)) && !is_plain_variable(&variable[1..]);
    let suffix = if is_other { "_text" } else { "" };
    (sink.clone(), format!("{variable}{suffix}"))
}

/// The known field of a key in lower case, and its variable in a definition.
pub(super) fn known_value(key: &str, evidence: &Evidence) -> Option<(Sink, String)> {
    let upstream = |field, name: &str| {
        evidence.are_nginx_times().then(|| (Sink::UpstreamTimes(field), format!("${name}")))
    };
    match key {
        "rt" | "request_time" if evidence.are_nginx_seconds() => {
            Some((Sink::RequestTime { unit_ns: SECOND_NS }, "$request_time".to_owned()))
        }
        "urt" | "ut" | "upstream_response_time" => {
            upstream(Field::UpstreamTime, "upstream_response_time")
        }
        "uct" | "upstream_connect_time" => {
            upstream(Field::UpstreamConnectTime, "upstream_connect_time")
        }
        "uht" | "upstream_header_time" => {
            upstream(Field::UpstreamHeaderTime, "upstream_header_time")
        }
        "host" | "http_host" | "vhost" | "server_name" | "sn" => {
            evidence.are_hosts().then(|| (Sink::Text(Field::Host), "$host".to_owned()))
        }
        _ => duration(key, evidence),
    }
}

/// A duration whose unit is in its key or in its values.
fn duration(key: &str, evidence: &Evidence) -> Option<(Sink, String)> {
    const NAMES: [&str; 7] = [
        "request_time",
        "response_time",
        "duration",
        "request_duration",
        "latency",
        "elapsed",
        "took",
    ];
    const UNITS: [(&str, &str, u64); 6] = [
        ("_ms", "ms", 1_000_000),
        ("_us", "us", 1_000),
        ("_ns", "ns", 1),
        ("_s", "s", SECOND_NS),
        ("_sec", "s", SECOND_NS),
        ("_seconds", "s", SECOND_NS),
    ];
    let sink = |unit_ns| Sink::Duration { field: Field::RequestTime, unit_ns };
    if NAMES.contains(&key) && evidence.have_units() {
        return Some((sink(SECOND_NS), "${request_time(s)}".to_owned()));
    }
    let (_, unit, unit_ns) = UNITS
        .into_iter()
        .find(|(suffix, ..)| key.strip_suffix(suffix).is_some_and(|name| NAMES.contains(&name)))?;
    evidence.are_numbers().then(|| (sink(unit_ns), format!("${{request_time({unit})}}")))
}

/// nginx's variable that a key stands for, if it is not one of the known fields.
fn extra_name(key: &str, evidence: &Evidence) -> Option<&'static str> {
    match key {
        "cs" if evidence.are_cache_states() => Some("upstream_cache_status"),
        "xff" | "x_forwarded_for" | "forwarded_for" if evidence.are_forwarded_addresses() => {
            Some(FORWARDED_FOR)
        }
        _ => None,
    }
}
