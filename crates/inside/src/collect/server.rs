//! The metrics of the server of the page, and of what it reads.

use std::time::Duration;

use weir_server::{ServerCounts, ServerHandle, SourceCounts};
use weir_view::{Passed, RouteStage, RouteStageKind};

use crate::look::{GlassKind, Look, LookError};
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

    fn stages(&self) -> Vec<RouteStage> {
        stages(&self.counts())
    }

    fn look(&self, kind: GlassKind, condition: Option<&str>) -> Option<Result<Look, LookError>> {
        let captures = match kind {
            GlassKind::Upload => self.uploads(),
            GlassKind::Page => self.requests(),
            _ => return None,
        };
        Some(Look::without_condition(captures, kind, condition))
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
    for source in counts.sources.iter().filter(|source| source.is_own) {
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

fn stages(counts: &ServerCounts) -> Vec<RouteStage> {
    let mut stages: Vec<RouteStage> = counts.sources.iter().map(source_stage).collect();
    let stage = |kind, passed| RouteStage { passed, ..RouteStage::new(kind, "") };
    let reads = &counts.reads;
    let threads = Some(counts.threads as u64);
    let busy = |time: Duration| Some(time.as_secs_f64());
    stages.push(RouteStage {
        threads,
        ..stage(RouteStageKind::Read, Passed { busy: busy(counts.times.read), ..Passed::default() })
    });
    stages.push(RouteStage {
        held_bytes: Some(counts.queue_bytes as u64),
        held_bytes_max: Some(counts.queue_bytes_max as u64),
        ..RouteStage::new(RouteStageKind::Queue, "")
    });
    let parsed = Passed {
        bytes: Some(reads.bytes_read),
        records: Some(reads.records),
        busy: busy(counts.times.parse),
        waiting: busy(counts.times.wait_to_append),
    };
    stages.push(RouteStage { threads, ..stage(RouteStageKind::Parse, parsed) });
    let appended = Passed {
        records: Some(reads.records),
        busy: busy(counts.times.append),
        ..Passed::default()
    };
    stages.push(RouteStage { threads, ..stage(RouteStageKind::Append, appended) });
    stages.push(RouteStage {
        held_bytes: Some(counts.memory_bytes as u64),
        held_bytes_max: Some(counts.memory_bytes_max as u64),
        ..stage(RouteStageKind::Data, Passed { records: Some(reads.records), ..Passed::default() })
    });
    stages
}

fn source_stage(source: &SourceCounts) -> RouteStage {
    RouteStage {
        number: Some(format!("{}-{}", source.session, source.number)),
        passed: Passed {
            bytes: Some(source.reads.bytes_read),
            records: Some(source.reads.records),
            busy: None,
            waiting: Some(source.waited.as_secs_f64()),
        },
        ..RouteStage::new(RouteStageKind::Source, &source.name)
    }
}
