//! Reports and queries as plain data that can be serialised.
//!
//! [`Report`] is the answer to a [`Query`]. [`View`] is a report with the state of its sources,
//! which the page draws. The page's TypeScript declarations are generated from these types (feature
//! `typescript`).

mod blocks;
mod build;
mod bytes;
mod capture;
mod characters;
mod client_profile;
mod collateral;
mod comparison;
mod count;
mod csv;
mod differences;
mod estimates;
mod field_list;
mod field_values;
mod format;
mod format_fit;
mod format_trial;
mod group;
mod json;
mod kind;
mod limit_curve;
mod limit_grid;
mod lines;
mod log_event;
mod log_line;
mod looked_at;
mod measure;
mod message;
mod number;
mod palette;
mod panel;
mod program;
mod query;
mod report;
mod robots;
mod route;
mod row_value;
mod rule_comparison;
mod rules;
mod sources;
mod tasks;
mod unread;
mod view;
mod visitors;
mod words;

pub use blocks::{
    BlockCause, BlockClock, BlockRule, BlockedActivity, BlockedClient, BlocksAnswer,
    BlocksQuestion, BlocksReport, CauseBlocks, ClockEstimate, ClockEvidence, Remedy, ValueShare,
};
pub use build::{Layer, Timeline};
pub use bytes::{from_hex, to_hex};
pub use capture::{Capture, CaptureHead, CaptureStep, CaptureTotal};
pub use characters::{is_invisible, push_printable};
pub use client_profile::{ClientLooks, ClientProfile};
pub use collateral::{Collateral, GoodClient, GoodReason, ReasonCount};
pub use comparison::{Changes, Compare, Comparison, Period, TotalChange, TotalChanges};
pub use count::{
    ColumnTotal, Combination, CombinationCounts, CountTable, FileLines, LineCounts, MeasuredCounts,
    OtherColumns, OtherRows, RecordCount, TableRow, ValueCount, ValueCounts,
};
pub use csv::{csv_row, push_csv_value};
pub use differences::{Difference, Differences, g_squared};
pub use field_list::{DurationMap, FieldList, Series, SpanRow};
pub use field_values::{field_value, value_in};
pub use format_fit::{
    FormatFit, FormatFits, FormatMismatch, KnownFormat, KnownFormats, SuggestedFormat,
};
pub use format_trial::{DefinitionError, FormatTrial, Misfit};
pub use group::{Group, GroupRest, GroupRow, PeriodTally, Tally, difference, percent};
pub use json::{JsonError, from_json, push_json_string, to_json};
pub use kind::{KindCount, RecordKind, main_kind};
pub use limit_curve::{CurvePoint, JudgedClient, LimitCurve, Suggestion};
pub use limit_grid::{GridRate, LimitAdvice, LimitGrid};
pub use lines::{
    LineAccess, LineField, LineOrder, LineSource, LineStart, LinesAnswer, SelectedLine,
};
pub use log_event::{LogEvent, LogLevel, LogTail, LogValue};
pub use log_line::{FieldValue, LineMember, LineText, LogLine, csv_header};
pub use looked_at::{LookedAt, PatternMatches};
pub use measure::{Measure, MeasureValue, Statistic, UnknownMeasure};
pub use message::{
    ConditionPlace, Failure, LiveReply, LiveRequest, LiveTopic, RefusalBody, SelectionCount,
    SessionCreated, SessionList, SessionSummary, UploadReply, UploadRequest,
};
pub use number::{rounded, separated, share, span};
pub use palette::{
    FADE_PERCENT, FADE_PERCENT_MAX, HEAT_COLOURS, Hue, OTHER_COLOUR, OUTCOMES, SERIES_COLOURS,
    STATUS_COLOURS, STATUS_EDGES, ThemedColour, group_hues,
};
pub use panel::{
    LinesNeeded, NeededFile, RuleAnswer, RuleDetails, RuleFile, RuleNote, RulePlace, RuleText,
    RulesAnswer,
};
pub use program::{CallProfile, FunctionCalls, NamedStack, ThreadStacks};
pub use query::{Clause, NormalFilter, Operator, Query};
pub use report::{
    Bucket, Format, FormatCount, Histogram, Quantiles, Report, TimeRange, TopRow, YearSource,
};
pub use robots::{RobotClient, RobotCohort, RobotReason, RobotSums, Robots};
pub use route::{
    Passed, PassedRates, Route, RouteShare, RouteStage, RouteStageKind, ServiceLimit,
    ServiceLimitKind, SlowestStage,
};
pub use row_value::RowValue;
pub use rule_comparison::{KeySet, RuleComparison, RuleSide};
pub use rules::{
    Alert, Ban, Estimate, Exactness, KeyCounts, LeftOutRules, LinePlace, ReplayedKey, ReplayedRule,
    RequestCounts, RulesReport, Step, Verdict, write_decision,
};
pub use sources::{CountedSource, CountedSources, IncompleteSource, ReportSource};
pub use tasks::{
    BusySource, Task, TaskKindSums, TaskRates, TaskRuntime, TaskState, TaskWork, Tasks, Thread,
    ThreadWork,
};
pub use unread::Unread;
pub use view::{Sample, Source, SourceState, View, Window, view_message_rest, view_message_start};
pub use visitors::{VisitorDay, Visitors};
pub use words::{DURATION_TITLES, EMPTY_VALUE, LIST_TITLES, NO_VALUE, OTHERS, REMAINDER_VALUE};
