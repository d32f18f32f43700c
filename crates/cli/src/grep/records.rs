//! The search in records: lines of one field, of those that meet conditions, or with their
//! fields.

use std::borrow::Cow;
use std::io::{self, Read};

use weir_core::{FieldAccessor, Format, Record, RecordPredicate};

use super::Search;
use super::arguments::Output;
use super::printer::Printer;
use crate::lines::{Failed, LineBlocks};
use crate::records::Reader;

/// What is asked of the records of one format.
struct Asked<'a> {
    field: Option<FieldAccessor>,
    predicate: RecordPredicate<'a>,
    columns: Vec<(String, FieldAccessor)>,
}

/// Where a search stands.
struct Progress<'a> {
    reader: Reader,
    asked: Option<Asked<'a>>,
    /// The version of the format that is asked about.
    version: u64,
    /// Some format was asked about.
    has_asked: bool,
    /// Lines so far.
    lines: u64,
    /// Room for a line that has to be written anew.
    text: Vec<u8>,
}

impl Search {
    /// As [`Self::in_lines`], of records; gives the number of lines that did not fit as well.
    pub(super) fn in_records(
        &self,
        reader: Reader,
        blocks: &mut LineBlocks<impl Read>,
        printer: &mut Printer<'_, '_>,
    ) -> (u64, Result<(), Failed>) {
        let mut progress = Progress {
            reader,
            asked: None,
            version: 0,
            has_asked: false,
            lines: 0,
            text: Vec::new(),
        };
        let result = self.each_block(blocks, printer, &mut progress);
        (progress.reader.unmatched(), result)
    }

    fn each_block<'a>(
        &'a self,
        blocks: &mut LineBlocks<impl Read>,
        printer: &mut Printer<'_, '_>,
        progress: &mut Progress<'a>,
    ) -> Result<(), Failed> {
        while let Some(block) = blocks.next_block().map_err(Failed::Input)? {
            progress.reader.learn(block);
            for line in block.split_inclusive(|byte| *byte == b'\n') {
                progress.lines += 1;
                self.keep_asking(progress)?;
                self.line(line, printer, progress).map_err(Failed::Output)?;
                if printer.is_done() {
                    return Ok(());
                }
            }
            printer.block_ends().map_err(Failed::Output)?;
        }
        Ok(())
    }

    /// Sees where the fields are in the format as it is now. A log has to have them when it
    /// begins; lists of fields that come later may lack some.
    fn keep_asking<'a>(&'a self, progress: &mut Progress<'a>) -> Result<(), Failed> {
        if progress.version == progress.reader.version() {
            return Ok(());
        }
        progress.version = progress.reader.version();
        progress.asked = None;
        if let Some(format) = progress.reader.format() {
            progress.asked = match self.ask(format) {
                Err(sentence) if !progress.has_asked => return Err(Failed::Sentence(sentence)),
                asked => asked.ok(),
            };
            progress.has_asked = true;
        }
        Ok(())
    }

    fn ask(&self, format: &Format) -> Result<Asked<'_>, String> {
        let field = self.field.as_ref().map(|name| format.accessor(name)).transpose();
        let predicate = self.conditions.predicate(format);
        Ok(Asked {
            field: field.map_err(|error| format!("--field: {error}"))?,
            predicate: predicate.map_err(|error| format!("--where: {error}"))?,
            columns: format.accessors(),
        })
    }

    fn line(
        &self,
        line: &[u8],
        printer: &mut Printer<'_, '_>,
        progress: &mut Progress<'_>,
    ) -> io::Result<()> {
        let bare = line.strip_suffix(b"\n").unwrap_or(line);
        let is_whole_line = self.field.is_none();
        // Most lines are told by the pattern alone, which is quicker than to read them. A
        // directive has to be read, whatever is looked for.
        let is_chosen = !is_whole_line || self.pattern.is_in(bare) != self.layout.inverted;
        if !is_chosen && !bare.starts_with(b"#") {
            return Ok(());
        }
        let Progress { reader, asked, text, lines, .. } = progress;
        let mut record = Record::new();
        let fits = reader.read(bare, text, &mut record);
        if !is_chosen {
            return Ok(());
        }
        let asked = asked.as_ref().filter(|_| fits);
        let value = match asked {
            Some(asked) if !asked.predicate.accepts(&record) => return Ok(()),
            None if !is_whole_line || !self.conditions.is_empty() => return Ok(()),
            // What is not there matches nothing.
            Some(asked) if !is_whole_line => {
                let value = asked.field.and_then(|place| place.value(&record));
                let is_in = value.as_ref().is_some_and(|value| self.pattern.is_in(value));
                if is_in == self.layout.inverted {
                    return Ok(());
                }
                Some(value.unwrap_or(Cow::Borrowed(b"")))
            }
            _ => None,
        };
        let fields = asked.map(|asked| (&asked.columns[..], &record));
        match self.layout.output {
            Output::Raw => printer.raw(*lines, line, value.as_deref()),
            Output::Jsonl => printer.json(*lines, bare, fields),
            Output::Csv => printer.csv(*lines, bare, fields),
        }
    }
}
