//! The memory of a process that counts more distinct values than its limit holds.

use std::io::{Read, Write};
use std::process::{ChildStdout, Stdio};
use std::time::{Duration, Instant};

use crate::memory::status_kib;
use crate::support::{Served, weir};

/// The pause between two looks at the time that a process has run.
const PAUSE: Duration = Duration::from_millis(300);

/// A process that does not rest in this time fails the test. It allows for a slow and busy machine.
const TIMEOUT: Duration = Duration::from_secs(180);

/// Lines of which each has another client, path, referer and agent.
fn log(lines: u32) -> Vec<u8> {
    let mut log = Vec::new();
    for n in 0..lines {
        let [_, b, c, d] = n.to_be_bytes();
        let _ = writeln!(
            log,
            "10.{b}.{c}.{d} - - [02/Nov/2026:10:00:00 +0000] \"GET /{n} HTTP/1.1\" 200 1 \
             \"https://{n}.example/\" \"Agent/{n}\""
        );
    }
    log
}

/// The processor time of a process, in ticks.
fn ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    let (_, after_name) = stat.rsplit_once(") ").expect("a name");
    after_name
        .split(' ')
        .skip(11)
        .take(2)
        .map(|ticks| ticks.parse::<u64>().expect("a number"))
        .sum()
}

/// Whether all threads of a process wait. One that waits for a processor does not: it could run.
fn all_wait(pid: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).expect("it runs");
    threads.filter_map(Result::ok).all(|thread| {
        let stat = std::fs::read_to_string(thread.path().join("stat"));
        // A thread that has ended since is no thread.
        stat.map_or(true, |stat| stat.rsplit_once(") ").is_some_and(|(_, it)| it.starts_with('S')))
    })
}

/// Waits until a process waits for its input or output: none of its threads can run, or has run since
/// the last look.
#[track_caller]
fn wait_until_it_rests(pid: u32) {
    let start = Instant::now();
    let mut before = ticks(pid);
    let mut rests = 0;
    while rests < 6 {
        assert!(start.elapsed() < TIMEOUT, "it goes on");
        std::thread::sleep(PAUSE);
        let now = ticks(pid);
        rests = if now == before && all_wait(pid) { rests + 1 } else { 0 };
        before = now;
    }
}

/// The highest memory in KiB of a process that reads the log and then waits: for the end of its input,
/// or for a reader of what it prints.
fn peak_kib(arguments: &[&str], log: &[u8], is_ended: bool) -> usize {
    let mut command = weir(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = Served(command.spawn().expect("the binary runs"));
    let mut pipe = child.0.stdin.take().expect("a pipe");
    pipe.write_all(log).expect("it reads");
    let pipe = Some(pipe).filter(|_| !is_ended);
    wait_until_it_rests(child.0.id());
    let peak = status_kib(child.0.id(), "VmHWM:");
    drop(pipe);
    let mut text = String::new();
    let read =
        child.0.stdout.take().as_mut().map(|out: &mut ChildStdout| out.read_to_string(&mut text));
    read.expect("a pipe").expect("text");
    assert!(child.0.wait().expect("it ends").success());
    assert!(text.contains("(all other values)"), "the values fit");
    peak
}

#[test]
fn the_values_and_their_counts_stay_within_the_limit() {
    const LINES: u32 = 400_000;
    const LIMIT_KIB: usize = 64 << 10;

    let log = log(LINES);
    for (arguments, is_ended) in [
        (&["report", "-", "--json", "-j", "2"][..], false),
        (&["count", "--by", "user_agent", "-", "-j", "2"], true),
    ] {
        let with =
            |memory: &str| peak_kib(&[arguments, &["--memory", memory]].concat(), &log, is_ended);
        let (least, peak) = (with("8MiB"), with("64MiB"));
        let taken = peak - least;
        assert!(taken <= LIMIT_KIB, "{arguments:?}: {taken} KiB, of {peak}");
    }
}
