//! Distributes work over threads.

use std::sync::atomic::{AtomicBool, Ordering};

use weir_sync::Lock;

use crate::snapshot_work::Interruption;

/// Does `work` for each item on up to `jobs` threads. Each thread takes the next item when it is
/// free, and has its own state from `begin`. Returns the states.
///
/// # Errors
/// Fails if `abandoned` becomes true.
pub(super) fn spread_with<I, S>(
    jobs: usize,
    items: I,
    abandoned: &AtomicBool,
    begin: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, I::Item) + Sync,
) -> Result<Vec<S>, Interruption>
where
    I: ExactSizeIterator + Send,
    S: Send,
{
    let jobs = jobs.min(items.len()).max(1);
    let items = Lock::new(items);
    let next = || items.lock().next();
    let do_part = || {
        let mut state = begin();
        while let Some(item) = next() {
            if abandoned.load(Ordering::Relaxed) {
                return Err(Interruption::Abandoned);
            }
            work(&mut state, item);
        }
        Ok(state)
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..jobs).map(|_| scope.spawn(do_part)).collect();
        let mut states = vec![do_part()?];
        for other in others {
            states.push(other.join().unwrap_or(Err(Interruption::Abandoned))?);
        }
        Ok(states)
    })
}

/// Does `work` for each item on up to `jobs` threads. Returns the results in the order of the
/// items.
///
/// # Errors
/// Fails if `abandoned` becomes true.
pub(super) fn spread<I, T>(
    jobs: usize,
    items: I,
    abandoned: &AtomicBool,
    work: impl Fn(I::Item) -> T + Sync,
) -> Result<Vec<T>, Interruption>
where
    I: ExactSizeIterator + Send,
    T: Send,
{
    let items = items.enumerate();
    let work = |done: &mut Vec<(usize, T)>, (number, item)| done.push((number, work(item)));
    let mut done = spread_with(jobs, items, abandoned, Vec::new, work)?
        .into_iter()
        .flatten()
        .collect::<Vec<_>>();
    done.sort_unstable_by_key(|(number, _)| *number);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::{Interruption, spread};

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let go_on = AtomicBool::new(false);
        for jobs in [0, 1, 3, 100] {
            let squares = spread(jobs, 0..50usize, &go_on, |n| n * n);
            assert_eq!(squares, Ok((0..50).map(|n| n * n).collect()));
        }
        assert_eq!(spread(2, 0..0usize, &go_on, |n| n), Ok(Vec::new()));
    }

    #[test]
    fn stops_when_it_is_abandoned() {
        let abandoned = AtomicBool::new(false);
        let work = |n: usize| {
            assert!(n < 10);
            abandoned.store(n == 3, Ordering::Relaxed);
        };
        assert_eq!(spread(1, 0..50, &abandoned, work), Err(Interruption::Abandoned));
    }
}
