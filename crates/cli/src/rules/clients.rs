//! Reads the requests of a few clients again, to say who they are.
//!
//! A replay keeps no more of a key than its decisions need. Only the lines that contain one of the
//! addresses are read as records.

use std::collections::HashMap;
use std::net::IpAddr;
use std::ops::ControlFlow;

use aho_corasick::AhoCorasick;
use weir_core::{Field, RecordKind};
use weir_ingest::{FormatChoice, FoundRecord, Input, LineSink, LogLine, Records, VisitedBlock};
use weir_query::ClientRequests;

use crate::outcome::Failure;
use crate::scan::read_lines;

/// Clients by their addresses as in the log, with their numbers.
pub(super) struct Clients<'k> {
    numbers: HashMap<&'k [u8], usize>,
    search: AhoCorasick,
}

impl<'k> Clients<'k> {
    /// Takes those of the keys that are addresses. Returns `None` if none is.
    ///
    /// # Errors
    /// If there are too many of them to search for.
    pub(super) fn new(keys: impl Iterator<Item = &'k [u8]>) -> Result<Option<Self>, Failure> {
        let mut numbers = HashMap::new();
        for key in keys.filter(|key| is_address(key)) {
            let next = numbers.len();
            numbers.entry(key).or_insert(next);
        }
        if numbers.is_empty() {
            return Ok(None);
        }
        let search = AhoCorasick::new(numbers.keys()).map_err(Failure::new)?;
        Ok(Some(Self { numbers, search }))
    }

    /// Reads the inputs, which must be files, with this many threads. Returns what was found, by
    /// address. What cannot be read is left out, because it was reported at the first time.
    pub(super) fn read(
        &self,
        inputs: &[Input],
        format: &FormatChoice,
        threads: usize,
    ) -> HashMap<&'k [u8], ClientRequests> {
        let mut found: Vec<ClientRequests> = vec![ClientRequests::default(); self.numbers.len()];
        for input in inputs.iter().filter(|input| input.bytes_total().is_some()) {
            let consume = |block: VisitedBlock<'_, HashMap<usize, ClientRequests>>| {
                for (number, requests) in block.output {
                    found[number].merge(requests);
                }
                ControlFlow::Continue(())
            };
            let sink = || ClientSink { clients: self };
            let _complaints = read_lines(&Records::new(threads), input, format, sink, consume);
        }
        let known = self.numbers.iter().map(|(key, number)| (*key, found[*number].clone()));
        known.filter(|(_, requests)| *requests != ClientRequests::default()).collect()
    }
}

/// Collects the requests of clients on one thread.
struct ClientSink<'a, 'k> {
    clients: &'a Clients<'k>,
}

impl LineSink for ClientSink<'_, '_> {
    type Output = HashMap<usize, ClientRequests>;

    fn output(&mut self) -> Self::Output {
        HashMap::new()
    }

    fn wants(&mut self, line: &LogLine<'_>, _found: &Self::Output) -> bool {
        self.clients.search.is_match(line.bytes)
    }

    fn take(&mut self, _: &LogLine<'_>, record: Option<FoundRecord<'_>>, found: &mut Self::Output) {
        let Some(FoundRecord { format, record }) = record else { return };
        if format.kind() != RecordKind::Request {
            return;
        }
        let client = record.text(Field::Client).unwrap_or_default();
        if let Some(number) = self.clients.numbers.get(client) {
            found.entry(*number).or_default().take(record);
        }
    }
}

fn is_address(key: &[u8]) -> bool {
    std::str::from_utf8(key).is_ok_and(|key| key.parse::<IpAddr>().is_ok())
}
