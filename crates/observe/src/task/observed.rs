//! Futures that are observed as tasks.

use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use pin_project_lite::pin_project;

use super::current::CurrentTaskGuard;
use super::kind::TaskKind;
use super::name::TaskName;
use super::registry::{self, TaskIndex};
use super::sampler::Sampler;
use super::shared::Task;
use super::switch::{end_watch_if_expired, is_enabled, is_watched};

pin_project! {
    /// A future that is observed as a task; see [`TaskKind::observe`].
    #[derive(Debug)]
    #[must_use = "a future does nothing unless it is spawned or awaited"]
    pub struct ObservedFuture<F> {
        #[pin]
        future: F,
        // `None` if tasks are not observed.
        observer: Option<Observer>,
    }
}

impl TaskKind {
    /// Wraps a future, so that it is listed as a task of this kind if observation is
    /// [enabled](super::enable). Call it where the future is spawned: the caller's location is
    /// listed as the place of the spawn.
    #[track_caller]
    pub fn observe<F: Future>(
        &'static self,
        name: impl Into<TaskName>,
        future: F,
    ) -> ObservedFuture<F> {
        let (caller, memory_bytes) = (Location::caller(), size_of::<F>());
        let observer = is_enabled().then(|| Observer::new(self, name.into(), caller, memory_bytes));
        ObservedFuture { future, observer }
    }

    /// Like [`Self::observe`], for a boxed future: its memory on the heap is counted.
    #[track_caller]
    pub fn observe_boxed<F: Future + ?Sized>(
        &'static self,
        name: impl Into<TaskName>,
        future: Pin<Box<F>>,
    ) -> ObservedFuture<Pin<Box<F>>> {
        let observed = self.observe(name, future);
        if let Some(Observer { task: Some(task), .. }) = &observed.observer {
            task.set_memory_bytes(size_of_val(&*observed.future));
        }
        observed
    }
}

impl<F: Future> Future for ObservedFuture<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        match this.observer {
            None => this.future.poll(context),
            Some(observer) => observer.poll(context, |context| this.future.poll(context)),
        }
    }
}

/// Measures one task. Dropping it removes the task from the registry.
#[derive(Debug)]
pub(super) struct Observer {
    /// `None` only while the task runs.
    task: Option<Arc<Task>>,
    index: TaskIndex,
    sampler: Sampler,
    /// How many wakes the timed wake represents.
    wake_weight: u64,
    /// A waker that records the time of a wake before it wakes the task.
    waker: Option<Waker>,
}

impl Observer {
    pub(super) fn new(
        kind: &'static TaskKind,
        name: TaskName,
        caller: &'static Location<'static>,
        memory_bytes: usize,
    ) -> Self {
        kind.begin();
        let task = Arc::new(Task::new(kind, name, caller, memory_bytes));
        if !kind.is_short {
            task.time_first_wait();
        }
        let sampler = Sampler::new(task.id, kind.is_short);
        let index = registry::add(task.clone());
        Self { task: Some(task), index, sampler, wake_weight: 1, waker: None }
    }

    /// Polls the task, and measures the poll if the sampler chooses it.
    fn poll<T>(
        &mut self,
        context: &mut Context<'_>,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let is_watched = is_watched();
        let weight = self.sampler.weight(is_watched);
        let begun_ns = self.begin(weight);
        // Wakes are sampled like polls, because our own waker costs as much as reading the clock.
        let times_wake = weight > 0 && self.prepare_waker(context.waker());
        let result = {
            let _guard = CurrentTaskGuard::new(&mut self.task);
            match self.waker.as_ref().filter(|_| times_wake) {
                Some(waker) => poll(&mut Context::from_waker(waker)),
                None => poll(context),
            }
        };
        self.end(begun_ns, weight);
        result
    }

    /// Calls a function as the only poll of the task.
    pub(super) fn call<T>(mut self, function: impl FnOnce() -> T) -> T {
        let begun_ns = self.begin(1);
        let returned = {
            let _guard = CurrentTaskGuard::new(&mut self.task);
            function()
        };
        self.end(begun_ns, 1);
        returned
    }

    fn begin(&mut self, weight: u64) -> Option<u64> {
        let task = self.task.as_ref()?;
        let now_ns = task.begin_poll(weight > 0, self.wake_weight)?;
        if weight == 0 {
            return None;
        }
        self.wake_weight = weight;
        self.sampler.record_sample(now_ns);
        end_watch_if_expired(now_ns);
        Some(now_ns)
    }

    fn end(&self, begun_ns: Option<u64>, weight: u64) {
        let Some(task) = &self.task else { return };
        if let Some(begun_ns) = begun_ns {
            task.end_timed_poll(begun_ns, weight);
        }
        task.end_poll();
    }

    /// Creates the timing waker on first use. Returns whether wakes can be timed: they cannot if
    /// `waker` differs from the one of the first poll, because then the future is polled within
    /// another task.
    fn prepare_waker(&mut self, waker: &Waker) -> bool {
        let Some(task) = &self.task else { return false };
        if !task.is_woken_by(waker) {
            return false;
        }
        self.waker.get_or_insert_with(|| Waker::from(task.clone()));
        true
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        registry::remove(self.index);
        if let Some(task) = &self.task {
            task.kind.end(&task.work);
        }
    }
}
