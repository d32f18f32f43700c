//! The tasks of a look, in the order that was asked for.

use std::cmp::Ordering;

use weir_observe::task::{self, Look, SeenKind, SeenTask};
use weir_view::{Task, TaskKindSums, TaskRates, TaskState, TaskWork};

use super::request::{SortKey, TasksRequest};

/// The first tasks of those that a request finds, and the number of the others.
pub(super) fn tasks(look: &Look, request: &TasksRequest) -> (Vec<Task>, u64) {
    let mut found: Vec<&SeenTask> =
        look.tasks.iter().filter(|task| is_found(task, &request.find)).collect();
    let order = |one: &&SeenTask, other: &&SeenTask| {
        let order = compare(one, other, request.sort, look);
        let order = if request.is_ascending { order } else { order.reverse() };
        // Equal ones keep their places.
        order.then(one.id.cmp(&other.id))
    };
    let count = request.tasks_max.min(found.len());
    if let Some(last) = count.checked_sub(1) {
        // Only those that are shown have to be in order.
        found.select_nth_unstable_by(last, order);
    }
    let left_out = found.split_off(count).len() as u64;
    found.sort_unstable_by(order);
    (found.into_iter().map(|seen| shown(seen, look)).collect(), left_out)
}

/// The kinds, those first that had most of the processors.
pub(super) fn kinds(look: &Look) -> Vec<TaskKindSums> {
    let mut kinds: Vec<&SeenKind> = look.kinds.iter().collect();
    kinds.sort_by(|one, other| {
        other.work.busy.cmp(&one.work.busy).then_with(|| one.kind.cmp(other.kind))
    });
    kinds.into_iter().map(|kind| sums(kind, look)).collect()
}

fn is_found(task: &SeenTask, find: &str) -> bool {
    let has = |text: &str| text.to_lowercase().contains(find);
    find.is_empty()
        || has(task.kind)
        || state(task.state).word().contains(find)
        || has(&task.name.to_string())
        || has(&place(task))
}

fn compare(one: &SeenTask, other: &SeenTask, key: SortKey, look: &Look) -> Ordering {
    // What was done lately; at the first look, what was done at all.
    let number = |seen: &SeenTask, of: fn(&task::TaskWork) -> u128| {
        let before = look.span.map_or(0, |_| of(&seen.work_before));
        of(&seen.work).saturating_sub(before)
    };
    let by = |of: fn(&task::TaskWork) -> u128| number(one, of).cmp(&number(other, of));
    match key {
        SortKey::Kind => one.kind.cmp(other.kind),
        SortKey::Name => one.name.cmp(&other.name),
        // Those that run come first in descending order.
        SortKey::State => state(other.state).cmp(&state(one.state)),
        SortKey::Age => one.age.cmp(&other.age),
        SortKey::Memory => one.memory_bytes.cmp(&other.memory_bytes),
        SortKey::Polls => by(|work| work.polls.into()),
        SortKey::Busy => by(|work| work.busy.as_nanos()),
        SortKey::Scheduled => by(|work| work.scheduled.as_nanos()),
        SortKey::Requests => by(|work| work.requests.into()),
        SortKey::Bytes => by(|work| work.bytes.into()),
    }
}

fn shown(seen: &SeenTask, look: &Look) -> Task {
    Task {
        id: seen.id,
        kind: seen.kind.to_owned(),
        name: seen.name.to_string(),
        state: state(seen.state),
        place: place(seen),
        age: seen.age.as_secs_f64(),
        memory_bytes: seen.memory_bytes as u64,
        work: work(&seen.work),
        rates: rates(&seen.work, &seen.work_before, look),
    }
}

fn sums(seen: &SeenKind, look: &Look) -> TaskKindSums {
    TaskKindSums {
        kind: seen.kind.to_owned(),
        tasks: seen.tasks,
        tasks_running: seen.running,
        tasks_scheduled: seen.scheduled,
        begun: seen.begun,
        memory_bytes: seen.memory_bytes,
        work: work(&seen.work),
        rates: rates(&seen.work, &seen.work_before, look),
    }
}

fn state(state: task::TaskState) -> TaskState {
    match state {
        task::TaskState::Running => TaskState::Running,
        task::TaskState::Scheduled => TaskState::Scheduled,
        task::TaskState::Idle => TaskState::Idle,
    }
}

fn place(task: &SeenTask) -> String {
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

fn rates(now: &task::TaskWork, before: &task::TaskWork, look: &Look) -> Option<TaskRates> {
    let span = look.span?.as_secs_f64();
    Some(work(now).rates_since(&work(before), span))
}
