//! Searches records: in one field, by conditions, or for lines that are printed with their fields.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::Arc;

use weir_core::{FieldAccessor, Format, Record, RecordPredicate, original_lines};
use weir_ingest::{
    BlockStart, FormatMap, FoundRecord, Input, LineSink, LogLine, OrderedOutput, Records,
    SourceProgress, VisitedBlock,
};
use weir_view::{LineText, value_in};

use super::columns::{BoundColumns, LineColumns};
use super::context::Groups;
use super::pattern::Pattern;
use super::printer::Layout;
use super::{InputResult, Scope, Search};
use crate::options::OutputKind;
use crate::scan::{FieldCheck, MissingField, RecordPeriod, UnparsedLines, check_field, read_lines};
use crate::sources::Complaint;

/// Searches the lines of blocks on one thread.
struct RecordSink<'s> {
    search: &'s Search,
    input: &'s Input,
    pattern: Pattern,
    formats: FormatMap<BoundSearch<'s>>,
}

/// The search, resolved for the records of one format.
struct BoundSearch<'s> {
    /// The field to search in, if one was named. The inner `None` means that the format lacks the
    /// field.
    field: Option<Option<FieldAccessor>>,
    /// Whether records of this format are in the scope.
    is_in_scope: bool,
    predicate: RecordPredicate<'s>,
    columns: BoundColumns,
    /// Whether the format has the fields of the search.
    fields: Result<(), MissingField>,
}

/// The matches of a block, or of a text.
#[derive(Default)]
struct Matches {
    /// The source of the block.
    source: Option<Arc<SourceProgress>>,
    /// Whether its name is printed before each line.
    has_names: bool,
    /// The printed lines of the block.
    printed: Vec<u8>,
    /// Where they end, if it depends on other blocks which of them are written.
    ends: Vec<PrintedLine>,
    /// The number of lines that matched.
    lines: u64,
    fields: FieldCheck,
    /// The fields that the output lacks.
    missing_fields: BTreeSet<String>,
    /// Whether there was a record.
    has_records: bool,
    /// The period of the records that were read, if the search records it.
    period: RecordPeriod,
    /// Whether no line can match, because the only format of the text lacks a field.
    is_hopeless: bool,
}

/// A line among the printed ones.
struct PrintedLine {
    is_selected: bool,
    /// The end of the line as a match. A line that is not selected has no such form.
    match_end: usize,
    /// The end of the line as one beside a match, which follows. It is left out if it cannot be
    /// needed.
    end: usize,
}

/// The matches of a text so far.
struct TextMatches {
    matches: Matches,
    groups: Option<Groups>,
}

impl TextMatches {
    fn new(layout: &Layout) -> Self {
        let groups = layout.context.map(|context| Groups::new(context, layout.has_colour));
        Self { matches: Matches::default(), groups }
    }

    /// Writes the lines of the next block, and leaves out those beyond `--max-count`.
    fn write(
        &mut self,
        block: &mut Matches,
        layout: &Layout,
        output: &mut impl Write,
    ) -> io::Result<()> {
        if !layout.depends_on_others() {
            return output.write_all(&block.printed);
        }
        let (mut start, mut lines) = (0, self.matches.lines);
        for line in std::mem::take(&mut block.ends) {
            let as_match = &block.printed[start..line.match_end];
            let as_context = &block.printed[line.match_end..line.end];
            start = line.end;
            let is_selected = line.is_selected && !layout.is_full(lines);
            lines += u64::from(is_selected);
            match &mut self.groups {
                Some(groups) if is_selected => groups.select(as_match, output)?,
                Some(groups) => groups.pass(as_context, output)?,
                None if is_selected => output.write_all(as_match)?,
                None => {}
            }
        }
        block.lines = lines - self.matches.lines;
        Ok(())
    }

    /// Whether more lines cannot change the output.
    fn is_done(&self, search: &Search) -> bool {
        let is_context_due = self.groups.as_ref().is_some_and(|groups| groups.after_left() > 0);
        self.matches.is_hopeless || !is_context_due && search.layout.is_full(self.matches.lines)
    }
}

impl Matches {
    /// Adds the matches of the next block, which are printed.
    fn add(&mut self, block: Self) {
        self.lines += block.lines;
        self.fields.merge(block.fields);
        self.missing_fields.extend(block.missing_fields);
        self.has_records |= block.has_records;
        self.period.merge(block.period);
        self.is_hopeless |= block.is_hopeless;
    }

