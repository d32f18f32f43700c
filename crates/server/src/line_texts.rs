//! The texts of the lines of a selection.
//!
//! A data set stores only the positions of lines. Those of local files are read back from disk. The
//! page reads lines of the files it uploaded.

use std::sync::Arc;

use weir_ingest::{DataSet, LineFile, PlainFile, ReadBackError, SourceProgress};
use weir_view::{LineAccess, LineSource, LinesAnswer, SelectedLine};

use crate::read_back::{may_belong_to, unreadable_reason};

/// The maximum length of a line in bytes. Nobody reads more of it.
const LINE_BYTES_MAX: usize = 64 << 10;

/// The size of the text, in bytes, after which an answer gets no more lines.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// The maximum number of files that are open at once. Lines in the order of their times may alternate
/// between files.
const OPEN_FILES_MAX: usize = 16;

/// Adds the texts of lines in local files, and the sources of all lines. `file_of` returns the page's
/// id of the file that is the source with a number, or an empty text if no page has uploaded it.
pub fn add_line_texts(answer: &mut LinesAnswer, data: &DataSet, file_of: &dyn Fn(u32) -> String) {
    let mut sources: Vec<ReadSource> = Vec::new();
    let mut bytes = 0;
    let mut lines_read = 0;
    for line in &mut answer.lines {
        if bytes > TEXT_BYTES_MAX {
            break;
        }
        let known = sources.iter().position(|known| known.source.number == line.source);
        let index = known.unwrap_or_else(|| {
            sources.push(ReadSource::open(line.source, data, file_of));
            sources.len() - 1
        });
        bytes += sources[index].read(line);
        lines_read += 1;
        if sources.iter().filter(|source| source.has_open_file()).count() > OPEN_FILES_MAX {
            sources.iter_mut().for_each(ReadSource::close_file);
        }
    }
    answer.lines.truncate(lines_read);
    answer.sources = sources.into_iter().map(|read| read.source).collect();
}

/// A source whose lines are being read.
struct ReadSource {
    source: LineSource,
    progress: Option<Arc<SourceProgress>>,
    /// The local file of the last line; open if it is unchanged since it was parsed.
    file: Option<(PlainFile, Option<LineFile>)>,
}

impl ReadSource {
    fn open(number: u32, data: &DataSet, file_of: &dyn Fn(u32) -> String) -> Self {
        let progress = data.source(number);
        let name = progress.as_ref().map_or_else(String::new, |source| source.name().to_owned());
        let line_source = LineSource {
            number,
            name,
            file: String::new(),
            access: LineAccess::None,
            message: None,
        };
        let mut read = Self { source: line_source, progress, file: None };
        let Some(progress) = &read.progress else { return read };
        read.source.file = file_of(number);
        if !read.source.file.is_empty() && !progress.is_packed() {
            read.source.access = LineAccess::Page;
        }
        read
    }

    /// Adds its text to a line of this source if it is in a local file. Returns the length in
    /// bytes.
    fn read(&mut self, line: &mut SelectedLine) -> usize {
        let Some(progress) = &self.progress else { return 0 };
        if self.source.access == LineAccess::Page {
            return 0;
        }
        let Some(place) = progress.file_place(line.offset) else {
            self.source.message = Some(unreadable_reason(progress));
            return 0;
        };
        if self.file.as_ref().is_none_or(|(file, _)| *file != place.file) {
            self.open_file(place.file.clone());
        }
        let Some((_, Some(file))) = &mut self.file else { return 0 };
        match file.line(&place, LINE_BYTES_MAX) {
            Ok(found) if may_belong_to(line.client.as_deref(), found.bytes) || found.is_cut => {
                line.set_text(found.bytes, found.is_cut);
                return found.bytes.len();
            }
            Ok(_) => self.fail(&ReadBackError::Changed),
            Err(error) => self.fail(&error),
        }
        0
    }

    fn open_file(&mut self, plain: PlainFile) {
        match plain.open() {
            Ok(file) => {
                self.source.access = LineAccess::Server;
                self.file = Some((plain, Some(file)));
            }
            Err(error) => {
                self.file = Some((plain, None));
                self.fail(&error);
            }
        }
    }

    fn has_open_file(&self) -> bool {
        matches!(self.file, Some((_, Some(_))))
    }

    /// Closes the file, which is opened again for its next line. One that cannot be read stays so.
    fn close_file(&mut self) {
        if self.has_open_file() {
            self.file = None;
        }
    }

    /// Stops reading, because lines other than the parsed ones must not be shown.
    fn fail(&mut self, error: &ReadBackError) {
        if let Some((_, open)) = &mut self.file {
            *open = None;
        }
        self.source.access = LineAccess::None;
        self.source.message = Some(format!("{} cannot be read again: {error}", self.source.name));
    }
}
