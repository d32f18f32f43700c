use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};
use weir_ingest::{
    DataSet, FormatChoice, Pipeline, PipelineOptions, Retention, SourceEnd, TotalMemory,
};

use super::{BEYOND_MAX, CROWDED_SEND_TIMEOUT, MAKING_TIMEOUT, ROOM_TIMEOUT, ViewMemory};

fn memory() -> (Arc<DataSet>, Arc<ViewMemory>) {
    let data = DataSet::new(Retention::Segments, 16_000, &[]);
    let memory = ViewMemory::new(&data, &TotalMemory::new(usize::MAX));
    (data, memory)
}

fn text(bytes: usize) -> String {
    "x".repeat(bytes)
}

#[tokio::test(start_paused = true)]
async fn texts_count_until_their_last_copy_is_gone() {
    let (_data, memory) = memory();
    let bytes_max = memory.bytes_max();
    assert!(bytes_max >= 1_000, "a sixteenth of the limit");
    let first = memory.room(0).await.keep(text(bytes_max)).expect("it just fits");
    let copy = first.clone();
    let crowded_out = || timeout(Duration::from_secs(60), memory.crowded_out());
    assert!(crowded_out().await.is_err(), "nothing waits");
    assert!(memory.free_room(1).is_none());
    drop(first);
    assert!(memory.free_room(1).is_none(), "a copy is left");
    drop(copy);
    let room = memory.free_room(bytes_max).expect("room");
    assert!(memory.free_room(1).is_none(), "the next text may be as large");
    let second = room.keep("y".to_owned()).expect("it is smaller");
    assert_eq!((memory.text_bytes(), &second[..]), (1, &b"y"[..]));
    drop(second);
    assert_eq!(memory.text_bytes(), 0);
}

/// Their lengths are known only after they are made, so all of them begin.
#[tokio::test]
async fn texts_that_are_made_at_the_same_time_do_not_exceed_the_limit() {
    let (_data, memory) = memory();
    let bytes = memory.bytes_max() / 3;
    let rooms: Vec<_> = (0..50).filter_map(|_| memory.free_room(0)).collect();
    assert_eq!(rooms.len(), 50);
    let made = rooms.into_iter().map(|room| room.keep(text(bytes)));
    let (kept, refused): (Vec<_>, Vec<_>) = made.partition(Result::is_ok);
    assert_eq!((kept.len(), memory.text_bytes()), (3, 3 * bytes));
    assert!(refused.iter().all(|refused| *refused == Err(bytes)));
    drop(kept);
    let alone = memory.free_room(0).map(|room| room.keep(text(9 * bytes)));
    assert!(alone.is_some_and(|kept| kept.is_ok()), "one text always has room");
}

#[tokio::test(start_paused = true)]
async fn a_new_text_waits_for_room_and_slow_readers_are_told() {
    let (_data, memory) = memory();
    let kept = memory.room(0).await.keep(text(memory.bytes_max()));
    let begun = Instant::now();
    let reader = async {
        memory.crowded_out().await;
        drop(kept);
    };
    let (room, ()) = tokio::join!(memory.room(1), reader);
    assert_eq!(begun.elapsed(), CROWDED_SEND_TIMEOUT);
    assert!(!memory.is_crowded());
    drop(room);
}

