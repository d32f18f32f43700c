//! The derived fields that questions of the page may name.

use std::sync::OnceLock;

use weir_core::{DerivedCatalog, DerivedField, Zone, derived_field};

use super::derived::DerivedArguments;

/// The derived fields by name. Lists and files are read when the first field needs them.
#[derive(Debug)]
pub(crate) struct PageFields {
    arguments: DerivedArguments,
    own: Vec<DerivedField>,
    /// Whether addresses are hidden, so that nothing can be said of their places.
    hides: bool,
    agents: OnceLock<Vec<DerivedField>>,
    places: OnceLock<Vec<DerivedField>>,
}

impl PageFields {
    /// The fields of these arguments, of which `own` are defined by them.
    pub(super) fn new(arguments: DerivedArguments, own: Vec<DerivedField>, hides: bool) -> Self {
        Self { arguments, own, hides, agents: OnceLock::new(), places: OnceLock::new() }
    }
}

impl DerivedCatalog for PageFields {
    fn field(&self, name: &str, zone: Option<&Zone>) -> Option<DerivedField> {
        let named =
            |fields: &[DerivedField]| fields.iter().find(|field| field.name() == name).cloned();
        if let Some(own) = named(&self.own) {
            return Some(own);
        }
        if let Ok(Some(field)) = derived_field(name, zone) {
            return Some(field);
        }
        if weir_geo::GeoField::by_name(name).is_some() {
            if self.hides {
                return None;
            }
            return named(self.places.get_or_init(|| self.arguments.places()));
        }
        named(self.agents.get_or_init(|| self.arguments.agent_fields()))
    }
}
