//! Every kind of packing: whole, truncated at every byte, and malicious.

use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use weir_ingest::{
    DataSet, FaultKind, FormatChoice, Pipeline, PipelineOptions, Retention, SourceEnd,
    SourceSnapshot, read_stream,
};
use weir_testkit::archive::tar;

type Pack = fn(&[u8]) -> Vec<u8>;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).expect("memory takes it")
}

fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    let level = bzip2::Compression::fast();
    bzip2::read::BzEncoder::new(bytes, level).read_to_end(&mut packed).expect("memory takes it");
    packed
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    liblzma::read::XzEncoder::new(bytes, 0).read_to_end(&mut packed).expect("memory takes it");
    packed
}

fn lz4_with(bytes: &[u8], info: lz4_flex::frame::FrameInfo) -> Vec<u8> {
    let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(bytes).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

fn lz4(bytes: &[u8]) -> Vec<u8> {
    lz4_with(bytes, lz4_flex::frame::FrameInfo::new())
}

fn lz4_linked(bytes: &[u8]) -> Vec<u8> {
    use lz4_flex::frame::{BlockMode, BlockSize, FrameInfo};
    let info = FrameInfo::new().block_mode(BlockMode::Linked).block_size(BlockSize::Max64KB);
    lz4_with(bytes, info.block_checksums(true).content_checksum(true))
}

const COMPRESSIONS: [(&str, Pack); 6] = [
    ("gzip", gzip),
    ("zstd", zstd),
    ("bzip2", bzip2),
    ("xz", xz),
    ("lz4", lz4),
    ("lz4", lz4_linked),
];

/// A zip archive of these files, without its directory: deflated, with lengths before or after the
/// content.
pub(crate) fn zip(files: &[(&str, &[u8])], lengths_after: bool) -> Vec<u8> {
    let mut archive = Vec::new();
    for (name, content) in files {
        let level = flate2::Compression::fast();
        let mut packed = Vec::new();
        let mut encoder = flate2::read::DeflateEncoder::new(*content, level);
        encoder.read_to_end(&mut packed).expect("memory takes it");
        let mut crc = flate2::Crc::new();
        crc.update(content);
        let sums = [crc.sum(), packed.len() as u32, content.len() as u32];
        let sums: Vec<u8> = sums.iter().flat_map(|sum| sum.to_le_bytes()).collect();
        archive.extend_from_slice(b"PK\x03\x04\x14\0");
        archive.extend_from_slice(if lengths_after { &[8, 0] } else { &[0, 0] });
        archive.extend_from_slice(&[8, 0, 0, 0, 0, 0]);
        archive.extend_from_slice(if lengths_after { &[0; 12] } else { &sums });
        archive.extend_from_slice(&(name.len() as u16).to_le_bytes());
        archive.extend_from_slice(&[0, 0]);
        archive.extend_from_slice(name.as_bytes());
        archive.extend_from_slice(&packed);
        if lengths_after {
            archive.extend_from_slice(b"PK\x07\x08");
            archive.extend_from_slice(&sums);
        }
    }
    archive.extend_from_slice(b"PK\x01\x02");
    archive
}

/// Reads a stream and returns its sources in their final states.
fn read(stream: impl Read) -> (Result<(), String>, Vec<SourceSnapshot>) {
    let data = DataSet::new(Retention::ValuesOnly, 1 << 30, &[]);
    let options = PipelineOptions::new(1, Retention::ValuesOnly);
    let pipeline = Pipeline::start(&options, data.clone());
    let result = read_stream(&pipeline, "test", None, stream, FormatChoice::Detect);
    pipeline.finish();
    let sources = data.sources().iter().map(|source| source.snapshot()).collect();
    (result.map_err(|error| error.to_string()), sources)
}

/// A log of n lines.
fn log(lines: u64) -> Vec<u8> {
    let line = |n| {
        let (client, time) = (n % 251, 10 + n % 50);
        format!(
            "192.0.2.{client} - - [17/Dec/2025:09:00:{time} +0000] \"GET /{n} HTTP/1.1\" 200 {n}\n"
        )
    };
    (0..lines).map(line).collect::<String>().into_bytes()
}

#[test]
fn every_compression_is_detected_from_its_first_bytes() {
    let log = log(5_000);
    let (first, second) = log.split_at(log.len() / 3);
    for (compression, pack) in COMPRESSIONS {
        for stream in [pack(&log), [pack(first), pack(second)].concat()] {
            let (result, sources) = read(&stream[..]);
            assert_eq!(result, Ok(()), "{compression}");
            assert_eq!(sources[0].lines, 5_000, "{compression}");
            assert_eq!(sources[0].bytes_done, stream.len() as u64, "bytes of the medium");
        }
    }
}

/// Returns a few bytes per read.
struct Slow<'a>(&'a [u8], usize);

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = buffer.len().min(self.1);
        self.0.read(&mut buffer[..room])
    }
}

