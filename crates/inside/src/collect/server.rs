//! The metrics of the server of the page, and of what it reads.

use weir_server::{ServerCounts, ServerHandle, SourceCounts};

use crate::metrics::Scrape;
use crate::metrics::catalog::{
    MEMORY_BYTES, MEMORY_BYTES_MAX, PAGE_CONNECTIONS, QUEUE_BYTES, QUEUE_BYTES_MAX, READ_BYTES,
    READ_LINES, READ_RECORDS, SESSION_USERS, SESSIONS, SOURCE_BYTES, SOURCE_LINES, SOURCE_RECORDS,
    SOURCE_UNPARSED, TOO_LONG_LINES, UNPARSED_LINES,
};
use crate::part::Part;

impl Part for ServerHandle {
    fn collect(&self, scrape: &mut Scrape) {
        collect(&self.counts(), scrape);
    }
}

fn collect(counts: &ServerCounts, scrape: &mut Scrape) {
    for (metric, number) in [
        (&PAGE_CONNECTIONS, counts.connections),
        (&SESSIONS, counts.sessions),
        (&SESSION_USERS, counts.users),
        (&MEMORY_BYTES, counts.memory_bytes),
        (&MEMORY_BYTES_MAX, counts.memory_bytes_max),
        (&QUEUE_BYTES, counts.queue_bytes),
        (&QUEUE_BYTES_MAX, counts.queue_bytes_max),
    ] {
        scrape.add(metric, &[], number as u64);
    }
    for (metric, number) in [
        (&READ_BYTES, counts.reads.bytes_read),
        (&READ_LINES, counts.reads.lines),
        (&READ_RECORDS, counts.reads.records),
        (&UNPARSED_LINES, counts.reads.unparsed_lines),
        (&TOO_LONG_LINES, counts.reads.too_long_lines),
    ] {
        scrape.add(metric, &[], number);
    }
    for source in &counts.sources {
        add_source(source, scrape);
    }
}

fn add_source(source: &SourceCounts, scrape: &mut Scrape) {
    let number = source.number.to_string();
    let labels = [&*number, &source.name];
    for (metric, value) in [
        (&SOURCE_BYTES, source.reads.bytes_read),
        (&SOURCE_LINES, source.reads.lines),
        (&SOURCE_RECORDS, source.reads.records),
        (&SOURCE_UNPARSED, source.reads.unparsed_lines),
    ] {
        scrape.add(metric, &labels, value);
    }
}
