//! Rules of ModSecurity that test the request line or a header that is in the log.
//!
//! Follows the reference manual of ModSecurity 2.9. [`language`] reads the lines, [`variable`]
//! finds the values in a record, [`transform`] and [`operator`] test them, and [`engine`] decides.
//! A rule with a part that a log does not have is not evaluated; it is counted and named.

mod decode;
mod engine;
mod exclusion;
mod expression;
mod language;
mod operator;
mod pcre;
mod transaction;
mod transform;
mod variable;

use std::collections::BTreeMap;
use std::fmt::Write;

use weir_core::{Field, RecordFields};

use self::engine::Rules;
use self::language::{Disruption, SecRule};
pub(crate) use self::language::{looks_like, missing_files};
use self::variable::{Source, needed_field};
use crate::deny_replay::{DenyReplay, Entries, MatchedEntries, NO_ENTRY};
use crate::error::RuleError;
use crate::event::{EventHead, Events};
use crate::files::RuleFiles;
use crate::gate::{CannotEnforce, Gate, GateOptions};
use crate::report::{Exactness, LeftOutRules};
use crate::rule::{Family, Line, MissingField, Observer, Replay, Rule};

/// The most rules whose matches are listed.
const LISTED_MAX: usize = 20;

/// The most ids that are listed of the rules that are left out for one reason.
const LEFT_OUT_IDS_MAX: usize = 5;

/// The variable that the set-up file of the OWASP Core Rule Set sets, and its other files test.
const CRS_SET_UP: &str = "crs_setup_version";

/// The rules of a configuration.
#[derive(Debug)]
pub(crate) struct ModSecurity {
    name: String,
    rules: Rules,
    notes: Vec<RuleError>,
    /// The number of rules that cannot be evaluated.
    untold: usize,
    /// The number of rules that may match a part of a request that is not in the log.
    partial: usize,
}

impl ModSecurity {
    /// Reads the rules.
    ///
    /// # Errors
    /// If one is not well formed, or there is none.
    pub(crate) fn parse(text: &str, name: &str, files: &RuleFiles) -> Result<Self, RuleError> {
        let (directives, mut notes) = language::parse(text, files)?;
        let mut rules = Rules::new(directives);
        if rules.count == 0 {
            return Err(RuleError::new(0..0, "there is no `SecRule` in it"));
        }
        notes.extend(add_crs_set_up(&mut rules));
        let has_obstacle = |links: &&[SecRule]| links.iter().any(|link| link.obstacle.is_some());
        let untold = rules.all().filter(has_obstacle).count();
        let is_partial = |links: &&[SecRule]| {
            links.iter().all(|link| link.obstacle.is_none())
                && links.iter().any(|link| !link.missing.is_empty())
        };
        let partial = rules.all().filter(is_partial).count();
        Ok(Self { name: name.to_owned(), rules, notes, untold, partial })
    }
}

/// Makes the Core Rule Set run without its set-up file, without which it denies every request: all
/// that the file sets has a default there. Returns a note that says so.
fn add_crs_set_up(rules: &mut Rules) -> Option<RuleError> {
    let tests = |rule: &SecRule| {
        rule.variables.iter().any(|variable| match &variable.source {
            Source::Transaction(names) => names.single() == Some(CRS_SET_UP),
            _ => false,
        })
    };
    let place = rules.all().flatten().find(|rule| tests(rule))?.range.clone();
    if rules.set_names().contains(CRS_SET_UP) {
        return None;
    }
    rules.initial.push((CRS_SET_UP.to_owned(), b"1".to_vec()));
    let message = "the set-up file of the OWASP Core Rule Set, crs-setup.conf, is not among the \
                   rules, so its defaults are used: paranoia level 1, and a score of 5 is \
                   rejected. Without the file, ModSecurity itself rejects every request";
    Some(RuleError::new(place, message))
}

fn title(rule: &SecRule) -> String {
    match &*rule.id {
        "" => "the rule".to_owned(),
        id => format!("rule {id}"),
    }
}

impl Rule for ModSecurity {
    fn name(&self) -> &str {
        &self.name
    }

    fn family(&self) -> Family {
        Family::ModSecurity
    }

    fn description(&self) -> String {
        let rules = number(self.rules.count.into(), "rule");
        match self.untold {
            0 => rules,
            untold => format!("{rules}, {untold} of which cannot be told from this log"),
        }
    }

    fn notes(&self) -> &[RuleError] {
        &self.notes
    }

