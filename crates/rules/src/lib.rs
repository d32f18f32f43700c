//! Replays firewall rules over the traffic of a log, and enforces them.
//!
//! A [`Rule`] is read from the configuration of its own software, such as lines of an nginx
//! configuration. Its replay has two steps, because the first runs on all cores and the second
//! depends on the order of the log:
//!
//! 1. An [`Observer`], made by [`Rule::bind`] for the records of one format, reads one record at a
//!    time and appends what the rule counts to [`Events`]: a time, and the texts that the rule groups
//!    by.
//! 2. A [`Replay`], made by [`Rule::replay`], takes the events in the order of the log, and returns
//!    a [`RuleReport`] and a [`Decision`] for each request.
//!
//! A rule that decides when a request arrives can also be enforced: [`Rule::gate`] makes a
//! [`Gate`], which decides about one request at a time with the code of the replay.
//!
//! The crate does no I/O and has no clock: the time of a replay is that of the log. Each language of
//! rules is a module, whose documentation names the source that it follows. Limits share the rest:
//! `arrivals` stores requests and the precision of their times, `keys` numbers keys and sums up what
//! happened to each, `engine` has what decisions have in common, and `gate` bounds what an enforced
//! limit remembers.

mod anubis;
mod arrivals;
mod backtracking_parts;
mod condition;
mod crowdsec;
mod deny_replay;
mod engine;
mod error;
mod event;
mod evidence;
mod fail2ban;
mod file_search;
mod files;
mod gate;
mod go_pattern;
mod ingress;
mod keys;
mod lists;
mod modsecurity;
mod networks;
mod nginx;
mod parse;
mod plain_rate;
mod presets;
mod report;
mod rule;
mod rule_excerpt;
mod settings;
mod shared_data;
mod suggestion;
mod sweep;
mod tunable_text;
mod unread;
mod windows;
mod yaml;

pub use error::{ParseError, RuleError};
pub use event::{Event, EventHead, Events, Texts};
pub use evidence::{LineTally, LogCounts, LookedAt, PatternMatches};
pub use files::RuleFiles;
pub use gate::{
    CannotEnforce, Gate, GateDecision, GateLimit, GateOptions, GateUsage, GateVerdict, Place,
    Quota, QuotaPolicy, QuotaUnit,
};
pub use parse::{parse_rules, parse_rules_up_to};
pub use report::{
    Alert, Ban, Decision, Estimate, Exactness, KeyCounts, LeftOutRules, MatchedRules,
    RequestCounts, RuleReport, Step, Trip, Verdict,
};
pub use rule::{Family, Line, MissingField, Observer, Replay, Rule};
pub use settings::RuleSettings;
pub use suggestion::Suggestion;
pub use sweep::{LimitSweep, SweptSetting};
pub use tunable_text::{ChangedRule, TextSettings, TunableText};
