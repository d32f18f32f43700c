//! Unpacks a source through all layers of packing into its texts.

use std::io::{self, BufRead, BufReader, Read};
use std::ops::ControlFlow;

use super::archive::{Tar, Zip, is_tar, is_zip};
use super::byte_counter::{ByteCounter, CountingReader, Layer};
use super::compression::is_compress;
use super::decompress::open_layer;
use super::packing::Packing;
use super::stream_head::{StreamWithHead, is_text, read_head};
use super::table::STREAM_REFUSAL;
use crate::error::StreamError;
use crate::error::{Fault, ReadError};
use crate::log_year::LastTime;
use weir_tables::is_table;

/// The greatest depth of nested archives, so that recursion is bounded.
const DEPTH_MAX: usize = 8;

/// The most members of one source: an archive of a few megabytes can hold billions of empty ones.
const MEMBERS_MAX: usize = 10_000;

/// The note on the source of an uploaded archive.
const ARCHIVE_NOTE: &str = "an archive: each of its files is a source of its own";

/// The size of the buffer between two layers of packing.
const LAYER_BYTES: usize = 64 << 10;

/// The text of a source, or of one file in an archive. Reading it returns unpacked bytes.
pub struct Text<'a> {
    name: &'a str,
    is_packed: bool,
    is_member: bool,
    stream: &'a mut dyn Read,
    counter: &'a ByteCounter,
    /// The last error that was returned.
    last_error: &'a mut Option<StreamError>,
}

impl Text<'_> {
    /// The name of the input, followed by the member's if the text is in an archive.
    pub fn name(&self) -> &str {
        self.name
    }

    /// Whether the text is compressed or in an archive.
    pub fn is_packed(&self) -> bool {
        self.is_packed
    }

    /// Whether the text is a file in an archive.
    pub fn is_member(&self) -> bool {
        self.is_member
    }

    /// The time that no line of the text is much later than, if known: when the file that contains it
    /// was last written.
    pub fn last_time(&self) -> Option<LastTime> {
        self.counter.last_time()
    }

    /// The number of input bytes consumed so far, including those of earlier texts.
    pub fn input_bytes(&self) -> u64 {
        self.counter.used()
    }

    /// Converts an error that a read returned.
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
            *self.last_error = Some(self.counter.error(error, None));
        }
        result
    }
}

/// The result of unpacking a stream.
pub(super) struct Unpacked {
    /// Notes, and the errors that the visitor has not received from a read.
    pub(super) faults: Vec<Fault>,
    /// The error of a layer around an archive, because of which it was not read to its end.
    pub(super) damage: Option<StreamError>,
}

/// Calls `visit` with each text in a stream, in order, until it breaks. Skips the rest of a text
/// that `visit` did not read to its end.
pub(super) fn unpack(
    name: &str,
    stream: impl Read,
    counter: &ByteCounter,
    visit: &mut dyn FnMut(&mut Text<'_>) -> ControlFlow<()>,
) -> Unpacked {
    let mut unpacker = Unpacker {
        counter,
        visit,
        unpacked: Unpacked { faults: Vec::new(), damage: None },
        last_error: None,
        members: 0,
        left_out: 0,
    };
    let mut stream = CountingReader::new(stream, counter.clone());
    let location = Location {
        name,
        depth: 0,
        is_packed: false,
        is_member: false,
        is_nested: false,
        may_time_out: true,
    };
    // A visitor that breaks reports the reason itself.
    let _ = unpacker.unpack_stream(&mut stream, location);
    unpacker.unpacked
}

struct Unpacker<'a> {
    counter: &'a ByteCounter,
    visit: &'a mut dyn FnMut(&mut Text<'_>) -> ControlFlow<()>,
    unpacked: Unpacked,
    /// The last error that the visitor received, which is not reported again.
    last_error: Option<StreamError>,
    members: usize,
    left_out: u64,
}

/// The position of a stream in the layers of packing.
#[derive(Clone, Copy)]
struct Location<'a> {
    name: &'a str,
    depth: usize,
    is_packed: bool,
    is_member: bool,
    /// Whether the innermost layer is inside another one.
    is_nested: bool,
    /// Whether reads may time out, because no layer so far is an archive.
    may_time_out: bool,
}

