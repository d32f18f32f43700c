//! The traits that every family of rules implements.

use std::fmt;

use weir_core::{
    Record, RecordFields, RecordKind, RowReader, Segment, Selection, UnknownField, Values,
};

use crate::error::RuleError;
use crate::event::{Event, Events};
use crate::evidence::{LineTally, LogCounts, LookedAt};
use crate::gate::{CannotEnforce, Gate, GateOptions};
use crate::report::{Decision, LeftOutRules, RuleReport};
use crate::settings::RuleSettings;
use crate::sweep::LimitSweep;

/// The kinds of rules, each with its own language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// `limit_req` of nginx.
    LimitReq,
    /// `limit_conn` of nginx.
    LimitConn,
    /// Annotations of ingress-nginx, which are limits of nginx.
    IngressNginx,
    /// Limits of requests in a window, in a language of their own.
    Windows,
    /// Zones of caddy-ratelimit.
    Caddy,
    /// Rates of HAProxy's stick tables.
    Haproxy,
    /// Limits of iptables.
    Iptables,
    /// Limits of nft.
    Nft,
    /// The local rate limit of Envoy.
    Envoy,
    /// Throttled requests of Varnish.
    Varnish,
    /// The middleware RateLimit of Traefik.
    Traefik,
    /// mod_evasive of Apache.
    ModEvasive,
    /// Rate limits of AWS WAF, Cloudflare and Azure.
    Cloud,
    /// Lists of networks and conditions that are allowed or denied.
    Lists,
    /// Rules of ModSecurity.
    ModSecurity,
    /// Policies of Anubis.
    Anubis,
    /// Jails and filters of fail2ban.
    Fail2ban,
    /// Scenarios of CrowdSec.
    CrowdSec,
}

impl Family {
    /// All families.
    pub const ALL: [Self; 18] = [
        Self::LimitReq,
        Self::LimitConn,
        Self::IngressNginx,
        Self::Windows,
        Self::Caddy,
        Self::Haproxy,
        Self::Traefik,
        Self::Envoy,
        Self::Varnish,
        Self::Iptables,
        Self::Nft,
        Self::Cloud,
        Self::Lists,
        Self::ModSecurity,
        Self::Anubis,
        Self::ModEvasive,
        Self::Fail2ban,
        Self::CrowdSec,
    ];

    /// The name on the command line and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LimitReq => "nginx",
            Self::LimitConn => "limit_conn",
            Self::IngressNginx => "ingress-nginx",
            Self::Windows => "limit",
            Self::Caddy => "caddy",
            Self::Haproxy => "haproxy",
            Self::Traefik => "traefik",
            Self::Envoy => "envoy",
            Self::Varnish => "varnish",
            Self::Iptables => "iptables",
            Self::Nft => "nft",
            Self::ModEvasive => "mod-evasive",
            Self::Cloud => "cloud",
            Self::Lists => "deny-list",
            Self::ModSecurity => "modsecurity",
            Self::Anubis => "anubis",
            Self::Fail2ban => "fail2ban",
            Self::CrowdSec => "crowdsec",
        }
    }
}

/// A rule that can be replayed over a log.
pub trait Rule: fmt::Debug + Send + Sync {
    /// The name of the rule, as its own text gives it.
    fn name(&self) -> &str;

    /// The family.
    fn family(&self) -> Family;

    /// A description of the rule, in the terms of its software.
    fn description(&self) -> String;

    /// The parts of the text that were not understood, each with its position. The replay ignores
    /// them.
    fn notes(&self) -> &[RuleError];

    /// Other rules of the text that are not replayed, each with its position. They say nothing about
    /// this rule, which is only the first of those that are.
    fn omitted_rules(&self) -> &[RuleError] {
        &[]
    }

    /// The rules of a set that a log cannot decide, by reason, the most frequent reason first.
    fn left_out(&self) -> Vec<LeftOutRules> {
        Vec::new()
    }

    /// Whether it looks at records of a kind: by default at requests only.
    fn sees(&self, kind: RecordKind) -> bool {
        kind == RecordKind::Request
    }

    /// Returns the names of the fields that its observers read; `None` for all. Others may be left
    /// out of the records.
    fn reads(&self) -> Option<Vec<String>> {
        None
    }

    /// Returns the fields that the text names, besides the client, the host and the request line. A
    /// gateway has those of them that are headers (`http_NAME`) and cookies (`cookie_NAME`) in its
    /// records.
    fn named_fields(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the numbers that decide who trips it, if the rule has a single limit.
    fn settings(&self) -> Option<RuleSettings> {
        None
    }

    /// Returns the numbers of each limit that has its own, by its name in [`Trip::limit`], if the rule
    /// has several limits.
    ///
    /// [`Trip::limit`]: crate::Trip::limit
    fn limit_settings(&self) -> Vec<(String, RuleSettings)> {
        Vec::new()
    }

    /// Resolves the fields that the rule needs among those of some records: of a format, or of a
    /// data set.
    ///
    /// # Errors
    /// If the records lack one of them.
    fn bind<'r>(&'r self, fields: &RecordFields) -> Result<Box<dyn Observer + 'r>, MissingField>;