    /// Whether more lines of the block cannot change the output.
    fn is_done(&self, search: &Search) -> bool {
        let layout = &search.layout;
        self.is_hopeless
            || search.is_over()
            || layout.context.is_none() && layout.is_full(self.lines)
    }
}

impl Search {
    /// Searches the records of an input. An error is one of the output.
    pub(super) fn search_records(
        &self,
        input: &Input,
        output: &mut OrderedOutput<'_>,
    ) -> io::Result<InputResult> {
        let mut records = Records::new(self.threads_per_input);
        if self.layout.has_numbers || self.layout.output != OutputKind::Text {
            records = records.numbering_lines();
        }
        let (mut texts, mut written) = (Vec::<TextMatches>::new(), Ok(()));
        let is_line_buffered = self.is_line_buffered(input);
        let consume = |block: VisitedBlock<'_, Matches>| {
            let VisitedBlock { source, output: mut matches, .. } = block;
            let number = source.number() as usize;
            texts.resize_with(texts.len().max(number + 1), || TextMatches::new(&self.layout));
            let text = &mut texts[number];
            written = text.write(&mut matches, &self.layout, output);
            if written.is_ok() && is_line_buffered {
                written = output.flush();
            }
            text.matches.add(matches);
            if text.matches.lines > 0 {
                self.note_found();
            }
            if text.is_done(self) {
                source.satisfy();
            }
            match written.is_ok() && !self.is_over() {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        };
        let sink = || RecordSink {
            search: self,
            input,
            pattern: self.pattern.clone(),
            formats: FormatMap::default(),
        };
        let read = read_lines(&records, input, &self.format, sink, consume);
        written?;
        let mut result = InputResult::default();
        for text in &read.texts {
            let matches = texts.get_mut(text.number as usize);
            let matches = matches.map(|text| std::mem::take(&mut text.matches)).unwrap_or_default();
            result.has_records |= matches.has_records;
            result.missing_fields.extend(matches.missing_fields);
            result.period.merge(matches.period);
            let is_listed = self.layout.is_list && matches.lines > 0;
            if let Some(missing) = matches.fields.failure().filter(|_| !is_listed) {
                let (name, sentence) = (text.name.clone(), missing.to_string());
                result.missing = Some(sentence.clone());
                result.complaints.push(Complaint { name, sentence });
                continue;
            }
            result.unparsed.extend(UnparsedLines::of_source(text));
            result.lines += matches.lines;
            let has_names = self.has_names(input, &text.name);
            self.printer(&text.name, has_names, output).end_text(matches.lines)?;
        }
        result.complaints.extend(read.complaints);
        Ok(result)
    }

    /// Checks that a format has the fields of the search.
    fn check_fields(&self, format: &Format) -> Result<(), MissingField> {
        if let Some(name) = &self.field {
            check_field("--field", name, format, &self.logs)?;
        }
        self.conditions.check_fields(format, &self.logs)
    }

    /// Resolves the fields of the search in a format, which may lack some of them.
    fn bind(&self, format: &Format) -> BoundSearch<'_> {
        BoundSearch {
            field: self.field.as_ref().map(|name| format.accessor(name).ok()),
            is_in_scope: self.scope.includes(format),
            predicate: self.conditions.predicate(format),
            columns: match &self.columns {
                Some(columns) => columns.bind(format),
                None => BoundColumns::of_format(format),
            },
            fields: self.check_fields(format),
        }
    }

    /// Returns the columns of lines that are no records.
    fn columns_of_lines(&self) -> BoundColumns {
        self.columns.as_ref().map_or_else(BoundColumns::of_line, LineColumns::without_fields)
    }

    /// Prints a line of a block.
    fn print(
        &self,
        line: &LogLine<'_>,
        value: Option<&[u8]>,
        record: Option<(&BoundColumns, &Record<'_>)>,
        matches: &mut Matches,
    ) {
        let Matches { source, has_names, printed, ends, lines, missing_fields, .. } = matches;
        let name = source.as_ref().map_or("", |source| source.name());
        let mut printer = self.printer(name, *has_names, printed);
        let bytes = original_lines(line.bytes);
        let text = LineText { number: line.number + 1, bytes: &bytes };
        // Writing to memory cannot fail.
        let _ = match self.layout.output {
            _ if self.layout.is_quiet => printer.raw(text.number, text.bytes, value),
            OutputKind::Text => printer.raw(text.number, text.bytes, value),
            output => {
                let (of_line, zone) = (|| self.columns_of_lines(), self.zone.as_ref());
                let of_line = record.is_none().then(of_line).unwrap_or_default();
                let columns = record.map_or(&of_line, |(columns, _)| columns);
                let members = columns.members(record.map(|(_, record)| record), zone);
                let line = weir_view::LogLine { file: name, text, members };
                match output {
                    OutputKind::Csv => printer.csv(&line),
                    _ => printer.json(&line),
                }
            }
        };
        *lines += printer.lines();
        if self.layout.depends_on_others() {
            let match_end = printed.len();
            if self.layout.context.is_some() && self.layout.lines_max.is_some() {
                let _ = self.printer(name, *has_names, printed).context(text.number, text.bytes);
            }
            ends.push(PrintedLine { is_selected: true, match_end, end: printed.len() });
        }
        if let Some((columns, record)) = record {
            missing_fields.extend(columns.missing(record).map(str::to_owned));
        }
    }
}

