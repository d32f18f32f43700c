//! The bytes of a source that were received and are not parsed.

use std::time::{Duration, Instant};

use weir_ingest::{DataSet, FormatChoice, Pipeline, PipelineOptions, Retention};

const LINE: &[u8] = b"192.0.2.1 - - [17/Dec/2025:09:03:01 +0000] \"GET / HTTP/1.1\" 200 1\n";

fn wait_until(is_true: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_true() {
        assert!(Instant::now() < deadline, "it takes too long");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn blocks_that_wait_count_for_their_source() {
    let options = PipelineOptions::new(1, Retention::Segments);
    let data = DataSet::new(options.retention, options.memory_bytes_max, &[]);
    let pipeline = Pipeline::start(&options, data.clone());
    // The parser pauses after the first segment, because nobody takes it.
    let reader = data.subscribe(0);
    let [mut waiting, mut idle] =
        ["waiting", "idle"].map(|name| pipeline.source(name, None, FormatChoice::Detect));
    for _ in 0..3 {
        waiting.write_all(&LINE.repeat(2_000)).expect("there is room");
        waiting.flush().expect("there is room");
    }
    let progress = waiting.progress().clone();
    let unparsed = || waiting.submitted() - *progress.parsed().borrow();
    wait_until(|| unparsed() == 4_000 * LINE.len() as u64);
    assert_eq!(progress.held_bytes(), unparsed());
    assert_eq!(idle.progress().held_bytes(), 0);
    let early = progress.early_bytes().hold(10);
    assert_eq!(progress.held_bytes(), unparsed() + 10);
    drop((early, reader));
    wait_until(|| progress.held_bytes() == 0);
    assert_eq!(unparsed(), 0);
    idle.write_all(LINE).expect("there is room");
    idle.flush().expect("there is room");
    let early = idle.progress().early_bytes().hold(10);
    idle.progress().cancel();
    assert_eq!(idle.progress().held_bytes(), 0, "what is left of a cancelled source is dropped");
    drop(early);
}