    /// Returns the parts of the rule that records with these fields cannot decide, and that
    /// [`Rule::bind`] therefore leaves out, each as a sentence.
    fn left_out_of(&self, _fields: &RecordFields) -> Vec<String> {
        Vec::new()
    }

    /// Begins the observation of a part of a log, for a rule that looks at all lines, whether or
    /// not a format matches them. [`Rule::bind`] is not called then.
    fn observe_lines<'r>(&'r self) -> Option<Box<dyn Observer + 'r>> {
        None
    }

    /// Returns what a replay looked at. `tally` is the sum of those of the observers, for a rule that
    /// looks at lines, and `evaluated` is the number of requests in the report.
    fn looked_at(&self, log: &LogCounts, _tally: &LineTally, evaluated: u64) -> LookedAt {
        LookedAt::records(&|kind| self.sees(kind), log, evaluated)
    }

    /// Begins a replay.
    fn replay<'r>(&'r self) -> Box<dyn Replay + 'r>;

    /// Makes a gate that enforces the rule, for requests with these fields when they arrive. It
    /// does not borrow from the rule.
    ///
    /// # Errors
    /// If the rule needs what is only known after the answer, or a field that the requests do not
    /// have.
    fn gate(
        &self,
        _fields: &RecordFields,
        _options: GateOptions,
    ) -> Result<Box<dyn Gate>, CannotEnforce> {
        Err(CannotEnforce::before_answer(format_args!(
            "the family `{}` looks at requests that were answered, so the rule cannot be enforced \
             when one arrives",
            self.family().name()
        )))
    }
}

/// One line of a log.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    /// Its number in the part of the log that is observed, from 0.
    pub number: u64,
    /// The whole line, without its line end.
    pub bytes: &'a [u8],
    /// Its fields. Always there for an observer of records; [`Rule::observe_lines`] may do without.
    pub record: Option<&'a Record<'a>>,
}

/// Extracts the events that a rule counts from records with the same fields.
///
/// The events of a line do not depend on other lines, so that parts of a log can be observed in
/// parallel.
pub trait Observer: Send {
    /// Observes one line, and appends the events that the rule counts to `events`.
    fn observe(&mut self, line: &Line<'_>, events: &mut Events);

    /// Looks at the lines of a block, of which the first has a number, as [`Observer::observe`]
    /// does without their records. The last one may lack its line feed. Returns how many there are.
    fn observe_block(&mut self, block: &[u8], first: u64, events: &mut Events) -> u64 {
        let mut number = first;
        for line in block.split_inclusive(|byte| *byte == b'\n') {
            let bytes = line.strip_suffix(b"\n").unwrap_or(line);
            self.observe(&Line { number, bytes, record: None }, events);
            number += 1;
        }
        number - first
    }
}

/// The state of a rule as it processes the events of a log in order.
pub trait Replay: Send {
    /// Takes the next event of the log. `line` is the number of its line in the source, from 1.
    fn take(&mut self, source: u32, line: u64, event: &Event<'_>);

    /// Prepares to take the rows of a data set themselves instead of events, which is much faster
    /// if the answer depends on single values: it is found once for each distinct one. Returns
    /// whether the rule can; if not, its observers look at the rows.
    fn bind_rows(&mut self, _rows: &RowReader) -> bool {
        false
    }

    /// Takes the selected rows of the next segment of the log, after [`Self::bind_rows`] returned
    /// true. Their lines are numbered by their offsets. Returns the number of rows with values that
    /// were not kept, which are left out. The ids of `values` must stay those of the first call.
    fn take_rows(&mut self, _segment: &Segment, _selection: &Selection, _values: &Values) -> u64 {
        0
    }

    /// Returns the memory taken, in bytes.
    fn memory_bytes(&self) -> usize;

    /// Returns the requests so far in a form that answers for other settings, if the rule is one
    /// `limit_req`. Of whole seconds it takes the likeliest arrivals.
    fn sweep(&self) -> Option<LimitSweep> {
        None
    }

    /// Returns the text of a key of the sweep, by its number there; `None` if there is no such key.
    fn sweep_key(&self, _number: u32) -> Option<&[u8]> {
        None
    }

    /// Ends the log. Decisions are passed on in the order of the log.
    fn finish(self: Box<Self>, decide: Option<&mut dyn FnMut(&Decision<'_>)>) -> RuleReport;
}

/// A field that a rule needs and a format lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingField {
    /// Its name; `None` if the missing thing is not a field.
    pub field: Option<String>,
    /// A sentence that names it, and says what to add to the log.
    pub message: String,
}

impl MissingField {
    /// A field that is missing.
    pub(crate) fn new(field: &str, message: impl fmt::Display) -> Self {
        Self { field: Some(field.to_owned()), message: message.to_string() }
    }

    /// Something else that is missing.
    pub(crate) fn other(message: impl fmt::Display) -> Self {
        Self { field: None, message: message.to_string() }
    }
}

impl From<UnknownField> for MissingField {
    fn from(error: UnknownField) -> Self {
        Self::new(&error.name, &error)
    }
}

impl From<MissingField> for CannotEnforce {
    fn from(missing: MissingField) -> Self {
        match missing.field {
            Some(field) => CannotEnforce::without_field(&field),
            None => CannotEnforce::new(missing.message),
        }
    }
}

impl fmt::Display for MissingField {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for MissingField {}
