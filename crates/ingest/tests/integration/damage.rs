//! Damaged compressions: what was decompressed before the damage is kept, however it is read.

use std::io::{self, Read, Write};

use weir_ingest::{
    DataSet, FormatChoice, Head, Pipeline, PipelineOptions, Retention, SourceSnapshot, read_stream,
};
use weir_testkit::archive::tar;

use crate::packed::zip;

/// A log of n lines whose paths do not compress well.
fn log(lines: u64) -> Vec<u8> {
    let mut state = 1_u64;
    let line = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let path = state >> 20;
        format!("192.0.2.{} - - [17/Dec/2025:09:00:10 +0000] \"GET /{path:x}\" 200 {n}\n", n % 251)
    };
    (0..lines).map(line).collect::<String>().into_bytes()
}

/// The log in every compression, with checksums.
fn packed(log: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(log).expect("memory takes it");
    let mut zstd = zstd::Encoder::new(Vec::new(), 1).expect("a valid level");
    zstd.include_checksum(true).expect("a valid parameter");
    zstd.write_all(log).expect("memory takes it");
    let (mut bzip2, mut xz) = (Vec::new(), Vec::new());
    let level = bzip2::Compression::fast();
    bzip2::read::BzEncoder::new(log, level).read_to_end(&mut bzip2).expect("memory takes it");
    liblzma::read::XzEncoder::new(log, 0).read_to_end(&mut xz).expect("memory takes it");
    let info = lz4_flex::frame::FrameInfo::new()
        .block_size(lz4_flex::frame::BlockSize::Max64KB)
        .content_checksum(true);
    let mut lz4 = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
    lz4.write_all(log).expect("memory takes it");
    vec![
        ("gzip", gzip.finish().expect("memory takes it")),
        ("zstd", zstd.finish().expect("memory takes it")),
        ("bzip2", bzip2),
        ("xz", xz),
        ("lz4", lz4.finish().expect("memory takes it")),
    ]
}

/// Kinds of damage, at several places.
fn damaged(packed: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut trailer = packed.to_vec();
    let length = trailer.len();
    trailer[length - 4..].fill(0);
    let mut all = vec![("trailer".to_owned(), trailer)];
    for part in 1..16 {
        let at = length * part / 16;
        let mut flipped = packed.to_vec();
        flipped[at] ^= 4;
        all.push((format!("a bit at {at}"), flipped));
        all.push((format!("cut at {at}"), packed[..at].to_vec()));
    }
    all
}

/// The output of the library's own reader before the damage, perhaps without its last byte: such a
/// reader loses the output of the call that fails, so each call reads a byte.
fn output_before_damage(name: &str, packed: &[u8]) -> Vec<u8> {
    let mut reader: Box<dyn Read + '_> = match name {
        "gzip" => Box::new(flate2::bufread::MultiGzDecoder::new(packed)),
        "zstd" => Box::new(zstd::Decoder::new(packed).expect("a decoder")),
        "bzip2" => Box::new(bzip2::bufread::MultiBzDecoder::new(packed)),
        "xz" => Box::new(liblzma::bufread::XzDecoder::new_multi_decoder(packed)),
        _ => Box::new(lz4_flex::frame::FrameDecoder::new(packed)),
    };
    let (mut whole, mut byte) = (Vec::new(), [0]);
    while let Ok(1) = reader.read(&mut byte) {
        whole.extend(byte);
    }
    whole
}

/// Reads a stream in pieces of this size, and returns its sources.
fn read(stream: &[u8], piece: usize) -> Vec<SourceSnapshot> {
    let data = DataSet::new(Retention::ValuesOnly, 1 << 30, &[]);
    let options = PipelineOptions::new(1, Retention::ValuesOnly);
    let pipeline = Pipeline::start(&options, data.clone());
    let stream = Pieces { rest: stream, piece };
    let result = read_stream(&pipeline, "test", None, stream, FormatChoice::Detect);
    assert!(result.is_err(), "it is damaged");
    pipeline.finish();
    data.sources().iter().map(|source| source.snapshot()).collect()
}

