//! Encodings other than the usual compressions: UTF-16, padding, nested layers, and data that is not
//! read: `compress`, and what needs too much memory.

use std::io::{self, Read, Write};

use proptest::prelude::*;
use weir_ingest::{
    DataSet, FormatChoice, Head, Pipeline, PipelineOptions, Retention, SourceSnapshot, read_stream,
};
use weir_testkit::archive::tar;

/// A log of 400 lines.
fn log() -> Vec<u8> {
    let line = |n| {
        let (client, second) = (n % 251, 10 + n % 50);
        format!(
            "192.0.2.{client} - - [17/Dec/2025:09:00:{second} +0000] \"GET /{n} HTTP/1.1\" 200 {n}\n"
        )
    };
    (0..400).map(line).collect::<String>().into_bytes()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).expect("memory takes it")
}

fn utf16(text: &[u8], unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let text = std::str::from_utf8(text).expect("UTF-8");
    ['\u{FEFF}']
        .into_iter()
        .chain(text.chars())
        .flat_map(|char| {
            char.encode_utf16(&mut [0; 2]).iter().copied().flat_map(unit).collect::<Vec<u8>>()
        })
        .collect()
}

/// Reads a stream and returns its sources in their final states.
fn read(stream: &[u8]) -> (Result<(), String>, Vec<SourceSnapshot>) {
    let data = DataSet::new(Retention::ValuesOnly, 1 << 30, &[]);
    let options = PipelineOptions::new(1, Retention::ValuesOnly);
    let pipeline = Pipeline::start(&options, data.clone());
    let result = read_stream(&pipeline, "test", None, stream, FormatChoice::Detect);
    pipeline.finish();
    let sources = data.sources().iter().map(|source| source.snapshot()).collect();
    (result.map_err(|error| error.to_string()), sources)
}

/// The unpacked text of a stream that arrives in pieces of this size, up to a damage.
fn unpack(stream: &[u8], piece: usize) -> Vec<u8> {
    Head::of_stream(Pieces { rest: stream, piece }, |_| false).expect("a stream").text
}

/// A stream that returns at most n bytes a read.
struct Pieces<'a> {
    rest: &'a [u8],
    piece: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = buffer.len().min(self.piece);
        self.rest.read(&mut buffer[..room])
    }
}

/// Every way of packing the log that is not one compression alone.
fn packed_logs() -> Vec<Vec<u8>> {
    let log = log();
    let padded = [gzip(&log), vec![0; 1_000]].concat();
    let members = [gzip(&log[..100]), vec![0; 7], gzip(&log[100..]), vec![0; 3]].concat();
    vec![
        gzip(&gzip(&log)),
        zstd(&gzip(&zstd(&gzip(&log)))),
        utf16(&log, u16::to_le_bytes),
        utf16(&log, u16::to_be_bytes),
        gzip(&utf16(&log, u16::to_le_bytes)),
        gzip(&padded),
        padded,
        members,
    ]
}

#[test]
fn every_encoding_is_read_like_the_text() {
    for (index, packed) in packed_logs().iter().enumerate() {
        let (result, sources) = read(packed);
        assert_eq!(result, Ok(()), "{index}");
        assert_eq!((sources.len(), sources[0].records), (1, 400), "{index}");
        assert_eq!(sources[0].bytes_done, packed.len() as u64, "{index}: bytes of the medium");
        for piece in [1, 7, 1_000, packed.len()] {
            assert!(unpack(packed, piece) == log(), "{index} by {piece}");
        }
    }
}

/// The log as a container runtime writes it, with lines of standard error between, and every line
/// split after some bytes.
fn of_container() -> Vec<u8> {
    let mut wrapped = Vec::new();
    for (number, line) in log().split_inclusive(|byte| *byte == b'\n').enumerate() {
        let (start, end) = line.split_at(number % 60);
        let tag = |tag: &str, text: &[u8]| {
            [format!("2025-12-17T09:03:01.25Z stdout {tag} ").as_bytes(), text].concat()
        };
        if !start.is_empty() {
            wrapped.extend(tag("P", &[start, b"\n"].concat()));
        }
        if number % 40 == 1 {
            wrapped.extend_from_slice(b"2025-12-17T09:03:01.26Z stderr F a warning\n");
        }
        wrapped.extend(tag("F", end));
    }
    wrapped
}

#[test]
fn lines_that_a_container_runtime_has_split_are_joined() {
    let wrapped = of_container();
    for stream in [wrapped.clone(), gzip(&wrapped)] {
        let (result, sources) = read(&stream);
        assert_eq!(result, Ok(()));
        let source = &sources[0];
        let format = source.format.as_ref().map(|format| format.name());
        assert_eq!(format, Some("COMMON in CRI"));
        assert_eq!((source.records, source.unparsed_lines, source.lines), (400, 10, 410));
        assert_eq!(source.bytes_done, stream.len() as u64, "bytes of the medium");
        let text = String::from_utf8(unpack(&stream, 777)).expect("UTF-8");
        assert_eq!(text.lines().count(), 410);
        assert!(!text.contains(" stdout P "), "all parts are joined");
    }
}

