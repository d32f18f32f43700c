//! The truth about generated traffic, kept while it is written.

use std::collections::BTreeMap;

/// Exact counts of what was generated, to compare a reader's answer with.
///
/// `lines - unmatched - too_long` lines are records: lines that fit the combined format.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Lines, of whatever kind.
    pub lines: u64,
    /// Lines that were made dirty on purpose: torn, unclosed, no HTTP, odd bytes, escapes.
    pub dirty: u64,
    /// Lines that do not fit the combined format.
    pub unmatched: u64,
    /// Lines over [`LINE_BYTES_MAX`].
    pub too_long: u64,
    /// Sum of the records' response sizes, in bytes.
    pub bytes_sent: u64,
    /// Records by status.
    pub by_status: BTreeMap<u16, u64>,
    /// Records that are HTTP requests, by method.
    pub by_method: BTreeMap<&'static str, u64>,
    /// Records whose request is no HTTP request.
    pub not_http: u64,
    /// Time of the first and the last record, in seconds since 1 January 1970, UTC.
    pub time: Option<(i64, i64)>,
}

/// Length of the longest line that counts as one, without its line feed, in bytes.
pub const LINE_BYTES_MAX: u64 = 1 << 20;

impl Ledger {
    pub(crate) fn record(&mut self, record: &Entry) {
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
pub(crate) struct Entry {
    pub(crate) now_s: i64,
    pub(crate) method: Option<&'static str>,
    pub(crate) status: u16,
    pub(crate) bytes_sent: u32,
}
