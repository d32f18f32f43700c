//! The tasks of a snapshot, filtered and sorted as requested.

use std::cmp::Ordering;

use weir_observe::task::{self, KindSnapshot, Snapshot, TaskSnapshot};
use weir_view::{Task, TaskKindSums, TaskRates, TaskState, TaskWork};

use super::request::{TaskSortKey, TasksRequest};

/// Returns the first matching tasks up to the request's limit, and the number of further matches.
pub(super) fn tasks(snapshot: &Snapshot, request: &TasksRequest) -> (Vec<Task>, u64) {
    let mut found: Vec<&TaskSnapshot> =
        snapshot.tasks.iter().filter(|task| is_found(task, &request.find)).collect();
    let order = |one: &&TaskSnapshot, other: &&TaskSnapshot| {
        let order = compare(one, other, request.sort, snapshot);
        let order = if request.is_ascending { order } else { order.reverse() };
        // Orders equal tasks by id, so that their order is stable.
        order.then(one.id.cmp(&other.id))
    };
    let count = request.tasks_max.min(found.len());
    if let Some(last) = count.checked_sub(1) {
        // Only the returned tasks have to be sorted.
        found.select_nth_unstable_by(last, order);
    }
    let left_out = found.split_off(count).len() as u64;
    found.sort_unstable_by(order);
    (found.into_iter().map(|seen| shown(seen, snapshot)).collect(), left_out)
}

/// Returns the kinds, ordered by busy time, longest first.
pub(super) fn kinds(snapshot: &Snapshot) -> Vec<TaskKindSums> {
    let mut kinds: Vec<&KindSnapshot> = snapshot.kinds.iter().collect();
    kinds.sort_by(|one, other| {
        other.work.busy.cmp(&one.work.busy).then_with(|| one.kind.cmp(other.kind))
    });
    kinds.into_iter().map(|kind| sums(kind, snapshot)).collect()
}

fn is_found(task: &TaskSnapshot, find: &str) -> bool {
    let has = |text: &str| text.to_lowercase().contains(find);
    find.is_empty()
        || has(task.kind)
        || state(task.state).word().contains(find)
        || has(&task.name.to_string())
        || has(&place(task))
}

fn compare(
    one: &TaskSnapshot,
    other: &TaskSnapshot,
    key: TaskSortKey,
    snapshot: &Snapshot,
) -> Ordering {
    // The work since the previous snapshot; if there is none, the work so far.
    let number = |seen: &TaskSnapshot, of: fn(&task::TaskWork) -> u128| {
        let before = snapshot.span.map_or(0, |_| of(&seen.work_before));
        of(&seen.work).saturating_sub(before)
    };
    let by = |of: fn(&task::TaskWork) -> u128| number(one, of).cmp(&number(other, of));
    match key {
        TaskSortKey::Kind => one.kind.cmp(other.kind),
        TaskSortKey::Name => one.name.cmp(&other.name),
        // Running tasks come first in descending order.
        TaskSortKey::State => state(other.state).cmp(&state(one.state)),
        TaskSortKey::Age => one.age.cmp(&other.age),
        TaskSortKey::Memory => one.memory_bytes.cmp(&other.memory_bytes),
        TaskSortKey::Polls => by(|work| work.polls.into()),
        TaskSortKey::Busy => by(|work| work.busy.as_nanos()),
        TaskSortKey::Scheduled => by(|work| work.scheduled.as_nanos()),
        TaskSortKey::Requests => by(|work| work.requests.into()),
        TaskSortKey::Bytes => by(|work| work.bytes.into()),
    }
}

fn shown(seen: &TaskSnapshot, snapshot: &Snapshot) -> Task {
    Task {
        id: seen.id,
        kind: seen.kind.to_owned(),
        name: seen.name.to_string(),
        state: state(seen.state),
        place: place(seen),
        age: seen.age.as_secs_f64(),
        memory_bytes: seen.memory_bytes as u64,
        work: work(&seen.work),
        rates: rates(&seen.work, &seen.work_before, snapshot),
    }
}

fn sums(seen: &KindSnapshot, snapshot: &Snapshot) -> TaskKindSums {
    TaskKindSums {
        kind: seen.kind.to_owned(),
        tasks: seen.tasks,
        tasks_running: seen.running,
        tasks_scheduled: seen.scheduled,
        begun: seen.begun,
        memory_bytes: seen.memory_bytes,
        work: work(&seen.work),
        rates: rates(&seen.work, &seen.work_before, snapshot),
    }
}

fn state(state: task::TaskState) -> TaskState {
    match state {
        task::TaskState::Running => TaskState::Running,
        task::TaskState::Scheduled => TaskState::Scheduled,
        task::TaskState::Idle => TaskState::Idle,
    }
}

fn place(task: &TaskSnapshot) -> String {
    format!("{}:{}", task.place.file(), task.place.line())
}

fn work(work: &task::TaskWork) -> TaskWork {
    TaskWork {
        polls: work.polls,
        busy: work.busy.as_secs_f64(),
        scheduled: work.scheduled.as_secs_f64(),
        requests: work.requests,
        bytes: work.bytes,
    }
}

fn rates(now: &task::TaskWork, before: &task::TaskWork, snapshot: &Snapshot) -> Option<TaskRates> {
    let span = snapshot.span?.as_secs_f64();
    Some(work(now).rates_since(&work(before), span))
}