    fn left_out(&self) -> Vec<LeftOutRules> {
        let mut by_reason: BTreeMap<String, (u64, Vec<String>)> = BTreeMap::new();
        for links in self.rules.all() {
            let Some(obstacle) = links.iter().find_map(|link| link.obstacle.as_ref()) else {
                continue;
            };
            let (rules, ids) = by_reason.entry(obstacle.to_string()).or_default();
            *rules += 1;
            if ids.len() < LEFT_OUT_IDS_MAX && !links[0].id.is_empty() {
                ids.push(links[0].id.clone());
            }
        }
        let group = |(reason, (rules, first_ids))| LeftOutRules { reason, rules, first_ids };
        let mut groups: Vec<LeftOutRules> = by_reason.into_iter().map(group).collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.rules));
        groups
    }

    fn bind<'r>(&'r self, fields: &RecordFields) -> Result<Box<dyn Observer + 'r>, MissingField> {
        let (mut lacking, mut first_error, mut is_useful) = (Vec::new(), None, false);
        for links in self.rules.all() {
            let variables = links.iter().flat_map(|link| &link.variables);
            let needed = variables.filter(|variable| !variable.is_excluded);
            let needed = needed.filter_map(|variable| needed_field(&variable.source));
            let templates = links.iter().filter_map(|link| link.dynamic_operator.as_ref());
            let of_operators = templates.flat_map(|(_, argument)| argument.needed_fields());
            let needed: Vec<&str> = needed.chain(of_operators).collect();
            let error = needed.iter().find_map(|name| fields.accessor(name).err());
            let is_told = links.iter().all(|link| link.obstacle.is_none());
            lacking.push(error.is_some());
            is_useful |= is_told && !needed.is_empty() && error.is_none();
            if let Some(error) = error.filter(|_| is_told && first_error.is_none()) {
                first_error = Some(format!("{}: {error}", title(&links[0])));
            }
        }
        if let Some(message) = first_error.filter(|_| !is_useful) {
            return Err(MissingField::other(message));
        }
        Ok(Box::new(ModSecurityObserver { rule: self, fields: fields.clone(), lacking }))
    }

    fn replay<'r>(&'r self) -> Box<dyn Replay + 'r> {
        Box::new(DenyReplay::new(self))
    }

    fn gate(&self, _: &RecordFields, _: GateOptions) -> Result<Box<dyn Gate>, CannotEnforce> {
        Err(CannotEnforce::new(
            "rules of ModSecurity are read for what a log has, which is less than a request, such as \
             no body; enforce them in ModSecurity",
        ))
    }
}

/// A number of things.
fn number(count: u64, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

impl Entries for ModSecurity {
    fn denies(&self, entry: u32) -> bool {
        entry < self.rules.count
    }

    fn texts(&self) -> Vec<Option<String>> {
        self.rules.all().map(|links| Some(title(&links[0]))).collect()
    }

    fn ids(&self) -> Option<Vec<&str>> {
        Some(self.rules.all().map(|links| &*links[0].id).collect())
    }

    fn notes(&self, matches: &[u64]) -> Vec<String> {
        let mut notes = Vec::new();
        let abandoned = self.rules.abandoned();
        if abandoned > 0 {
            notes.push(format!(
                "{} took too many steps and were abandoned, as if they had found nothing",
                number(abandoned, "comparison with an expression")
            ));
        }
        if self.untold > 0 {
            notes.push(format!(
                "{} cannot be told from this log; a request that passed may meet one",
                number(self.untold as u64, "rule")
            ));
        }
        if self.partial > 0 {
            let missing = self.rules.all().flatten().flat_map(|link| &link.missing);
            let mut missing: Vec<&str> = missing.map(String::as_str).collect();
            missing.sort_unstable();
            missing.dedup();
            notes.push(format!(
                "parts of a request that may not be in this log ({}) are tested by {}, which may \
                 match there",
                missing.join(", "),
                number(self.partial as u64, "rule")
            ));
        }
        let mut matched: Vec<(u64, &[SecRule])> =
            matches.iter().copied().zip(self.rules.all()).filter(|(count, _)| *count > 0).collect();
        matched.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        for (count, links) in matched.iter().take(LISTED_MAX) {
            let mut note = format!("{} matched {}", title(&links[0]), number(*count, "request"));
            if links[0].disruption != Disruption::Deny {
                let _ = write!(note, ", and lets them pass");
            }
            notes.push(note);
        }
        notes
    }

    fn exactness(&self) -> Exactness {
        if self.untold + self.partial > 0 || self.rules.abandoned() > 0 {
            Exactness::Bounded
        } else {
            Exactness::Exact
        }
    }
}

/// Emits an event for each request: the number of the rule that denies it, the client, and the
/// numbers of the rules that match.
struct ModSecurityObserver<'r> {
    rule: &'r ModSecurity,
    fields: RecordFields,
    /// By rule: whether the records lack a field that it needs.
    lacking: Vec<bool>,
}

