//! How an export ended, and what is said about it.

use weir_ingest::SourceSnapshot;
use weir_query::ExportCounts;

use super::late_fields::LateFields;
use crate::display::separated;
use crate::messages::say_all;
use crate::outcome::{Exit, say};
use crate::scan::{UnparsedLines, report_unparsed};
use crate::sources::Complaint;
use crate::unmatched::without_records;
use crate::withheld::Withheld;

/// The result of an export.
pub(super) struct ExportOutcome {
    /// About inputs that were not read to their end.
    pub(super) complaints: Vec<Complaint>,
    pub(super) counts: ExportCounts,
    pub(super) late_fields: LateFields,
    /// About values that the output lacks.
    pub(super) missing: Vec<Complaint>,
    pub(super) sources: Vec<SourceSnapshot>,
}

/// Returns complaints about values that are missing in the output, and prints a note about records
/// of other kinds.
pub(super) fn missing_of(exported: &ExportOutcome, output: &str) -> Vec<Complaint> {
    let counts = exported.counts;
    if counts.other_kinds > 0 {
        say(format_args!(
            "{} records of other kinds were left out; choose a kind with --kind",
            separated(counts.other_kinds)
        ));
    }
    let unknown = (counts.unknown_values > 0).then(|| {
        format!(
            "{} values are missing, because so many distinct ones follow each other that their \
             memory was used up",
            separated(counts.unknown_values)
        )
    });
    let sentences = unknown.into_iter().chain(exported.late_fields.sentence());
    sentences.map(|sentence| Complaint { name: output.to_owned(), sentence }).collect()
}

impl ExportOutcome {
    /// Returns why an output file is not written; `None` if it is.
    pub(super) fn withheld(&self) -> Option<Withheld> {
        let lacks_values = || (!self.missing.is_empty()).then_some(Withheld::LacksValues);
        Withheld::of_sources(!self.complaints.is_empty(), &self.sources).or_else(lacks_values)
    }

    /// Prints the complaints. Returns how the run ended.
    pub(super) fn say(&self) -> Exit {
        let without = without_records(&self.sources);
        let has_reason = |name: &str| without.iter().any(|complaint| complaint.name == name);
        let others = self.sources.iter().filter(|source| !has_reason(&source.name));
        let unparsed: Vec<_> = others.filter_map(UnparsedLines::of_source).collect();
        report_unparsed(&unparsed);
        say_all(&without);
        say_all(self.complaints.iter().chain(&self.missing));
        let has_records = self.sources.iter().any(|source| source.records > 0);
        match (self.complaints.is_empty() && self.missing.is_empty(), has_records) {
            (false, _) => Exit::Failed,
            (true, true) => Exit::Done,
            (true, false) => Exit::NoMatch,
        }
    }
}
