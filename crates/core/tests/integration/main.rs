//! The integration tests of this crate, in one binary: it is linked once.

mod blocks_and_lines;
mod client_choice;
mod column_twins;
mod condition;
mod condition_refusals;
mod folds;
mod format_agreement;
mod format_apache;
mod format_crowdsec;
mod format_detect;
mod format_json;
mod format_nginx;
mod format_properties;
mod format_raw_quotes;
mod format_support;
mod format_surroundings;
mod format_tracker;
mod format_users;
mod format_wrappers;
mod histogram;
mod late_values;
mod mixed_formats;
mod packed_records;
mod record_predicate;
mod recount;
mod row_records;
