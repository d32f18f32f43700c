//! Reads the rules of a policy, with those that it imports.

use std::ops::Range;

use weir_core::BoundedRegex;

use super::super::cel::Expression;
use super::{Action, Bot, Condition, IMPORTS_MAX, Policy, Threshold, action, file_name};
use crate::error::{Reason, RuleError};
use crate::files::RuleFiles;
use crate::go_pattern;
use crate::networks::{Network, Networks};
use crate::yaml::{Yaml, YamlValue, documents};

/// The most files that import each other.
const DEPTH_MAX: usize = 16;

/// The most rules of a policy.
const RULES_MAX: usize = 100_000;

/// The most bytes of all imported files.
const IMPORTED_BYTES_MAX: usize = 16 << 20;

/// The most notes about a policy, each with its place.
const NOTES_MAX: usize = 20;

/// Why rules that a policy imports are not evaluated.
const MISSING_IMPORT: &str =
    "the imported file is missing: save it beside the policy, or name its folder with --data-dir";

/// Where rules stand: in the text itself, or in a file that it imports.
#[derive(Debug, Default)]
pub(super) struct Place<'t> {
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

pub(super) struct Reader<'f> {
    pub(super) files: &'f RuleFiles,
    pub(super) policy: Policy,
    pub(super) imports: usize,
    pub(super) imported_bytes: usize,
}

impl Reader<'_> {
    pub(super) fn note(&mut self, note: RuleError) {
        if self.policy.notes.len() < NOTES_MAX {
            self.policy.notes.push(note);
        }
    }

    pub(super) fn read_bots(
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

    pub(super) fn threshold(&self, item: &Yaml) -> Result<Threshold, RuleError> {
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
