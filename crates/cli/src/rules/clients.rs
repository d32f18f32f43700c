//! Reads the requests of a few clients again, to say who they are.
//!
//! A replay keeps no more of a key than its decisions need. Only the lines that contain one of the
//! addresses are read as records; if all requests begin with their clients, as the first reading has
//! shown, only those that begin with one of the addresses.

use std::borrow::Cow;
use std::collections::HashMap;
use std::net::IpAddr;
use std::ops::ControlFlow;

use aho_corasick::AhoCorasick;
use foldhash::fast::RandomState;
use weir_core::{Field, RecordKind, common_spelling};
use weir_ingest::{FormatChoice, FoundRecord, Input, LineSink, LogLine, Records, VisitedBlock};
use weir_query::{ClientRequests, UserPathAnswers, UserPaths};

use crate::outcome::Failure;
use crate::scan::{ReadInput, read_lines};

/// The longest address in bytes: eight groups of an IPv6 address.
const ADDRESS_BYTES_MAX: usize = 39;

/// Clients by their addresses as in the log, with their numbers.
pub(super) struct Clients<'k> {
    /// Each request of the log is looked up here, unless `starts` lacks it.
    numbers: HashMap<&'k [u8], usize, RandomState>,
    starts: V4Starts,
    search: AhoCorasick,
}

impl<'k> Clients<'k> {
    /// Takes those of the keys that are addresses. Returns `None` if none is.
    ///
    /// # Errors
    /// If there are too many of them to search for.
    pub(super) fn new(keys: impl Iterator<Item = &'k [u8]>) -> Result<Option<Self>, Failure> {
        let mut numbers = HashMap::default();
        for key in keys.filter(|key| is_address(key)) {
            let next = numbers.len();
            numbers.entry(key).or_insert(next);
        }
        if numbers.is_empty() {
            return Ok(None);
        }
        let search = AhoCorasick::new(numbers.keys()).map_err(Failure::new)?;
        let starts = V4Starts::of(numbers.keys());
        Ok(Some(Self { numbers, starts, search }))
    }

    /// Reads the inputs, which must be files, with this many threads. Returns what was found, by
    /// address. What cannot be read is left out, because it was reported at the first time.
    pub(super) fn read(
        &self,
        inputs: &[Input],
        read: &[ReadInput],
        format: &FormatChoice,
        threads: usize,
    ) -> HashMap<&'k [u8], ClientRequests> {
        let mut found: Vec<ClientRequests> = vec![ClientRequests::default(); self.numbers.len()];
        for (input, read) in inputs.iter().zip(read) {
            if input.bytes_total().is_none() {
                continue;
            }
            let consume = |block: VisitedBlock<'_, HashMap<usize, ClientRequests>>| {
                for (number, requests) in block.output {
                    found[number].merge(requests);
                }
                ControlFlow::Continue(())
            };
            let are_first = clients_are_first(read);
            let sink = || ClientSink { clients: self, are_first };
            let _complaints = read_lines(&Records::new(threads), input, format, sink, consume);
        }
        let known = self.numbers.iter().map(|(key, number)| (*key, found[*number].clone()));
        known.filter(|(_, requests)| *requests != ClientRequests::default()).collect()
    }
}

/// The first eight bytes of lines that begin with one of some IPv4 addresses and a space, as a set that
/// may have others. In almost every line they say that it begins with another address, which then need
/// not be looked up.
struct V4Starts([u64; V4Starts::WORDS]);

impl V4Starts {
    const WORDS: usize = 64;

