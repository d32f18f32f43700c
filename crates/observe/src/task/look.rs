//! All tasks at one moment.

use std::collections::HashMap;
use std::panic::Location;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::clock::now_ns;
use super::kind::kinds;
use super::name::TaskName;
use super::registry;
use super::shared::{Task, TaskState};
use super::switch::{age_to_compare_ns, note_look};
use super::work::TaskWork;

/// The tasks that have not ended, at one moment.
#[derive(Debug, Clone)]
pub struct Look {
    /// The time since the last look; `None` if that is too long ago to compare with.
    pub span: Option<Duration>,
    /// The tasks, in no order.
    pub tasks: Vec<SeenTask>,
    /// The kinds of which a task has ever begun.
    pub kinds: Vec<SeenKind>,
}

/// A task at one moment.
#[derive(Debug, Clone)]
pub struct SeenTask {
    /// Its number, which no other has.
    pub id: u64,
    /// The name of its kind.
    pub kind: &'static str,
    /// Its name.
    pub name: TaskName,
    /// Where it was spawned.
    pub place: &'static Location<'static>,
    /// What it does.
    pub state: TaskState,
    /// The time since it began.
    pub age: Duration,
    /// The size of its future, or of its function. What these have on the heap is not counted.
    pub memory_bytes: usize,
    /// What it has done.
    pub work: TaskWork,
    /// What it had done at the last look.
    pub work_before: TaskWork,
}

/// The tasks of a kind at one moment.
#[derive(Debug, Clone, Default)]
pub struct SeenKind {
    /// Its name.
    pub kind: &'static str,
    /// Tasks that have not ended.
    pub tasks: u64,
    /// Those of them that run.
    pub running: u64,
    /// Those of them that could run.
    pub scheduled: u64,
    /// Tasks that have begun so far.
    pub begun: u64,
    /// The sum of their memory.
    pub memory_bytes: u64,
    /// What all of its tasks have done, also those that have ended.
    pub work: TaskWork,
    /// What they had done at the last look.
    pub work_before: TaskWork,
}

/// Looks at all tasks. For some seconds after it, their states are exact.
///
/// Rates are since the last look, whoever looked, so a program should look once and show it to all.
pub fn look() -> Look {
    static KINDS_BEFORE: Mutex<Vec<(&str, TaskWork)>> = Mutex::new(Vec::new());
    // Two who look at the same time take turns.
    let mut before = KINDS_BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    let now_ns = now_ns();
    let last_ns = note_look(now_ns);
    let span = age_to_compare_ns(last_ns).map(Duration::from_nanos);
    let mut by_kind: HashMap<&str, SeenKind> = HashMap::new();
    for kind in kinds() {
        let seen = by_kind.entry(kind.name()).or_default();
        seen.kind = kind.name();
        seen.begun += kind.begun();
        seen.work.add(&kind.ended());
    }
    let mut tasks = Vec::new();
    registry::for_each(|task| {
        let seen = see(task, now_ns);
        if let Some(kind) = by_kind.get_mut(seen.kind) {
            count(kind, &seen);
        }
        tasks.push(seen);
    });
    let mut kinds: Vec<SeenKind> = by_kind.into_values().collect();
    for kind in &mut kinds {
        let same = before.iter().find(|(name, _)| *name == kind.kind);
        kind.work_before = same.map(|(_, work)| *work).unwrap_or_default();
        // A task that ends during the look is in neither sum, and must not come as new work the next time.
        kind.work = kind.work.max(&kind.work_before);
    }
    *before = kinds.iter().map(|kind| (kind.kind, kind.work)).collect();
    Look { span, tasks, kinds }
}

fn see(task: &Task, now_ns: u64) -> SeenTask {
    let work = task.work_at(now_ns);
    SeenTask {
        id: task.id,
        kind: task.kind.name(),
        name: task.name(),
        place: task.place,
        state: task.state(),
        age: Duration::from_nanos(now_ns.saturating_sub(task.begun_ns)),
        memory_bytes: task.memory_bytes(),
        work,
        work_before: task.see(work),
    }
}

fn count(kind: &mut SeenKind, task: &SeenTask) {
    kind.tasks += 1;
    match task.state {
        TaskState::Running => kind.running += 1,
        TaskState::Scheduled => kind.scheduled += 1,
        TaskState::Idle => {}
    }
    kind.memory_bytes += task.memory_bytes as u64;
    kind.work.add(&task.work);
}
