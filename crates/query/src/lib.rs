//! Answers queries about a data set: reports, groups and comparisons.
//!
//! An [`Evaluator`] answers a [`Query`](weir_view::Query) about any data set with
//! [`Snapshots`](weir_core::Snapshots). When the data has grown or the query has changed, it
//! computes the next answer from previous ones. Answers are plain data of `weir-view`, so that the
//! page, the terminal and files show the same numbers.
//!
//! ```
//! use std::sync::Arc;
//! use weir_ingest::{DataSet, FormatChoice, Retention, Pipeline, PipelineOptions, SourceEnd};
//! use weir_view::Query;
//!
//! let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
//! let pipeline = Pipeline::start(&PipelineOptions::new(1, Retention::Segments), data.clone());
//! let mut log = pipeline.source("access.log", None, FormatChoice::Detect);
//! log.write_all(b"192.0.2.7 - - [17/Dec/2025:09:03:01 +0000] \"GET / HTTP/1.1\" 404 17\n");
//! log.finish(SourceEnd::Done);
//! pipeline.finish();
//!
//! let conditions = vec!["status>=400".to_owned()];
//! let query = Query { conditions, group: Some("client".to_owned()), ..Query::default() };
//! let report = weir_query::report(&data, &query, 1)?;
//! assert_eq!(report.matching, 1);
//! assert_eq!(report.group.map(|group| group.rows[0].value.text.clone()), Some("192.0.2.7".to_owned()));
//! # Ok::<(), weir_query::QueryError>(())
//! ```

mod advice;
mod blocks;
mod cache;
mod clients;
mod collateral;
mod comparison;
mod count_rows;
mod counter;
mod differences;
mod evaluator;
mod export;
mod extents;
mod field_list;
mod group;
mod group_values;
mod limit_curve;
mod line_order;
mod lines;
mod measures;
mod no_match;
mod over_time;
mod overlay;
mod periods;
mod question;
mod report;
mod robots;
mod rule_comparison;
mod rules;
mod selection;
mod snapshot_work;
mod source_lines;
mod spread;
mod suggested_setting;
mod tallies;
mod time_order;
mod value_classes;
mod visitors;

pub use blocks::{
    BLOCKED_ADDRESSES_MAX, BlockCensus, BlockHistories, BlockedAddresses, blocks, blocks_report,
    filter_and_zone,
};
pub use clients::{ClientRequests, UserPathAnswers, UserPaths};
pub use differences::{differences, evaluation_of_all};
pub use evaluator::{Answer, Evaluator, report};
pub use export::{
    ExportColumns, ExportCounts, ExportError, ExportFormat, LinePlace, LinePlaces, RowExport,
    SegmentExport,
};
pub use field_list::{KnownDerived, ListPart, field_list};
pub use limit_curve::{limit_curve, limit_grid};
pub use lines::{LineFinder, WantedLines};
pub use no_match::{no_match_note, period_text};
pub use over_time::series;
pub use periods::PeriodError;
pub use question::{
    GroupQuestion, InvalidCondition, Moment, Now, ParsedQuery, PeriodBounds, QueryError,
    UnknownZone, WrittenQuery, find_zone, log_zone,
};
pub use report::{evaluation_by_kind, report_of_fold};
pub use robots::{RobotCensus, RobotLike, robot_census};
pub use rule_comparison::compare_rules;
pub use rules::{RuleAnswer, RuleOptions, RuleQueryError, replay_rule, replay_rules};
pub use selection::count_selection;
pub use source_lines::{LineReplay, NoLines, SelectedLines, SourceLines, SourceLinesError};
pub use suggested_setting::{KeyClient, SuggestedSetting, suggested_setting, suspects};
pub use visitors::{visitors, visitors_answer};
