//! The sliding ring over times to the second.
//!
//! The state is the list of the last requests that passed, of which the least and most times are
//! kept, by position from the end. If it is not known whether a request passed, each time lies
//! between those of the two lists that are possible.

use std::collections::VecDeque;

use super::limit::Limit;
use crate::arrivals::SECOND_SPREAD_NS;
use crate::engine::Outcome;

/// Decides about requests by position.
pub(super) fn decide(limit: &Limit, times_ns: &[i64], outcomes: &mut Vec<Outcome>) {
    let window_ns = limit.window_ns as i64;
    let size = usize::try_from(limit.count).unwrap_or(usize::MAX);
    // Fewer than `size` of them: the others are in the distant past.
    let (mut earliest, mut latest) = (VecDeque::new(), VecDeque::new());
    for first_ns in times_ns.iter().copied() {
        let last_ns = first_ns.saturating_add(SECOND_SPREAD_NS);
        let oldest = |times: &VecDeque<i64>| times.front().copied().filter(|_| times.len() == size);
        let has_passed =
            oldest(&latest).is_none_or(|oldest_ns| first_ns.saturating_sub(oldest_ns) > window_ns);
        let is_rejected = oldest(&earliest)
            .is_some_and(|oldest_ns| last_ns.saturating_sub(oldest_ns) <= window_ns);
        outcomes.push(Outcome::bounded(is_rejected, has_passed));
        if is_rejected {
            continue;
        }
        push(&mut latest, last_ns, size);
        if has_passed {
            push(&mut earliest, first_ns, size);
        } else if oldest(&earliest).is_some() {
            // If it was rejected, the oldest was in the window.
            let next_ns = earliest.get(1).copied().unwrap_or(first_ns);
            if let Some(oldest_ns) = earliest.front_mut() {
                *oldest_ns = first_ns.saturating_sub(window_ns).max(*oldest_ns).min(next_ns);
            }
        }
    }
}

fn push(times: &mut VecDeque<i64>, time_ns: i64, size: usize) {
    if times.len() == size {
        times.pop_front();
    }
    times.push_back(time_ns);
}
