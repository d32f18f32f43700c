//! Joins buckets until they fit the screen.

use weir_view::Bucket;

use crate::display::{LocalTime, Span};

use Span::{Months, Seconds};

const MINUTE_S: u64 = 60;
const HOUR_S: u64 = 3_600;
const DAY_S: u64 = 86_400;
const WEEK_S: u64 = 7 * DAY_S;

/// Round steps. There are more of them than the histogram itself uses, so that the buckets always
/// fill more than half of the screen.
const STEPS: [Span; 35] = [
    Seconds(1),
    Seconds(2),
    Seconds(5),
    Seconds(10),
    Seconds(15),
    Seconds(20),
    Seconds(30),
    Seconds(MINUTE_S),
    Seconds(2 * MINUTE_S),
    Seconds(3 * MINUTE_S),
    Seconds(5 * MINUTE_S),
    Seconds(10 * MINUTE_S),
    Seconds(15 * MINUTE_S),
    Seconds(20 * MINUTE_S),
    Seconds(30 * MINUTE_S),
    Seconds(HOUR_S),
    Seconds(2 * HOUR_S),
    Seconds(3 * HOUR_S),
    Seconds(4 * HOUR_S),
    Seconds(6 * HOUR_S),
    Seconds(8 * HOUR_S),
    Seconds(12 * HOUR_S),
    Seconds(DAY_S),
    Seconds(2 * DAY_S),
    Seconds(WEEK_S),
    Seconds(2 * WEEK_S),
    Seconds(4 * WEEK_S),
    Months(1),
    Seconds(12 * WEEK_S),
    Months(3),
    Seconds(52 * WEEK_S),
    Months(12),
    Months(60),
    Months(120),
    Months(1_200),
];

/// Joins buckets into the smallest step with at most `buckets_max` buckets. Returns them and the
/// step.
pub(super) fn to_fit(buckets: &[Bucket], step_s: u64, buckets_max: usize) -> (Vec<Bucket>, u64) {
    let own = Span::of_step(step_s);
    // Months do not consist of whole weeks, so weeks are joined only into longer runs of weeks.
    let is_round = |joined: &Span| {
        !matches!(joined, Seconds(seconds) if *seconds > 2 * WEEK_S) || own == Seconds(WEEK_S)
    };
    let steps = STEPS.into_iter().filter(|joined| joined.is_made_of(own)).filter(is_round);
    let mut fitted = (buckets.to_vec(), step_s);
    for joined in steps {
        if fitted.0.len() <= buckets_max {
            break;
        }
        fitted = (join(buckets, joined), joined.nominal_s());
    }
    fitted
}

/// Adds up the buckets in the same step of the local clock.
fn join(buckets: &[Bucket], step: Span) -> Vec<Bucket> {
    let mut joined: Vec<(Option<i64>, Bucket)> = Vec::new();
    for bucket in buckets {
        let number = LocalTime::parse(&bucket.start).map(|local| step.number(&local));
        match joined.last_mut() {
            Some((last, sum)) if *last == number => add(sum, bucket),
            _ => joined.push((number, bucket.clone())),
        }
    }
    joined.into_iter().map(|(_, bucket)| bucket).collect()
}

fn add(sum: &mut Bucket, bucket: &Bucket) {
    sum.count += bucket.count;
    for (name, count) in &bucket.by {
        *sum.by.entry(name.clone()).or_insert(0) += count;
    }
}

#[cfg(test)]
mod tests {
    use weir_view::Bucket;

    use super::to_fit;

    #[test]
    fn joined_buckets_begin_on_the_local_clock() {
        let bucket = |hour: u64| Bucket {
            start: format!("2025-12-{:02}T{:02}:00:00+01:00", 17 + hour / 24, hour % 24),
            count: 1,
            by: [("2xx".to_owned(), 1)].into(),
        };
        let buckets: Vec<Bucket> = (3..28).map(bucket).collect();
        assert_eq!(to_fit(&buckets, 3_600, 25), (buckets.clone(), 3_600));
        let (joined, step_s) = to_fit(&buckets, 3_600, 8);
        assert_eq!(step_s, 14_400);
        let counts: Vec<u64> = joined.iter().map(|bucket| bucket.by["2xx"]).collect();
        assert_eq!(counts, [1, 4, 4, 4, 4, 4, 4]);
        assert_eq!(joined[1].start, "2025-12-17T04:00:00+01:00");
    }

    #[test]
    fn days_are_joined_into_calendar_months() {
        let bucket = |day: u64| Bucket {
            start: format!("2025-{:02}-{:02}T00:00:00Z", 1 + day / 28, 1 + day % 28),
            count: 1,
            ..Bucket::default()
        };
        let days: Vec<Bucket> = (0..336).map(bucket).collect();
        let (joined, step_s) = to_fit(&days, 86_400, 12);
        assert_eq!((joined.len(), step_s), (12, 30 * 86_400));
        assert!(joined.iter().all(|month| month.start.ends_with("-01T00:00:00Z")));
    }
}
