//! Weir's WebSocket reader beside other libraries, over loopback and without a browser.

use std::cell::{Cell, RefCell};

use serde_json::Value;

use crate::build;
use crate::measure::{Contender, Measured, Unit, take_turns};
use crate::settings::Settings;
use crate::table::{Table, Threshold};
use weir_tools::shell::{Outcome, command, output_of};

/// The servers of `bench/contenders`, and their names in the table.
const SERVERS: [(&str, &str); 6] = [
    ("weir", WEIR),
    ("weir-into", WEIR_INTO),
    ("tungstenite", "tungstenite"),
    ("fastwebsockets", "fastwebsockets"),
    ("read", "read(2) alone"),
    ("discard", "sender alone"),
];
const WEIR: &str = "weir, payload lent";
const WEIR_INTO: &str = "weir, payload into a block";

/// How frames make up messages: in words, and as an argument of the program.
const MESSAGES: [(&str, Option<&str>); 2] = [
    ("128 frames a message, as Chromium sends 16 MiB", Some("16")),
    ("each frame a message", None),
];

/// A cache line goes between two cores with a common cache in less time than this.
const NEAR_NS: f64 = 80.0;
/// Attempts to run on near cores. A smoke run has one, because its times mean nothing.
const TRIES: usize = 6;

/// Runs on cores without a common cache: those that were repeated, and those that count because
/// every attempt was on such cores.
struct FarRuns {
    tries: usize,
    repeated: Cell<usize>,
    kept: Cell<usize>,
}

pub(crate) fn run(settings: &Settings) -> Outcome<Vec<Table>> {
    let program = build::contender(settings, "receive")?;
    let mut tables = Vec::new();
    for (messages, rounds) in MESSAGES {
        tables.extend(receive(settings, &program, messages, rounds)?);
    }
    Ok(tables)
}

fn receive(
    settings: &Settings,
    program: &str,
    messages: &str,
    rounds: Option<&str>,
) -> Outcome<[Table; 2]> {
    let bytes = settings.mebibytes << 20;
    let wanted = bytes.to_string();
    let worked = RefCell::new(vec![Vec::new(); SERVERS.len()]);
    let far = FarRuns::new(if settings.is_smoke { 1 } else { TRIES });
    let contenders = SERVERS.iter().enumerate().map(|(index, (server, shown))| {
        let (wanted, worked, far) = (&wanted, &worked, &far);
        Contender::new(*shown, settings.runs, move || {
            let [seconds, worked_s] = far.repeat(|| {
                let printed = output_of(command(program, &[server, wanted]).args(rounds))?;
                let result: Value = serde_json::from_str(&printed)?;
                let number = |key: &str| result[key].as_f64().ok_or("the server printed no time");
                let times = [number("seconds")?, number("worked_s")?];
                Ok((times, number("distance_ns")?))
            })?;
            worked.borrow_mut()[index].push(worked_s);
            Ok(seconds)
        })
    });
    let unit = Unit::Seconds { bytes };
    let rows = take_turns(contenders.collect(), unit)?;
    // The first turn is not recorded here either.
    let worked = worked.into_inner().into_iter().zip(SERVERS).map(|(runs, (_, shown))| Measured {
        name: shown.to_owned(),
        unit,
        runs: runs.into_iter().skip(1).collect(),
    });
    let mut elapsed = elapsed_table(messages, rows);
    elapsed.notes.push(far.note());
    Ok([elapsed, worked_table(messages, worked.collect())])
}

impl FarRuns {
    fn new(tries: usize) -> Self {
        Self { tries, repeated: Cell::default(), kept: Cell::default() }
    }

    /// Returns the first run on near cores, or the last run. A host may move virtual cores to
    /// processors without a common cache at any time. A handover of memory then takes several
    /// times as long for every receiver.
    fn repeat(&self, mut run: impl FnMut() -> Outcome<([f64; 2], f64)>) -> Outcome<[f64; 2]> {
        for _ in 1..self.tries {
            let (times, distance_ns) = run()?;
            if distance_ns < NEAR_NS {
                return Ok(times);
            }
            self.repeated.set(self.repeated.get() + 1);
        }
        let (times, distance_ns) = run()?;
        self.kept.set(self.kept.get() + usize::from(distance_ns >= NEAR_NS));
        Ok(times)
    }

    fn note(&self) -> String {
        format!(
            "a run is repeated, up to {} times, if the two cores share no cache (a cache line \
             takes {NEAR_NS} ns or more between them): {} runs were repeated, and {} count although \
             the cores shared none",
            self.tries,
            self.repeated.get(),
            self.kept.get()
        )
    }
}

fn elapsed_table(messages: &str, rows: Vec<Measured>) -> Table {
    let title = format!("masked frames of 131,000 bytes over loopback, {messages}");
    let mut table = Table::new("receive", title, rows);
    for ours in [WEIR, WEIR_INTO] {
        for (theirs, wanted) in [("tungstenite", 1.5), ("fastwebsockets", 1.0)] {
            let rate = table.rate_ratio(ours, theirs);
            table.add_goal(&format!("{ours}, rate by {theirs}"), rate, Threshold::AtLeast(wanted));
        }
    }
    if let Some(floor) = table.rate_ratio("sender alone", "tungstenite") {
        table.notes.push(format!(
            "the sender alone, whose bytes the kernel discards, is {floor:.2} times as fast as with \
             tungstenite: no receiver can be faster"
        ));
    }
    table.notes.push("the payload's length and a sparse checksum are verified".to_owned());
    table
}

fn worked_table(messages: &str, rows: Vec<Measured>) -> Table {
    let title = format!("{messages}: how long the receiving thread had a core");
    let mut table = Table::new("receive", title, rows);
    table.notes.push(
        "if sending takes longer than receiving, the elapsed times are alike, and only the \
         processor times tell the servers apart"
            .to_owned(),
    );
    table
}
