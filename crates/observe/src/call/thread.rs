//! The calls of each thread.

use std::cell::RefCell;
use std::mem::take;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_sync::Lock;

use super::table::{Sums, Table};

/// The greatest depth of nested calls. Deeper calls count as part of their innermost recorded
/// caller.
const DEPTH_MAX: usize = 1_024;

/// The tables of the live threads, and the sums of threads that ended during a recording.
static TABLES: Lock<Tables> = Lock::new(Tables { running: Vec::new(), ended: None });

struct Tables {
    running: Vec<SharedTable>,
    ended: Option<NumberedTable>,
}

/// The table of a thread. A recording reads it when it ends.
type SharedTable = Arc<Lock<NumberedTable>>;

/// The calls of one recording, whose number is `generation`.
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
    /// The time in marked functions that it called.
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

/// Records the start of a call. Returns its depth; `None` if the call is not recorded.
pub(super) fn begin(
    name: &'static str,
    generation: u64,
    calls: u64,
    began: Instant,
) -> Option<usize> {
    // The thread-local is gone while the thread ends.
    let begin = CALLS.try_with(|calls_of_thread| {
        let open = &mut calls_of_thread.borrow_mut().open;
        let depth = open.len();
        (depth < DEPTH_MAX).then(|| {
            open.push(OpenCall { name, generation, calls, began, called: Duration::ZERO });
            depth
        })
    });
    begin.ok().flatten()
}

/// Records the end of the call at a depth. Deeper calls that are still open are discarded.
pub(super) fn end(depth: usize, now: Instant) {
    let _ = CALLS.try_with(|calls| calls.borrow_mut().end(depth, now));
}

/// Calls a function with each table of a recording, and frees the sums of ended threads.
pub(super) fn for_each_table(generation: u64, mut visit: impl FnMut(&Table)) {
    let mut tables = TABLES.lock();
    for table in &tables.running {
        let table = table.lock();
        if table.generation == generation {
            visit(&table.table);
        }
    }
    if let Some(ended) = tables.ended.take_if(|it| it.generation <= generation)
        && ended.generation == generation
    {
        visit(&ended.table);
    }
}

impl ThreadCalls {
    fn end(&mut self, depth: usize, now: Instant) {
        // An outer call ended first and discarded this one.
        if self.open.len() <= depth {
            return;
        }
        self.open.truncate(depth + 1);
        let Some(call) = self.open.pop() else { return };
        let time = now.saturating_duration_since(call.began);
        // A call of an earlier recording is not a caller in this one.
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
        let mut table = self.table.get_or_insert_with(register_table).lock();
        if table.generation < call.generation {
            table.generation = call.generation;
            table.table.clear();
        }
        // Otherwise the call belongs to an earlier recording, which has ended.
        if table.generation == call.generation {
            table.table.count((caller, call.name), sums);
        }
    }
}

/// Creates a table, and registers it for recordings.
fn register_table() -> SharedTable {
    let table = SharedTable::default();
    TABLES.lock().running.push(table.clone());
    table
}

impl Drop for ThreadCalls {
    fn drop(&mut self) {
        let Some(table) = self.table.take() else { return };
        let mut tables = TABLES.lock();
        tables.running.retain(|it| !Arc::ptr_eq(it, &table));
        let left = take(&mut *table.lock());
        match &mut tables.ended {
            Some(ended) if ended.generation == left.generation => ended.table.add(&left.table),
            Some(ended) if ended.generation > left.generation => {}
            ended => *ended = Some(left),
        }
    }
}
