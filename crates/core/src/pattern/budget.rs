//! Bounds the memory of compiled patterns, and ends the work with them.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use super::bounded_regex::SharedRegex;

/// The first size limit that is tried for a compiled pattern, in bytes. It is doubled until the
/// pattern fits, because the engine does not tell the size of what it has compiled.
const PROGRAM_BYTES_MIN: usize = 8 << 10;

/// The program of a pattern is compiled twice: for matching forwards and backwards.
const PROGRAMS: usize = 2;

/// What is charged for the caches of a pattern when it is compiled, in bytes: what those of most
/// patterns take. If they grow beyond it, the rest is charged too, until they are dropped.
pub(super) const CACHES_BYTES: usize = 16 << 10;

/// The limits of the cache of a counted pattern, in bytes. A cache that is full is cleared, so that
/// a smaller one makes matching slower at most.
const CACHE_BYTES_MIN: usize = 64 << 10;
const CACHE_BYTES_MAX: usize = 2 << 20;

/// The memory of the patterns of several budgets.
#[derive(Debug)]
pub struct PatternAccount {
    bytes_max: usize,
    bytes: AtomicUsize,
}

impl PatternAccount {
    /// Makes an account with this limit, in bytes.
    pub fn new(bytes_max: usize) -> Self {
        Self { bytes_max, bytes: AtomicUsize::new(0) }
    }

    /// Returns the estimated memory of the patterns, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns whether patterns may take this much more, in bytes.
    pub fn has_room(&self, bytes: usize) -> bool {
        self.bytes().saturating_add(bytes) <= self.bytes_max
    }

    fn charge(&self, bytes: usize) -> bool {
        let add = |taken: usize| taken.checked_add(bytes).filter(|sum| *sum <= self.bytes_max);
        self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
    }

