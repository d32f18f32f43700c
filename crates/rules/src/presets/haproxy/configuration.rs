//! The lines of a configuration.

use super::condition::{Acls, Alternatives, Term, Test, alternatives, test};
use super::counter::{self, Counter, CounterKind, PLAIN_NS, stores};
use crate::error::RuleError;
use crate::presets::{client, duration_ns, header_field};
use crate::windows::{KeyPart, LimitKey, Word};

/// A stick table.
pub(super) struct Table<'t> {
    /// The name of its section; `None` in a text without sections.
    pub(super) name: Option<&'t str>,
    /// The counters that it stores, with their periods in nanoseconds.
    pub(super) stores: Vec<(&'t str, u64)>,
    /// After how long without a request an entry is forgotten, in nanoseconds.
    pub(super) expire_ns: Option<u64>,
    /// The word with that time.
    pub(super) expire: Option<Word<'t>>,
}

/// A line that tracks requests in a table.
pub(super) struct Track<'t> {
    pub(super) place: Word<'t>,
    pub(super) counter: &'t str,
    pub(super) key: LimitKey,
    pub(super) table: Option<&'t str>,
    pub(super) section: Option<&'t str>,
    pub(super) condition: Alternatives<'t>,
    /// The word that begins the condition.
    pub(super) if_place: Option<Word<'t>>,
}

/// A line that rejects requests.
pub(super) struct Denial<'t> {
    pub(super) condition: Alternatives<'t>,
    /// Whether only new connections are rejected.
    pub(super) is_of_connections: bool,
    /// Its position among the lines.
    pub(super) line: usize,
    /// The lines before it that send requests to a backend, of which the first that matches decides.
    pub(super) earlier: Vec<Earlier<'t>>,
}

/// A line that sends requests to a backend before others do.
#[derive(Clone)]
pub(super) struct Earlier<'t> {
    pub(super) place: Word<'t>,
    pub(super) condition: Alternatives<'t>,
}

/// What raises a general counter: the action of a line, or reading it in a condition.
pub(super) struct Raise<'t> {
    pub(super) counter: Counter<'t>,
    pub(super) condition: Alternatives<'t>,
    /// The position of its line.
    pub(super) line: usize,
}

/// What the lines of a configuration say.
#[derive(Default)]
pub(super) struct Configuration<'t> {
    pub(super) tables: Vec<Table<'t>>,
    pub(super) tracks: Vec<Track<'t>>,
    pub(super) denials: Vec<Denial<'t>>,
    pub(super) raises: Vec<Raise<'t>>,
    /// Notes that apply to all limits.
    pub(super) notes: Vec<RuleError>,
    section: Option<&'t str>,
    acls: Acls<'t>,
    backends: Vec<Earlier<'t>>,
    /// The kinds of lines that have ended every request in this section.
    ended: Vec<&'t str>,
    line: usize,
}

/// The most lines with `use_backend` of a section that are kept from those after them.
const EARLIER_MAX: usize = 64;

/// Words that begin a section.
const SECTIONS: [&str; 8] =
    ["frontend", "listen", "backend", "defaults", "global", "peers", "cache", "userlist"];

/// Actions after which HAProxy evaluates no other line, because it rejects or answers the request.
const FINAL: [&str; 7] = ["deny", "reject", "tarpit", "return", "silent-drop", "redirect", "auth"];

/// The actions of [`FINAL`] that are supported if they depend on a counter.
const DENIES: [&str; 5] = ["deny", "reject", "tarpit", "return", "silent-drop"];