    fn of<'k>(addresses: impl Iterator<Item = &'k &'k [u8]>) -> Self {
        let mut words = [0; Self::WORDS];
        for address in addresses {
            let line = [address, &b" "[..]].concat();
            if let Some(start) = line.first_chunk() {
                let (word, bit) = Self::place(start);
                words[word] |= 1 << bit;
            }
        }
        Self(words)
    }

    /// Whether a line begins with an IPv4 address and a space, but with none of these.
    fn lacks(&self, line: &[u8]) -> bool {
        let Some(start) = line.first_chunk() else { return false };
        let (word, bit) = Self::place(start);
        self.0[word] >> bit & 1 == 0 && Self::begins_with_one(line)
    }

    /// Whether a line begins with what may be an IPv4 address, and a space. After a comma, the client
    /// may be another address.
    fn begins_with_one(line: &[u8]) -> bool {
        const SHORTEST: usize = "0.0.0.0".len();
        const LONGEST: usize = "255.255.255.255".len();
        let is_other = |byte: &u8| !matches!(byte, b'0'..=b'9' | b'.');
        let end = line.iter().take(LONGEST + 1).position(is_other);
        end.is_some_and(|end| end >= SHORTEST && line[end] == b' ')
    }

    /// The word and the bit of a start.
    fn place(start: &[u8; 8]) -> (usize, u64) {
        // Fibonacci hashing (Knuth, volume 3, 6.4).
        let hash = u64::from_le_bytes(*start).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 52;
        ((hash / 64) as usize % Self::WORDS, hash % 64)
    }
}

/// Collects the requests of clients on one thread.
struct ClientSink<'a, 'k> {
    clients: &'a Clients<'k>,
    /// Whether the client is what each request begins with.
    are_first: bool,
}

impl LineSink for ClientSink<'_, '_> {
    type Output = HashMap<usize, ClientRequests>;

    fn output(&mut self) -> Self::Output {
        HashMap::new()
    }

    fn wants(&mut self, line: &LogLine<'_>, _found: &mut Self::Output) -> bool {
        if self.are_first && self.clients.starts.lacks(line.bytes) {
            return false;
        }
        match first_address(line.bytes).filter(|_| self.are_first) {
            Some(address) => self.clients.numbers.contains_key(&*address),
            None => self.clients.search.is_match(line.bytes),
        }
    }

    fn take(&mut self, _: &LogLine<'_>, record: Option<FoundRecord<'_>>, found: &mut Self::Output) {
        let Some(FoundRecord { format, record }) = record else { return };
        if format.kind() != RecordKind::Request {
            return;
        }
        let client = record.text(Field::Client).unwrap_or_default();
        if let Some(number) = self.clients.numbers.get(&*common_spelling(client)) {
            found.entry(*number).or_default().take(record, format.fills(Field::UserAgent));
        }
    }
}

/// Reads what the paths that clients got with a user were answered to others.
pub(super) fn read_user_paths(
    mut paths: UserPaths,
    inputs: &[Input],
    format: &FormatChoice,
    threads: usize,
) -> UserPaths {
    let mut found = UserPathAnswers::default();
    for input in inputs.iter().filter(|input| input.bytes_total().is_some()) {
        let consume = |block: VisitedBlock<'_, UserPathAnswers>| {
            found.merge(block.output);
            ControlFlow::Continue(())
        };
        let sink = || UserPathSink { paths: &paths };
        let _complaints = read_lines(&Records::new(threads), input, format, sink, consume);
    }
    paths.add(found);
    paths
}

/// Collects the answers to requests for some paths on one thread.
struct UserPathSink<'a> {
    paths: &'a UserPaths,
}

impl LineSink for UserPathSink<'_> {
    type Output = UserPathAnswers;

    fn output(&mut self) -> Self::Output {
        UserPathAnswers::default()
    }

    fn wants(&mut self, _: &LogLine<'_>, _: &mut Self::Output) -> bool {
        true
    }

    fn take(&mut self, _: &LogLine<'_>, record: Option<FoundRecord<'_>>, found: &mut Self::Output) {
        let Some(FoundRecord { format, record }) = record else { return };
        if format.kind() == RecordKind::Request {
            self.paths.take(record, found);
        }
    }
}

