//! Which keys of a log a client may have written.
//!
//! ```text
//! remote_addr=192.0.2.7 method=GET path=/a status=200 user_agent=curl client=1.2.3.4
//!                                                     `- a client has sent this -'
//! ```
//!
//! Where texts are not escaped, a client can add members behind the text that it sends, also those of keys
//! that the server does not write. Such a key is always behind a client's text, and in no more lines than the
//! client has sent. So of the keys for a field those come first that some line has before all such texts,
//! then those that more lines have. A client that has sent every one of the first lines is the only one
//! that can write as many.

use std::cmp::Reverse;

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
    /// Whether a record has it before all such texts.
    is_in_front: bool,
    /// The records that have it.
    records: u64,
}

/// The order of the keys for a field: the lowest is read first. By class, then by the records.
pub(super) type KeyRank = (u8, Reverse<u64>);

/// No record has the key before a client's text, but some behind one.
const BEHIND: u8 = 1;
/// No record has the key.
const ABSENT: u8 = 2;

impl<'a> ClientTexts<'a> {
    /// No lines.
    pub(super) fn new(program: &'a JsonProgram) -> Self {
        Self { program, members: Vec::new(), records: 0 }
    }

    /// Adds a line, whose members have these numbers in the sample.
    pub(super) fn add(&mut self, order: &[usize], sample: &MemberSample) {
        for member in sample.members.iter().skip(self.members.len()) {
            let entry = self.program.entry_of(&member.path);
            // What an unknown key holds may be a client's, such as a cookie.
            let is_client_text =
                entry.is_none_or(|entry| self.program.entries()[entry].is_client_text());
            let place = Place { entry, is_client_text, is_in_front: false, records: 0 };
            self.members.push(place);
        }
        let mut once = order.to_vec();
        once.sort_unstable();
        once.dedup();
        let has = |entry: usize| once.iter().any(|index| self.members[*index].entry == Some(entry));
        if !self.program.has_required(has) {
            return;
        }
        self.records += 1;
        once.iter().for_each(|index| self.members[*index].records += 1);
        let mut is_behind = false;
        for index in order {
            let place = &mut self.members[*index];
            place.is_in_front |= !is_behind;
            is_behind |= place.is_client_text;
        }
    }

    /// The rank of each key of the program, by its number, among those for the same field.
    pub(super) fn key_ranks(self) -> Vec<KeyRank> {
        (0..self.program.entries().len()).map(|entry| self.rank(entry)).collect()
    }

    fn rank(&self, entry: usize) -> KeyRank {
        let places = || self.members.iter().filter(|place| place.entry == Some(entry));
        let records = places().map(|place| place.records).max().unwrap_or(0);
        // What a client chooses anyway is the server's if most records have it: they may lack it.
        let is_clients = self.program.entries()[entry].is_client_text();
        let is_in_front =
            places().any(|place| place.is_in_front) || is_clients && records * 2 > self.records;
        match records {
            0 => (ABSENT, Reverse(0)),
            _ if is_in_front => (0, Reverse(0)),
            _ if is_clients => (BEHIND, Reverse(0)),
            records => (BEHIND, Reverse(records)),
        }
    }
}
