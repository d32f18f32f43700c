//! Estimates the offset between the clocks of the block log and the access log from their records.
//!
//! Logs of one machine differ by the zone's offset if one of them has local times without a zone,
//! as nginx's error log and fail2ban's log do. There are two methods:
//!

use std::collections::{BTreeMap, HashMap};

use weir_view::{BlockCause, BlocksQuestion, ClockEstimate, ClockEvidence};

/// The maximum number of seconds that are compared for each client. The earliest are kept.
const SECONDS_MAX: usize = 512;

/// The number of seconds of each client whose distances become candidates.
const CANDIDATE_SECONDS: usize = 48;

/// The maximum number of candidates that are tried: those with the most votes.
const CANDIDATES_MAX: usize = 64;

/// The minimum number of pairs for an estimate.
const PAIRS_MIN: u64 = 5;

/// The maximum distance in seconds between a ban and the median for the ban to agree with it.
const BAN_SPREAD_S: i64 = 5;

/// The maximum time in seconds between a cause and its ban. It is not part of a clock offset.
const BAN_DELAY_S: i64 = 60;

/// The step of zone offsets, in seconds.
const ZONE_STEP_S: i64 = 900;

/// The times of one client: at most 1,024 seconds with their counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ClientTimes {
    /// The number of rejections in the block log, by second.
    rejections: BTreeMap<i64, u32>,
    /// The number of requests with status 429 or 503, by second.
    refused: BTreeMap<i64, u32>,
    last_ban_s: Option<i64>,
    last_request_s: Option<i64>,
}

impl ClientTimes {
    /// Adds a block.
    pub(super) fn add_block(&mut self, cause: BlockCause, second: i64) {
        match cause {
            BlockCause::RequestLimit | BlockCause::ConnectionLimit => {
                add(&mut self.rejections, second, 1);
            }
            BlockCause::Jail | BlockCause::Scenario => {
                self.last_ban_s = self.last_ban_s.max(Some(second));
            }
            _ => {}
        }
    }

    /// Adds a request.
    pub(super) fn add_request(&mut self, is_refused: bool, second: i64) {
        self.last_request_s = self.last_request_s.max(Some(second));
        if is_refused {
            add(&mut self.refused, second, 1);
        }
    }

    /// Adds the times that another fold collected for the same client.
    pub(super) fn merge(&mut self, other: &Self) {
        for (own, others) in
            [(&mut self.rejections, &other.rejections), (&mut self.refused, &other.refused)]
        {
            others.iter().for_each(|(second, count)| add(own, *second, *count));
        }
        self.last_ban_s = self.last_ban_s.max(other.last_ban_s);
        self.last_request_s = self.last_request_s.max(other.last_request_s);
    }
}

/// Counts in a second and keeps only the earliest seconds, so the result does not depend on the
/// order.
fn add(seconds: &mut BTreeMap<i64, u32>, second: i64, count: u32) {
    let is_late = seconds.last_key_value().is_some_and(|(last, _)| second > *last);
    if is_late && seconds.len() >= SECONDS_MAX {
        return;
    }
    let counted = seconds.entry(second).or_insert(0);
    *counted = counted.saturating_add(count);
    if seconds.len() > SECONDS_MAX {
        seconds.pop_last();
    }
}

/// Estimates how far the clock of the block log is ahead of the access log's. Returns `None` if too
/// few records agree.
pub(super) fn estimate(clients: &[ClientTimes]) -> Option<ClockEstimate> {
    by_rejections(clients).or_else(|| by_bans(clients))
}

fn by_rejections(clients: &[ClientTimes]) -> Option<ClockEstimate> {
    let is_compared = |client: &&ClientTimes| !client.refused.is_empty();
    let clients: Vec<&ClientTimes> = clients.iter().filter(is_compared).collect();
    let pairs: u64 =
        clients.iter().flat_map(|client| client.rejections.values()).map(|n| u64::from(*n)).sum();
    if pairs < PAIRS_MIN {
        return None;
    }
    let agreeing = |offset_s: i64| clients.iter().map(|client| agreeing(client, offset_s)).sum();
    let mut tried: Vec<(u64, i64)> =
        candidates(&clients).into_iter().map(|offset_s| (agreeing(offset_s), offset_s)).collect();
    tried.sort_unstable_by_key(|(agreeing, offset_s)| (u64::MAX - agreeing, offset_s.abs()));
    let (mut best, mut offset_s) = *tried.first()?;
    // Offset 0 wins a tie, because equal clocks are the usual case.
    let without: u64 = agreeing(0);
    if without * 10 >= best * 9 {
        (best, offset_s) = (without, 0);
    }
    let is_rivalled = tried
        .iter()
        .any(|(other, at)| *other == best && offset_s != 0 && (at - offset_s).abs() > 1);
    let is_enough = best >= PAIRS_MIN && best * 10 >= pairs * 8;
    (is_enough && !is_rivalled).then_some(ClockEstimate {
        offset_s,
        by: ClockEvidence::Rejections,
        pairs,
        agreeing: best,
    })
}

/// Returns the distances that most pairs of seconds have, and 0.
fn candidates(clients: &[&ClientTimes]) -> Vec<i64> {
    let mut votes: HashMap<i64, u64> = HashMap::new();
    for client in clients {
        for (rejected_s, rejections) in client.rejections.iter().take(CANDIDATE_SECONDS) {
            for (refused_s, refused) in client.refused.iter().take(CANDIDATE_SECONDS) {
                let distance_s = rejected_s - refused_s;
                if distance_s.abs() <= BlocksQuestion::CLOCK_OFFSET_S_MAX {
                    *votes.entry(distance_s).or_insert(0) += u64::from(*rejections.min(refused));
                }
            }
        }
    }
    let mut voted: Vec<(u64, i64)> = votes.into_iter().map(|(at, votes)| (votes, at)).collect();
    voted.sort_unstable_by_key(|(votes, at)| (u64::MAX - votes, at.abs(), *at));
    voted.into_iter().take(CANDIDATES_MAX).map(|(_, at)| at).collect()
}

