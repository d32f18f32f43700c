//! Exact counts of generated traffic, taken while it is written.

use std::collections::BTreeMap;

/// Exact counts of the generated traffic, as the expected results for a reader of the log.
///
/// There are `lines - empty_lines - unparsed_lines - too_long_lines` records: lines in combined
/// format.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Lines of any kind.
    pub lines: u64,
    /// Dirty lines: truncated, with an unclosed quote, not HTTP, with odd bytes or escapes.
    pub dirty: u64,
    /// Lines without a byte.
    pub empty_lines: u64,
    /// Other lines that are not in combined format.
    pub unparsed_lines: u64,
    /// Lines longer than [`LINE_BYTES_MAX`].
    pub too_long_lines: u64,
    /// The sum of the records' response sizes, in bytes.
    pub bytes_sent: u64,
    /// Records by status.
    pub by_status: BTreeMap<u16, u64>,
    /// Records that are HTTP requests, by method.
    pub by_method: BTreeMap<&'static str, u64>,
    /// Records whose request is not an HTTP request.
    pub not_http: u64,
    /// The times of the first and the last record, in seconds since 1 January 1970, UTC.
    pub time: Option<(i64, i64)>,
}

/// The maximum length of a line without its line feed, in bytes; longer lines are `too_long_lines`.
pub const LINE_BYTES_MAX: u64 = 1 << 20;

impl Ledger {
    pub(crate) fn record(&mut self, record: &LedgerEntry) {
        self.lines += 1;
        self.bytes_sent += u64::from(record.bytes_sent);
        *self.by_status.entry(record.status).or_default() += 1;
        match record.method {
            Some(method) => *self.by_method.entry(method).or_default() += 1,
            None => self.not_http += 1,
        }
        let first = self.time.map_or(record.now_s, |(first, _)| first);
        self.time = Some((first, record.now_s));
    }
}

/// One record for the ledger.
#[derive(Debug)]
pub(crate) struct LedgerEntry {
    pub(crate) now_s: i64,
    pub(crate) method: Option<&'static str>,
    pub(crate) status: u16,
    pub(crate) bytes_sent: u32,
}
