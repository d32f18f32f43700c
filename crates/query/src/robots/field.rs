//! Which clients are like robots, as a field of their requests.

use std::collections::HashMap;

use weir_core::{Derivation, DerivedField, DerivedInputs, Field, Values};

use super::RobotCensus;

/// What a census has found of each client: the values of the field `robot_like`.
///
/// | value | the client |
/// |---|---|
/// | `yes` | is like a robot, alone or as one of a cohort |
/// | `declared` | calls itself a robot |
/// | `no` | is neither |
///
/// A client has no value if it was not judged: it made none of the requests of the census, or was left out
/// for lack of memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RobotLike(HashMap<Vec<u8>, &'static str>);

impl RobotLike {
    /// The name of the field.
    pub const NAME: &str = "robot_like";

    /// Returns the value of a client.
    pub fn of(&self, client: &[u8]) -> Option<&'static str> {
        self.0.get(client).copied()
    }

    /// Returns the field.
    pub fn into_field(self) -> DerivedField {
        DerivedField::of_field(Self::NAME, Field::Client, self)
    }
}

impl Derivation for RobotLike {
    fn derive(&self, inputs: &DerivedInputs<'_>, value: &mut Vec<u8>) -> bool {
        match inputs.text(0).and_then(|client| self.of(client)) {
            Some(found) => {
                value.extend(found.as_bytes());
                true
            }
            None => false,
        }
    }
}

impl RobotCensus {
    /// Returns what was found of each client. `declares` says of an agent whether it calls itself a robot.
    pub fn robot_like(&self, values: &Values, declares: impl Fn(&[u8]) -> bool) -> RobotLike {
        let judged = self.judge(values, declares);
        let clients = values.dictionary(Field::Client.column());
        let found = self.clients.keys().filter_map(|client| {
            let is_like = judged.alone.contains_key(client) || judged.members.contains(client);
            let found = match (judged.declared.contains_key(client), is_like) {
                (true, _) => "declared",
                (false, true) => "yes",
                (false, false) => "no",
            };
            Some((clients.value(*client)?.to_vec(), found))
        });
        RobotLike(found.collect())
    }
}
