//! Looks up, in records that are read one after another, whether clients have signed in.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use weir_core::{Field, Record};

use super::marks::{READS, is_set, method_flags, status_flags};
use super::requests::ClientRequests;
use super::sign_ins::{Believed, PathAnswers, path_and_above};

/// The most paths that are looked up, with those above them. Users at others are not believed.
const PATHS_MAX: usize = 200_000;

/// The paths that clients got with a user and those above them, with what others were answered there.
#[derive(Debug, Clone, Default)]
pub struct UserPaths {
    numbers: HashMap<Box<[u8]>, usize>,
    answers: Vec<PathAnswers>,
}

/// What a part of a log answered to requests for [`UserPaths`].
#[derive(Debug, Clone, Default)]
pub struct UserPathAnswers(HashMap<usize, PathAnswers>);

impl UserPathAnswers {
    /// Adds what another part of the log answered.
    pub fn merge(&mut self, other: Self) {
        for (number, answers) in other.0 {
            self.0.entry(number).or_default().merge(answers);
        }
    }
}

impl UserPaths {
    /// The paths that these clients got with a user. Returns `None` if there are none, so that the
    /// log need not be read.
    pub fn of<'r>(clients: impl Iterator<Item = &'r ClientRequests>) -> Option<Self> {
        let mut paths = Self::default();
        for path in clients.flat_map(ClientRequests::user_paths).flat_map(path_and_above) {
            let next = paths.numbers.len();
            if next < PATHS_MAX && !paths.numbers.contains_key(path) {
                paths.numbers.insert(path.into(), next);
            }
        }
        paths.answers = vec![PathAnswers::default(); paths.numbers.len()];
        (!paths.numbers.is_empty()).then_some(paths)
    }

    /// Adds a request of any client to what was found, if it is for one of the paths.
    pub fn take(&self, record: &Record<'_>, found: &mut UserPathAnswers) {
        let text = |field| record.text(field).unwrap_or_default();
        let Some(number) = self.numbers.get(text(Field::Path)) else { return };
        let flags = (status_flags(text(Field::Status)), method_of(record));
        let mut answers = PathAnswers::default();
        answers.take(number_of(text(Field::Client)), flags, is_set(text(Field::User)));
        if answers != PathAnswers::default() {
            found.0.entry(*number).or_default().merge(answers);
        }
    }

    /// Adds what was found in a part of the log.
    pub fn add(&mut self, found: UserPathAnswers) {
        for (number, answers) in found.0 {
            self.answers[number].merge(answers);
        }
    }

    /// Whether the users of a client are believed.
    pub(super) fn believe(&self, client: &[u8], requests: &ClientRequests) -> bool {
        let answers = |path: &[u8]| self.numbers.get(path).map(|number| self.answers[*number]);
        requests.user_paths().any(|path| Believed::at(path, answers).holds_for(number_of(client)))
    }
}

/// The flags of the method. A log without methods does not tell requests that read from others.
pub(super) fn method_of(record: &Record<'_>) -> u16 {
    record.text(Field::Method).map_or(READS, method_flags)
}

/// A number of a client that differs from that of every other one, almost certainly. If two clients
/// have the same, less is believed.
fn number_of(client: &[u8]) -> u32 {
    let mut hasher = DefaultHasher::new();
    client.hash(&mut hasher);
    hasher.finish() as u32
}
