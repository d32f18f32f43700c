//! Locks that recover from poisoning.
//!
//! A lock of the standard library is poisoned if a thread panics while it holds it. Every user then
//! decides what to do. Here the decision is made once: the value is used as it is. All values
//! behind these locks are valid between any two statements, and a panic of one thread must not
//! take the others with it.
//!
//! The principal types are [`Lock`], [`ReadWriteLock`] and [`Condition`]. They are the types of the
//! standard library, without an error to handle.
//!
//! ```
//! use weir_sync::Lock;
//!
//! let counts = Lock::new(vec![1]);
//! counts.lock().push(2);
//! assert_eq!(counts.into_inner(), [1, 2]);
//! ```

use std::sync::{
    Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
    TryLockError,
};
use std::time::Duration;

/// A value that one thread uses at a time.
#[derive(Debug, Default)]
pub struct Lock<T: ?Sized>(Mutex<T>);

impl<T> Lock<T> {
    /// Creates an open lock.
    pub const fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    /// Returns the value.
    #[inline]
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Lock<T> {
    /// Waits until no other thread uses the value.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Like [`lock`](Self::lock), but returns `None` instead of waiting.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Returns the value, which nothing else can use meanwhile.
    #[inline]
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A value that one thread changes, or several read, at a time.
#[derive(Debug, Default)]
pub struct ReadWriteLock<T: ?Sized>(RwLock<T>);

impl<T> ReadWriteLock<T> {
    /// Creates an open lock.
    pub const fn new(value: T) -> Self {
        Self(RwLock::new(value))
    }
}

impl<T: ?Sized> ReadWriteLock<T> {
    /// Waits until no other thread changes the value.
    #[inline]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no other thread uses the value.
    #[inline]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets threads wait for a change of a value behind a [`Lock`].
#[derive(Debug, Default)]
pub struct Condition(Condvar);

impl Condition {
    /// Creates a condition for which no thread waits.
    pub const fn new() -> Self {
        Self(Condvar::new())
    }

    /// Opens the lock and waits, until woken or without a reason.
    #[inline]
    pub fn wait<'l, T>(&self, guard: MutexGuard<'l, T>) -> MutexGuard<'l, T> {
        self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the lock and waits as long as this holds for the value.
    #[inline]
    pub fn wait_while<'l, T>(
        &self,
        guard: MutexGuard<'l, T>,
        must_wait: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'l, T> {
        self.0.wait_while(guard, must_wait).unwrap_or_else(PoisonError::into_inner)
    }

    /// Like [`wait`](Self::wait), but at most this long.
    #[inline]
    pub fn wait_timeout<'l, T>(
        &self,
        guard: MutexGuard<'l, T>,
        duration: Duration,
    ) -> MutexGuard<'l, T> {
        self.0.wait_timeout(guard, duration).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Wakes one of the threads that wait.
    #[inline]
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all threads that wait.
    #[inline]
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::{Condition, Lock, ReadWriteLock};

    #[test]
    fn a_panic_leaves_the_value_usable() {
        let (lock, shared) = (Lock::new(1), ReadWriteLock::new(1));
        let panicked = thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let (mut value, mut other) = (lock.lock(), shared.write());
                (*value, *other) = (2, 3);
                panic!("while both are locked");
            });
            thread.join().is_err()
        });
        assert!(panicked);
        assert_eq!((*lock.lock(), *shared.read()), (2, 3));
        assert_eq!(lock.try_lock().map(|value| *value), Some(2));
        *shared.write() += 1;
        assert_eq!((lock.into_inner(), *shared.read()), (2, 4));
    }

    #[test]
    fn a_thread_waits_for_a_change() {
        let (lock, condition) = (Lock::new(0), Condition::new());
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut value = condition.wait_while(lock.lock(), |value| *value == 0);
                *value += 1;
                condition.notify_all();
            });
            *lock.lock() = 1;
            condition.notify_one();
            let mut value = lock.lock();
            while *value != 2 {
                value = condition.wait_timeout(value, Duration::from_secs(60));
            }
        });
        assert_eq!(lock.into_inner(), 2);
    }
}
