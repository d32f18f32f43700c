//! The measurements of all bodies over all sockets, and their table.

use std::fmt::Write;

use super::servers::Socket;
use crate::load::{Load, PERCENTS};
use crate::statistics;
use crate::table::number;

/// All measurements, grouped by the size of the body.
#[derive(Debug, Default)]
pub(super) struct Matrix {
    pub(super) cells: Vec<Cell>,
}

/// The measurements of one server with one body over one socket.
#[derive(Debug)]
pub(super) struct Cell {
    pub(super) kind: &'static str,
    pub(super) kilobytes: usize,
    pub(super) socket: Socket,
    pub(super) server: &'static str,
    /// Requests a second.
    pub(super) rates: Vec<f64>,
    /// The server's processor time for a request, in microseconds.
    pub(super) processor_us: Vec<f64>,
    /// Of each run, by [`PERCENTS`], in microseconds.
    latencies_us: Vec<Vec<f64>>,
}

impl Cell {
    pub(super) fn new(
        kind: &'static str,
        kilobytes: usize,
        socket: Socket,
        server: &'static str,
    ) -> Self {
        let (rates, processor_us, latencies_us) = (Vec::new(), Vec::new(), Vec::new());
        Self { kind, kilobytes, socket, server, rates, processor_us, latencies_us }
    }

    /// Adds a run, for which the server used this processor time.
    pub(super) fn add(&mut self, load: &Load, processor_seconds: f64) {
        self.rates.push(load.requests / load.seconds);
        self.processor_us.push(processor_seconds / load.requests * 1e6);
        self.latencies_us.push(load.latencies_us.clone());
    }

    /// The name of its row.
    pub(super) fn name(&self) -> String {
        row_name(self.kind, self.socket, self.server)
    }

    fn latency_us(&self, index: usize) -> f64 {
        let runs: Vec<f64> = self.latencies_us.iter().map(|run| run[index]).collect();
        statistics::median(&runs).unwrap_or(f64::NAN)
    }
}

/// The name of a server's row in the tables of one size.
pub(super) fn row_name(kind: &str, socket: Socket, server: &str) -> String {
    format!("{kind} over {}, {server}", socket.name())
}

impl Matrix {
    /// A Markdown table of all cells.
    pub(super) fn to_markdown(&self) -> String {
        let mut text =
            heading("| kB | body | socket | server | requests/s | processor µs/request |", 6);
        for cell in &self.cells {
            let median = |runs: &[f64]| statistics::median(runs).unwrap_or(f64::NAN);
            let _ = write!(
                text,
                "| {} | {} | {} | {} | {:.0} | {} |",
                cell.kilobytes,
                cell.kind,
                cell.socket.name(),
                cell.server,
                median(&cell.rates),
                number(median(&cell.processor_us)),
            );
            push_latencies(&mut text, (0..PERCENTS.len()).map(|index| cell.latency_us(index)));
        }
        text
    }
}

/// The head of the table of latencies at a fixed rate.
pub(super) fn tails_heading(rate: usize) -> String {
    format!("\nchunked 100 kB over TCP, {rate} requests/s wanted:\n\n")
        + &heading("| server | requests/s |", 2)
}

/// A row of the table of latencies at a fixed rate.
pub(super) fn tails_row(server: &str, load: &Load) -> String {
    let mut text = format!("| {server} | {:.0} |", load.requests / load.seconds);
    push_latencies(&mut text, load.latencies_us.iter().copied());
    text
}

fn heading(columns: &str, count: usize) -> String {
    let percents: Vec<String> = PERCENTS.iter().map(|percent| format!("{percent} %, ms")).collect();
    let rule = "---|".repeat(count + PERCENTS.len());
    format!("{columns} {} |\n|{rule}\n", percents.join(" | "))
}

fn push_latencies(text: &mut String, latencies_us: impl Iterator<Item = f64>) {
    for latency_us in latencies_us {
        let _ = write!(text, " {} |", number(latency_us / 1e3));
    }
    text.push('\n');
}
