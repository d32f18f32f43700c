//! Contenders that run in turn, and their measurements.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::statistics;
use weir_tools::shell::Outcome;

/// One of the programs that are compared. Its function does the work once, checks the answer and
/// returns the measured numbers, of which most have one.
pub(crate) struct Contender<'a, const NUMBERS: usize = 1> {
    name: String,
    runs: usize,
    run: Box<dyn FnMut() -> Outcome<[f64; NUMBERS]> + 'a>,
}

impl<'a> Contender<'a> {
    /// A contender with this number of recorded turns.
    pub(crate) fn new(
        name: impl Into<String>,
        runs: usize,
        mut run: impl FnMut() -> Outcome<f64> + 'a,
    ) -> Self {
        Self::of_several(name, runs, move || Ok([run()?]))
    }
}

impl<'a, const NUMBERS: usize> Contender<'a, NUMBERS> {
    /// A contender with several numbers.
    pub(crate) fn of_several(
        name: impl Into<String>,
        runs: usize,
        run: impl FnMut() -> Outcome<[f64; NUMBERS]> + 'a,
    ) -> Self {
        Self { name: name.into(), runs, run: Box::new(run) }
    }

    fn turn(&mut self) -> Outcome<[f64; NUMBERS]> {
        (self.run)().map_err(|error| format!("{}: {error}", self.name).into())
    }
}

/// The unit of a measured number.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "unit")]
pub(crate) enum Unit {
    /// Seconds, for an input of this size.
    #[serde(rename = "s")]
    Seconds {
        #[serde(rename = "input_bytes")]
        bytes: u64,
    },
    #[serde(rename = "ms")]
    Milliseconds,
    #[serde(rename = "µs")]
    Microseconds,
    #[serde(rename = "ns")]
    Nanoseconds,
    #[serde(rename = "requests/s")]
    RequestsPerSecond,
    #[serde(rename = "GB/s")]
    GigabytesPerSecond,
    /// Bytes divided by the bytes of the log.
    #[serde(rename = "of the log")]
    OfTheLog,
    /// Mebibytes of memory.
    #[serde(rename = "MiB")]
    Mebibytes,
}

impl Unit {
    /// The name in a table.
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
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Measured {
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) unit: Unit,
    /// In the order of the runs.
    pub(crate) runs: Vec<f64>,
}

impl Measured {
    /// The numbers in a list of JSON.
    pub(crate) fn of_json(name: impl Into<String>, unit: Unit, list: &Value) -> Self {
        let runs = list.as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
        Self { name: name.into(), unit, runs }
    }

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
/// first round is not recorded: it fills caches. Returns a list for each number.
pub(crate) fn take_turns<const NUMBERS: usize>(
    mut contenders: Vec<Contender<'_, NUMBERS>>,
    units: [Unit; NUMBERS],
) -> Outcome<[Vec<Measured>; NUMBERS]> {
    for contender in &mut contenders {
        contender.turn()?;
    }
    let most = contenders.iter().map(|contender| contender.runs).max().unwrap_or(0);
    let mut measured = units.map(|unit| {
        let row = |it: &Contender<'_, NUMBERS>| Measured {
            name: it.name.clone(),
            unit,
            runs: Vec::new(),
        };
        contenders.iter().map(row).collect::<Vec<_>>()
    });
    for round in 0..most {
        for (index, contender) in contenders.iter_mut().enumerate() {
            if round < contender.runs {
                for (rows, number) in measured.iter_mut().zip(contender.turn()?) {
                    rows[index].runs.push(number);
                }
            }
        }
    }
    Ok(measured)
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
        let [measured] = take_turns(contenders, [Unit::Milliseconds]).unwrap();
        assert_eq!(*order.borrow(), "ababa");
        assert_eq!(measured[0].runs, [3.0, 5.0]);
        assert_eq!(measured[1].runs, [4.0]);
    }

    #[test]
    fn a_contender_may_have_several_numbers() {
        let contender = Contender::of_several("a", 1, || Ok([1.0, 2.0]));
        let units = [Unit::RequestsPerSecond, Unit::Microseconds];
        let [rates, times] = take_turns(vec![contender], units).unwrap();
        assert_eq!((&rates[0].runs[..], rates[0].unit), (&[1.0][..], Unit::RequestsPerSecond));
        assert_eq!((&times[0].runs[..], times[0].unit), (&[2.0][..], Unit::Microseconds));
    }

    #[test]
    fn a_wrong_answer_ends_the_turns() {
        let contenders = vec![Contender::new("a", 1, || Err("it is wrong".into()))];
        let error = take_turns(contenders, [Unit::Milliseconds]).unwrap_err();
        assert_eq!(error.to_string(), "a: it is wrong");
    }
}
