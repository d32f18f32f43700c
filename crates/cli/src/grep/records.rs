//! Searches records: in one field, by conditions, or for lines that are printed with their fields.

use std::borrow::Cow;
use std::io::{self, Read};
use std::sync::Arc;

use weir_core::{FieldAccessor, Format, Record, RecordPredicate};
use weir_ingest::{FormatBinding, RecordReader, TextPart};
use weir_view::{FieldValues, LineText, value_in};

use super::printer::Printer;
use super::{Scope, Search};
use crate::options::OutputKind;
use crate::scan::{RecordPeriod, ScanError, check_field, whole_lines};

/// The search, resolved for the records of one format.
struct RecordSearch<'a> {
    /// The field to search in, if one was named. The inner `None` means that the format lacks the
    /// field.
    field: Option<Option<FieldAccessor>>,
    /// Whether records of this format are in the scope.
    is_in_scope: bool,
    predicate: RecordPredicate<'a>,
    columns: Vec<(String, FieldAccessor)>,
}

/// The records of a part so far.
#[derive(Default)]
pub(super) struct PartRecords {
    /// A sentence about the first format that lacks a field of the search.
    missing: Option<String>,
    /// Whether a format has all fields of the search.
    has_fields: bool,
    /// Whether there was a record.
    pub(super) has_records: bool,
    /// The period of the records that were read, if the search records it.
    pub(super) period: RecordPeriod,
}

/// A line with its number, and with its line feed if it has one.
#[derive(Clone, Copy)]
struct NumberedLine<'a> {
    number: u64,
    bytes: &'a [u8],
}

impl Search {
    /// Prints the lines of a part whose records match.
    pub(super) fn search_records(
        &self,
        part: &mut TextPart<impl Read>,
        seen: &mut PartRecords,
        printer: &mut Printer<'_, '_>,
    ) -> Result<(), ScanError> {
        let mut binding = FormatBinding::new();
        let (mut number, mut skipped) = (0, 0);
        while let Some((block, records)) = part.next_records().map_err(ScanError::Input)? {
            number += records.skipped_lines() - skipped;
            skipped = records.skipped_lines();
            for bytes in whole_lines(block) {
                number += 1;
                self.bind_next(&mut binding, records, seen)?;
                let line = NumberedLine { number, bytes };
                let searched = self.search_line(line, records, &binding, (seen, printer));
                if let Some(format) = searched.map_err(ScanError::Output)? {
                    seen.has_fields |= self.check_fields(&format).is_ok();
                    binding.bind_companion(&format, |format| Ok::<_, String>(self.bind(format)));
                    let searched = self.search_line(line, records, &binding, (seen, printer));
                    searched.map_err(ScanError::Output)?;
                }
                if printer.is_done() {
                    return Ok(());
                }
            }
            // A list of fields may be the last line.
            self.bind_next(&mut binding, records, seen)?;
            printer.end_block().map_err(ScanError::Output)?;
        }
        match seen.missing.take() {
            Some(error) if !seen.has_fields => Err(ScanError::Field(error)),
            _ => Ok(()),
        }
    }

