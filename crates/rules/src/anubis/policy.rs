//! Reads policies: YAML or JSON with `bots` and `thresholds`, or a list of rules alone.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use weir_core::BoundedRegex;

use super::cel::Expression;
use crate::error::{Reason, RuleError};
use crate::files::RuleFiles;
use crate::go_pattern;
use crate::networks::{Network, Networks};
use crate::yaml::{Yaml, YamlValue, documents};

/// The most files that import each other.
const DEPTH_MAX: usize = 16;

/// The most imports of a policy.
const IMPORTS_MAX: usize = 1_000;

/// The most rules of a policy.
const RULES_MAX: usize = 100_000;

/// The most bytes of all imported files.
const IMPORTED_BYTES_MAX: usize = 16 << 20;

/// The most notes about a policy, each with its place.
const NOTES_MAX: usize = 20;

/// Why rules that a policy imports are not evaluated.
const MISSING_IMPORT: &str =
    "the imported file is missing: save it beside the policy, or name its folder with --data-dir";

/// The weight of a rule that does not say it.
const ADJUSTMENT: i64 = 5;

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Allow,
    Deny,
    Challenge,
    /// A page for tests, in place of the answer.
    Benchmark,
    /// Adds this to the weight of the request.
    Weigh(i64),
    /// What the rules of an imported file do that is missing.
    Import,
}

/// A rule about requests.
#[derive(Debug)]
pub(super) struct Bot {
    pub(super) name: String,
    pub(super) action: Action,
    /// What a request has to fulfil.
    pub(super) conditions: Vec<Condition>,
    /// The reason why the rule cannot be evaluated on a log.
    pub(super) obstacle: Option<Reason>,
}

#[derive(Debug)]
pub(super) enum Condition {
    Path(BoundedRegex),
    /// A header by its name; without an expression, it has to be sent.
    Header(String, Option<BoundedRegex>),
    Addresses(Networks),
    All(Vec<Expression>),
    Any(Vec<Expression>),
}

/// A rule about weights.
#[derive(Debug)]
pub(super) struct Threshold {
    pub(super) name: String,
    pub(super) action: Action,
    pub(super) condition: Condition,
}

#[derive(Debug, Default)]
pub(super) struct Policy {
    pub(super) bots: Vec<Bot>,
    pub(super) thresholds: Vec<Threshold>,
    pub(super) notes: Vec<RuleError>,
}

/// Whether a text has rules of Anubis.
pub(crate) fn looks_like(text: &str) -> bool {
    // The value of a key, which may be in quotation marks.
    let value = |line: &str, key: &str| {
        let rest = line.split_once(key)?.1.trim_start_matches(['"', '\'']);
        let value = rest.trim_start().strip_prefix(':')?.trim_start_matches([' ', '"', '\'']);
        Some(value.to_owned())
    };
    let has_action = |line: &str| {
        let action = value(line, "action").unwrap_or_default();
        let end = action.find(|next: char| !next.is_ascii_uppercase() && next != '_');
        self::action(&action[..end.unwrap_or(action.len())]).is_some()
    };
    let imports = |line: &str| {
        let path = value(line, "import").unwrap_or_default();
        let path = path.split(['"', '\'', ' ', '}']).next().unwrap_or_default();
        path.starts_with("(data)") || path.ends_with(".yaml") || path.ends_with(".yml")
    };
    let tests =
        ["user_agent_regex", "path_regex", "headers_regex", "remote_addresses", "expression"];
    let is_test = |line: &str| tests.iter().any(|key| value(line, key).is_some());
    text.lines().any(imports) || text.lines().any(has_action) && text.lines().any(is_test)
}

