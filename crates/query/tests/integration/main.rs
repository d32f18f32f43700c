//! The integration tests of this crate, in one binary: it is linked once.

use weir_query::ParsedQuery;
use weir_view::Query;

mod answers;
mod blocks;
mod durations;
mod export;
mod export_text;
mod field_lists;
mod kinds;
mod lines;
mod record_text;
mod removal;
mod robots;
mod rule_details;
mod rule_rows;
mod rules;
mod timeline;
mod window;

fn parsed(query: &Query) -> ParsedQuery {
    ParsedQuery::parse(query).expect("a valid query")
}

fn all_records() -> ParsedQuery {
    parsed(&Query::default())
}
