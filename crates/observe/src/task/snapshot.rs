//! Snapshots of all tasks.

use std::collections::HashMap;
use std::panic::Location;
use std::time::Duration;

use weir_sync::Lock;

use super::clock::now_ns;
use super::kind::kinds;
use super::name::TaskName;
use super::registry;
use super::shared::{Task, TaskState};
use super::switch::{age_to_compare_ns, record_snapshot};
use super::work::TaskWork;

/// All live tasks at one moment.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The time since the previous snapshot; `None` if that is too old to compare with.
    pub span: Option<Duration>,
    /// The live tasks, in no order.
    pub tasks: Vec<TaskSnapshot>,
    /// The kinds with at least one task so far.
    pub kinds: Vec<KindSnapshot>,
}

/// A task at one moment.
#[derive(Debug, Clone)]
pub struct TaskSnapshot {
    /// Its unique number.
    pub id: u64,
    /// The name of its kind.
    pub kind: &'static str,
    /// Its name.
    pub name: TaskName,
    /// Where it was spawned.
    pub place: &'static Location<'static>,
    /// Its state.
    pub state: TaskState,
    /// The time since it began.
    pub age: Duration,
    /// The size of its future or function. Memory that these own on the heap is not counted.
    pub memory_bytes: usize,
    /// Its work so far.
    pub work: TaskWork,
    /// Its work at the previous snapshot.
    pub work_before: TaskWork,
}

/// The tasks of a kind at one moment.
#[derive(Debug, Clone, Default)]
pub struct KindSnapshot {
    /// The name of the kind.
    pub kind: &'static str,
    /// The number of live tasks.
    pub tasks: u64,
    /// The number of live tasks that are running.
    pub running: u64,
    /// The number of live tasks that wait for a thread.
    pub scheduled: u64,
    /// The number of tasks that have begun so far.
    pub begun: u64,
    /// The memory of the live tasks.
    pub memory_bytes: u64,
    /// The work of all tasks, including those that have ended.
    pub work: TaskWork,
    /// The same at the previous snapshot.
    pub work_before: TaskWork,
}

/// Takes a snapshot of all tasks. For some seconds after it, each poll of rarely polled tasks is
/// timed, which keeps their states exact.
///
/// All callers share one previous snapshot, so a program should take one snapshot for all its
/// viewers.
pub fn snapshot() -> Snapshot {
    static KINDS_BEFORE: Lock<Vec<(&str, TaskWork)>> = Lock::new(Vec::new());
    // The lock serializes concurrent snapshots.
    let mut before = KINDS_BEFORE.lock();
    let now_ns = now_ns();
    let last_ns = record_snapshot(now_ns);
    let span = age_to_compare_ns(last_ns).map(Duration::from_nanos);
    let mut by_kind: HashMap<&str, KindSnapshot> = HashMap::new();
    for kind in kinds() {
        let sums = by_kind.entry(kind.name()).or_default();
        sums.kind = kind.name();
        sums.begun += kind.begun();
        sums.work.add(&kind.ended());
    }
    let mut tasks = Vec::new();
    registry::for_each(|task| {
        let task = snapshot_task(task, now_ns);
        if let Some(kind) = by_kind.get_mut(task.kind) {
            count(kind, &task);
        }
        tasks.push(task);
    });
    let mut kinds: Vec<KindSnapshot> = by_kind.into_values().collect();
    for kind in &mut kinds {
        let same = before.iter().find(|(name, _)| *name == kind.kind);
        kind.work_before = same.map(|(_, work)| *work).unwrap_or_default();
        // A task that ends during the snapshot is in neither sum. Without the maximum, the sum
        // would shrink now, and its work would count as new at the next snapshot.
        kind.work = kind.work.max(&kind.work_before);
    }
    *before = kinds.iter().map(|kind| (kind.kind, kind.work)).collect();
    Snapshot { span, tasks, kinds }
}

fn snapshot_task(task: &Task, now_ns: u64) -> TaskSnapshot {
    let work = task.work_at(now_ns);
    TaskSnapshot {
        id: task.id,
        kind: task.kind.name(),
        name: task.name(),
        place: task.place,
        state: task.state(),
        age: Duration::from_nanos(now_ns.saturating_sub(task.begun_ns)),
        memory_bytes: task.memory_bytes(),
        work,
        work_before: task.replace_last_work(work),
    }
}

fn count(kind: &mut KindSnapshot, task: &TaskSnapshot) {
    kind.tasks += 1;
    match task.state {
        TaskState::Running => kind.running += 1,
        TaskState::Scheduled => kind.scheduled += 1,
        TaskState::Idle => {}
    }
    kind.memory_bytes += task.memory_bytes as u64;
    kind.work.add(&task.work);
}