/// Whether the texts of an input are in formats whose requests begin with the client.
fn clients_are_first(read: &ReadInput) -> bool {
    let mut formats = read.texts.iter().filter_map(|text| text.format.as_ref());
    formats.all(|format| format.kind() != RecordKind::Request || format.begins_with_client())
}

/// Returns the address that a line begins with in its common spelling, if that is nothing but one:
/// no port, and no list.
fn first_address(line: &[u8]) -> Option<Cow<'_, [u8]>> {
    let end = line.iter().take(ADDRESS_BYTES_MAX + 1).position(|byte| *byte == b' ')?;
    let address = &line[..end];
    let is_v4 = || address.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'.'));
    let is_v6 = || address.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b':');
    match () {
        () if end == 0 => None,
        () if is_v4() => Some(Cow::Borrowed(address)),
        () if is_v6() => Some(common_spelling(address)),
        () => None,
    }
}

fn is_address(key: &[u8]) -> bool {
    std::str::from_utf8(key).is_ok_and(|key| key.parse::<IpAddr>().is_ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{V4Starts, first_address};

    #[test]
    fn only_lines_of_other_v4_addresses_are_left_out_by_their_start() {
        let listed: [&[u8]; 3] = [b"192.0.2.1", b"1.2.3.4", b"2001:db8::1"];
        let starts = V4Starts::of(listed.iter());
        for (line, lacks) in [
            ("192.0.2.1 - - [", false),
            // Its first eight bytes are those of a listed one.
            ("192.0.2.17 - - [", false),
            ("1.2.3.4 - - [", false),
            ("1.2.3.5 - - [", true),
            ("1.2.3.40 - - [", true),
            ("198.51.100.7 - - [", true),
            ("1.2.3.5", false),
            ("2001:db8::2 - -", false),
            ("::ffff:1.2.3.4 - -", false),
            (" 1.2.3.4 - -", false),
            ("1.2.3.5\t- -", false),
            ("1.2.3.4, 198.51.100.7 - -", false),
            ("192.0.2.1:8080 - -", false),
            ("198.51.100.7, 1.2.3.4 - -", false),
            // The leftmost address of these lists is the second.
            ("12345678, 1.2.3.4 - -", false),
            ("123.4567, 1.2.3.4 - -", false),
            ("example.org 1.2.3.4 -", false),
            ("", false),
        ] {
            assert_eq!(starts.lacks(line.as_bytes()), lacks, "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_line_of_a_listed_client_is_left_out(
            listed in prop::collection::vec("[12]{1,3}([.][12]{1,3}){3}", 1..4),
            after in "([, :\t][12., ]{0,9})? - -",
            other in "[12. ]{0,16} - -",
        ) {
            let keys: Vec<&[u8]> = listed.iter().map(|address| address.as_bytes()).collect();
            let starts = V4Starts::of(keys.iter());
            for address in &listed {
                let line = format!("{address}{after}");
                prop_assert!(!starts.lacks(line.as_bytes()));
            }
            let client = first_address(other.as_bytes());
            let is_listed = client.is_some_and(|client| keys.contains(&&*client));
            prop_assert!(!(is_listed && starts.lacks(other.as_bytes())));
        }
    }

    #[test]
    fn only_a_bare_address_is_decided_by_the_start_of_a_line() {
        for (line, expected) in [
            ("192.0.2.1 - - [", Some("192.0.2.1")),
            ("2001:db8::1 - -", Some("2001:db8::1")),
            ("2001:DB8:0::1 - -", Some("2001:db8::1")),
            ("192.0.2.1, 192.0.2.2 - -", None),
            ("192.0.2.1:8080 - -", None),
            ("[2001:db8::1]:80 - -", None),
            ("example.org 192.0.2.1 -", None),
            ("192.0.2.1", None),
            ("", None),
            (" 192.0.2.1 - -", None),
        ] {
            let expected = expected.map(str::as_bytes);
            assert_eq!(first_address(line.as_bytes()).as_deref(), expected, "{line}");
        }
    }
}