#[test]
fn members_of_archives_are_decoded_too() {
    let log = log();
    let (little, nested) = (utf16(&log, u16::to_le_bytes), gzip(&zstd(&log)));
    let files = [("a.gz", &nested[..]), ("b.log", &little[..])];
    let padded = [gzip(&tar(&files)), vec![0; 512]].concat();
    let (result, sources) = read(&padded);
    assert_eq!(result, Ok(()));
    let records: Vec<u64> = sources.iter().map(|source| source.records).collect();
    assert_eq!(records, [400, 400]);
}

#[test]
fn what_follows_a_gzip_member_and_is_not_zero_is_damage() {
    for stream in [
        [&gzip(&log())[..], b"\0\0garbage that is long enough"].concat(),
        [&gzip(&log())[..], b"garbage that is long enough"].concat(),
    ] {
        let (result, sources) = read(&stream);
        assert!(result.expect_err("garbage").starts_with("the gzip data is damaged"));
        assert_eq!(sources[0].records, 400, "the lines before it are kept");
        assert!(unpack(&stream, 10) == log());
    }
}

#[test]
fn data_that_is_cut_short_is_an_error_at_every_layer() {
    let log = log();
    for packed in [gzip(&gzip(&log)), gzip(&zstd(&log)), utf16(&log, u16::to_be_bytes)] {
        for cut in [(packed.len() / 2) | 1, packed.len() - 1] {
            let error = read(&packed[..cut]).0.expect_err("it is cut");
            assert!(error.contains("cut short"), "{error}");
        }
    }
    // The inner layer is whole, the outer one is not, and the other way round.
    let inner = gzip(&log);
    let cut_inner = gzip(&inner[..inner.len() - 9]);
    assert!(read(&cut_inner).0.expect_err("it is cut").starts_with("the gzip data is cut short"));
}

#[test]
fn sound_data_that_needs_too_much_memory_is_not_called_damaged() {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 0);
    encoder.write_all(&log()).expect("memory takes it");
    let xz = encoder.finish().expect("memory takes it");
    let packed = with_dictionary_of_a_gibibyte(xz);
    let expected = "the xz data needs more than 256 MiB of memory to unpack; unpack it first";
    assert_eq!(read(&packed).0, Err(expected.to_owned()));

    let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("an encoder");
    encoder.include_contentsize(false).expect("a setting");
    encoder.window_log(28).expect("a setting");
    encoder.write_all(&log()).expect("memory takes it");
    let packed = encoder.finish().expect("memory takes it");
    let expected = "the zstd data needs more than 128 MiB of memory to unpack; unpack it first";
    assert_eq!(read(&packed).0, Err(expected.to_owned()));
}

#[test]
fn the_output_of_compress_is_refused_with_the_way_to_unpack_it() {
    // `compress -b 16` begins with these bytes.
    let file = b"\x1f\x9d\x90\x31\x72\xc8\x70\x81\x07\x00";
    let clause = "is packed by compress (.Z), which Weir does not read; unpack it first with \
                  `uncompress` or `gzip -d`";
    for packed in [file.to_vec(), gzip(file)] {
        let (result, sources) = read(&packed);
        assert_eq!(result, Err(clause.to_owned()));
        assert_eq!((sources.len(), sources[0].lines), (1, 0));
    }
    let (result, sources) = read(&tar(&[("a.log.Z", file), ("b.log", &log())]));
    assert_eq!(result, Err(clause.to_owned()));
    let sources: Vec<_> =
        sources.iter().map(|source| (source.name.as_str(), source.records)).collect();
    assert_eq!(sources, [("test/b.log", 400), ("test/a.log.Z", 0)]);
}

/// Writes a dictionary of 1 GiB into the first block header of an xz file (the .xz file format
/// 1.2.1, sections 3.1 and 5.3.1).
fn with_dictionary_of_a_gibibyte(mut xz: Vec<u8>) -> Vec<u8> {
    const BLOCK: usize = 12;
    let length = (usize::from(xz[BLOCK]) + 1) * 4;
    let header = &mut xz[BLOCK..BLOCK + length];
    let filter = header.windows(2).position(|bytes| bytes == [0x21, 1]).expect("LZMA2");
    header[filter + 2] = 36;
    let mut crc = flate2::Crc::new();
    crc.update(&header[..length - 4]);
    header[length - 4..].copy_from_slice(&crc.sum().to_le_bytes());
    xz
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_cut_and_no_flipped_bit_panics(
        index in 0..8_usize,
        cut in any::<prop::sample::Index>(),
        flipped in any::<prop::sample::Index>(),
        piece in 1..3_000_usize,
    ) {
        let mut packed = packed_logs().swap_remove(index);
        let at = 4 + flipped.index(packed.len() - 4);
        packed[at] ^= 1 << (at % 8);
        packed.truncate(4 + cut.index(packed.len() - 4));
        let (_, sources) = read(&packed);
        prop_assert!(unpack(&packed, piece) == unpack(&packed, packed.len()));
        prop_assert!(sources.len() <= 1);
    }
}