/// A stream that returns at most n bytes a read.
struct Pieces<'a> {
    rest: &'a [u8],
    piece: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(self.piece).min(self.rest.len());
        let (now, rest) = self.rest.split_at(length);
        buffer[..length].copy_from_slice(now);
        self.rest = rest;
        Ok(length)
    }
}

#[test]
fn what_comes_before_damage_does_not_depend_on_the_pieces() {
    for (name, packed) in packed(&log(3_000)) {
        for (damage, damaged) in damaged(&packed) {
            let expected = output_before_damage(name, &damaged);
            let mut texts = Vec::new();
            for piece in [97, 977, damaged.len()] {
                let head = Head::of_stream(Pieces { rest: &damaged, piece }, |_| false);
                let text = head.expect("a stream").text;
                let lines = text.split_inclusive(|byte| *byte == b'\n').count() as u64;
                let sources = read(&damaged, piece);
                assert_eq!(sources[0].lines, lines, "{name}, {damage}, by {piece}");
                texts.push(text);
            }
            let (text, others) = texts.split_first().expect("three texts");
            assert!(others.iter().all(|other| other == text), "{name}, {damage}");
            assert!(text.starts_with(&expected), "{name}, {damage}");
            assert!(text.len() - expected.len() <= 1, "{name}, {damage}");
        }
    }
}

#[test]
fn a_member_of_a_damaged_archive_keeps_its_lines() {
    let log = log(20_000);
    for (name, mut packed) in packed(&tar(&[("a.log", &log)])) {
        let length = packed.len();
        packed[length - 4..].fill(0);
        for piece in [977, length] {
            let sources = read(&packed, piece);
            assert_eq!(sources[0].records, 20_000, "{name}, by {piece}");
        }
    }
}

#[test]
fn layers_inside_a_damaged_layer_are_decompressed_up_to_the_damage() {
    let log = log(20_000);
    let inner = packed(&log).swap_remove(0).1;
    for (name, mut outer) in packed(&inner) {
        let length = outer.len();
        outer[length - 4..].fill(0);
        for piece in [97, length] {
            assert_eq!(read(&outer, piece)[0].records, 20_000, "{name}, by {piece}");
        }
    }
}

/// The output of zlib for damaged deflate data, with one byte of input and of space per call.
fn inflate_bytewise(deflated: &[u8]) -> Vec<u8> {
    let mut decoder = flate2::Decompress::new(false);
    let (mut whole, mut room) = (Vec::new(), [0]);
    loop {
        let (taken, written) = (decoder.total_in() as usize, decoder.total_out());
        let rest = &deflated[taken..];
        let flush = flate2::FlushDecompress::None;
        let status = decoder.decompress(&rest[..rest.len().min(1)], &mut room, flush);
        let has_written = decoder.total_out() > written;
        whole.extend_from_slice(&room[..usize::from(has_written)]);
        let has_ended = !matches!(status, Ok(flate2::Status::Ok | flate2::Status::BufError));
        if has_ended || (!has_written && decoder.total_in() as usize == taken) {
            return whole;
        }
    }
}

#[test]
fn a_zip_member_keeps_its_lines_before_damage() {
    let log = log(20_000);
    for lengths_after in [false, true] {
        let archive = zip(&[("a.log", &log)], lengths_after);
        // The local header and the name.
        let start = 30 + "a.log".len();
        for part in 1..16 {
            let at = start + (archive.len() - start) * part / 16;
            let mut flipped = archive.clone();
            flipped[at] ^= 4;
            for damaged in [&flipped[..], &archive[..at]] {
                let whole = inflate_bytewise(&damaged[start..]);
                let lines = whole.split_inclusive(|byte| *byte == b'\n').count() as u64;
                for piece in [977, damaged.len()] {
                    let sources = read(damaged, piece);
                    let kept = (sources[0].lines, sources[0].records);
                    assert!(kept.0 == lines && kept.1 > 0, "at {at}, by {piece}: {kept:?}");
                }
            }
        }
    }
}
