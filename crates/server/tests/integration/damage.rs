//! `curl -T` of damaged compressed files keeps the same lines as the command, each time.

use std::io::{Read, Write};

use crate::common::{TestServer, log};
use weir_ingest::{DataSet, FormatChoice, Pipeline, PipelineOptions, Retention, read_stream};
use weir_server::ServerOptions;
use weir_testkit::archive::tar;

/// The number of times each file is sent, because the loss can depend on threads.
const RUNS: usize = 6;

/// A file in every compression, with checksums.
fn packed(file: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(file).expect("memory");
    let mut zstd = zstd::Encoder::new(Vec::new(), 1).expect("a valid level");
    zstd.include_checksum(true).expect("a valid parameter");
    zstd.write_all(file).expect("memory");
    let (mut bzip2, mut xz) = (Vec::new(), Vec::new());
    let level = bzip2::Compression::fast();
    bzip2::read::BzEncoder::new(file, level).read_to_end(&mut bzip2).expect("memory");
    liblzma::read::XzEncoder::new(file, 0).read_to_end(&mut xz).expect("memory");
    let info = lz4_flex::frame::FrameInfo::new()
        .block_size(lz4_flex::frame::BlockSize::Max64KB)
        .content_checksum(true);
    let mut lz4 = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
    lz4.write_all(file).expect("memory");
    vec![
        ("a.gz", gzip.finish().expect("memory")),
        ("a.zst", zstd.finish().expect("memory")),
        ("a.bz2", bzip2),
        ("a.xz", xz),
        ("a.lz4", lz4.finish().expect("memory")),
    ]
}

/// The variants: the trailer zeroed, a bit flipped, the end cut off.
fn damaged(packed: &[u8]) -> [Vec<u8>; 3] {
    let (mut trailer, mut flipped) = (packed.to_vec(), packed.to_vec());
    let length = packed.len();
    trailer[length - 4..].fill(0);
    flipped[length * 2 / 3] ^= 4;
    [trailer, flipped, packed[..length * 3 / 4].to_vec()]
}

/// Returns the records and unparsed lines that the command reads from a file.
fn read_by_command(file: &[u8]) -> (u64, u64) {
    let data = DataSet::new(Retention::ValuesOnly, 1 << 30, &[]);
    let options = PipelineOptions::new(1, Retention::ValuesOnly);
    let pipeline = Pipeline::start(&options, data.clone());
    read_stream(&pipeline, "a", None, file, FormatChoice::Detect).expect_err("it is damaged");
    pipeline.finish();
    let sources: Vec<_> = data.sources().iter().map(|source| source.snapshot()).collect();
    let sum = |count: fn(&weir_ingest::SourceSnapshot) -> u64| sources.iter().map(count).sum();
    (sum(|source| source.records), sum(|source| source.unparsed_lines))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_file_keeps_the_lines_that_the_command_keeps() {
    let server = TestServer::start(ServerOptions::default()).await;
    let log = log(1 << 20);
    for content in [log.clone(), tar(&[("a.log", &log)])] {
        for (name, packed) in packed(&content) {
            for (damage, file) in damaged(&packed).iter().enumerate() {
                let (records, unparsed) = read_by_command(file);
                assert!(records > 0, "{name}, {damage}");
                for _ in 0..RUNS {
                    let response = server.put(name, file).await;
                    let refusal = response.json();
                    assert_eq!(refusal["error"], "damaged", "{refusal}");
                    let message = refusal["message"].as_str().expect("a sentence");
                    let kept = format!(" {records} records, {unparsed} unparsed");
                    assert!(message.contains(&kept), "{name}, {damage}: {kept}, {message}");
                }
            }
        }
    }
    server.stop().await;
}
