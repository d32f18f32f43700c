//! Proxies that are measured in turn: their requests a second, and the processor time of each
//! request.

use super::client::{Requests, closed};
use super::proxies::Program;
use crate::measure::{Measured, Unit};
use crate::table::Table;
use weir_tools::shell::Outcome;

/// How long a proxy is measured at a time.
const SECONDS: u32 = 2;

/// The process of a contender: one for all turns, or a new one for each.
pub(super) enum Process<'a> {
    Running(&'a Program),
    Fresh(Box<dyn Fn() -> Outcome<Program> + 'a>),
}

/// A proxy, with the requests that it gets.
pub(super) struct Contender<'a> {
    pub(super) name: &'a str,
    pub(super) process: Process<'a>,
    pub(super) path: &'a str,
    pub(super) requests: Requests<'a>,
}

/// The runs of a contender.
#[derive(Debug, Default)]
struct Runs {
    rates: Vec<f64>,
    processor_us: Vec<f64>,
}

/// Measures contenders in turn, and returns a table of their rates and one of their processor time.
/// The first turn is not recorded: it fills caches.
pub(super) fn tables(
    title: &str,
    contenders: &[Contender<'_>],
    runs: usize,
) -> Outcome<[Table; 2]> {
    let mut measured: Vec<Runs> = contenders.iter().map(|_| Runs::default()).collect();
    for turn in 0..=runs {
        for (contender, of_it) in contenders.iter().zip(&mut measured) {
            let run = contender.run().map_err(|error| format!("{}: {error}", contender.name))?;
            if turn > 0 {
                of_it.rates.push(run.0);
                of_it.processor_us.push(run.1);
            }
        }
    }
    let rows = |unit, runs: fn(&Runs) -> &Vec<f64>| {
        let row = |(contender, of_it): (&Contender<'_>, &Runs)| Measured {
            name: contender.name.to_owned(),
            unit,
            runs: runs(of_it).clone(),
        };
        contenders.iter().zip(&measured).map(row).collect()
    };
    let rates = rows(Unit::RequestsPerSecond, |runs| &runs.rates);
    let times = rows(Unit::Microseconds, |runs| &runs.processor_us);
    let of_times = format!("{title}: processor time of the proxy for a request");
    Ok([
        Table::new("gateway", format!("{title}: requests a second"), rates),
        Table::new("gateway", of_times, times),
    ])
}

impl Contender<'_> {
    /// Measures it once: requests a second, and microseconds of processor time for each.
    fn run(&self) -> Outcome<(f64, f64)> {
        match &self.process {
            Process::Running(program) => self.run_at(program),
            Process::Fresh(start) => self.run_at(&start()?),
        }
    }

    fn run_at(&self, program: &Program) -> Outcome<(f64, f64)> {
        let before = program.processor_seconds()?;
        let load = closed(program, self.path, &self.requests, SECONDS)?;
        let used = program.processor_seconds()? - before;
        Ok((load.requests / load.seconds, used / load.requests * 1e6))
    }
}
