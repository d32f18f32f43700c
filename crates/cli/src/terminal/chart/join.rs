//! Joins buckets until they fit the screen.

use weir_view::Bucket;

use crate::display::LocalTime;

const MINUTE_S: u64 = 60;
const HOUR_S: u64 = 3_600;
const DAY_S: u64 = 86_400;
const WEEK_S: u64 = 7 * DAY_S;

/// Round steps in seconds. There are more of them than the histogram itself uses, so that the
/// buckets always fill more than half of the screen.
const STEPS_S: [u64; 31] = [
    1,
    2,
    5,
    10,
    15,
    20,
    30,
    MINUTE_S,
    2 * MINUTE_S,
    3 * MINUTE_S,
    5 * MINUTE_S,
    10 * MINUTE_S,
    15 * MINUTE_S,
    20 * MINUTE_S,
    30 * MINUTE_S,
    HOUR_S,
    2 * HOUR_S,
    3 * HOUR_S,
    4 * HOUR_S,
    6 * HOUR_S,
    8 * HOUR_S,
    12 * HOUR_S,
    DAY_S,
    2 * DAY_S,
    WEEK_S,
    2 * WEEK_S,
    4 * WEEK_S,
    12 * WEEK_S,
    52 * WEEK_S,
    520 * WEEK_S,
    5_200 * WEEK_S,
];

/// From Monday, on which weeks begin, to Thursday, on which 1970 began.
const THURSDAY_S: i64 = 3 * DAY_S as i64;

/// Joins buckets into the smallest step in which there are at most `buckets_max`. Returns them and
/// the step.
pub(super) fn to_fit(buckets: &[Bucket], step_s: u64, buckets_max: usize) -> (Vec<Bucket>, u64) {
    let steps = STEPS_S.into_iter().filter(|joined| *joined > step_s && joined % step_s == 0);
    let mut fitted = (buckets.to_vec(), step_s);
    for joined_s in steps {
        if fitted.0.len() <= buckets_max {
            break;
        }
        fitted = (join(buckets, joined_s), joined_s);
    }
    fitted
}

/// Adds up the buckets in the same step of the local clock.
fn join(buckets: &[Bucket], step_s: u64) -> Vec<Bucket> {
    let bias_s = if step_s >= WEEK_S { THURSDAY_S } else { 0 };
    let mut joined: Vec<(Option<i64>, Bucket)> = Vec::new();
    for bucket in buckets {
        let local = LocalTime::parse(&bucket.start);
        let number = local.map(|local| (local.local_s() + bias_s).div_euclid(step_s as i64));
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
}
