//! Reads the inputs once, and replays rules over them.

use std::io;

use weir_ingest::{FormatChoice, Input, run_in_order};
use weir_rules::Rule;

use super::replays::Replays;
use super::scan::{Merge, RuleScan};
use crate::scan::{Conditions, ReadInput};

/// The divisor of the memory for events that wait for earlier ones: an eighth.
const WAITING_SHARE: usize = 8;

/// What is read, and how.
pub(super) struct Pass<'a> {
    pub(super) inputs: &'a [Input],
    pub(super) conditions: &'a Conditions,
    pub(super) format: &'a FormatChoice,
    pub(super) threads: usize,
    pub(super) memory_bytes_max: usize,
}

impl Pass<'_> {
    /// Replays rules over the inputs.
    pub(super) fn replay<'r>(&self, rules: &'r [Box<dyn Rule>]) -> (Replays<'r>, Vec<ReadInput>) {
        let Self { inputs, conditions, format, threads, memory_bytes_max } = *self;
        let waiting_bytes_max = memory_bytes_max / WAITING_SHARE;
        let replays = Replays::new(rules, memory_bytes_max - waiting_bytes_max);
        let merge = Merge::new(replays, waiting_bytes_max, Replays::take);
        let threads_each = if inputs.len() == 1 { threads } else { 1 };
        let scan = RuleScan { rules, conditions, format, merge: &merge, threads: threads_each };
        let read = run_in_order(threads, inputs.len(), &mut io::sink(), |index, _| {
            Ok(scan.read(index, &inputs[index]))
        });
        // Nothing is written meanwhile, so nothing can fail.
        (merge.into_total(), read.unwrap_or_default())
    }
}
