//! Blocks become segments of a data set.

use std::sync::Arc;

use weir_core::{Block, BlockLimits, BlockReader, Fold};

use super::block_parser::{BlockParser, PartRead, RemainingWork};
use super::data_set::DataSet;
use super::fold_parts::FoldParts;
use super::product::{BlockPlace, Product, Turn, fail};
use super::reorder::ParsedBlock;
use super::request_tally::RequestTally;
use crate::progress::BlockCounts;
use crate::queue::Job;

/// Appends the segments of blocks to a data set, and adds them to a fold if there is one.
#[derive(Debug)]
pub(super) struct Columns<'f, F> {
    data: Arc<DataSet>,
    parser: BlockParser,
    fold: Option<&'f FoldParts<F>>,
    requests: RequestTally,
}

impl<'f, F> Columns<'f, F> {
    pub(super) fn new(
        data: &Arc<DataSet>,
        limits: BlockLimits,
        fold: Option<&'f FoldParts<F>>,
    ) -> Self {
        let parser = BlockParser::new(data, limits);
        Self { data: data.clone(), parser, fold, requests: RequestTally::default() }
    }
}

impl<F: Fold + Clone> Product for Columns<'_, F> {
    /// A part for each format of the lines, and the remaining work.
    type Parsed = (Vec<PartRead>, RemainingWork);

    fn parse(&mut self, job: Job) -> (Self::Parsed, Option<Block>) {
        let (parts, remaining, block) = self.parser.parse(job);
        ((parts, remaining), block)
    }

    /// Resolves the values in turn; packs the columns after it.
    fn append(
        &mut self,
        place: BlockPlace,
        (mut parts, remaining): Self::Parsed,
        turn: Turn<'_>,
    ) -> u64 {
        if let Some(block) = self.parser.finish(remaining, &mut parts) {
            turn.release(block);
        }
        let counts = BlockParser::counts(&mut parts);
        let resolved = self.parser.resolve(parts);
        self.data.note_resolved();
        drop(turn);

        let segments = self.parser.seal(resolved);
        if let Some(fold) = self.fold {
            let parts_max = self.data.values().answers_max();
            fold.change(parts_max, |part| {
                part.refresh(&self.data.values());
                segments.iter().for_each(|pending| part.update(pending.segment()));
            });
        }
        let BlockPlace { ticket, source, offset_end, is_live } = place;
        let requests = self.data.request_totals().map_or_else(Vec::new, |totals| {
            self.requests.count(totals, &segments, source.name(), self.data.values())
        });
        let segments = Some(segments);
        let block = ParsedBlock { source, offset_end, counts, requests, is_live, segments };
        self.data.append(ticket, block)
    }

    fn append_dropped(&mut self, place: BlockPlace, turn: Turn<'_>) -> u64 {
        drop(turn);
        let BlockPlace { ticket, source, offset_end, is_live } = place;
        let counts = BlockCounts::default();
        let requests = Vec::new();
        let block = ParsedBlock { source, offset_end, counts, requests, is_live, segments: None };
        self.data.append(ticket, block)
    }

    fn wait_for_room(&self) {
        self.data.wait_for_room();
    }

    /// A large reader can shrink only while none of its blocks wait, and otherwise that might never
    /// happen.
    fn must_append(&self) -> bool {
        self.parser.readers().any(BlockReader::is_large) || self.data.must_pause()
    }

    fn rest(&mut self) {
        self.parser.forget();
    }

    fn fail_sources(&self) {
        fail(&self.data.sources());
        self.data.cancel_sources();
    }
}
