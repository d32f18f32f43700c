//! The calls of one thread.

use std::cell::RefCell;
use std::mem::take;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::table::{Sums, Table};

/// Calls within calls that are recorded. What is deeper counts for the deepest of them.
const DEPTH_MAX: usize = 1_024;

/// The tables of the threads that run, and what threads have left that ended during a recording.
static TABLES: Mutex<Tables> = Mutex::new(Tables { running: Vec::new(), ended: None });

struct Tables {
    running: Vec<SharedTable>,
    ended: Option<NumberedTable>,
}

/// A thread's table, which a recording reads when it ends.
type SharedTable = Arc<Mutex<NumberedTable>>;

/// The calls of the recording with a number.
#[derive(Debug, Default)]
struct NumberedTable {
    generation: u64,
    table: Table,
}

/// A call that has not ended.
#[derive(Debug)]
struct OpenCall {
    name: &'static str,
    generation: u64,
    calls: u64,
    began: Instant,
    /// The time of the marked functions that it has called.
    called: Duration,
}

#[derive(Default)]
struct ThreadCalls {
    open: Vec<OpenCall>,
    table: Option<SharedTable>,
}

thread_local! {
    static CALLS: RefCell<ThreadCalls> = RefCell::default();
}

/// Notes that a call begins. Returns its depth, which is none if it is not recorded.
pub(super) fn begin(
    name: &'static str,
    generation: u64,
    calls: u64,
    began: Instant,
) -> Option<usize> {
    // A thread that ends has no calls any more.
    let begin = CALLS.try_with(|kept| {
        let open = &mut kept.borrow_mut().open;
        // Calls of a recording before this one are no callers in it.
        let depth = open.len();
        (depth < DEPTH_MAX).then(|| {
            open.push(OpenCall { name, generation, calls, began, called: Duration::ZERO });
            depth
        })
    });
    begin.ok().flatten()
}

/// Notes that the call at a depth has ended, and what it called without ending it.
pub(super) fn end(depth: usize, now: Instant) {
    let _ = CALLS.try_with(|kept| kept.borrow_mut().end(depth, now));
}

/// Hands over the tables of a recording.
pub(super) fn each_table(generation: u64, mut take_in: impl FnMut(&Table)) {
    let mut tables = lock(&TABLES);
    for table in &tables.running {
        let table = lock(table);
        if table.generation == generation {
            take_in(&table.table);
        }
    }
    if let Some(ended) = tables.ended.take_if(|it| it.generation <= generation)
        && ended.generation == generation
    {
        take_in(&ended.table);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ThreadCalls {
    fn end(&mut self, depth: usize, now: Instant) {
        // It has ended with a call that it was in.
        if self.open.len() <= depth {
            return;
        }
        self.open.truncate(depth + 1);
        let Some(call) = self.open.pop() else { return };
        let time = now.saturating_duration_since(call.began);
        let caller = self.open.last_mut().filter(|it| it.generation == call.generation);
        let caller = caller.map(|caller| {
            caller.called += time;
            caller.name
        });
        let is_within_itself =
            self.open.iter().any(|it| it.name == call.name && it.generation == call.generation);
        let accumulated = if is_within_itself { Duration::ZERO } else { time };
        let own = time.saturating_sub(call.called);
        let sums = Sums { calls: call.calls, own, accumulated };
        let mut table = lock(self.table.get_or_insert_with(registered));
        if table.generation < call.generation {
            table.generation = call.generation;
            table.table.clear();
        }
        // A recording has ended before the call has.
        if table.generation == call.generation {
            table.table.count((caller, call.name), sums);
        }
    }
}

/// A table that recordings find.
fn registered() -> SharedTable {
    let table = SharedTable::default();
    lock(&TABLES).running.push(table.clone());
    table
}

impl Drop for ThreadCalls {
    fn drop(&mut self) {
        let Some(table) = self.table.take() else { return };
        let mut tables = lock(&TABLES);
        tables.running.retain(|it| !Arc::ptr_eq(it, &table));
        let left = take(&mut *lock(&table));
        match &mut tables.ended {
            Some(ended) if ended.generation == left.generation => ended.table.add(&left.table),
            Some(ended) if ended.generation > left.generation => {}
            ended => *ended = Some(left),
        }
    }
}