impl RecordSink<'_> {
    /// Whether the pattern selects a whole line.
    fn is_selected_line(&self, line: &LogLine<'_>) -> bool {
        self.pattern.is_match(line.bytes) != self.search.layout.is_inverted
    }

    /// Takes a line that is not selected, which may stand near one that is.
    fn pass(&self, line: &LogLine<'_>, matches: &mut Matches) {
        if self.search.layout.context.is_none() {
            return;
        }
        let Matches { source, has_names, printed, ends, .. } = matches;
        let name = source.as_ref().map_or("", |source| source.name());
        let match_end = printed.len();
        // Writing to memory cannot fail.
        let bytes = original_lines(line.bytes);
        let _ = self.search.printer(name, *has_names, printed).context(line.number + 1, &bytes);
        ends.push(PrintedLine { is_selected: false, match_end, end: printed.len() });
    }
}

impl LineSink for RecordSink<'_> {
    type Output = Matches;

    fn output(&mut self) -> Matches {
        Matches::default()
    }

    fn begin(&mut self, block: &BlockStart<'_>, matches: &mut Matches) {
        matches.has_names = self.search.has_names(self.input, block.source.name());
        matches.source = Some(block.source.clone());
        let format = block.format;
        // A log that lists its fields has none before the first list. A format that is not known
        // has none that could be missing.
        if format.fields().is_empty() && format.extra_fields().is_empty() {
            return;
        }
        let bound = self.formats.get(format, || self.search.bind(format));
        if bound.fields.is_ok() || block.is_format_known {
            matches.fields.add(bound.fields.as_ref().copied());
        }
        matches.is_hopeless = block.is_only_format && bound.fields.is_err();
    }

    /// The pattern alone rules out most lines, and testing it is faster than parsing.
    fn wants(&mut self, line: &LogLine<'_>, matches: &mut Matches) -> bool {
        if matches.is_done(self.search) {
            return false;
        }
        let may_match = self.search.field.is_some() || self.is_selected_line(line);
        if !may_match {
            self.pass(line, matches);
        }
        may_match
    }

    fn take(&mut self, line: &LogLine<'_>, found: Option<FoundRecord<'_>>, matches: &mut Matches) {
        let search = self.search;
        let Some(FoundRecord { format, record }) = found else {
            // Without its fields a line cannot meet conditions on them.
            let needs_fields = search.field.is_some() || !search.conditions.is_empty();
            match search.scope == Scope::Lines && !needs_fields {
                true => search.print(line, None, None, matches),
                false => self.pass(line, matches),
            }
            return;
        };
        matches.has_records = true;
        let bound = self.formats.get(format, || search.bind(format));
        if bound.fields.is_ok() {
            matches.fields.add(Ok(()));
        }
        if search.tracks_period
            && let Some(time) = record.time
        {
            matches.period.add(time);
        }
        let is_selected = || bound.predicate.accepts(record) != search.negates_conditions;
        if !bound.is_in_scope || !is_selected() {
            return self.pass(line, matches);
        }
        let mut value = None;
        if let Some(field) = bound.field {
            let found = field.and_then(|field| value_in(search.zone.as_ref(), field, record));
            // An absent value matches nothing.
            let is_match = found.as_ref().is_some_and(|value| self.pattern.is_match(value));
            if is_match == search.layout.is_inverted {
                return self.pass(line, matches);
            }
            value = Some(found.unwrap_or(Cow::Borrowed(b"")));
        }
        search.print(line, value.as_deref(), Some((&bound.columns, record)), matches);
    }
}