#[tokio::test(start_paused = true)]
async fn a_few_texts_are_made_beyond_the_limit() {
    let (_data, memory) = memory();
    let bytes_max = memory.bytes_max();
    let _stuck = memory.room(0).await.keep(text(bytes_max));
    let begun = Instant::now();
    let mut beyond = Vec::new();
    for _ in 0..BEYOND_MAX {
        beyond.push(memory.room(bytes_max).await.keep(text(bytes_max)).expect("it may"));
    }
    assert!(begun.elapsed() >= ROOM_TIMEOUT);
    let more = || timeout(Duration::from_secs(3_600), memory.room(1));
    assert!(more().await.is_err());
    beyond.pop();
    assert!(more().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn one_report_has_room_beside_texts_that_are_not_read() {
    let (_data, memory) = memory();
    let _stuck = memory.room(0).await.keep(text(memory.bytes_max() + 1));
    let begun = Instant::now();
    let room = memory.report_room(0).await.expect("room for one");
    assert_eq!(begun.elapsed(), Duration::ZERO);
    let first = room.keep(text(9)).expect("it may exceed the limit");
    assert!(memory.report_room(0).await.is_none(), "the first is not read");
    let reader = async {
        memory.crowded_out().await;
        drop(first);
    };
    let (room, ()) = tokio::join!(memory.report_room(0), reader);
    assert!(room.is_some(), "the first reader was cut off");
}

/// Its length is known only after it is made.
#[tokio::test(start_paused = true)]
async fn a_report_that_does_not_fit_is_made_again() {
    let (_data, memory) = memory();
    let bytes_max = memory.bytes_max();
    let _unread = memory.room(0).await.keep(text(bytes_max - 9));
    assert!(!memory.is_crowded(), "there is room for a short one");
    let room = memory.report_room(0).await.expect("room");
    let bytes = room.keep(text(100)).expect_err("it does not fit");
    let begun = Instant::now();
    let room = memory.report_room(bytes).await.expect("room for one");
    assert_eq!(begun.elapsed(), Duration::ZERO);
    let kept = room.keep(text(bytes)).expect("it may exceed the limit");
    assert!(memory.report_room(bytes).await.is_none(), "one at a time");
    drop(kept);
    assert!(memory.report_room(bytes).await.is_some());
}

/// What is being made is not counted, and takes more than its text.
#[tokio::test]
async fn one_text_is_made_at_a_time_while_others_wait_for_room() {
    let data = DataSet::new(Retention::Segments, 256 << 20, &[]);
    let memory = ViewMemory::new(&data, &TotalMemory::new(usize::MAX));
    let kept = memory.room(0).await.keep(text(memory.bytes_max())).expect("there is room");
    assert!(memory.making_turn().await.is_none(), "nobody waits");
    let waiting = tokio::spawn({
        let memory = memory.clone();
        async move { memory.room(1).await }
    });
    while !memory.is_crowded() {
        tokio::task::yield_now().await;
    }
    let turn = memory.making_turn().await;
    assert!(turn.is_some());
    assert!(timeout(Duration::from_millis(50), memory.making_turn()).await.is_err());
    drop(turn);
    assert!(memory.making_turn().await.is_some());
    drop(kept);
    waiting.await.expect("there is room now");
    assert!(memory.making_turn().await.is_none(), "nobody waits any longer");
}

/// A text that takes long keeps others waiting for a time only.
#[tokio::test(start_paused = true)]
async fn one_text_is_made_at_a_time_if_there_is_little_room() {
    let (_data, memory) = memory();
    let first = memory.making_turn().await;
    assert!(first.is_some() && !memory.is_crowded());
    let begun = Instant::now();
    assert!(memory.making_turn().await.is_none(), "the first takes long");
    assert_eq!(begun.elapsed(), MAKING_TIMEOUT);
    drop(first);
    assert!(memory.making_turn().await.is_some());
}

/// The limit follows the current size of the data, not that at the last text.
#[tokio::test]
async fn texts_are_crowded_once_the_data_has_grown() {
    let data = DataSet::new(Retention::Segments, 4 << 20, &[]);
    let memory = ViewMemory::new(&data, &TotalMemory::new(usize::MAX));
    let _text = memory.room(0).await.keep(text(memory.bytes_max()));
    assert!(!memory.is_crowded());
    let pipeline = Pipeline::start(&PipelineOptions::new(1, Retention::Segments), data);
    let mut source = pipeline.source("a.log", None, FormatChoice::Detect);
    for number in 0..1_000 {
        let line = format!(
            "192.0.2.7 - - [17/Dec/2025:09:03:01 +0000] \"GET /{number} HTTP/1.1\" 200 17\n"
        );
        source.write_all(line.as_bytes()).expect("room for the lines");
    }
    source.finish(SourceEnd::Done).expect("room for the lines");
    timeout(Duration::from_secs(20), memory.crowded_out()).await.expect("crowded");
    pipeline.finish();
}