impl Observer for ModSecurityObserver<'_> {
    fn observe(&mut self, line: &Line<'_>, events: &mut Events) {
        let Some(record) = line.record else { return };
        let rules = &self.rule.rules;
        let evaluation = rules.evaluate(record, &self.fields, &self.lacking);
        let matched = MatchedEntries::pack(evaluation.score, &evaluation.matched);
        let client = record.text(Field::Client).unwrap_or_default();
        let time_ns = record.time.map(|time| time.unix_ns);
        let tag = evaluation.denied.unwrap_or(NO_ENTRY);
        let head = EventHead { line: line.number, time_ns, duration_ns: 0, tag };
        events.put(head, [client, &matched]);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weir_core::{Format, LineParser, Record};

    use super::ModSecurity;
    use crate::files::RuleFiles;
    use crate::rule::Rule;

    /// The title of the rule that denies a request line with an agent, and those that match.
    fn denied(text: &str, request: &str, agent: &str) -> (Option<u32>, Vec<u32>) {
        let rule = ModSecurity::parse(text, "test", &RuleFiles::default()).expect(text);
        let format = Format::parse(r#"$remote_addr [$time_local] "$request" "$http_user_agent""#);
        let format = Arc::new(format.expect("a format"));
        let fields = format.record_fields();
        rule.bind(&fields).expect("the log has the fields");
        let line = format!("192.0.2.7 [17/Dec/2025:09:03:01 +0000] \"{request}\" \"{agent}\"");
        let mut record = Record::new();
        LineParser::new(format).parse(line.as_bytes(), &mut record).expect("it fits");
        let lacking = vec![false; rule.rules.count as usize];
        let evaluation = rule.rules.evaluate(&record, &fields, &lacking);
        (evaluation.denied, evaluation.matched)
    }

    #[test]
    fn rules_test_the_request() {
        let request = "GET /a/../%41dmin?q=1%27+UNION&b=x HTTP/1.1";
        for (rule, expected) in [
            (r#"REQUEST_URI "@contains /../""#, true),
            (r#"REQUEST_URI "@rx (?i)union$""#, false),
            (r#"ARGS "@rx (?i)union$""#, true),
            (r#"ARGS "!@rx union""#, true),
            (r#"ARGS|!ARGS:q "@rx (?i)union""#, false),
            (r#"ARGS:B "@streq x""#, true),
            (r#"&ARGS "@eq 2""#, true),
            (r#"ARGS_NAMES "@within q b""#, true),
            (r#"REQUEST_FILENAME "@endsWith /admin""#, false),
            (r#"REQUEST_METHOD "!@within GET POST""#, false),
            (r#"REQUEST_PROTOCOL "@streq HTTP/1.1""#, true),
            (r#"QUERY_STRING "@beginsWith q=1%27""#, true),
            (r#"REQUEST_LINE "@beginsWith GET /a/""#, true),
            (r#"REQUEST_HEADERS:User-Agent "@pm nikto sqlmap""#, true),
            (r#"REQUEST_HEADERS "@rx nikto$""#, false),
            (r#"REQUEST_HEADERS "@rx Nikto$""#, true),
            (r#"REQUEST_HEADERS|!REQUEST_HEADERS:User-Agent "@rx Nikto$""#, false),
            (r#"REMOTE_ADDR "@ipMatch 192.0.2.0/24""#, true),
            ("REQUEST_HEADERS:User-Agent \"\\\"\"", true),
        ] {
            let text = format!("SecRule {rule} \"id:1,deny\"");
            let agent = r#"a \x22 Nikto"#;
            assert_eq!(denied(&text, request, agent).0.is_some(), expected, "{rule}");
        }
        let text = "SecRule REQUEST_FILENAME \"@streq /admin\" \\\n    \
                    \"id:1,t:none,t:urlDecode,t:normalizePath,t:lowercase,deny\"";
        assert_eq!(denied(text, request, "x").0, Some(0));
    }

    #[test]
    fn chains_scores_and_markers_are_followed() {
        let text = r#"
# Scores
SecDefaultAction "phase:2,log,pass"
SecAction "id:1,phase:1,pass,setvar:tx.critical=5,setvar:tx.limit=5"
SecRule REQUEST_METHOD "@streq POST" "id:2,phase:2,block,chain,setvar:'tx.score=+3'"
    SecRule REQUEST_FILENAME "@beginsWith /login" "setvar:tx.score=+1"
SecRule ARGS "@contains <script" "id:3,phase:2,block,t:lowercase,setvar:'tx.score=+%{tx.critical}'"
SecRule TX:SCORE "@ge %{tx.limit}" "id:4,phase:2,deny"
SecRule REQUEST_FILENAME "@beginsWith /free" "id:5,phase:1,pass,skipAfter:END"
SecRule REQUEST_HEADERS:User-Agent "@contains bad" "id:6,phase:1,deny"
SecMarker END
"#;
        assert_eq!(denied(text, "POST /login HTTP/1.1", "x"), (None, vec![1]));
        assert_eq!(denied(text, "GET /?a=%3CSCRIPT HTTP/1.1", "x"), (Some(3), vec![2, 3]));
        assert_eq!(denied(text, "GET / HTTP/1.1", "bad"), (Some(5), vec![5]));
        assert_eq!(denied(text, "GET /free HTTP/1.1", "bad"), (None, vec![4]));
    }

    #[test]
    fn variables_are_set_for_each_value_that_matches() {
        let text = r#"
SecAction "id:1,phase:1,pass,setvar:tx.seen=9"
SecRule ARGS|ARGS_NAMES "@contains evil" "id:2,phase:1,pass,setvar:!tx.seen,setvar:'tx.score=+3'"
SecRule ARGS "@streq on" "id:3,phase:1,pass,chain,setvar:tx.score=+10"
    SecRule REQUEST_METHOD "@streq POST" "setvar:tx.score=+100"
SecRule TX:SCORE "@eq LIMIT" "id:4,phase:2,deny"
SecRule TX:SEEN "@eq 9" "id:5,phase:2,deny"
"#;
        for (request, score) in [
            ("GET /?a=evil HTTP/1.1", 3),
            ("GET /?a=evil&b=evil HTTP/1.1", 6),
            ("GET /?evil=evil&b=evil&c=x HTTP/1.1", 9),
            ("GET /?a=evil&b=on&c=on HTTP/1.1", 23),
            ("POST /?a=evil&b=on&c=on HTTP/1.1", 123),
        ] {
            for limit in [score - 1, score, score + 1] {
                let text = text.replace("LIMIT", &limit.to_string());
                let expected = (limit == score).then_some(3);
                assert_eq!(denied(&text, request, "x").0, expected, "{request} {limit}");
            }
        }
        assert_eq!(denied(text, "GET /?a=b HTTP/1.1", "x").0, Some(4));
    }

    #[test]
    fn rules_begin_with_the_default_actions_before_them() {
        let request = "GET /?a=EVIL HTTP/1.1";
        let default = "SecDefaultAction \"phase:2,deny,t:lowercase\"";
        let test = "SecRule ARGS \"@contains evil\"";
        for (text, expected) in [
            (format!("{default}\n{test} \"id:1\""), true),
            (format!("{default}\n{test}"), true),
            (format!("{default}\n{test} \"id:1,phase:1,block\""), true),
            (format!("{default}\n{test} \"id:1,pass\""), false),
            (format!("{default}\n{test} \"id:1,t:none\""), false),
            (format!("{test} \"id:1,block,t:lowercase\"\n{default}"), false),
            (format!("{default}\nSecDefaultAction \"phase:1,pass\"\n{test} \"id:1\""), false),
            (
                format!(
                    "{default}\nSecDefaultAction \"phase:1,pass\"\n{test} \"id:1,deny,t:lowercase\""
                ),
                true,
            ),
        ] {
            assert_eq!(denied(&text, request, "x").0.is_some(), expected, "{text}");
        }
    }

    #[test]
    fn allow_ends_the_phases_of_its_scope() {
        for (scope, phase, expected) in [
            ("allow", 1, false),
            ("allow", 2, false),
            ("allow", 4, false),
            ("allow:request", 2, false),
            ("allow:request", 3, true),
            ("allow:phase", 1, false),
            ("allow:phase", 2, true),
        ] {
            let text = format!(
                "SecRule REQUEST_METHOD \"@streq GET\" \"id:1,phase:1,{scope}\"\n\
                 SecRule ARGS \"@contains evil\" \"id:2,phase:{phase},deny\""
            );
            let denied = denied(&text, "GET /?a=evil HTTP/1.1", "x").0.is_some();
            assert_eq!(denied, expected, "{scope} {phase}");
        }
    }

    #[test]
    fn directives_that_change_verdicts_are_named() {
        let test = "SecRule ARGS \"@contains evil\"";
        for (lines, expected) in [
            ("SecRuleEngine On\n<IfModule security2_module>\n</IfModule>\nServerName a", None),
            ("SecRuleEngine DetectionOnly", Some("the engine is `DetectionOnly`")),
            ("Include crs/*.conf", Some("the included rules are not read")),
            ("<LocationMatch \"^/a\">\n</LocationMatch>", Some("`<LocationMatch>`")),
            ("<IfModule !security2_module>", Some("`<IfModule>`")),
            ("SecDefaultAction \"phase:2,deny\"", Some("rules that do not say")),
            (
                "SecDefaultAction \"phase:1,deny\"\nSecDefaultAction \"phase:2,pass\"",
                Some("the rules after this line"),
            ),
        ] {
            let text = format!("{lines}\n{test} \"id:1\"\n{test} \"id:2\"");
            let rule = ModSecurity::parse(&text, "test", &RuleFiles::default()).expect(lines);
            let notes: Vec<&str> = rule.notes.iter().map(|note| &*note.message).collect();
            assert_eq!(notes.len(), usize::from(expected.is_some()), "{lines}: {notes:?}");
            let starts = |note: &&str| note.starts_with(expected.unwrap_or_default());
            assert!(notes.iter().all(starts), "{lines}: {notes:?}");
        }
        let text = format!("{test} \"id:1,phase:5,deny\"");
        assert_eq!(denied(&text, "GET /?a=evil HTTP/1.1", "x"), (None, vec![0]));
        let rule = ModSecurity::parse(&text, "test", &RuleFiles::default()).expect("it is valid");
        assert!(rule.notes[0].message.starts_with("phase 5 is after the answer"));
    }

    #[test]
    fn what_cannot_be_told_is_named() {
        let text = r#"SecRule REQUEST_BODY "@rx a" "id:1,deny"
SecRule ARGS "@detectSQLi" "id:2,deny"
SecRule ARGS "@rx (?<!a)b" "id:3,deny"
SecRule ARGS "@rx a" "id:4,t:sha1,deny"
SecRule ARGS "@rx a" "id:5,deny,chain"
SecRule XML:/* "@rx a"
SecRule REQUEST_COOKIES|!REQUEST_COOKIES:/x/|ARGS "@rx a" "id:6,deny"
SecUploadDir /tmp"#;
        let rule = ModSecurity::parse(text, "test", &RuleFiles::default()).expect("it is valid");
        assert_eq!((rule.untold, rule.partial), (4, 1));
        let lines: Vec<usize> = rule.notes.iter().map(|note| note.line(text)).collect();
        assert_eq!(lines, [8]);
        let left_out = rule.left_out();
        let reasons: Vec<&str> = left_out.iter().map(|group| &*group.reason).collect();
        assert_eq!(
            reasons,
            [
                "`REQUEST_BODY` is not in an access log",
                "`XML` is not in an access log",
                "the operator @detectSQLi is not supported",
                "the transformation t:sha1 is not supported",
            ]
        );
        assert_eq!((left_out[0].rules, &*left_out[0].first_ids), (1, &["1".to_owned()][..]));
        assert_eq!(rule.description(), "6 rules, 4 of which cannot be told from this log");
    }

    #[test]
    fn mistakes_are_refused_at_their_place() {
        for (text, place, message) in [
            ("SecRule ARGS", "SecRule", "write SecRule VARIABLES"),
            ("SecRule ARGS \"a", "\"a", "is not closed"),
            ("SecRule ARGS \"a\" \"phase:9\"", "\"phase:9", "`9` is not a phase"),
            ("SecRule ARGS \"a\" \"allow:x\"", "\"allow:x", "`x` is not a scope"),
            ("# nothing", "", "there is no `SecRule`"),
        ] {
            let error = ModSecurity::parse(text, "test", &RuleFiles::default()).expect_err(text);
            assert!(error.message.contains(message), "{text}: {}", error.message);
            if !place.is_empty() {
                assert_eq!(Some(error.range.start), text.find(place), "{text}");
            }
        }
    }
}