/// Looks up the files that a policy imports, and those that these import. Returns the names of those
/// that are missing.
pub(crate) fn missing_files(
    text: &str,
    find: &mut dyn FnMut(&str) -> Option<Arc<str>>,
) -> Vec<String> {
    let (mut seen, mut missing) = (HashSet::new(), Vec::new());
    let mut texts: Vec<Arc<str>> = vec![Arc::from(text)];
    while let Some(text) = texts.pop() {
        // What is not well formed is refused when it is read.
        let parsed = documents(&text).unwrap_or_default();
        let bots = parsed.first().map(|first| first.member("bots").unwrap_or(first).items());
        let imports = bots.unwrap_or_default().iter().filter_map(|item| item.member("import"));
        for name in imports.filter_map(|import| import.scalar().map(file_name)) {
            if seen.len() >= IMPORTS_MAX || !seen.insert(name.to_owned()) {
                continue;
            }
            match find(name) {
                Some(text) => texts.push(text),
                None => missing.push(name.to_owned()),
            }
        }
    }
    missing
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

fn action(text: &str) -> Option<Action> {
    Some(match text {
        "ALLOW" => Action::Allow,
        "DENY" => Action::Deny,
        "CHALLENGE" => Action::Challenge,
        "DEBUG_BENCHMARK" => Action::Benchmark,
        "WEIGH" => Action::Weigh(ADJUSTMENT),
        _ => return None,
    })
}

impl Policy {
    /// Reads a policy.
    ///
    /// # Errors
    /// If it is not well formed, or has no rule.
    pub(super) fn parse(text: &str, files: &RuleFiles) -> Result<Self, RuleError> {
        let documents = documents(text)?;
        let first = documents.first().ok_or_else(|| RuleError::new(0..0, "the policy is empty"))?;
        let mut reader = Reader { files, policy: Self::default(), imports: 0, imported_bytes: 0 };
        let bots = first.member("bots").unwrap_or(first);
        reader.read_bots(bots.items(), &Place::default(), 0)?;
        for threshold in first.member("thresholds").map_or(&[][..], Yaml::items) {
            let threshold = reader.threshold(threshold)?;
            reader.policy.thresholds.push(threshold);
        }
        if reader.policy.bots.is_empty() && reader.policy.thresholds.is_empty() {
            let message = "the policy has no rule: write `bots:` and a list of rules with `name`, \
                           `action` and what they match";
            return Err(RuleError::new(bots.range.clone(), message));
        }
        if first.member("dnsbl").and_then(Yaml::scalar) == Some("true") {
            let message = "`dnsbl` asks the network, so what it denies is not known from a log";
            reader.note(RuleError::new(first.range.start..first.range.start, message));
        }
        Ok(reader.policy)
    }
}

/// Where rules stand: in the text itself, or in a file that it imports.
#[derive(Debug, Default)]
struct Place<'t> {
    /// The name and the text of the file, and the import in the text.
    imported: Option<(&'t str, &'t str, Range<usize>)>,
}

impl Place<'_> {
    fn error(&self, range: &Range<usize>, message: impl std::fmt::Display) -> RuleError {
        let error = RuleError::new(range.clone(), message);
        match &self.imported {
            None => error,
            Some((name, text, import)) => {
                let line = error.line(text);
                RuleError::new(import.clone(), format_args!("{name}:{line}: {error}"))
            }
        }
    }
}

struct Reader<'f> {
    files: &'f RuleFiles,
    policy: Policy,
    imports: usize,
    imported_bytes: usize,
}

