//! Which keys of a log a client may have written.
//!
//! ```text
//! remote_addr=192.0.2.7 method=GET path=/a status=200 user_agent=curl client=1.2.3.4
//!                                                     `- a client has sent this -'
//! ```
//!
//! Where texts are not escaped, a client can add members behind the text that it sends, also those of keys
//! that the server does not write. Such a key is in few lines, and always behind a client's text.

use super::sample::MemberSample;
use crate::format::program::json::JsonProgram;

/// Where the members of some lines stand.
pub(super) struct ClientTexts<'a> {
    program: &'a JsonProgram,
    /// What is known of each member of the sample.
    members: Vec<Place>,
}

/// The places of one member.
#[derive(Clone, Copy)]
struct Place {
    /// Whether a client chooses its text.
    is_client_text: bool,
    /// Whether it has only been behind such a text.
    is_always_behind: bool,
}

impl<'a> ClientTexts<'a> {
    /// No lines.
    pub(super) fn new(program: &'a JsonProgram) -> Self {
        Self { program, members: Vec::new() }
    }

    /// Adds a line, whose members have these numbers in the sample.
    pub(super) fn add(&mut self, order: &[usize], sample: &MemberSample) {
        let mut is_behind = false;
        for index in order {
            while self.members.len() <= *index {
                let path = &sample.members[self.members.len()].path;
                let entry = self.program.entry_of(path).map(|entry| &self.program.entries()[entry]);
                let is_client_text = entry.is_some_and(|entry| entry.is_client_text());
                self.members.push(Place { is_client_text, is_always_behind: true });
            }
            let place = &mut self.members[*index];
            place.is_always_behind &= is_behind;
            is_behind |= place.is_client_text;
        }
    }

    /// Whether a key of the program, by its number, is not the log's own although another key for the same
    /// field is: one that most lines have.
    pub(super) fn foreign_keys(self, sample: &MemberSample) -> impl Fn(usize) -> bool + use<> {
        let entries = self.program.entries();
        let lines_of = |entry: usize| {
            let member = sample.members.iter().position(|one| one.path == entries[entry].path);
            member.map(|index| (index, sample.members[index].in_lines.len() as u64))
        };
        let is_own = |entry: usize| lines_of(entry).is_some_and(|(_, own)| own * 2 > sample.lines);
        let is_foreign = |entry: usize| match lines_of(entry) {
            Some((index, _)) => self.members.get(index).is_some_and(|place| place.is_always_behind),
            None => true,
        };
        let own: Vec<bool> = (0..entries.len()).map(is_own).collect();
        let has_own = |entry: usize| {
            (0..entries.len())
                .any(|other| own[other] && self.program.are_alternatives(entry, other))
        };
        let foreign = (0..entries.len()).map(|it| !own[it] && is_foreign(it) && has_own(it));
        let foreign: Vec<bool> = foreign.collect();
        move |entry| foreign.get(entry).is_some_and(|is_foreign| *is_foreign)
    }
}
