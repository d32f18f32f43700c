//! The text around the visitors of a report.

use weir_view::{VisitorDay, Visitors};

use super::separated;

/// The most days that are shown. JSON and CSV have all.
const DAYS_MAX: usize = 100;

/// `1,204 on 14 days, 312 of robots, 980 distinct, 1,530 visits`.
pub(crate) fn visitors_counts(visitors: &Visitors) -> String {
    let days_noun = if visitors.days.len() == 1 { "day" } else { "days" };
    let visits_noun = if visitors.visits == 1 { "visit" } else { "visits" };
    format!(
        "{} on {} {days_noun}, {} of robots, {} distinct, {} {visits_noun}",
        counted(visitors.visitors, visitors.visitors_error_max),
        separated(visitors.days.len() as u64),
        counted(visitors.robot_visitors, visitors.robot_visitors_error_max),
        counted(visitors.distinct_visitors, visitors.distinct_visitors_error_max),
        counted(visitors.visits, visitors.visits_error_max),
    )
}

/// The heads of the columns about a day.
pub(crate) const VISITOR_COLUMNS: [&str; 4] = ["visitors", "of robots", "visits", "of robots"];

/// The numbers of a day.
pub(crate) fn visitor_cells(day: &VisitorDay) -> [String; 4] {
    [
        counted(day.visitors, day.visitors_error_max),
        counted(day.robot_visitors, day.robot_visitors_error_max),
        counted(day.visits, day.visits_error_max),
        counted(day.robot_visits, day.robot_visits_error_max),
    ]
}

/// Returns the days that are not shown, and why numbers are estimates.
pub(crate) fn visitors_remarks(visitors: &Visitors) -> Vec<String> {
    let mut remarks = Vec::new();
    let earlier = earlier_days(visitors);
    if earlier > 0 {
        remarks
            .push(format!("{} earlier days are in --json and --csv.", separated(earlier as u64)));
    }
    if visitors.unattributed > 0 {
        remarks.push(format!(
            "No memory was left for the clients or agents of {} requests, each of which may be that of \
             another visitor; set more with --memory.",
            separated(visitors.unattributed)
        ));
    }
    remarks
}

/// The number of days that are left out before those that are shown.
pub(crate) fn earlier_days(visitors: &Visitors) -> usize {
    visitors.days.len().saturating_sub(DAYS_MAX)
}

/// A number, or an estimate with its error: `about 1,204 ± 17`.
fn counted(value: u64, error_max: u64) -> String {
    match error_max {
        0 => separated(value),
        error => format!("about {} ± {}", separated(value), separated(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::{counted, earlier_days, visitors_counts, visitors_remarks};
    use weir_view::{VisitorDay, Visitors};

    #[test]
    fn estimates_state_their_error_and_long_lists_what_they_leave_out() {
        assert_eq!(
            (counted(1_204, 0), counted(1_204, 17)),
            ("1,204".into(), "about 1,204 ± 17".into())
        );
        let days = |number| vec![VisitorDay::default(); number];
        let one = Visitors {
            visitors: 3,
            distinct_visitors: 3,
            visits: 1,
            days: days(1),
            ..Default::default()
        };
        assert_eq!(visitors_counts(&one), "3 on 1 day, 0 of robots, 3 distinct, 1 visit");
        assert!(visitors_remarks(&one).is_empty());
        let many = Visitors { days: days(365), unattributed: 1_200, ..one };
        assert_eq!(earlier_days(&many), 265);
        let remarks = visitors_remarks(&many);
        assert_eq!(remarks[0], "265 earlier days are in --json and --csv.");
        assert!(remarks[1].contains("1,200 requests"), "{remarks:?}");
    }
}