impl Reader<'_> {
    fn note(&mut self, note: RuleError) {
        if self.policy.notes.len() < NOTES_MAX {
            self.policy.notes.push(note);
        }
    }

    fn read_bots(
        &mut self,
        items: &[Yaml],
        place: &Place<'_>,
        depth: usize,
    ) -> Result<(), RuleError> {
        for item in items {
            if let Some(import) = item.member("import") {
                if let Some(name) = item.member("name") {
                    let message = "a rule either imports a file or has conditions; write two";
                    return Err(place.error(&name.range, message));
                }
                self.import(import, place, depth)?;
                continue;
            }
            if self.policy.bots.len() >= RULES_MAX {
                return Err(place.error(&item.range, format_args!("more than {RULES_MAX} rules")));
            }
            let bot = self.bot(item, place)?;
            self.policy.bots.push(bot);
        }
        Ok(())
    }

    /// Reads the rules of a file in the place of an import.
    fn import(&mut self, import: &Yaml, place: &Place<'_>, depth: usize) -> Result<(), RuleError> {
        let path = import.scalar().unwrap_or_default();
        let name = file_name(path);
        let files = self.files;
        self.imports += 1;
        if self.imports > IMPORTS_MAX {
            let message = format_args!("more than {IMPORTS_MAX} imports");
            return Err(place.error(&import.range, message));
        }
        let Some(text) = files.text(name) else {
            let message = format!(
                "the file `{name}` is not among the rules, so what it imports is missing: save it \
                 beside the policy, or name its folder with --data-dir"
            );
            self.note(place.error(&import.range, message));
            self.policy.bots.push(Bot {
                name: name.to_owned(),
                action: Action::Import,
                conditions: Vec::new(),
                obstacle: Some(MISSING_IMPORT.into()),
            });
            return Ok(());
        };
        self.imported_bytes = self.imported_bytes.saturating_add(text.len());
        let limit = match () {
            () if depth >= DEPTH_MAX => format!("more than {DEPTH_MAX} files import each other"),
            () if self.imported_bytes > IMPORTED_BYTES_MAX => {
                format!("more than {} MiB of imported rules", IMPORTED_BYTES_MAX >> 20)
            }
            () => {
                let range = place.imported.as_ref().map_or(&import.range, |it| &it.2).clone();
                let place = Place { imported: Some((name, text, range)) };
                let parsed = documents(text);
                let parsed = parsed.map_err(|error| place.error(&error.range, &error.message))?;
                let items = parsed
                    .first()
                    .map_or(&[][..], |first| first.member("bots").unwrap_or(first).items());
                return self.read_bots(items, &place, depth + 1);
            }
        };
        Err(place.error(&import.range, limit))
    }

    fn bot(&mut self, item: &Yaml, place: &Place<'_>) -> Result<Bot, RuleError> {
        let text = |key| item.member(key).and_then(Yaml::scalar);
        let name = text("name").filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| place.error(&item.range, "a rule needs a `name`"))?;
        let mut action = self.action(item, place)?;
        if let Action::Weigh(adjust) = &mut action
            && let Some(weight) = item.member("weight")
        {
            let number = weight.member("adjust").and_then(Yaml::scalar);
            let number = number.and_then(|number| number.trim_start_matches('+').parse().ok());
            *adjust = number.ok_or_else(|| {
                place.error(&weight.range, "write `adjust:` and a whole number below `weight`")
            })?;
        }
        let mut bot = Bot { name: name.to_owned(), action, conditions: Vec::new(), obstacle: None };
        for (key, value) in members(item) {
            self.read_condition(&mut bot, key, value, place)?;
        }
        if bot.conditions.is_empty() && bot.obstacle.is_none() {
            let message = "the rule matches nothing: write `user_agent_regex`, `path_regex`, \
                           `headers_regex`, `remote_addresses` or `expression`";
            return Err(place.error(&item.range, message));
        }
        Ok(bot)
    }

    fn action(&self, item: &Yaml, place: &Place<'_>) -> Result<Action, RuleError> {
        let member = item.member("action");
        let range = member.map_or(&item.range, |action| &action.range);
        let action = member.and_then(Yaml::scalar).and_then(action);
        action.ok_or_else(|| {
            place.error(range, "write ALLOW, DENY, CHALLENGE or WEIGH as the `action` of a rule")
        })
    }

    /// Reads a member of a rule, if it is a condition.
    fn read_condition(
        &mut self,
        bot: &mut Bot,
        key: &str,
        value: &Yaml,
        place: &Place<'_>,
    ) -> Result<(), RuleError> {
        let scalar = value.scalar().unwrap_or_default();
        match key {
            "user_agent_regex" => {
                let regex = self.regex(scalar).map_err(|it| place.error(&value.range, it))?;
                bot.conditions.push(Condition::Header("User-Agent".to_owned(), Some(regex)));
            }
            "path_regex" => {
                let regex = self.regex(scalar).map_err(|it| place.error(&value.range, it))?;
                bot.conditions.push(Condition::Path(regex));
            }
            "headers_regex" => {
                for (header, value) in members(value) {
                    let pattern = value.scalar().unwrap_or_default();
                    let regex = match pattern {
                        ".*" => None,
                        pattern => {
                            Some(self.regex(pattern).map_err(|it| place.error(&value.range, it))?)
                        }
                    };
                    bot.conditions.push(Condition::Header(header.trim().to_owned(), regex));
                }
            }
            "remote_addresses" => {
                let mut networks = Networks::default();
                for item in value.items() {
                    let network = item.scalar().and_then(network).ok_or_else(|| {
                        place.error(&item.range, "write a network, such as 192.0.2.0/24")
                    })?;
                    networks.add(network, 0);
                }
                bot.conditions.push(Condition::Addresses(networks));
            }
            "expression" => match self.expressions(value) {
                Ok(condition) => bot.conditions.push(condition),
                Err(reason) => {
                    self.note(place.error(&value.range, &reason));
                    bot.obstacle = Some(reason);
                }
            },
            "geoip" | "asns" => {
                bot.obstacle = Some(format!("`{key}` asks Thoth, a service of Anubis").into());
            }
            _ => {}
        }
        Ok(())
    }

    fn regex(&self, pattern: &str) -> Result<BoundedRegex, Reason> {
        if pattern.ends_with('\n') {
            return Err("the expression ends with a line feed, which Anubis refuses; write `>-` \
                        before it"
                .into());
        }
        let compiled = go_pattern::compile(pattern.trim(), self.files.budget());
        compiled
            .map(|(regex, _)| regex)
            .map_err(|reason| format!("this is not a regular expression: {reason}").into())
    }

    fn expressions(&self, value: &Yaml) -> Result<Condition, Reason> {
        let parse = |text: &str| Expression::parse(text, self.files.budget());
        if let Some(text) = value.scalar() {
            return Ok(Condition::All(vec![parse(text)?]));
        }
        let list = |key| value.member(key).map(Yaml::items).filter(|items| !items.is_empty());
        let parse = |item: &Yaml| parse(item.scalar().unwrap_or_default());
        match (list("all"), list("any")) {
            (Some(all), None) => {
                Ok(Condition::All(all.iter().map(parse).collect::<Result<_, _>>()?))
            }
            (None, Some(any)) => {
                Ok(Condition::Any(any.iter().map(parse).collect::<Result<_, _>>()?))
            }
            _ => Err("an expression is a text, or either `all` or `any` with a list".into()),
        }
    }

    fn threshold(&self, item: &Yaml) -> Result<Threshold, RuleError> {
        let place = Place::default();
        let name = item.member("name").and_then(Yaml::scalar).unwrap_or("threshold").to_owned();
        let action = self.action(item, &place)?;
        if let Action::Weigh(_) = action {
            return Err(place.error(&item.range, "a threshold cannot have the action WEIGH"));
        }
        let expression = item
            .member("expression")
            .ok_or_else(|| place.error(&item.range, "a threshold needs an `expression`"))?;
        let condition =
            self.expressions(expression).map_err(|it| place.error(&expression.range, it))?;
        Ok(Threshold { name, action, condition })
    }
}

/// The members of a mapping whose keys are texts.
fn members(value: &Yaml) -> impl Iterator<Item = (&str, &Yaml)> {
    let pairs = match &value.value {
        YamlValue::Mapping(pairs) => &pairs[..],
        _ => &[],
    };
    pairs.iter().filter_map(|(key, value)| Some((key.scalar()?, value)))
}

fn network(text: &str) -> Option<Network> {
    let (address, length) = text.trim().split_once('/')?;
    Network::new(address.parse().ok()?, length.parse().ok()?)
}