    /// Resolves the search in the format of the next line, if the format has changed. A format that
    /// is not known has no fields that could be missing.
    fn bind_next<'a>(
        &'a self,
        binding: &mut FormatBinding<RecordSearch<'a>>,
        records: &RecordReader,
        seen: &mut PartRecords,
    ) -> Result<(), ScanError> {
        let bound = binding.update(records, |format, is_only| {
            match self.check_fields(format) {
                Ok(()) => seen.has_fields = true,
                Err(_) if !records.is_format_known() => {}
                Err(error) if is_only && !self.is_in_any(records.companions()) => {
                    return Err(error);
                }
                Err(error) => seen.missing = seen.missing.take().or(Some(error)),
            }
            Ok(self.bind(format))
        });
        bound.map_err(ScanError::Field)
    }

    /// Whether one of these formats has the fields of the search.
    fn is_in_any(&self, formats: &[Arc<Format>]) -> bool {
        formats.iter().any(|format| self.check_fields(format).is_ok())
    }

    /// Checks that a format has the fields of the search. The error is a sentence.
    pub(super) fn check_fields(&self, format: &Format) -> Result<(), String> {
        if let Some(name) = &self.field {
            check_field("--field", name, format, &self.logs)?;
        }
        self.conditions.check_fields(format, &self.logs)
    }

    /// Resolves the fields of the search in a format, which may lack some of them.
    fn bind(&self, format: &Format) -> RecordSearch<'_> {
        RecordSearch {
            field: self.field.as_ref().map(|name| format.accessor(name).ok()),
            is_in_scope: self.scope.includes(format),
            predicate: self.conditions.predicate(format),
            columns: format.accessors(),
        }
    }

    /// Prints the line if its record matches. If the search is not resolved yet in the format of
    /// the record, returns that format instead.
    fn search_line(
        &self,
        line: NumberedLine<'_>,
        records: &mut RecordReader,
        binding: &FormatBinding<RecordSearch<'_>>,
        (seen, printer): (&mut PartRecords, &mut Printer<'_, '_>),
    ) -> io::Result<Option<Arc<Format>>> {
        let bare = line.bytes.strip_suffix(b"\n").unwrap_or(line.bytes);
        // The pattern alone rules out most lines, and testing it is faster than parsing. A
        // directive has to be parsed in any case.
        let may_match =
            self.field.is_some() || self.pattern.is_match(bare) != self.layout.is_inverted;
        if !may_match && !bare.starts_with(b"#") {
            return Ok(None);
        }
        records.read(bare, |found| {
            if !may_match {
                return Ok(None);
            }
            if let Some((format, record)) = found {
                seen.has_records = true;
                if let Some(search) = binding.value_of(format) {
                    if self.tracks_period
                        && let Some(time) = record.time
                    {
                        seen.period.add(time);
                    }
                    return self.print_record(line, search, record, printer).map(|()| None);
                }
                if !binding.is_bound(format) {
                    return Ok(Some(format.clone()));
                }
            }
            // Without its fields a line cannot meet conditions on them.
            let needs_fields = self.field.is_some() || !self.conditions.is_empty();
            if self.scope == Scope::Lines && !needs_fields {
                self.print(line, None, None, printer)?;
            }
            Ok(None)
        })
    }

    /// Prints a line if its record meets the conditions and its field matches.
    fn print_record(
        &self,
        line: NumberedLine<'_>,
        search: &RecordSearch<'_>,
        record: &Record<'_>,
        printer: &mut Printer<'_, '_>,
    ) -> io::Result<()> {
        let is_selected = || search.predicate.accepts(record) != self.negates_conditions;
        if !search.is_in_scope || !is_selected() {
            return Ok(());
        }
        let mut value = None;
        if let Some(field) = search.field {
            let found = field.and_then(|field| value_in(self.zone.as_ref(), field, record));
            // An absent value matches nothing.
            let is_match = found.as_ref().is_some_and(|value| self.pattern.is_match(value));
            if is_match == self.layout.is_inverted {
                return Ok(());
            }
            value = Some(found.unwrap_or(Cow::Borrowed(b"")));
        }
        let fields = FieldValues { columns: &search.columns, record, zone: self.zone.as_ref() };
        self.print(line, value.as_deref(), Some(fields), printer)
    }

    fn print(
        &self,
        line: NumberedLine<'_>,
        value: Option<&[u8]>,
        fields: Option<FieldValues<'_>>,
        printer: &mut Printer<'_, '_>,
    ) -> io::Result<()> {
        let bare = line.bytes.strip_suffix(b"\n").unwrap_or(line.bytes);
        let text = LineText { number: line.number, bytes: bare };
        match self.layout.output {
            OutputKind::Text => printer.raw(line.number, line.bytes, value),
            OutputKind::Json => printer.json(text, fields),
            OutputKind::Csv => printer.csv(text, fields),
        }
    }
}