/// Changes the type of the first header of a tar archive.
fn retype(archive: &mut [u8], kind: u8) {
    archive[156] = kind;
    archive[148..156].fill(b' ');
    let sum: u32 = archive[..512].iter().map(|byte| u32::from(*byte)).sum();
    archive[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
}

#[test]
fn headers_with_excessive_sizes_are_tolerated() {
    let log = log(10);
    // Records that claim one byte too many, no bytes, and more bytes than any file has.
    for record in ["9 path=a", "0 path=a\n", "99999999999999999999 path=a\n", "7 path=a\n"] {
        let mut stream = tar(&[("header", record.as_bytes()), ("a.log", &log)]);
        retype(&mut stream, b'x');
        let (result, sources) = read(&stream[..]);
        assert_eq!((result, sources.len()), (Ok(()), 1), "{record}");
    }
    // The largest size, in binary, of a header that is skipped.
    let mut stream = tar(&[("header", b"x"), ("a.log", &log)]);
    stream[124..136].copy_from_slice(&[0x80, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]);
    retype(&mut stream, b'V');
    let _ended = read(&stream[..]);
}

#[test]
fn the_number_of_refused_members_is_bounded() {
    let files = vec![("a.log", &b"x"[..]); 20_000];
    let mut stream = zip(&files, false);
    let starts: Vec<usize> = memchr::memmem::find_iter(&stream, b"PK\x03\x04").collect();
    for start in starts {
        // Encrypted.
        stream[start + 6] |= 1;
    }
    let path = std::env::temp_dir().join(format!("weir-refused-{}.zip", std::process::id()));
    std::fs::write(&path, stream).expect("a temporary file");
    let faults =
        weir_ingest::Input::File(path.clone().into()).read(&mut |_| ControlFlow::Continue(()));
    std::fs::remove_file(path).expect("a temporary file");
    assert_eq!(faults.len(), 10_001, "one for each allowed member, and one for the limit");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_size_of_reads_does_not_matter(compression_index in 0..COMPRESSIONS.len(), piece in 1..5_000_usize) {
        let log = log(300);
        let (_, pack) = COMPRESSIONS[compression_index];
        let stream = tar(&[("a.log", &log), ("b.log.x", &pack(&log))]);
        let stream = pack(&stream);
        let (result, sources) = read(Slow(&stream, piece));
        prop_assert_eq!(result, Ok(()));
        let names: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
        prop_assert_eq!(names, ["test/a.log", "test/b.log.x"]);
        prop_assert!(sources.iter().all(|source| source.lines == 300));
    }
}

/// Whether a source holds lines of `log` from its start, the last one possibly truncated.
fn is_prefix(source: &SourceSnapshot, log: &[u8]) -> bool {
    let bytes = source.bytes_parsed as usize;
    let whole = log[..bytes].iter().filter(|byte| **byte == b'\n').count() as u64;
    let torn = u64::from(bytes > 0 && log[bytes - 1] != b'\n');
    source.lines == whole + torn
}

#[test]
fn lines_before_a_truncation_at_any_byte_are_kept() {
    let log = log(12);
    for (name, pack) in COMPRESSIONS {
        let stream = pack(&log);
        // The first three bytes do not identify a compression.
        for cut in 4..stream.len() {
            let (result, sources) = read(&stream[..cut]);
            let message = result.expect_err("the stream is cut");
            let expected =
                format!("the {name} data is cut short at byte {cut}; the lines before it are kept");
            assert_eq!(message, expected, "{name} cut at {cut}");
            let source = &sources[0];
            assert!(is_prefix(source, &log), "{name} cut at {cut}: {source:?}");
            let Some(SourceEnd::Failed(error)) = &source.end else { panic!("{:?}", source.end) };
            assert_eq!(error.to_string(), message);
        }
    }
}

#[test]
fn files_before_the_truncation_of_an_archive_are_kept() {
    let log = log(12);
    let files: [(&str, &[u8]); 3] = [("a.log", &log), ("dir/b.log", &log), ("c.log", &log)];
    for stream in [tar(&files), zip(&files, false), zip(&files, true), gzip(&tar(&files))] {
        let (result, sources) = read(&stream[..]);
        assert_eq!(result, Ok(()));
        assert_eq!(sources.len(), 3);
        assert_eq!(sources[1].name, "test/dir/b.log");
        assert!(sources.iter().all(|source| source.lines == 12 && source.unparsed_lines == 0));
        let mut lines_before = 0;
        // A tar archive is recognised by its first header.
        let told = if stream.starts_with(b"a.log") { 512 } else { 40 };
        for cut in (told..stream.len()).step_by(7) {
            let (_, sources) = read(&stream[..cut]);
            let lines: u64 = sources.iter().map(|source| source.lines).sum();
            assert!(lines >= lines_before && lines <= 36, "{lines_before} {lines} at {cut}");
            assert!(sources.iter().all(|source| is_prefix(source, &log)));
            lines_before = lines;
        }
        assert!(lines_before >= 24);
    }
}

#[test]
fn damage_in_one_member_does_not_affect_the_others() {
    let log = log(2_000);
    let mut packed = gzip(&log);
    let middle = packed.len() / 2;
    packed[middle..middle + 40].fill(0xFF);
    let stream = tar(&[("a.log", &log), ("b.log.gz", &packed), ("c.log", &log)]);
    let (result, sources) = read(&stream[..]);
    let message = result.expect_err("it is damaged");
    assert!(message.contains("the gzip data is damaged"), "{message}");
    let lines: Vec<u64> = sources.iter().map(|source| source.lines).collect();
    assert_eq!((lines.len(), lines[0], lines[2]), (3, 2_000, 2_000));
    assert!(lines[1] > 0);

    let mut stream = zip(&[("a.log", &log), ("b.log", &log)], false);
    stream[14] ^= 1;
    let (result, sources) = read(&stream[..]);
    let message = result.expect_err("the checksum is wrong");
    assert!(message.contains("the zip data is damaged (the checksum does not match)"), "{message}");
    let lines: Vec<u64> = sources.iter().map(|source| source.lines).collect();
    assert_eq!(lines, [2_000, 2_000]);
}

#[test]
fn files_in_an_archive_that_are_not_logs_are_left_out() {
    let log = log(10);
    let image: Vec<u8> =
        (0..2_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let stream = tar(&[("._a.log", &log), ("image.png", &image), ("a.log", &log), ("dir/", b"")]);
    let (result, sources) = read(&stream[..]);
    assert_eq!(result, Ok(()));
    let names: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
    assert_eq!(names, ["test/a.log"]);
}

#[test]
fn malicious_archives_are_bounded() {
    // Nested too deeply.
    let mut deep = log(1);
    for _ in 0..20 {
        deep = gzip(&deep);
    }
    let (result, _) = read(&deep[..]);
    assert_eq!(result, Err("is packed in too many layers; unpack it first".to_owned()));
    // A name of gigabytes.
    let mut long = tar(&[("a.log", b"")]);
    long[124..135].copy_from_slice(b"77777777777");
    long[156] = b'L';
    long[148..156].fill(b' ');
    let sum: u32 = long[..512].iter().map(|byte| u32::from(*byte)).sum();
    long[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    let (result, _) = read(&long[..]);
    let message = result.expect_err("it is refused");
    assert!(message.contains("a name is longer than a mebibyte"), "{message}");
    // Millions of empty files.
    let empty = tar(&[("a.log", b"")]);
    let many = empty[..512].repeat(10_100);
    let (result, sources) = read(&many[..]);
    assert_eq!(result, Err("holds more than 10,000 files; unpack it first".to_owned()));
    assert!(sources.len() <= 10_001);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damage_at_any_byte_is_tolerated(
        compression_index in 0..COMPRESSIONS.len() + 2,
        at in any::<prop::sample::Index>(),
        with in any::<[u8; 6]>(),
    ) {
        let log = log(40);
        let files: [(&str, &[u8]); 2] = [("a.log", &log), ("b.log", &log)];
        let mut stream = match COMPRESSIONS.get(compression_index) {
            Some((_, pack)) => pack(&tar(&files)),
            None => zip(&files, compression_index % 2 == 0),
        };
        let at = at.index(stream.len() - 6);
        stream[at..at + 6].copy_from_slice(&with);
        // Reading ends, with or without errors.
        let (_, sources) = read(&stream[..]);
        prop_assert!(sources.len() <= 40);
    }
}

/// The output of a tool for the log; `None` if the tool is not installed.
fn packed_by(tool: &str, arguments: &[&str], log: &[u8]) -> Option<Vec<u8>> {
    let mut command = Command::new(tool);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let mut stdin = child.stdin.take()?;
    let log = log.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&log));
    let output = child.wait_with_output().ok()?;
    let _ = writer.join();
    output.status.success().then_some(output.stdout)
}

#[test]
fn output_of_the_usual_tools_can_be_read() {
    let log = log(20_000);
    for (tool, arguments) in [
        ("gzip", &["-c"][..]),
        ("zstd", &["-c"]),
        ("bzip2", &["-c"]),
        ("xz", &["-c"]),
        ("lz4", &["-c"]),
    ] {
        let Some(stream) = packed_by(tool, arguments, &log) else { continue };
        let (result, sources) = read(&stream[..]);
        assert_eq!((result, sources[0].lines), (Ok(()), 20_000), "{tool}");
    }
}

#[test]
fn a_visitor_may_stop_reading_a_text() {
    let log = log(50_000);
    let stream = tar(&[("a.log", &log), ("b.log", &log)]);
    let path = std::env::temp_dir().join(format!("weir-visit-{}.tar", std::process::id()));
    std::fs::write(&path, &stream).expect("a file");
    let mut names = Vec::new();
    let faults = weir_ingest::Input::File(path.clone().into()).read(&mut |text| {
        let mut first = [0; 8];
        text.read_exact(&mut first).expect("there is more");
        names.push(text.name().rsplit('/').next().map(str::to_owned));
        ControlFlow::Continue(())
    });
    std::fs::remove_file(&path).expect("it is there");
    assert_eq!(names, [Some("a.log".to_owned()), Some("b.log".to_owned())]);
    assert!(faults.iter().all(|fault| matches!(fault.kind, FaultKind::Note(_))), "{faults:?}");
    assert!(faults.is_empty());
}
