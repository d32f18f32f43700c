//! Contenders that run in turn, and their measurements.

use crate::statistics;
use weir_tools::shell::Outcome;

/// One of the programs that are compared. Its function does the work once, checks the answer and
/// returns the measured number.
pub(crate) struct Contender<'a> {
    name: String,
    runs: usize,
    run: Box<dyn FnMut() -> Outcome<f64> + 'a>,
}

impl<'a> Contender<'a> {
    /// A contender with this number of recorded turns.
    pub(crate) fn new(
        name: impl Into<String>,
        runs: usize,
        run: impl FnMut() -> Outcome<f64> + 'a,
    ) -> Self {
        Self { name: name.into(), runs, run: Box::new(run) }
    }
}

/// The unit of a measured number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Unit {
    /// Seconds, for an input of this size.
    Seconds {
        bytes: u64,
    },
    Milliseconds,
    Microseconds,
    Nanoseconds,
    RequestsPerSecond,
    GigabytesPerSecond,
    /// Bytes divided by the bytes of the log.
    OfTheLog,
    /// Mebibytes of memory.
    Mebibytes,
}

impl Unit {
    /// The unit with this name in a record.
    pub(crate) fn of(name: &str, input_bytes: Option<u64>) -> Self {
        match name {
            "ms" => Self::Milliseconds,
            "µs" => Self::Microseconds,
            "ns" => Self::Nanoseconds,
            "requests/s" => Self::RequestsPerSecond,
            "GB/s" => Self::GigabytesPerSecond,
            "of the log" => Self::OfTheLog,
            "MiB" => Self::Mebibytes,
            _ => Self::Seconds { bytes: input_bytes.unwrap_or(0) },
        }
    }

    /// The size of the input, if the unit has one.
    pub(crate) fn bytes(self) -> Option<u64> {
        match self {
            Self::Seconds { bytes } => Some(bytes),
            _ => None,
        }
    }

    /// The name in a record.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Seconds { .. } => "s",
            Self::Milliseconds => "ms",
            Self::Microseconds => "µs",
            Self::Nanoseconds => "ns",
            Self::RequestsPerSecond => "requests/s",
            Self::GigabytesPerSecond => "GB/s",
            Self::OfTheLog => "of the log",
            Self::Mebibytes => "MiB",
        }
    }
}

/// The measurements of one contender.
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    pub(crate) name: String,
    pub(crate) unit: Unit,
    /// In the order of the runs.
    pub(crate) runs: Vec<f64>,
}

impl Measured {
    /// The median of the runs, or NaN if there are none.
    pub(crate) fn median(&self) -> f64 {
        statistics::median(&self.runs).unwrap_or(f64::NAN)
    }

    /// Input by time in GB/s, if the unit has a rate.
    pub(crate) fn rate(&self) -> Option<f64> {
        match self.unit {
            Unit::Seconds { bytes } => Some(bytes as f64 / self.median() / 1e9),
            Unit::GigabytesPerSecond => Some(self.median()),
            _ => None,
        }
    }
}

/// Runs the contenders in turn, so that a slow moment of the machine affects all of them. The
/// first round is not recorded: it fills caches.
pub(crate) fn take_turns(contenders: Vec<Contender<'_>>, unit: Unit) -> Outcome<Vec<Measured>> {
    let mut contenders = contenders;
    for contender in &mut contenders {
        turn(contender)?;
    }
    let most = contenders.iter().map(|contender| contender.runs).max().unwrap_or(0);
    let mut runs = vec![Vec::new(); contenders.len()];
    for round in 0..most {
        for (contender, runs) in contenders.iter_mut().zip(&mut runs) {
            if round < contender.runs {
                runs.push(turn(contender)?);
            }
        }
    }
    let named = contenders.into_iter().zip(runs);
    Ok(named.map(|(contender, runs)| Measured { name: contender.name, unit, runs }).collect())
}

fn turn(contender: &mut Contender<'_>) -> Outcome<f64> {
    (contender.run)().map_err(|error| format!("{}: {error}", contender.name).into())
}

#[cfg(test)]
mod tests {
    use super::{Contender, Unit, take_turns};
    use std::cell::RefCell;

    #[test]
    fn contenders_take_turns_after_a_round_that_does_not_count() {
        let order = RefCell::new(String::new());
        let called = |letter: char| {
            order.borrow_mut().push(letter);
            Ok(order.borrow().len() as f64)
        };
        let contenders =
            vec![Contender::new("a", 2, || called('a')), Contender::new("b", 1, || called('b'))];
        let measured = take_turns(contenders, Unit::Milliseconds).unwrap();
        assert_eq!(*order.borrow(), "ababa");
        assert_eq!(measured[0].runs, [3.0, 5.0]);
        assert_eq!(measured[1].runs, [4.0]);
    }

    #[test]
    fn a_wrong_answer_ends_the_turns() {
        let contenders = vec![Contender::new("a", 1, || Err("it is wrong".into()))];
        let error = take_turns(contenders, Unit::Milliseconds).unwrap_err();
        assert_eq!(error.to_string(), "a: it is wrong");
    }
}
