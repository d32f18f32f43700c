//! Takes a source apart, however it is packed, into the texts in it.

use std::io::{self, BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::time::SystemTime;

use super::archive::{Tar, Zip, is_tar, is_zip};
use super::byte_counter::{ByteCounter, CountingReader, Layer};
use super::compression::{MAGIC_BYTES, compression_of};
use super::decompress::decompressed;
use crate::error::StreamError;
use crate::error::{Fault, ReadError};

/// Archives in archives in archives: more than anybody makes, and no deeper than the stack.
const DEPTH_MAX: usize = 8;

/// Members of one source: an archive of a few megabytes can hold billions that are empty.
const MEMBERS_MAX: usize = 10_000;

/// Bytes that tell what a source is: a header of tar.
pub(super) const HEAD_BYTES: usize = 512;

/// Bytes that are unpacked at once, between layers.
const LAYER_BYTES: usize = 64 << 10;

/// The text of a source, or of one file in an archive: read it.
pub struct Text<'a> {
    name: &'a str,
    is_packed: bool,
    is_member: bool,
    stream: &'a mut dyn Read,
    counter: &'a ByteCounter,
    broken: &'a mut Option<StreamError>,
}

impl Text<'_> {
    /// The name that a person gave, with the member's where it is in an archive.
    pub fn name(&self) -> &str {
        self.name
    }

    /// True where it is compressed or in an archive.
    pub fn is_packed(&self) -> bool {
        self.is_packed
    }

    /// True where it is a file in an archive.
    pub fn is_member(&self) -> bool {
        self.is_member
    }

    /// When the file that it is in was last written to, where that is known.
    pub fn written(&self) -> Option<SystemTime> {
        self.counter.written_at()
    }

    /// Bytes of the input used so far, those of earlier texts included.
    pub fn medium_bytes(&self) -> u64 {
        self.counter.used()
    }

    /// What an error was that reading gave.
    pub fn error(&self, error: &io::Error) -> ReadError {
        ReadError::Stream(self.counter.error(error, None))
    }
}

impl Read for Text<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let result = self.stream.read(buffer);
        if let Err(error) = &result
            && !matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock)
        {
            *self.broken = Some(self.counter.error(error, None));
        }
        result
    }
}

/// Gives all texts in a stream to `visit`, in their order, until it breaks. What a visitor
/// has not read of a text is passed by. A visitor is told of errors while it reads; of all
/// others this gives a list.
pub(super) fn unpack(
    name: &str,
    stream: impl Read,
    counter: &ByteCounter,
    visit: &mut dyn FnMut(&mut Text<'_>) -> ControlFlow<()>,
) -> Vec<Fault> {
    let mut unpacking =
        Unpacking { counter, visit, faults: Vec::new(), broken: None, members: 0, left_out: 0 };
    let mut stream = CountingReader::new(stream, counter.clone());
    let place = Place { name, depth: 0, is_packed: false, is_member: false };
    // Whoever broke knows why.
    let _ = unpacking.run(&mut stream, place);
    unpacking.faults
}

struct Unpacking<'a> {
    counter: &'a ByteCounter,
    visit: &'a mut dyn FnMut(&mut Text<'_>) -> ControlFlow<()>,
    faults: Vec<Fault>,
    /// The last error that the visitor was given: it is not said again.
    broken: Option<StreamError>,
    members: usize,
    left_out: u64,
}

/// Where in the layers a stream is.
#[derive(Clone, Copy)]
struct Place<'a> {
    name: &'a str,
    depth: usize,
    is_packed: bool,
    is_member: bool,
}

