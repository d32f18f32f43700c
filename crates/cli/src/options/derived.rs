//! The arguments about fields that are derived from others, and the fields that exist.

use clap::Args;
use weir_core::{
    DerivedField, Extract, Field, STATUS_CLASS, SourceName, Zone, derived_field, derived_names,
    nearest_name,
};
use weir_geo::GeoField;
use weir_ingest::FormatChoice;

use super::check_hidden;
use super::derived_catalog::PageFields;
use super::geography::GeographyArguments;
use super::{AgentArguments, AgentFields};
use crate::outcome::Failure;

/// Fields that are derived from those of the log.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct DerivedArguments {
    /// A field of one's own, any number of times: the part of a field that the group of an
    /// expression matches, as in `shop = extract path '^/shop/(\w+)'`
    #[arg(long = "derive", value_name = "NAME = extract FIELD 'REGEX'")]
    definitions: Vec<String>,

    /// The part of a file's name that the field `source` has: an expression with one group, such as
    /// `([^/]+)\.access\.log` [default: the whole name]
    #[arg(long, value_name = "REGEX")]
    source_name: Option<String>,

    #[command(flatten)]
    geography: GeographyArguments,

    #[command(flatten)]
    agents: AgentArguments,
}

impl DerivedArguments {
    /// The fields that questions of the page may name.
    ///
    /// # Errors
    /// If a definition is not valid.
    pub(crate) fn page_fields(&self, choice: &FormatChoice) -> Result<PageFields, Failure> {
        let hides = choice.line_options().is_some_and(|options| options.mask.is_some());
        Ok(PageFields::new(self.clone(), self.own_fields()?, hides))
    }

    /// The fields of agents and referrers, as far as their lists can be read.
    pub(super) fn agent_fields(&self) -> Vec<DerivedField> {
        let agents = self.agents.fields();
        let names = weir_agents::DERIVED_NAMES.iter().map(|known| known.name);
        names.filter_map(|name| agents.field(name).ok().flatten()).collect()
    }

    /// The fields of the places of addresses, as far as files have them.
    pub(super) fn places(&self) -> Vec<DerivedField> {
        self.geography.fields(GeoField::ALL.map(GeoField::name)).unwrap_or_default()
    }

    /// Tells whether an agent calls itself a robot.
    ///
    /// # Errors
    /// If a list cannot be read.
    pub(crate) fn declares_robot(&self) -> Result<impl Fn(&[u8]) -> bool + use<>, Failure> {
        self.agents.declares_robot()
    }

    /// The choice, whose formats have the derived fields among these names. Times are told in the
    /// zone, or as they were logged.
    ///
    /// # Errors
    /// If a name or a definition is not valid.
    pub(crate) fn deriving<'a>(
        &self,
        choice: FormatChoice,
        names: impl IntoIterator<Item = &'a str>,
        zone: Option<&Zone>,
    ) -> Result<FormatChoice, Failure> {
        let names: Vec<&str> = names.into_iter().collect();
        let mut own = self.own_fields()?;
        let has_own = |name: &str| own.iter().any(|field| field.name() == name);
        let places = self.geography.fields(names.iter().copied().filter(|name| !has_own(name)))?;
        own.extend(places);
        let agents = self.agents.fields();
        let mut fields: Vec<DerivedField> = Vec::new();
        for name in names {
            if Field::by_name(name).is_some() || fields.iter().any(|field| field.name() == name) {
                continue;
            }
            fields.extend(self.field(name, (&own, &agents), zone)?);
        }
        let choice = choice.deriving(fields);
        check_hidden(&choice)?;
        Ok(choice)
    }

    /// Checks that there are derived fields of these names, as `--fields` names them.
    ///
    /// # Errors
    /// If there are not.
    pub(crate) fn check<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), Failure> {
        let own = self.own_fields()?;
        let agents = self.agents.fields();
        for name in names {
            if self.field(name, (&own, &agents), None)?.is_none() && !self.geography.check(name)? {
                let own = own.iter().map(|field| field.name().to_owned());
                let known: Vec<String> = own.chain(known_names().map(str::to_owned)).collect();
                let nearest = nearest_name(name, known.iter().map(String::as_str));
                let meant = nearest.map_or_else(String::new, |it| format!("did you mean `{it}`? "));
                return Err(Failure::new(format_args!(
                    "--fields: `{name}` is no field that follows from others; {meant}there are {}",
                    known.join(", ")
                )));
            }
        }
        Ok(())
    }

    /// The derived field of this name, if there is one.
    fn field(
        &self,
        name: &str,
        (own, agents): (&[DerivedField], &AgentFields<'_>),
        zone: Option<&Zone>,
    ) -> Result<Option<DerivedField>, Failure> {
        if let Some(own) = own.iter().find(|field| field.name() == name) {
            return Ok(Some(own.clone()));
        }
        if let (Some(expression), "source") = (&self.source_name, name) {
            let source = SourceName::part(expression);
            let source =
                source.map_err(|error| Failure::new(format_args!("--source-name: {error}")))?;
            return Ok(Some(source.into_field()));
        }
        match derived_field(name, zone).map_err(Failure::new)? {
            Some(field) => Ok(Some(field)),
            None => agents.field(name),
        }
    }

    /// The fields of `--derive`.
    fn own_fields(&self) -> Result<Vec<DerivedField>, Failure> {
        let field = |definition: &String| {
            let refuse =
                |reason: String| Failure::new(format_args!("--derive: `{definition}`: {reason}"));
            let (name, extract) = definition.split_once('=').ok_or_else(|| {
                refuse("write NAME = extract FIELD 'regex with one group'".to_owned())
            })?;
            let name = name.trim();
            let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            if name.is_empty() || !is_name {
                return Err(refuse("a name has letters, digits and underscores".to_owned()));
            }
            if Field::by_name(name).is_some() || name == STATUS_CLASS {
                return Err(refuse(format!("`{name}` is a field already; choose another name")));
            }
            Ok(Extract::parse(extract).map_err(refuse)?.into_field(name))
        };
        let fields: Vec<DerivedField> =
            self.definitions.iter().map(field).collect::<Result<_, _>>()?;
        for (number, field) in fields.iter().enumerate() {
            if fields.iter().take(number).any(|before| before.name() == field.name()) {
                return Err(Failure::new(format_args!(
                    "--derive: `{}` is defined twice",
                    field.name()
                )));
            }
        }
        Ok(fields)
    }
}

/// The names of all derived fields, with a capital letter for a part to choose.
pub(crate) fn known_names() -> impl Iterator<Item = &'static str> {
    let of_lines = derived_names().iter().chain(weir_agents::DERIVED_NAMES);
    of_lines.map(|it| it.name).chain(GeoField::ALL.map(GeoField::name))
}

/// The words of a text that may be names of fields, for texts in which names stand among others.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |next: char| next.is_alphanumeric() || matches!(next, '_' | '/' | ':' | '-');
    text.split(move |next| !is_part(next)).filter(|word| !word.is_empty())
}
