//! The requests that tripped the rules in force: blocks beside requests.
//!
//! A report keeps no records. The addresses that were blocked are known after the logs are read,
//! so the logs are read again to count what these addresses requested, if there are any.

use weir_core::{Values, Zone};
use weir_ingest::{PipelineOptions, Retention};
use weir_query::{
    BLOCKED_ADDRESSES_MAX, BlockCensus, BlockHistories, BlockedAddresses, blocks_report,
    filter_and_zone,
};
use weir_view::{BlocksQuestion, BlocksReport};

use super::ReportArguments;
use super::records::Records;
use super::request::ReportRequest;
use crate::outcome::Failure;
use crate::scan::query_failure;

/// The blocks of a report, or a note on why they are left out.
pub(super) enum Blocks {
    Report(Box<BlocksReport>),
    Note(String),
}

/// Reads the records again, and reports on the addresses of a census. Returns `None` if there are no
/// blocks beside requests.
pub(super) fn read(
    census: &BlockCensus,
    values: &Values,
    arguments: &ReportArguments,
    records: &Records,
    request: &ReportRequest,
) -> Result<Option<Blocks>, Failure> {
    let max = (arguments.top() as usize).min(BLOCKED_ADDRESSES_MAX);
    let Some(addresses) = census.addresses(values, max) else { return Ok(None) };
    if !records.are_files() {
        return Ok(Some(Blocks::Note(
            "the log has blocks beside requests; to list what tripped your rules, weir reads it \
             twice: name files instead of standard input or a pipe"
                .to_owned(),
        )));
    }
    let (_, zone) = filter_and_zone(&request.query, values).map_err(query_failure)?;
    let look = SecondPass { arguments, records, request, addresses, zone };
    let given_s = arguments.clock_offset;
    let (mut report, estimated_s) = look.report(given_s.unwrap_or(0))?;
    if given_s.is_none() && estimated_s != 0 {
        (report, _) = look.report(estimated_s)?;
    }
    Ok(Some(Blocks::Report(Box::new(report))))
}

struct SecondPass<'a> {
    arguments: &'a ReportArguments,
    records: &'a Records,
    request: &'a ReportRequest,
    addresses: BlockedAddresses,
    zone: Zone,
}

impl SecondPass<'_> {
    /// Returns the report for a clock of the blocks that is `offset_s` ahead, and the estimated
    /// offset, or 0.
    fn report(&self, offset_s: i64) -> Result<(BlocksReport, i64), Failure> {
        let retention = Retention::ValuesOnly;
        let options: PipelineOptions = self.arguments.read.pipeline_options(retention)?;
        let data = self.records.data_set(&options, &self.request.query.extra_columns());
        let (filter, _) =
            filter_and_zone(&self.request.query, &data.values()).map_err(query_failure)?;
        let window_s = BlocksQuestion::default().window_s;
        let blank = BlockHistories::new(filter, &self.addresses, (window_s, offset_s));
        // Errors of the inputs were reported when they were first read.
        let (found, _) = self.records.fold(&options, &data, &self.request.format, blank)?;
        let estimate = found.clock_estimate();
        let settings = (window_s, offset_s, estimate);
        let networks = &self.arguments.good_networks;
        let report =
            blocks_report(&self.addresses, &found, &data.values(), &self.zone, settings, networks);
        Ok((report, estimate.map_or(0, |estimate| estimate.offset_s)))
    }
}