impl Unpacking<'_> {
    fn run(&mut self, stream: &mut dyn BufRead, place: Place<'_>) -> ControlFlow<()> {
        let head = match head(stream) {
            Ok(head) => head,
            Err(error) => return self.failed(place, "packed", &error),
        };
        let compression = compression_of(&head);
        let (is_tar, is_zip) = (is_tar(&head), is_zip(&head));
        if place.depth == DEPTH_MAX && (compression.is_some() || is_tar || is_zip) {
            return self.refuse(place.name, "is packed too often; unpack it first");
        }
        let is_text = is_text(&head);
        let mut stream = Headed { head, given: 0, stream };
        let inside = Place { depth: place.depth + 1, is_packed: true, ..place };
        if let Some(compression) = compression {
            let packing = compression.name();
            let layer = match decompressed(compression, &mut stream) {
                Ok(stream) => Layer::new(stream, packing, self.counter),
                Err(error) => return self.failed(place, packing, &error),
            };
            self.run(&mut BufReader::with_capacity(LAYER_BYTES, layer), inside)
        } else if is_tar {
            self.tar(&mut stream, inside)
        } else if is_zip {
            self.zip(&mut stream, inside)
        } else if place.is_member && !is_text {
            self.left_out += 1;
            ControlFlow::Continue(())
        } else {
            self.text(&mut stream, place)
        }
    }

    fn text(&mut self, stream: &mut dyn Read, place: Place<'_>) -> ControlFlow<()> {
        if !place.is_packed {
            self.counter.allow_timeout();
        }
        self.broken = None;
        (self.visit)(&mut Text {
            name: place.name,
            is_packed: place.is_packed,
            is_member: place.is_member,
            stream,
            counter: self.counter,
            broken: &mut self.broken,
        })
    }

    fn tar(&mut self, stream: &mut dyn BufRead, place: Place<'_>) -> ControlFlow<()> {
        let mut tar = Tar::new(stream);
        loop {
            let member = match tar.next_file() {
                Ok(Some(member)) => member,
                Ok(None) => return self.end_of_archive(place),
                Err(error) => return self.failed(place, "tar", &error),
            };
            self.member(&mut Layer::new(&mut tar, "tar", self.counter), &member, place)?;
        }
    }

    fn zip(&mut self, stream: &mut dyn BufRead, place: Place<'_>) -> ControlFlow<()> {
        let mut zip = Zip::new(stream, self.counter);
        loop {
            let member = match zip.next_member() {
                Ok(Some(member)) => member,
                Ok(None) => return self.end_of_archive(place),
                Err(error) => return self.failed(place, "zip", &error),
            };
            let result = if let Some(refusal) = &member.refusal {
                if self.is_too_many(place) {
                    return ControlFlow::Break(());
                }
                let _ = self.refuse(&format!("{}/{}", place.name, member.name), refusal);
                zip.pass(&member).map(ControlFlow::Continue)
            } else {
                zip.read(&member, |content| {
                    let mut content = Layer::new(content, "zip", self.counter);
                    self.member(&mut content, &member.name, place)
                })
            };
            match result {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => return ControlFlow::Break(()),
                Err(error) => return self.failed(place, "zip", &error),
            }
        }
    }

    fn member(
        &mut self,
        content: &mut dyn Read,
        member: &str,
        place: Place<'_>,
    ) -> ControlFlow<()> {
        if self.is_too_many(place) {
            return ControlFlow::Break(());
        }
        let base = member.rsplit('/').next().unwrap_or(member);
        // Directories of a zip, and what hides: leftovers of file managers.
        if base.is_empty() || base.starts_with('.') {
            return ControlFlow::Continue(());
        }
        let name = format!("{}/{member}", place.name);
        let place = Place { name: &name, is_member: true, ..place };
        self.run(&mut BufReader::with_capacity(LAYER_BYTES, content), place)
    }

    /// Counts a member, whether it is read or refused, and refuses the archive that has too
    /// many of them.
    fn is_too_many(&mut self, place: Place<'_>) -> bool {
        self.members += 1;
        let is_too_many = self.members > MEMBERS_MAX;
        if is_too_many {
            let _ = self.refuse(place.name, "holds more than 10,000 files; unpack it first");
        }
        is_too_many
    }

    /// Says what of an archive was no text.
    fn end_of_archive(&mut self, place: Place<'_>) -> ControlFlow<()> {
        if self.left_out > 0 {
            let count = std::mem::take(&mut self.left_out);
            let files = if count == 1 { "file that is" } else { "files that are" };
            let note = format!("skipped {count} {files} not text");
            self.faults.push(Fault::note(place.name, note));
        }
        ControlFlow::Continue(())
    }

    fn refuse(&mut self, name: &str, why: &str) -> ControlFlow<()> {
        self.faults.push(Fault::new(name, ReadError::Refused(why.to_owned())));
        ControlFlow::Continue(())
    }

    /// A layer cannot be read on; those around it may.
    fn failed(
        &mut self,
        place: Place<'_>,
        packing: &'static str,
        error: &io::Error,
    ) -> ControlFlow<()> {
        let broken = self.counter.error(error, Some(packing));
        if self.broken.as_ref() != Some(&broken) {
            self.faults.push(Fault::new(place.name, ReadError::Stream(broken.clone())));
            self.broken = Some(broken);
        }
        ControlFlow::Continue(())
    }
}

/// True where a file's first bytes say that it is a compressed one or an archive.
pub(super) fn is_packed(head: &[u8]) -> bool {
    compression_of(head).is_some() || is_tar(head) || is_zip(head)
}

/// The first bytes of a stream: so many that they tell what it is. A pipe that has brought a
/// line is not waited for.
fn head(stream: &mut dyn BufRead) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    loop {
        let piece = match stream.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            result => result?,
        };
        let length = piece.len().min(HEAD_BYTES - head.len());
        head.extend_from_slice(&piece[..length]);
        stream.consume(length);
        let is_told = head.len() >= MAGIC_BYTES
            && (head.contains(&b'\n') || compression_of(&head).is_some() || is_zip(&head));
        if length == 0 || is_told || head.len() == HEAD_BYTES {
            return Ok(head);
        }
    }
}

/// True where a file that begins so may be a log: hardly any control characters. NULs in
/// front of a line are what a rotation by truncation leaves.
pub(super) fn is_text(head: &[u8]) -> bool {
    let mut is_line_start = true;
    let is_odd = |byte: &&u8| match **byte {
        0 => !is_line_start,
        b'\n' => {
            is_line_start = true;
            false
        }
        byte => {
            is_line_start = false;
            byte < b' ' && !matches!(byte, b'\t' | b'\r' | 0x1B | 0x0C)
        }
    };
    head.iter().filter(is_odd).count() * 20 <= head.len()
}

/// A stream whose first bytes were looked at.
struct Headed<'a> {
    head: Vec<u8>,
    given: usize,
    stream: &'a mut dyn BufRead,
}

impl Read for Headed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.head.len() {
            return self.stream.read(buffer);
        }
        let length = (&self.head[self.given..]).read(buffer)?;
        self.given += length;
        Ok(length)
    }
}

impl BufRead for Headed<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match self.given < self.head.len() {
            true => Ok(&self.head[self.given..]),
            false => self.stream.fill_buf(),
        }
    }

    fn consume(&mut self, length: usize) {
        match self.given < self.head.len() {
            true => self.given += length,
            false => self.stream.consume(length),
        }
    }
}
