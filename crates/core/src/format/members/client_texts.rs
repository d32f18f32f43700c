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
    /// The lines that have what a record needs. Others, such as those of the server itself, say nothing
    /// about the keys of records.
    records: u64,
}

/// The places of one member.
struct Place {
    /// Its key in the program.
    entry: Option<usize>,
    /// Whether a client chooses its text.
    is_client_text: bool,
    /// Whether it has only been behind such a text.
    is_always_behind: bool,
    /// The records that have it.
    records: u64,
}

impl<'a> ClientTexts<'a> {
    /// No lines.
    pub(super) fn new(program: &'a JsonProgram) -> Self {
        Self { program, members: Vec::new(), records: 0 }
    }

    /// Adds a line, whose members have these numbers in the sample.
    pub(super) fn add(&mut self, order: &[usize], sample: &MemberSample) {
        for member in sample.members.iter().skip(self.members.len()) {
            let entry = self.program.entry_of(&member.path);
            let is_client_text =
                entry.is_some_and(|entry| self.program.entries()[entry].is_client_text());
            let place = Place { entry, is_client_text, is_always_behind: true, records: 0 };
            self.members.push(place);
        }
        let mut is_behind = false;
        for index in order {
            let place = &mut self.members[*index];
            place.is_always_behind &= is_behind;
            is_behind |= place.is_client_text;
        }
        let mut once = order.to_vec();
        once.sort_unstable();
        once.dedup();
        let has = |entry: usize| once.iter().any(|index| self.members[*index].entry == Some(entry));
        if self.program.has_required(has) {
            self.records += 1;
            once.iter().for_each(|index| self.members[*index].records += 1);
        }
    }

    /// Whether a key of the program, by its number, is not the log's own although another key for the same
    /// field is: one that most records have.
    pub(super) fn foreign_keys(self) -> impl Fn(usize) -> bool + use<> {
        let place = |entry: usize| self.members.iter().find(|place| place.entry == Some(entry));
        let is_own =
            |entry: usize| place(entry).is_some_and(|place| place.records * 2 > self.records);
        let is_foreign = |entry: usize| place(entry).is_none_or(|place| place.is_always_behind);
        let entries = self.program.entries().len();
        let own: Vec<bool> = (0..entries).map(is_own).collect();
        let has_own = |entry: usize| {
            (0..entries).any(|other| own[other] && self.program.are_alternatives(entry, other))
        };
        let foreign = (0..entries).map(|it| !own[it] && is_foreign(it) && has_own(it));
        let foreign: Vec<bool> = foreign.collect();
        move |entry| foreign.get(entry).is_some_and(|is_foreign| *is_foreign)
    }
}
