//! Weir's WebSocket beside those of others, over loopback and without a browser.

use std::cell::RefCell;

use serde_json::Value;

use super::build;
use super::measure::{Contender, Measured, Unit, take_turns};
use super::settings::Settings;
use super::table::{Table, Wanted};
use crate::shell::{Outcome, command, output_of};

/// The servers of bench/contenders, and how they are shown.
const SERVERS: [(&str, &str); 5] = [
    ("weir", WEIR),
    ("weir-into", WEIR_INTO),
    ("tungstenite", "tungstenite"),
    ("fastwebsockets", "fastwebsockets"),
    ("read", "read(2) alone"),
];
const WEIR: &str = "weir, payload lent";
const WEIR_INTO: &str = "weir, payload into a block";

/// How frames make messages: in words, and as the program takes it.
const MESSAGES: [(&str, Option<&str>); 2] = [
    ("128 frames a message, as Chromium sends 16 MiB", Some("16")),
    ("each frame a message", None),
];

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
    let contenders = SERVERS.iter().enumerate().map(|(index, (server, shown))| {
        let (wanted, worked) = (&wanted, &worked);
        Contender::new(*shown, settings.runs, move || {
            let printed = output_of(command(program, &[server, wanted]).args(rounds))?;
            let result: Value = serde_json::from_str(&printed)?;
            let number = |key: &str| result[key].as_f64().ok_or("the server prints no time");
            worked.borrow_mut()[index].push(number("worked_s")?);
            Ok(number("seconds")?)
        })
    });
    let unit = Unit::Seconds { bytes };
    let rows = take_turns(contenders.collect(), unit)?;
    // Its first turn does not count here either.
    let worked = worked.into_inner().into_iter().zip(SERVERS).map(|(runs, (_, shown))| Measured {
        name: shown.to_owned(),
        unit,
        runs: runs.into_iter().skip(1).collect(),
    });
    Ok([elapsed_table(messages, rows), worked_table(messages, worked.collect())])
}

fn elapsed_table(messages: &str, rows: Vec<Measured>) -> Table {
    let title = format!("masked frames of 131,000 bytes over loopback, {messages}");
    let mut table = Table::new("receive", title, rows);
    for ours in [WEIR, WEIR_INTO] {
        for (theirs, wanted) in [("tungstenite", 1.5), ("fastwebsockets", 1.0)] {
            let rate = table.rate_ratio(ours, theirs);
            table.add_goal(&format!("{ours}, rate by {theirs}"), rate, Wanted::AtLeast(wanted));
        }
    }
    table.notes.push("the payload's length and a sparse checksum are verified".to_owned());
    table
}

fn worked_table(messages: &str, rows: Vec<Measured>) -> Table {
    let title = format!("{messages}: how long the receiving thread had a core");
    let mut table = Table::new("receive", title, rows);
    table.notes.push(
        "where sending takes longer than receiving, the elapsed times are alike, and only these \
         tell the servers apart"
            .to_owned(),
    );
    table
}