/// Returns how many of the client's rejections match a refused request at this offset.
fn agreeing(client: &ClientTimes, offset_s: i64) -> u64 {
    let agreeing = |(second, count): (&i64, &u32)| {
        client.refused.get(&(second - offset_s)).map_or(0, |refused| u64::from(*refused.min(count)))
    };
    client.rejections.iter().map(agreeing).sum()
}

fn by_bans(clients: &[ClientTimes]) -> Option<ClockEstimate> {
    let distance_s = |client: &ClientTimes| Some(client.last_ban_s? - client.last_request_s?);
    let mut distances_s: Vec<i64> = clients.iter().filter_map(distance_s).collect();
    distances_s.sort_unstable();
    let pairs = distances_s.len() as u64;
    let median_s = *distances_s.get(distances_s.len() / 2)?;
    let is_agreeing = |distance_s: &&i64| (**distance_s - median_s).abs() <= BAN_SPREAD_S;
    let agreeing = distances_s.iter().filter(is_agreeing).count() as u64;
    let is_enough = agreeing >= PAIRS_MIN && agreeing * 10 >= pairs * 6;
    if !is_enough || median_s.abs() > BlocksQuestion::CLOCK_OFFSET_S_MAX {
        return None;
    }
    // Rounds down to a zone offset, because the distance includes the delay of the ban itself.
    let zone_s = median_s.div_euclid(ZONE_STEP_S) * ZONE_STEP_S;
    let is_zone = median_s - zone_s <= BAN_DELAY_S;
    let offset_s = if is_zone { zone_s } else { median_s };
    Some(ClockEstimate { offset_s, by: ClockEvidence::Bans, pairs, agreeing })
}

#[cfg(test)]
mod tests {
    use weir_view::{BlockCause, ClockEstimate, ClockEvidence};

    use super::{ClientTimes, SECONDS_MAX, estimate};

    /// Returns a client with bursts of rejections. One in `lost` is missing in the access log.
    fn burst(starts: &[i64], offset_s: i64, lost: u32) -> ClientTimes {
        let mut client = ClientTimes::default();
        for (number, start) in starts.iter().enumerate() {
            for second in 0..3 {
                for request in 0..=(number as u32 + second) {
                    let at = start + i64::from(second);
                    client.add_block(BlockCause::RequestLimit, at + offset_s);
                    client.add_request(request % lost != lost - 1, at);
                }
            }
        }
        client
    }

    #[test]
    fn rejections_tell_the_offset() {
        for offset_s in [0, 2, -3, 3_600, -19_800, 172_000] {
            let clients = [burst(&[1_000, 5_000, 9_100], offset_s, 9), burst(&[70], offset_s, 9)];
            let found = estimate(&clients).expect("an estimate");
            assert_eq!(found.offset_s, offset_s);
            assert_eq!(found.by, ClockEvidence::Rejections);
            assert!(found.agreeing <= found.pairs && found.agreeing * 10 >= found.pairs * 8);
        }
    }

    #[test]
    fn nothing_is_told_from_too_little() {
        assert_eq!(estimate(&[]), None);
        assert_eq!(estimate(&[ClientTimes::default()]), None);
        // Half of the rejections are not in the access log.
        assert_eq!(estimate(&[burst(&[1_000, 5_000, 9_100], 3_600, 2)]), None);
        let mut few = ClientTimes::default();
        few.add_block(BlockCause::RequestLimit, 10);
        few.add_request(true, 10);
        assert_eq!(estimate(&[few]), None);
    }

    #[test]
    fn bans_tell_the_offset_of_a_zone() {
        let bans = |distances_s: &[i64]| -> Option<ClockEstimate> {
            let client = |distance_s: &i64| {
                let mut client = ClientTimes::default();
                client.add_request(false, 5_000);
                client.add_block(BlockCause::Jail, 5_000 + distance_s);
                client
            };
            estimate(&distances_s.iter().map(client).collect::<Vec<_>>())
        };
        let offset_s = |distances_s: &[i64]| bans(distances_s).map(|found| found.offset_s);
        assert_eq!(offset_s(&[1, 0, 2, 1, 900, 1, 1]), Some(0));
        assert_eq!(offset_s(&[7_201, 7_200, 7_202, 7_201, 1, 7_203]), Some(7_200));
        assert_eq!(offset_s(&[-3_599, -3_600, -3_598, -3_599, -3_599]), Some(-3_600));
        assert_eq!(offset_s(&[417, 418, 416, 417, 420]), Some(417));
        assert_eq!(offset_s(&[1, 2, 1, 2]), None, "too few");
        assert_eq!(offset_s(&[1, 100, 200, 300, 400, 500]), None, "they do not agree");
    }

    #[test]
    fn the_earliest_seconds_are_kept_in_any_order() {
        let seconds: Vec<i64> = (0..2 * SECONDS_MAX as i64).collect();
        let mut ascending = ClientTimes::default();
        let mut parts = [ClientTimes::default(), ClientTimes::default()];
        for second in &seconds {
            ascending.add_block(BlockCause::RequestLimit, *second);
            let late = seconds[seconds.len() - 1 - *second as usize];
            parts[*second as usize % 2].add_block(BlockCause::RequestLimit, late);
        }
        let [mut all, other] = parts;
        all.merge(&other);
        assert_eq!(all, ascending);
        assert_eq!(all.rejections.len(), SECONDS_MAX);
    }
}
