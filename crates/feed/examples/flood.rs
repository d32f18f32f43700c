//! Receives a flood from one or many senders in one of the active modes, and prints the time and
//! memory that it took. `cargo xtask bench feed` runs this program.
//!
//!     flood FLOW CONNECTIONS BYTES SINK [wait]
//!     flood send HOST CONNECTIONS BYTES_EACH
//!
//! The senders are threads of another process, this program started again as `flood send`. With
//! `wait`, the program waits for other senders, which send to the host that it prints. The sink is
//! `pipeline`, or `nothing`, which counts the bytes of lines and drops them.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use weir_feed::{Feed, FeedAddress, FeedOptions, PipelineSink, RunningFeed, Sink};
use weir_ingest::{DataSet, FormatChoice, Pipeline, PipelineOptions, Retention, StopReason};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["send", host, connections, bytes] => send(host, connections.parse()?, bytes.parse()?),
        [flow, connections, bytes, sink, ref rest @ ..] => {
            let is_alone = rest.is_empty();
            take(flow, connections.parse()?, bytes.parse()?, sink == "pipeline", is_alone)
        }
        _ => Err("flood FLOW CONNECTIONS BYTES pipeline|nothing [wait]".into()),
    }
}

/// The lines that a sender sends over and over: about a mebibyte.
fn lines() -> Vec<u8> {
    let options = weir_demo::Options { seed: 1, bytes: Some(1 << 20), ..Default::default() };
    let mut traffic = weir_demo::Traffic::new(options);
    let mut lines = Vec::new();
    while traffic.fill(&mut lines, 1 << 16) > 0 {}
    lines
}

/// Sends `bytes` over each of `connections` connections, as fast as they are taken.
fn send(host: &str, connections: usize, bytes: usize) -> Outcome {
    const THREADS_MAX: usize = 4;
    let lines = lines();
    let open = (0..connections).map(|_| connect(host)).collect::<Result<Vec<_>, _>>();
    let mut streams = open?;
    let share = connections.div_ceil(THREADS_MAX);
    println!("connected");
    std::thread::scope(|scope| {
        for streams in streams.chunks_mut(share) {
            let lines = &lines;
            scope.spawn(move || send_round(streams, lines, bytes));
        }
    });
    Ok(())
}

/// Opens a connection. Tries again for a while, because a receiver that was just started may not
/// listen yet.
fn connect(host: &str) -> std::io::Result<TcpStream> {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        match TcpStream::connect(host) {
            Err(error)
                if error.kind() == ErrorKind::ConnectionRefused && Instant::now() < deadline =>
            {
                std::thread::sleep(Duration::from_millis(10));
            }
            result => return result,
        }
    }
}

/// Sends a piece over each connection in turn. A piece is a mebibyte over one connection, and
/// smaller if there are many.
fn send_round(streams: &mut [TcpStream], lines: &[u8], bytes: usize) {
    let piece_bytes = (lines.len() / streams.len().max(1)).max(8 << 10);
    let mut left = bytes;
    while left > 0 {
        for piece in lines.chunks(piece_bytes) {
            let piece = &piece[..piece.len().min(left)];
            for stream in &mut *streams {
                if stream.write_all(piece).is_err() {
                    return;
                }
            }
            left -= piece.len();
        }
    }
}

/// A sink that counts bytes and drops them.
#[derive(Debug, Default)]
struct Nothing(AtomicU64);

impl Sink for Nothing {
    async fn write(&self, parts: [&[u8]; 2]) -> Result<(), StopReason> {
        let bytes = parts.iter().map(|part| part.len() as u64).sum();
        self.0.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }
}

