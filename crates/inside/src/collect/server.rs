//! The metrics of the page's server and of the data that it reads.

use std::time::Duration;

use weir_observe::capture::{CaptureError, PendingCapture};
use weir_server::{ServerCounts, ServerHandle, SessionViewCounts, SourceCounts, ViewCounts};
use weir_view::{Passed, RouteStage, RouteStageKind, ServiceLimit, ServiceLimitKind};

use crate::capture_kind::CaptureKind;
use crate::metrics::Scrape;
use crate::metrics::catalog::{
    MEMORY_BYTES, MEMORY_BYTES_MAX, PAGE_CONNECTIONS, PAGE_CONNECTIONS_MAX, PAGE_ENDED,
    QUEUE_BYTES, QUEUE_BYTES_MAX, READ_BYTES, READ_LINES, READ_RECORDS, SESSION_USERS, SESSIONS,
    SOURCE_BYTES, SOURCE_LINES, SOURCE_RECORDS, SOURCE_UNPARSED, TOO_LONG_LINES, UNPARSED_LINES,
};
use crate::part::Part;

impl Part for ServerHandle {
    fn collect(&self, scrape: &mut Scrape) {
        collect(&self.counts(), scrape);
    }

    fn stages(&self) -> Vec<RouteStage> {
        stages(&self.counts())
    }

    fn limits(&self) -> Vec<ServiceLimit> {
        let counts = self.counts();
        let limit = |limit, used: usize, used_max: usize| ServiceLimit {
            limit,
            used: used as u64,
            used_max: Some(used_max as u64),
        };
        vec![
            limit(ServiceLimitKind::DataMemory, counts.memory_bytes, counts.memory_bytes_max),
            limit(ServiceLimitKind::PageConnections, counts.connections, counts.connections_max),
        ]
    }

    fn start_capture(
        &self,
        kind: CaptureKind,
        condition: Option<&str>,
    ) -> Option<Result<PendingCapture, CaptureError>> {
        let captures = match kind {
            CaptureKind::Upload => self.uploads(),
            CaptureKind::Page => self.requests(),
            _ => return None,
        };
        Some(captures.arm_any(condition))
    }
}

fn collect(counts: &ServerCounts, scrape: &mut Scrape) {
    for (metric, number) in [
        (&PAGE_CONNECTIONS, counts.connections),
        (&PAGE_CONNECTIONS_MAX, counts.connections_max),
        (&SESSIONS, counts.sessions),
        (&SESSION_USERS, counts.users),
        (&MEMORY_BYTES, counts.memory_bytes),
        (&MEMORY_BYTES_MAX, counts.memory_bytes_max),
        (&QUEUE_BYTES, counts.queue_bytes),
        (&QUEUE_BYTES_MAX, counts.queue_bytes_max),
    ] {
        scrape.add(metric, &[], number as u64);
    }
    for (reason, number) in counts.connection_ends {
        scrape.add(&PAGE_ENDED, &[reason], number);
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
        held_bytes_max: Some(counts.running_queue_bytes_max as u64),
        ..RouteStage::new(RouteStageKind::Queue, "")
    });
    let parsed = Passed {
        bytes: Some(reads.bytes_read),
        records: Some(reads.records),
        busy: busy(counts.times.parse),
        waiting: busy(counts.times.wait_to_append),
        ..Passed::default()
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
    stages.extend(view_stages(&counts.views));
    stages
}

/// Returns a stage for each data set with views, and one for the rest. A single one needs no name.
fn view_stages(views: &[SessionViewCounts]) -> Vec<RouteStage> {
    let name = |session: Option<u64>| match session {
        _ if views.len() == 1 => String::new(),
        Some(number) => format!("data set {number}"),
        None => "other data sets".to_owned(),
    };
    let stage = |views: &SessionViewCounts| RouteStage {
        number: views.session.map(|number| number.to_string()),
        ..view_stage(&name(views.session), &views.counts)
    };
    match views {
        [] => vec![view_stage("", &ViewCounts::default())],
        views => views.iter().map(stage).collect(),
    }
}

fn view_stage(name: &str, views: &ViewCounts) -> RouteStage {
    RouteStage {
        passed: Passed {
            bytes: Some(views.bytes),
            records: Some(views.views),
            busy: Some(views.evaluating.as_secs_f64()),
            waiting: Some(views.sending.as_secs_f64()),
            ..Passed::default()
        },
        in_flight: Some(views.connections as u64),
        ..RouteStage::new(RouteStageKind::View, name)
    }
}

fn source_stage(source: &SourceCounts) -> RouteStage {
    RouteStage {
        number: Some(format!("{}-{}", source.session, source.number)),
        has_ended: source.has_ended,
        held_bytes: (!source.has_ended).then_some(source.held_bytes),
        passed: Passed {
            bytes: Some(source.reads.bytes_read),
            records: Some(source.reads.records),
            waiting: Some(source.waited.as_secs_f64()),
            ..Passed::default()
        },
        ..RouteStage::new(RouteStageKind::Source, &source.name)
    }
}

#[cfg(test)]
mod tests {
    use weir_server::{SessionViewCounts, ViewCounts};

    use super::view_stages;

    #[test]
    fn data_sets_have_a_name_if_there_are_several() {
        let views = |session, views| SessionViewCounts {
            session,
            counts: ViewCounts { views, ..ViewCounts::default() },
        };
        let seen = |counts: &[SessionViewCounts]| {
            let stages = view_stages(counts);
            stages.into_iter().map(|it| (it.name, it.number, it.passed.records)).collect::<Vec<_>>()
        };
        let expected = |name: &str, number: Option<&str>, views| {
            (name.to_owned(), number.map(str::to_owned), Some(views))
        };
        assert_eq!(seen(&[]), [expected("", None, 0)]);
        assert_eq!(seen(&[views(Some(3), 7)]), [expected("", Some("3"), 7)]);
        assert_eq!(
            seen(&[views(Some(0), 1), views(Some(3), 7), views(None, 9)]),
            [
                expected("data set 0", Some("0"), 1),
                expected("data set 3", Some("3"), 7),
                expected("other data sets", None, 9),
            ]
        );
    }
}
