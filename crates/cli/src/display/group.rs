//! The columns of a group.

use weir_view::{PeriodTally, RecordKind, Report, RowValue};

use super::number::{bytes, separated, share};

/// A column of a group, with a number for each value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GroupColumn {
    Count,
    PreviousCount,
    Change,
    Share,
    BytesSent,
    PreviousBytesSent,
    Errors,
    PreviousErrors,
    ErrorRate,
}

impl GroupColumn {
    const PLAIN: [Self; 5] =
        [Self::Count, Self::Share, Self::BytesSent, Self::Errors, Self::ErrorRate];
    const COMPARED: [Self; 7] = [
        Self::Count,
        Self::PreviousCount,
        Self::Change,
        Self::BytesSent,
        Self::PreviousBytesSent,
        Self::Errors,
        Self::PreviousErrors,
    ];

    /// Returns the columns of a report's group, without sums that its kind of records lacks.
    pub(crate) fn of(report: &Report) -> Vec<Self> {
        let columns: &[Self] =
            if report.compare.is_some() { &Self::COMPARED } else { &Self::PLAIN };
        let has_sum = |column: &Self| match column {
            Self::BytesSent | Self::PreviousBytesSent => report.has_sum("bytes_sent"),
            Self::Errors | Self::PreviousErrors | Self::ErrorRate => report.has_sum("errors"),
            _ => true,
        };
        columns.iter().copied().filter(has_sum).collect()
    }

    /// Returns the head of the column.
    pub(crate) fn head(self, kind: RecordKind) -> &'static str {
        match self {
            Self::Count => kind.column(),
            Self::PreviousCount | Self::PreviousBytesSent | Self::PreviousErrors => "prev.",
            Self::Change => "change",
            Self::Share => "share",
            Self::BytesSent => "bytes sent",
            Self::Errors => "errors",
            Self::ErrorRate => "error rate",
        }
    }

    /// Formats the number of a value. `matching` is the number of all records, and `change` formats
    /// a difference.
    pub(crate) fn cell(
        self,
        tally: &PeriodTally,
        matching: u64,
        change: fn(i64) -> String,
    ) -> String {
        let (now, before) = (tally.selected, tally.previous());
        match self {
            Self::Count => separated(now.count),
            Self::PreviousCount => separated(before.count),
            Self::Change => change(tally.difference.unwrap_or(0)),
            Self::Share => share(now.count, matching),
            Self::BytesSent => bytes(now.bytes_sent),
            Self::PreviousBytesSent => bytes(before.bytes_sent),
            Self::Errors => separated(now.errors),
            Self::PreviousErrors => separated(before.errors),
            Self::ErrorRate => share(now.errors, now.count),
        }
    }
}

/// Marks the numbers of a value that are lower bounds. `cells` come from [`GroupColumn::cell`].
pub(crate) fn mark_lower_bound(columns: &[GroupColumn], cells: &mut [String], value: &RowValue) {
    for (column, cell) in columns.iter().zip(cells).filter(|_| value.uncounted_max > 0) {
        if !matches!(column, GroupColumn::Change | GroupColumn::ErrorRate) {
            cell.insert(0, '≥');
        }
    }
}