fn take(
    flow: &str,
    connections: usize,
    bytes: usize,
    to_pipeline: bool,
    is_alone: bool,
) -> Outcome {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let _inside = runtime.enter();
    let address: FeedAddress = format!("tcp://127.0.0.1:0?active={flow}").parse()?;
    let options = FeedOptions { cap_bytes: usize::MAX / 2, ..FeedOptions::default() };
    let feed = runtime.block_on(Feed::bind(options, &[address]))?;
    let name = feed.names()[0].clone();
    let host = name.trim_start_matches("tcp://").to_owned();
    let per_connection = bytes / connections;
    let total = (per_connection * connections) as u64;
    let senders = || match is_alone {
        true => Senders::start(&host, connections, per_connection).map(Some),
        false => {
            println!("{host}");
            Ok(None)
        }
    };
    if !to_pipeline {
        let running = feed.start(|_| Nothing::default());
        // A last line that is cut gets its line end.
        let had = |running: &RunningFeed<Nothing>| {
            running.sinks().next().is_some_and(|sink| sink.0.load(Ordering::Relaxed) >= total)
        };
        return measure(&running, senders()?, had);
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let options = PipelineOptions::new(cores, Retention::ValuesOnly);
    let data = DataSet::new(options.retention, options.memory_bytes_max, &[]);
    let pipeline = Pipeline::start(&options, data);
    let sink = |name: &str| PipelineSink::new(&pipeline, name, FormatChoice::Detect);
    let running = feed.start(sink);
    let had = |_: &RunningFeed<PipelineSink>| {
        pipeline.data().sources()[0].snapshot().bytes_parsed >= total
    };
    measure(&running, senders()?, had)
}

/// A process that sends.
struct Senders(std::process::Child);

impl Senders {
    /// Starts it, and waits until its connections are open.
    fn start(host: &str, connections: usize, bytes: usize) -> Outcome<Self> {
        let (connections, bytes) = (connections.to_string(), bytes.to_string());
        let mut sender = Command::new(std::env::current_exe()?)
            .args(["send", host, &connections, &bytes])
            .stdout(Stdio::piped())
            .spawn()?;
        let mut connected = String::new();
        let stdout = sender.stdout.take().ok_or("it has no output")?;
        BufReader::new(stdout).read_line(&mut connected)?;
        Ok(Self(sender))
    }
}

/// Waits until all bytes have arrived, and prints the measurement as one JSON object. The clock
/// starts with the first bytes.
fn measure<S: Sink>(
    running: &RunningFeed<S>,
    senders: Option<Senders>,
    had: impl Fn(&RunningFeed<S>) -> bool,
) -> Outcome {
    while running.counts()[0].bytes == 0 {
        std::thread::sleep(Duration::from_micros(200));
    }
    let start = Instant::now();
    while !had(running) {
        if start.elapsed() > Duration::from_secs(300) {
            return Err(format!("not all came: {:?}", running.counts()[0]).into());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let seconds = start.elapsed().as_secs_f64();
    if let Some(mut senders) = senders {
        senders.0.wait()?;
    }
    let counts = running.counts()[0];
    let (receive_s, work_s) = cpu_seconds()?;
    let mut stdout = std::io::stdout();
    writeln!(
        stdout,
        "{{\"seconds\": {seconds:.6}, \"bytes\": {}, \"reads\": {}, \"receiving_s\": {:.6}, \
         \"receive_cpu_s\": {receive_s:.3}, \"work_cpu_s\": {work_s:.3}, \"peak_bytes\": {}}}",
        counts.bytes,
        counts.reads,
        counts.receiving_ns as f64 / 1e9,
        peak_bytes()?
    )?;
    Ok(())
}

/// Processor time of the threads that receive and of those that parse (proc(5), stat: times are
/// in hundredths of a second).
fn cpu_seconds() -> Outcome<(f64, f64)> {
    let (mut receive, mut work) = (0.0, 0.0);
    for task in std::fs::read_dir("/proc/self/task")? {
        let stat = std::fs::read_to_string(task?.path().join("stat"))?;
        let (name, rest) = stat.rsplit_once(')').ok_or("a name")?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let ticks = words[11].parse::<f64>()? + words[12].parse::<f64>()?;
        match name.contains("weir-parse") {
            true => work += ticks / 100.0,
            false => receive += ticks / 100.0,
        }
    }
    Ok((receive, work))
}

/// The most memory that this process has had (proc(5), VmHWM).
fn peak_bytes() -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("VmHWM")?;
    let kibibytes: u64 = line.split_whitespace().next().ok_or("a number")?.parse()?;
    Ok(kibibytes << 10)
}
