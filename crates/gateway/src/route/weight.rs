//! The choice among backends with weights, such as a new version that gets a few of the requests.

use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A backend that gets a share of the requests of a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeightedBackend {
    /// Its name.
    pub name: String,
    /// Its share, as a part of the sum of all weights.
    pub weight: u32,
}

/// Counts the requests of a route by backend, since the route has these weights.
#[derive(Debug)]
pub(crate) struct ShareCounters(Vec<(WeightedBackend, AtomicU64)>);

/// The share of the requests of a route that a backend was to get, and the one that it got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendShare {
    /// The name of the route in records.
    pub route: String,
    /// The name of the backend.
    pub backend: String,
    /// Its weight.
    pub weight: u32,
    /// The sum of the weights of the route. It is above 0.
    pub weight_sum: u64,
    /// The requests that it got.
    pub requests: u64,
    /// The requests that all backends of the route got.
    pub request_sum: u64,
}

impl ShareCounters {
    pub(crate) fn new(backends: &[WeightedBackend]) -> Self {
        Self(backends.iter().map(|it| (it.clone(), AtomicU64::new(0))).collect())
    }

    /// Counts a request for which a backend was chosen.
    pub(crate) fn count(&self, backend: &str) {
        if let Some((_, requests)) = self.0.iter().find(|(it, _)| it.name == backend) {
            requests.fetch_add(1, Relaxed);
        }
    }

    /// The shares of the backends of a route, in the order of the configuration.
    pub(crate) fn read(&self, route: &str) -> Vec<BackendShare> {
        let weight_sum = self.0.iter().map(|(it, _)| u64::from(it.weight)).sum();
        let share = |(backend, requests): &(WeightedBackend, AtomicU64)| BackendShare {
            route: route.to_owned(),
            backend: backend.name.clone(),
            weight: backend.weight,
            weight_sum,
            requests: requests.load(Relaxed),
            request_sum: 0,
        };
        let mut shares: Vec<BackendShare> = self.0.iter().map(share).collect();
        let request_sum = shares.iter().map(|it| it.requests).sum();
        shares.iter_mut().for_each(|it| it.request_sum = request_sum);
        shares
    }
}

/// Chooses a backend. A subject always gets the same one while the weights stay; a request without a
/// subject gets a random one. A backend with no server left is passed over if another one is well.
pub(crate) fn choose_by_weight<'a>(
    backends: &'a [WeightedBackend],
    subject: Option<&str>,
    is_well: impl Fn(&str) -> bool,
) -> Option<&'a str> {
    let number = match subject {
        Some(subject) => {
            // Its keys are fixed, so the choice is the same after a restart.
            let mut hasher = DefaultHasher::new();
            subject.hash(&mut hasher);
            hasher.finish()
        }
        // A new hasher has random keys.
        None => RandomState::new().hash_one(0_u8),
    };
    let chosen = at(backends.iter(), number)?;
    if is_well(chosen) {
        return Some(chosen);
    }
    let well = backends.iter().filter(|it| is_well(&it.name));
    at(well, number).or(Some(chosen))
}

/// The backend at a number modulo the sum of the weights.
fn at<'a>(
    backends: impl Iterator<Item = &'a WeightedBackend> + Clone,
    number: u64,
) -> Option<&'a str> {
    let sum: u64 = backends.clone().map(|it| u64::from(it.weight)).sum();
    let mut left = number.checked_rem(sum)?;
    let mut backends = backends.map(|it| (it, u64::from(it.weight)));
    let found = backends.find(|(_, weight)| {
        let is_here = left < *weight;
        left = left.saturating_sub(*weight);
        is_here
    });
    found.map(|(backend, _)| &*backend.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backends(weights: [u32; 3]) -> Vec<WeightedBackend> {
        let named = weights.into_iter().zip(["a", "b", "c"]);
        named.map(|(weight, name)| WeightedBackend { name: name.to_owned(), weight }).collect()
    }

    #[test]
    fn each_backend_gets_its_share() {
        let backends = backends([90, 10, 0]);
        let count = |subject: fn(usize) -> Option<String>| {
            let chosen = (0..10_000).filter_map(|number| {
                choose_by_weight(&backends, subject(number).as_deref(), |_| true)
            });
            chosen.fold([0; 3], |mut counts, name| {
                counts[usize::from(name.as_bytes()[0] - b'a')] += 1;
                counts
            })
        };
        // Ten standard deviations.
        for [a, b, c] in [count(|_| None), count(|number| Some(format!("user-{number}")))] {
            assert!((700..1_300).contains(&b) && a + b == 10_000 && c == 0, "{a} {b} {c}");
        }
    }

    #[test]
    fn a_subject_stays() {
        let backends = backends([1, 1, 1]);
        for subject in ["ada", "bob", ""] {
            let first = choose_by_weight(&backends, Some(subject), |_| true);
            for _ in 0..100 {
                assert_eq!(choose_by_weight(&backends, Some(subject), |_| true), first);
            }
        }
    }

    #[test]
    fn a_backend_without_servers_is_passed_over() {
        let all = backends([50, 50, 0]);
        for _ in 0..100 {
            assert_eq!(choose_by_weight(&all, None, |name| name != "a"), Some("b"));
        }
        assert!(choose_by_weight(&all, None, |_| false).is_some());
        // A backend without a weight gets nothing, even then.
        assert_ne!(choose_by_weight(&all, None, |name| name == "c"), Some("c"));
        assert_eq!(choose_by_weight(&backends([0, 0, 0]), None, |_| true), None);
    }
}