    fn refund(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Why a budget refused a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternRefusal {
    /// An account has no room for a pattern.
    NoRoom {
        /// What the patterns of the budget would have taken with it, in bytes. Those after it were
        /// not compiled.
        bytes_needed: usize,
        /// What the patterns of other budgets took, in bytes.
        bytes_of_others: usize,
        /// The limit of the account, in bytes.
        bytes_max: usize,
    },
    /// The work was stopped.
    Stopped,
}

/// The memory that the patterns of one piece of work may take, and the flag that stops the work. By
/// default there is no limit.
///
/// A pattern is counted when it is compiled: its size, or an estimate if that is more, and a constant
/// for its caches, which are counted as they grow. What was counted is returned when the last copy of
/// the budget is dropped, so what uses the patterns has to keep one.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::AtomicBool;
/// use weir_core::{BoundedRegex, PatternAccount, PatternBudget, PatternRefusal, RegexOptions};
///
/// let account = Arc::new(PatternAccount::new(100_000));
/// let budget = PatternBudget::new(vec![account.clone()], Arc::new(AtomicBool::new(false)));
/// let compile = |text: &str| BoundedRegex::new(text, RegexOptions::default(), &budget);
/// assert!(compile("^/a")?.is_match(b"/a/b"));
/// assert!(compile("(?:a{99}){99}").is_err());
/// let refusal = budget.refusal();
/// assert!(matches!(refusal, Some(PatternRefusal::NoRoom { bytes_max: 100_000, .. })));
///
/// drop(budget);
/// assert_eq!(account.bytes(), 0);
/// # Ok::<(), regex::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct PatternBudget(Option<Arc<Limits>>);

#[derive(Debug)]
struct Limits {
    accounts: Vec<Arc<PatternAccount>>,
    /// What was charged to each of the accounts, in bytes.
    bytes: AtomicUsize,
    stop: Arc<AtomicBool>,
    /// Why there was no room for a pattern. Nothing is compiled after it.
    full: OnceLock<PatternRefusal>,
    /// The patterns that have caches.
    patterns: Mutex<Vec<Weak<SharedRegex>>>,
}

impl PatternBudget {
    /// Makes a budget that charges each of the accounts, and compiles nothing once `stop` is true.
    pub fn new(accounts: Vec<Arc<PatternAccount>>, stop: Arc<AtomicBool>) -> Self {
        let (bytes, full, patterns) = (AtomicUsize::new(0), OnceLock::new(), Mutex::default());
        Self(Some(Arc::new(Limits { accounts, bytes, stop, full, patterns })))
    }

    /// Returns whether the work was stopped.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.0.as_ref().is_some_and(|limits| limits.stop.load(Ordering::Relaxed))
    }

    /// Returns why a pattern is refused: there was no room for one, or the work is stopped. Work
    /// that was stopped may begin again.
    pub fn refusal(&self) -> Option<PatternRefusal> {
        let full = self.0.as_ref()?.full.get().copied();
        full.or_else(|| self.is_stopped().then_some(PatternRefusal::Stopped))
    }

    /// Drops the caches of the patterns, which nobody needs between two answers.
    pub fn drop_caches(&self) {
        let Some(limits) = &self.0 else { return };
        let patterns = limits.patterns.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = patterns.iter().filter_map(Weak::upgrade);
        kept.for_each(|pattern| pattern.caches.clear());
    }

    /// Remembers a pattern, of which it may have to drop the caches.
    pub(super) fn register(&self, pattern: &Arc<SharedRegex>) {
        if let Some(limits) = &self.0 {
            let mut patterns = limits.patterns.lock().unwrap_or_else(PoisonError::into_inner);
            // A dropped pattern keeps its allocation until its entry goes.
            if patterns.len() == patterns.capacity() {
                patterns.retain(|known| known.strong_count() > 0);
            }
            patterns.push(Arc::downgrade(pattern));
        }
    }

    /// Reserves memory for caches, in bytes. Returns `None` if there is no room.
    pub fn reserve(&self, bytes: usize) -> Option<CacheReservation> {
        let mut reservation = CacheReservation::default();
        reservation.grow(bytes, self).then_some(reservation)
    }

    /// Compiles a pattern with the smallest size limit with which `build` succeeds, and charges it.
    /// It consists of some separately compiled parts, and its text has a length in bytes. `build`
    /// also returns its size in bytes, or 0 if it is not known. `refused` makes the error of a
    /// pattern that is refused, given the limit.
    ///
    /// # Errors
    /// Those of `build`, or `refused`.
    pub fn fit<T, E>(
        &self,
        (parts, text_bytes): (usize, usize),
        program_bytes_max: usize,
        is_too_large: impl Fn(&E) -> bool,
        refused: impl Fn(usize) -> E,
        mut build: impl FnMut(PatternSize) -> Result<(usize, T), E>,
    ) -> Result<T, E> {
        let Some(limits) = &self.0 else {
            let size = PatternSize { program_bytes: program_bytes_max, cache_bytes: None };
            return build(size).map(|(_, built)| built);
        };
        let mut program_bytes = PROGRAM_BYTES_MIN.max(16 * text_bytes);
        loop {
            program_bytes = program_bytes.min(program_bytes_max);
            let estimate = PROGRAMS * program_bytes;
            let charge = |bytes| limits.charge(bytes).map_err(|()| refused(program_bytes));
            let charged = charge(parts.saturating_mul(estimate + CACHES_BYTES))?;
            let cache_bytes = (4 * program_bytes).clamp(CACHE_BYTES_MIN, CACHE_BYTES_MAX);
            match build(PatternSize { program_bytes, cache_bytes: Some(cache_bytes) }) {
                Ok((bytes, built)) => {
                    charge(bytes.saturating_sub(estimate))?.keep();
                    charged.keep();
                    return Ok(built);
                }
                Err(error) if is_too_large(&error) && program_bytes < program_bytes_max => {
                    program_bytes *= 2;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// The limits with which a pattern is compiled.
#[derive(Debug, Clone, Copy)]
pub struct PatternSize {
    /// The largest size of its program, in bytes.
    pub program_bytes: usize,
    /// The largest size of each of its caches, in bytes; `None` for that of the engine.
    pub cache_bytes: Option<usize>,
}

/// Memory of caches that is charged until this is dropped.
#[derive(Debug, Default)]
pub struct CacheReservation {
    limits: Option<Arc<Limits>>,
    bytes: usize,
}

impl CacheReservation {
    /// Returns the memory that was charged, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Charges the rest of this memory to a budget. Returns whether there was room.
    pub(super) fn grow(&mut self, bytes: usize, budget: &PatternBudget) -> bool {
        if let Some(limits) = &budget.0 {
            if !limits.has_charged(bytes.saturating_sub(self.bytes)) {
                return false;
            }
            self.limits.get_or_insert_with(|| limits.clone());
        }
        self.bytes = bytes;
        true
    }
}

impl Drop for CacheReservation {
    fn drop(&mut self) {
        let accounts = self.limits.iter().flat_map(|limits| &limits.accounts);
        accounts.for_each(|account| account.refund(self.bytes));
    }
}

/// A charge that is returned unless it is kept.
struct Charge<'a> {
    limits: &'a Limits,
    bytes: usize,
}

impl Charge<'_> {
    fn keep(mut self) {
        self.limits.bytes.fetch_add(self.bytes, Ordering::Relaxed);
        self.bytes = 0;
    }
}

impl Drop for Charge<'_> {
    fn drop(&mut self) {
        self.limits.accounts.iter().for_each(|account| account.refund(self.bytes));
    }
}

impl Limits {
    /// Charges all accounts. Fails if the work is stopped, or if one lacks the room, which is noted.
    fn charge(&self, bytes: usize) -> Result<Charge<'_>, ()> {
        if self.stop.load(Ordering::Relaxed) || self.full.get().is_some() {
            return Err(());
        }
        if let Some(account) = self.account_without_room(bytes) {
            let own = self.bytes.load(Ordering::Relaxed);
            self.full.get_or_init(|| PatternRefusal::NoRoom {
                bytes_needed: own.saturating_add(bytes),
                bytes_of_others: account.bytes().saturating_sub(own),
                bytes_max: account.bytes_max,
            });
            return Err(());
        }
        Ok(Charge { limits: self, bytes })
    }

    /// Charges all accounts, or none if one lacks the room, which is returned.
    fn account_without_room(&self, bytes: usize) -> Option<&PatternAccount> {
        let number = self.accounts.iter().position(|account| !account.charge(bytes))?;
        self.accounts[..number].iter().for_each(|charged| charged.refund(bytes));
        Some(&self.accounts[number])
    }

    /// Charges all accounts, or none. Returns whether there was room.
    fn has_charged(&self, bytes: usize) -> bool {
        self.account_without_room(bytes).is_none()
    }
}

impl Drop for Limits {
    fn drop(&mut self) {
        let bytes = self.bytes.load(Ordering::Relaxed);
        self.accounts.iter().for_each(|account| account.refund(bytes));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::super::bounded_regex::{BoundedRegex, RegexOptions};
    use super::{PatternAccount, PatternBudget, PatternRefusal};

    fn compile(budget: &PatternBudget, text: &str) -> bool {
        let options = RegexOptions { program_bytes_max: 1 << 20, ..RegexOptions::default() };
        BoundedRegex::new(text, options, budget).is_ok()
    }

    #[test]
    fn each_account_counts_what_is_compiled_until_it_is_dropped() {
        let (small, large) = (1 << 20, 1 << 30);
        let accounts = [large, small].map(|bytes_max| Arc::new(PatternAccount::new(bytes_max)));
        let budget = PatternBudget::new(accounts.to_vec(), Arc::default());
        let mut compiled = 0;
        while compile(&budget, &format!("(?:a.*){{9}}{compiled}")) {
            compiled += 1;
        }
        assert!((8..60).contains(&compiled), "{compiled}");
        let refusal = budget.refusal();
        let Some(PatternRefusal::NoRoom { bytes_needed, bytes_of_others, bytes_max }) = refusal
        else {
            panic!("{refusal:?}");
        };
        assert_eq!((bytes_of_others, bytes_max), (0, small));
        assert!(bytes_needed > small && !accounts[1].has_room(bytes_needed));
        assert!(accounts[0].has_room(bytes_needed));
        let taken = accounts.each_ref().map(|account| account.bytes());
        assert!(taken[0] == taken[1] && taken[0] <= small && taken[0] > small / 2, "{taken:?}");
        assert!(!compile(&budget, "a"), "nothing is compiled after a refusal");
        let copy = budget.clone();
        drop(budget);
        assert_eq!(accounts[0].bytes(), taken[0]);
        drop(copy);
        assert_eq!(accounts.map(|account| account.bytes()), [0, 0]);
    }

    #[test]
    fn a_wrong_or_large_pattern_takes_nothing() {
        let account = Arc::new(PatternAccount::new(usize::MAX));
        let budget = PatternBudget::new(vec![account.clone()], Arc::default());
        for text in ["(", r"(\w{1000}){1000}"] {
            assert!(!compile(&budget, text) && account.bytes() == 0, "{text}");
        }
        assert_eq!(budget.refusal(), None);
        assert!(compile(&budget, "(?:a{99}){9}") && account.bytes() > 2 * (8 << 10));
    }

    #[test]
    fn a_budget_forgets_dropped_patterns() {
        let budget = PatternBudget::new(Vec::new(), Arc::default());
        let kept = BoundedRegex::new("a", RegexOptions::default(), &budget);
        assert!((0..1000).all(|_| compile(&budget, "b")));
        let limits = budget.0.as_ref().expect("it has limits");
        let patterns = limits.patterns.lock().expect("no thread has panicked");
        assert!(patterns.len() < 10, "{}", patterns.len());
        assert_eq!(patterns.iter().filter(|it| it.strong_count() > 0).count(), 1);
        drop(kept);
    }

    #[test]
    fn stopped_work_compiles_nothing() {
        let stop = Arc::new(AtomicBool::new(false));
        let budget = PatternBudget::new(Vec::new(), stop.clone());
        assert!(compile(&budget, "a") && !budget.is_stopped());
        stop.store(true, Ordering::Relaxed);
        assert!(!compile(&budget, "a") && budget.is_stopped());
        assert_eq!(budget.refusal(), Some(PatternRefusal::Stopped));
        stop.store(false, Ordering::Relaxed);
        assert!(compile(&budget, "b") && budget.refusal().is_none(), "it has begun again");
        assert!(!PatternBudget::default().is_stopped());
    }
}