impl<'t> Configuration<'t> {
    /// Reads a line.
    pub(super) fn read(&mut self, line: &[Word<'t>]) -> Result<(), RuleError> {
        let Some(first) = line.first() else { return Ok(()) };
        self.line += 1;
        match (first.text, line.get(1)) {
            (kind, name) if SECTIONS.contains(&kind) => {
                self.section = name.map(|name| name.text);
                self.acls.clear();
                self.ended.clear();
                self.backends.clear();
            }
            ("stick-table", _) => self.read_table(line, self.section)?,
            ("table", Some(name)) => self.read_table(line, Some(name.text))?,
            ("acl", Some(name)) => {
                let tests = self.acls.entry(name.text).or_default();
                tests.push(test(&line[2..])?);
            }
            ("http-request" | "http-response" | "http-after-response", Some(action)) => {
                self.read_action(line, *action)?;
            }
            ("tcp-request" | "tcp-response", Some(_)) => {
                if let Some(action) = line.get(2) {
                    self.read_action(line, *action)?;
                }
            }
            ("use_backend", Some(backend)) => self.read_backend(line, *backend)?,
            ("block" | "redirect", _) => self.note_counters(line)?,
            _ => {}
        }
        Ok(())
    }

    fn read_table(&mut self, line: &[Word<'t>], name: Option<&'t str>) -> Result<(), RuleError> {
        let after = |name: &str| {
            let at = line.iter().position(|word| word.text == name)?;
            line.get(at + 1).copied()
        };
        let mut stored = Vec::new();
        for (at, word) in line.iter().enumerate() {
            if word.text == "store" {
                // A list may have spaces after its commas.
                let words = line[at + 1..].iter().scan(true, |goes_on, word| {
                    let is_next = *goes_on;
                    *goes_on = word.text.ends_with(',');
                    is_next.then_some(*word)
                });
                for word in words {
                    stored.extend(stores(word)?);
                }
            }
        }
        let expire = after("expire");
        let expire_ns = expire.and_then(|word| duration_ns(word.text, PLAIN_NS));
        if let Some(earlier) = self.tables.iter().position(|table| table.name == name) {
            let message = "of several tables, the last is used for all counters";
            self.notes.push(line[0].error(message));
            self.tables.remove(earlier);
        }
        self.tables.push(Table { name, stores: stored, expire_ns, expire });
        Ok(())
    }

    fn read_action(&mut self, line: &[Word<'t>], action: Word<'t>) -> Result<(), RuleError> {
        let kind = line[0].text;
        let (name, argument) = action.text.split_once('(').unwrap_or((action.text, ""));
        if let Some(counter) = name.strip_prefix("track-sc") {
            if self.ended.contains(&kind) {
                let message = "requests that a line before this one rejects or answers count here, \
                               and not in HAProxy";
                self.notes.push(action.error(message));
            }
            return self.read_track(line, action, counter);
        }
        if let Some(general) = name.strip_prefix("sc-inc-gpc") {
            let number = argument.split([',', ')']).next().unwrap_or("0");
            return self.read_raise(line, action, general, number);
        }
        if matches!(name, "allow" | "accept") {
            let message = format!(
                "`{name}` is not followed: requests that it lets pass are rejected over the rate"
            );
            self.notes.push(action.error(message));
        }
        if DENIES.contains(&name) {
            let condition = alternatives(line, &self.acls)?;
            self.note_reads(&condition);
            for terms in &condition {
                let counter = terms.iter().find_map(|term| Some((term, term.rate()?)));
                if let Some((term, comparison)) = counter {
                    comparison.count(term.is_negated)?;
                }
            }
            let is_of_connections = line.get(1).is_some_and(|it| it.text == "connection");
            let (line, earlier) = (self.line, Vec::new());
            self.denials.push(Denial { condition, is_of_connections, line, earlier });
        } else {
            self.note_counters(line)?;
        }
        if FINAL.contains(&name) {
            self.ended.push(kind);
        }
        Ok(())
    }

    /// Reads a line that sends requests to another backend, which is a decision if they are those
    /// over a count.
    fn read_backend(&mut self, line: &[Word<'t>], backend: Word<'t>) -> Result<(), RuleError> {
        let condition = alternatives(line, &self.acls)?;
        let mut counters = condition.iter().flatten().filter_map(|term| Some((term, term.rate()?)));
        let is_over =
            |(term, rate): (&Term<'_>, &Comparison<'_>)| rate.count(term.is_negated).is_ok();
        if !counters.next().is_some_and(is_over) || !counters.all(is_over) {
            if self.backends.len() < EARLIER_MAX {
                self.backends.push(Earlier { place: backend, condition });
            } else {
                let message = "too many lines send requests to backends before those over the rate: \
                               this one is not followed";
                self.notes.push(backend.error(message));
            }
            return self.note_counters(line);
        }
        self.note_reads(&condition);
        let message = format!(
            "requests over the rate go to the backend `{}`: here they are shown as rejected",
            backend.text
        );
        self.notes.push(backend.error(message));
        let (line, earlier) = (self.line, self.backends.clone());
        self.denials.push(Denial { condition, is_of_connections: false, line, earlier });
        Ok(())
    }

    fn read_track(
        &mut self,
        line: &[Word<'t>],
        action: Word<'t>,
        counter: &'t str,
    ) -> Result<(), RuleError> {
        let at = line.iter().position(|word| word.start == action.start).unwrap_or(0);
        let (counter, at) = match counter {
            // `track-sc 0 src` does not exist, but `track-sc0` does.
            "" => return Err(action.error("write the number of the counter: track-sc0")),
            counter => (counter, at + 1),
        };
        let word = line.get(at).ok_or_else(|| action.error("what is tracked is missing"))?;
        let table = line.iter().position(|word| word.text == "table");
        let table = table.and_then(|at| line.get(at + 1)).map(|word| word.text);
        self.tracks.push(Track {
            place: action,
            counter,
            key: key(*word)?,
            table,
            section: self.section,
            condition: alternatives(line, &self.acls)?,
            if_place: line.iter().find(|word| matches!(word.text, "if" | "unless")).copied(),
        });
        Ok(())
    }

    fn read_raise(
        &mut self,
        line: &[Word<'t>],
        action: Word<'t>,
        general: &str,
        number: &'t str,
    ) -> Result<(), RuleError> {
        let Some(general) = general.parse().ok().filter(|general| *general < 2) else {
            self.notes.push(action.error("this counter is not followed"));
            return Ok(());
        };
        let kind = CounterKind::Raise(general);
        let counter = Counter { place: action, kind, number: Some(number), table: None };
        let condition = alternatives(line, &self.acls)?;
        self.raises.push(Raise { counter, condition, line: self.line });
        Ok(())
    }

    /// Takes the general counters that a condition raises by reading them.
    fn note_reads(&mut self, condition: &Alternatives<'t>) {
        for terms in condition {
            for (at, term) in terms.iter().enumerate() {
                let Test::Counter(comparison) = &term.test else { continue };
                if matches!(comparison.counter.kind, CounterKind::Raise(_)) {
                    let condition = vec![terms[..at].to_vec()];
                    let counter = comparison.counter.clone();
                    self.raises.push(Raise { counter, condition, line: self.line });
                }
            }
        }
    }

    /// Names the counters in the condition of a line that rejects nothing.
    fn note_counters(&mut self, line: &[Word<'t>]) -> Result<(), RuleError> {
        let condition = alternatives(line, &self.acls)?;
        self.note_reads(&condition);
        let is_counter = |test: &Test<'_>| matches!(test, Test::Counter(_));
        let mut terms = condition.iter().flatten();
        if let Some(term) = terms.find(|term| is_counter(&term.test)) {
            let message =
                format!("what `{}` does is not followed: it rejects no request here", line[0].text);
            self.notes.push(term.place.error(message));
        }
        Ok(())
    }
}

/// The key of an expression that is tracked.
fn key(word: Word<'_>) -> Result<LimitKey, RuleError> {
    let argument = |prefix: &str| word.text.strip_prefix(prefix)?.strip_suffix(')');
    let parts = match word.text {
        "src" => client(),
        "path" | "method" => vec![KeyPart::Field(word.text.to_owned())],
        text => {
            let mask = argument("src,ipmask(").map(|bits| bits.split(',').collect::<Vec<_>>());
            let header = argument("req.hdr(").or(argument("hdr(")).or(argument("req.fhdr("));
            let cookie = argument("req.cook(").or(argument("cook("));
            let bits = |text: &&str, max: u8| text.parse().ok().filter(|bits| *bits <= max);
            match (mask.as_deref(), header, cookie) {
                (_, Some(name), _) => vec![KeyPart::Field(header_field(name))],
                (_, _, Some(name)) => vec![KeyPart::Field(format!("cookie_{name}"))],
                (Some([v4, rest @ ..]), ..) => {
                    let v6 = rest.first().map_or(Some(128), |v6| bits(v6, 128));
                    let (Some(v4), Some(v6)) = (bits(v4, 32), v6) else {
                        return Err(word.error("write a mask as `ipmask(24)` or `ipmask(24,64)`"));
                    };
                    vec![KeyPart::Network { field: "client".to_owned(), v4, v6 }]
                }
                _ => {
                    return Err(word.error(format!(
                        "what `{text}` tracks cannot be told from a log; src, src,ipmask(24), \
                         req.hdr(NAME), req.cook(NAME), path and method can"
                    )));
                }
            }
        }
    };
    Ok(LimitKey::new(parts))
}

/// Whether a counter is that of a track: by its number, or the client's entry in its table.
pub(super) fn is_of(counter: &Counter<'_>, track: &Track<'_>) -> bool {
    match counter.number {
        Some(number) => track.counter == number,
        None => {
            track.key == LimitKey::new(client())
                && counter.table.is_none_or(|table| {
                    track.table.or(track.section).is_none_or(|tracked| tracked == table)
                })
        }
    }
}

/// Whether a raised counter is the one that is read.
pub(super) fn is_raised(read: &Counter<'_>, raised: &Counter<'_>) -> bool {
    let general = |counter: &Counter<'_>| match counter.kind {
        CounterKind::General(number) | CounterKind::Raise(number) => Some(number),
        CounterKind::Rate("gpc0_rate") => Some(0),
        CounterKind::Rate("gpc1_rate") => Some(1),
        _ => None,
    };
    general(read).is_some() && general(read) == general(raised)
}

pub(super) use counter::Comparison;
