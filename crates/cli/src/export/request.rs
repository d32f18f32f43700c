//! What an export is asked for, before the first line is read.

use std::collections::HashSet;
use std::sync::Arc;

use weir_core::{Field, Format, RecordFields, Segment, Zone};
use weir_ingest::{DataSet, FormatChoice, Input, SourceSnapshot};
use weir_query::{ExportColumns, ExportFormat, Now, ParsedQuery, SegmentExport, WrittenQuery};
use weir_view::{Query, RecordKind};

use super::arguments::ExportArguments;
use super::late_fields::LateFields;
use crate::outcome::Failure;
use crate::scan::{LogFields, check_client, parse_query, query_failure};
use crate::zone;

/// The request, before the first line is read.
pub(super) struct Request {
    pub(super) written: WrittenQuery,
    pub(super) query: ParsedQuery,
    /// How the formats of the logs are chosen, with the derived fields that are named.
    pub(super) choice: FormatChoice,
    /// The first option that selects a period.
    pub(super) period_option: Option<&'static str>,
    pub(super) kind: Option<RecordKind>,
    pub(super) zone: Option<Zone>,
    pub(super) format: ExportFormat,
    /// The names of the columns; empty for the default ones.
    pub(super) columns: Vec<String>,
    pub(super) logs: LogFields,
    /// Whether the logs can be read a second time, and the output written.
    pub(super) is_repeatable: bool,
    /// The fields that appeared after the header, if the logs are read a second time.
    pub(super) late_fields: LateFields,
    /// The number of threads that parse, and of those that encode.
    pub(super) jobs: usize,
}

impl Request {
    pub(super) fn new(
        arguments: &ExportArguments,
        inputs: &mut [Input],
        choice: &FormatChoice,
        format: ExportFormat,
    ) -> Result<Self, Failure> {
        let zone = arguments.logs.zone()?;
        let own_zone = std::cell::LazyCell::new(|| {
            zone.clone().unwrap_or_else(|| zone::of_log(inputs, choice))
        });
        let (now, own_zone) = (Now::read(), || own_zone.clone());
        let conditions = arguments.logs.conditions.clone();
        let query = Query { conditions, ..Query::default() };
        let (written, query) = parse_query(&query, &now, &own_zone)?;
        let query = query.within(arguments.logs.period.period(&now, &own_zone)?);
        let names = written.field_names();
        let names = names.iter().chain(&arguments.columns).map(String::as_str);
        let choice = arguments.logs.derived().deriving(choice.clone(), names, zone.as_ref())?;
        let logs = LogFields::new(inputs, &choice);
        let (kind, jobs) = (arguments.kind.map(Into::into), arguments.logs.threads());
        let period_option = arguments.logs.period.options().next();
        Ok(Self {
            written,
            query,
            choice,
            period_option,
            kind,
            zone,
            format,
            columns: arguments.columns.clone(),
            logs,
            is_repeatable: false,
            late_fields: LateFields::default(),
            jobs,
        })
    }

    /// Begins the export of a data set whose first records have these formats. The formats that the
    /// parsers have found by now depend on timing. So the kind and the columns are decided here, by
    /// the formats of the first records and of the first lines of all files, in the order of the
    /// inputs. `first` are the first records.
    pub(super) fn begin(
        &self,
        data: &Arc<DataSet>,
        first: Option<&Segment>,
    ) -> Result<SegmentExport, Failure> {
        let source = first.and_then(|segment| data.source(segment.source()));
        let mut formats = source.map_or_else(Vec::new, |source| source.first_formats());
        formats.extend(self.logs.formats().iter().cloned());
        let has_kind = |kind: &RecordKind| formats.iter().any(|it| it.kind() == (*kind).into());
        let kinds = weir_core::RecordKind::ALL.into_iter().map(RecordKind::from);
        let kind = self.kind.or_else(|| kinds.into_iter().find(has_kind)).unwrap_or_default();
        // Fields that came late do not change which records are written.
        formats.extend(self.late_fields.formats.iter().cloned());
        let columns = self.columns(data, first, &formats, kind)?;
        let (data, other) = (data.clone(), data.clone());
        let lacks_lines = move |number| {
            other.source(number).is_some_and(|source| {
                source.first_formats().first().is_some_and(|format| format.is_packed())
            })
        };
        let name_of = move |number| {
            data.source(number).map_or_else(String::new, |source| source.name().to_owned())
        };
        let (query, zone) = ((self.query.clone(), kind), self.zone.clone());
        let export = SegmentExport::new(query, zone, self.format, columns, name_of);
        Ok(export.map_err(Failure::new)?.with_jobs(self.jobs).without_lines(lacks_lines))
    }

    /// Returns the columns of records with these formats. `first` are the first records.
    fn columns(
        &self,
        data: &DataSet,
        first: Option<&Segment>,
        formats: &[Arc<Format>],
        kind: RecordKind,
    ) -> Result<ExportColumns, Failure> {
        let heads = self.logs.records();
        let times = first.and_then(Segment::times);
        let has_nanoseconds =
            heads.have_nanoseconds || times.is_some_and(|it| it.has_nanoseconds());
        let filled = first.map(|segment| filled_fields(segment, data)).unwrap_or_default();
        let fields = |is_filled: &dyn Fn(&str) -> bool| {
            RecordFields::of(formats.iter().map(Arc::as_ref), kind.into(), is_filled)
        };
        let is_filled = |name: &str| {
            heads.filled.contains(name)
                || filled.contains(name)
                || self.late_fields.names.contains(name)
        };
        let all = fields(&|_| true);
        let filled = if self.format.is_text() { fields(&is_filled) } else { all.clone() };
        let columns_of = |fields| ExportColumns::new(self.format, fields, has_nanoseconds);
        if !self.columns.is_empty() {
            // A field that no record had so far can be named too.
            let named = columns_of(&filled).select(&self.columns);
            let named = named.or_else(|_| columns_of(&all).select(&self.columns));
            return named.map_err(|error| Failure::new(format_args!("--columns: {error}")));
        }
        let columns = columns_of(&filled);
        if self.format != ExportFormat::Csv {
            return Ok(columns);
        }
        // Objects may have further members in any later line.
        let may_have_others = filled != all && !(self.logs.are_all_inputs() && heads.are_all);
        Ok(match may_have_others && !self.is_repeatable {
            true => columns.with_other_fields(),
            false => columns,
        })
    }

    /// Checks that some log has the fields of the conditions.
    pub(super) fn check_fields(
        &self,
        sources: &[SourceSnapshot],
        formats: &[Arc<Format>],
    ) -> Result<(), Failure> {
        if sources.iter().all(|source| source.format.is_none()) {
            // No line matched a format. That is reported elsewhere.
            return Ok(());
        }
        check_client(formats)?;
        self.written
            .check_fields(formats.iter().map(Arc::as_ref), &|_| None)
            .map_err(query_failure)?;
        let Some(option) = self.period_option else { return Ok(()) };
        let times = formats.iter().map(|format| format.accessor(Field::Time.name()));
        // `Ok` if a format has times, or if no line has a format yet.
        let time = times.reduce(|one, other| one.or(other)).transpose();
        time.map(drop).map_err(|error| Failure::new(format_args!("{option}: {error}")))
    }
}

/// Returns the names of the fields that some record of a segment has.
fn filled_fields(segment: &Segment, data: &DataSet) -> HashSet<String> {
    let values = data.values();
    let columns = segment.columns().filter_map(|(id, _)| values.schema().column(id));
    columns.map(|column| column.name.clone()).collect()
}