impl Unpacker<'_> {
    fn unpack_stream(
        &mut self,
        stream: &mut dyn BufRead,
        location: Location<'_>,
    ) -> ControlFlow<()> {
        let head = match read_head(stream) {
            Ok(head) => head,
            Err(error) => return self.note_failure(location, "packed", &error),
        };
        let packing = Packing::of(&head);
        let (is_tar, is_zip) = (is_tar(&head), is_zip(&head));
        if location.depth == DEPTH_MAX && (packing.is_some() || is_tar || is_zip) {
            return self.refuse(location.name, "is packed in too many layers; unpack it first");
        }
        if is_compress(&head) {
            let why = "is packed by compress (.Z), which Weir does not read; unpack it first with \
                       `uncompress` or `gzip -d`";
            return self.refuse(location.name, why);
        }
        if is_table(&head) && !location.is_member {
            return self.refuse(location.name, STREAM_REFUSAL);
        }
        let is_text = is_text(&head);
        let mut stream = StreamWithHead::new(head, stream);
        let may_time_out = location.may_time_out && packing.is_some();
        let inner = Location {
            depth: location.depth + 1,
            is_packed: true,
            is_nested: location.is_packed,
            may_time_out,
            ..location
        };
        if let Some(packing) = packing {
            let layer = match open_layer(packing, &mut stream) {
                Ok(stream) => {
                    Layer::new(stream, packing.name(), self.counter).nested(inner.is_nested)
                }
                Err(error) => return self.note_failure(location, packing.name(), &error),
            };
            let mut layer = BufReader::with_capacity(LAYER_BYTES, layer);
            if packing.is_text() {
                return self.visit_text(&mut layer, inner);
            }
            self.unpack_stream(&mut layer, inner)
        } else if is_tar {
            self.unpack_tar(&mut stream, inner)
        } else if is_zip {
            self.unpack_zip(&mut stream, inner)
        } else if location.is_member && !is_text {
            self.left_out += 1;
            ControlFlow::Continue(())
        } else {
            self.visit_text(&mut stream, location)
        }
    }

    fn visit_text(&mut self, stream: &mut dyn Read, location: Location<'_>) -> ControlFlow<()> {
        if location.may_time_out {
            self.counter.allow_timeout();
        }
        self.last_error = None;
        (self.visit)(&mut Text {
            name: location.name,
            is_packed: location.is_packed,
            is_member: location.is_member,
            stream,
            counter: self.counter,
            last_error: &mut self.last_error,
        })
    }

    fn unpack_tar(&mut self, stream: &mut dyn BufRead, location: Location<'_>) -> ControlFlow<()> {
        self.note_archive(location, None);
        let mut tar = Tar::new(stream);
        loop {
            let member = match tar.next_file() {
                Ok(Some(member)) => member,
                Ok(None) => return self.end_of_archive(location),
                Err(error) => return self.note_failure(location, "tar", &error),
            };
            self.unpack_member(&mut Layer::new(&mut tar, "tar", self.counter), &member, location)?;
        }
    }

    fn unpack_zip(&mut self, stream: &mut dyn BufRead, location: Location<'_>) -> ControlFlow<()> {
        self.note_archive(location, None);
        let mut zip = Zip::new(stream, self.counter, location.is_nested);
        loop {
            let member = match zip.next_member() {
                Ok(Some(member)) => member,
                Ok(None) => return self.end_of_archive(location),
                Err(error) => return self.note_failure(location, "zip", &error),
            };
            let result = if let Some(refusal) = &member.refusal {
                if self.exceeds_members_max(location) {
                    return ControlFlow::Break(());
                }
                let _ = self.refuse(&format!("{}/{}", location.name, member.name), refusal);
                zip.skip_member(&member).map(ControlFlow::Continue)
            } else {
                zip.read(&member, |content| {
                    let content = Layer::new(content, "zip", self.counter);
                    let mut content = content.nested(location.is_nested);
                    self.unpack_member(&mut content, &member.name, location)
                })
            };
            match result {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => return ControlFlow::Break(()),
                Err(error) => return self.note_failure(location, "zip", &error),
            }
        }
    }

    fn unpack_member(
        &mut self,
        content: &mut dyn Read,
        member: &str,
        location: Location<'_>,
    ) -> ControlFlow<()> {
        // The member that exceeded the limit has the error.
        if self.counter.is_exhausted() || self.exceeds_members_max(location) {
            return ControlFlow::Break(());
        }
        let base = member.rsplit('/').next().unwrap_or(member);
        // Skips directories of a zip, and hidden files, which file managers leave in archives.
        if base.is_empty() || base.starts_with('.') {
            return ControlFlow::Continue(());
        }
        let name = format!("{}/{member}", location.name);
        let location = Location { name: &name, is_member: true, ..location };
        self.unpack_stream(&mut BufReader::with_capacity(LAYER_BYTES, content), location)
    }

    /// Counts a member, whether it is read or refused. If the archive has too many, refuses it and
    /// returns true.
    fn exceeds_members_max(&mut self, location: Location<'_>) -> bool {
        self.members += 1;
        let exceeds_members_max = self.members > MEMBERS_MAX;
        if exceeds_members_max {
            let _ = self.refuse(location.name, "holds more than 10,000 files; unpack it first");
        }
        exceeds_members_max
    }

    /// Notes how many files of an archive were not text.
    fn end_of_archive(&mut self, location: Location<'_>) -> ControlFlow<()> {
        if self.left_out > 0 {
            let count = std::mem::take(&mut self.left_out);
            let files = if count == 1 { "file that is" } else { "files that are" };
            let note = format!("skipped {count} {files} not text");
            self.note_archive(location, Some(&note));
            self.unpacked.faults.push(Fault::note(location.name, note));
        }
        ControlFlow::Continue(())
    }

    /// Notes on the source of an upload that it is an archive.
    fn note_archive(&self, location: Location<'_>, note: Option<&str>) {
        if let Some(source) = self.counter.source().filter(|_| !location.is_member) {
            let more = note.map(|note| format!("; {note}")).unwrap_or_default();
            source.set_note(Some(format!("{ARCHIVE_NOTE}{more}")));
        }
    }

    fn refuse(&mut self, name: &str, why: &str) -> ControlFlow<()> {
        self.unpacked.faults.push(Fault::new(name, ReadError::Refused(why.to_owned())));
        ControlFlow::Continue(())
    }

    /// Records that a layer cannot be read further. The layers around it still can.
    fn note_failure(
        &mut self,
        location: Location<'_>,
        packing: &'static str,
        error: &io::Error,
    ) -> ControlFlow<()> {
        let last_error = self.counter.error(error, Some(packing));
        if !location.is_member && StreamError::wrapped_in(error).is_some() {
            self.unpacked.damage = Some(last_error.clone());
        }
        if self.last_error.as_ref() != Some(&last_error) {
            self.unpacked
                .faults
                .push(Fault::new(location.name, ReadError::Stream(last_error.clone())));
            self.last_error = Some(last_error);
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::ops::ControlFlow;

    use flate2::write::{DeflateEncoder, GzEncoder};
    use flate2::{Compression, Crc};

    use super::super::byte_counter::{ByteCounter, NESTED_BYTES_MIN, NESTED_RATIO};
    use super::unpack;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory")
    }

    /// Unpacks a stream after others in it have unpacked to this much. Returns the text, and the
    /// errors.
    fn read(packed: &[u8], nested_bytes: u64) -> (Vec<u8>, String) {
        let counter = ByteCounter::default();
        let _ = counter.add_nested(nested_bytes as usize);
        let mut found = Vec::new();
        let mut last_error = String::new();
        let unpacked = unpack("a", packed, &counter, &mut |text| {
            if let Err(error) = text.read_to_end(&mut found) {
                last_error = text.error(&error).to_string();
            }
            ControlFlow::Continue(())
        });
        let faults = unpacked.faults.iter().map(|fault| format!("{:?}", fault.kind));
        (found, faults.chain([last_error]).collect())
    }

    #[test]
    fn what_is_packed_twice_has_a_limit_and_what_is_packed_once_has_none() {
        let text = b"line\n".repeat(1_000);
        let (once, twice) = (gzip(&text), gzip(&gzip(&text)));
        let room = NESTED_BYTES_MIN + NESTED_RATIO * twice.len() as u64;
        for (packed, nested_bytes) in [(&once, 0), (&once, room + 1), (&twice, 0)] {
            assert_eq!(read(packed, nested_bytes), (text.clone(), String::new()));
        }
        assert_eq!(read(&twice, room - text.len() as u64).0, text);
        let (found, errors) = read(&twice, room - 10);
        assert!(found.len() < text.len(), "{}", found.len());
        assert!(errors.contains("more than 4 GiB and 1,032 times its size"), "{errors}");
    }

    /// A zip with one hidden member, whose length comes after its content.
    fn zip_of_hidden(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        let packed = encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory");
        let mut crc = Crc::new();
        crc.update(bytes);
        let mut zip = b"PK\x03\x04\x14\0\x08\0\x08\0".to_vec();
        zip.extend([0; 16]);
        zip.extend(b"\x02\0\0\0.a");
        zip.extend(&packed);
        zip.extend(b"PK\x07\x08");
        for number in [crc.sum(), packed.len() as u32, bytes.len() as u32] {
            zip.extend(number.to_le_bytes());
        }
        zip.extend(b"PK\x05\x06");
        zip.extend([0; 18]);
        zip
    }

    #[test]
    fn members_that_are_not_read_count_too() {
        let zip = zip_of_hidden(&[b'a'; 1 << 20]);
        let nested = gzip(&zip);
        let room = NESTED_BYTES_MIN + NESTED_RATIO * nested.len() as u64;
        assert_eq!(read(&zip, room + 1), (Vec::new(), String::new()));
        assert_eq!(read(&nested, 0), (Vec::new(), String::new()));
        let (found, error) = read(&nested, room);
        assert!(found.is_empty() && !error.is_empty(), "{error}");
    }
}
