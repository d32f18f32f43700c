//! Tasks as a table.

use std::cmp::Ordering;

use weir_inside::TaskSortKey;
use weir_view::{Task, Tasks};

use super::controls::TaskOrder;
use super::table::Content::{Name, Number, Word};
use super::table::{Column, Content, Table};
use crate::display::{bytes, rate, safe, span};

/// A column: its head, the key by which it is sorted, its content and its rank.
type TaskColumn = (&'static str, Option<TaskSortKey>, Content, u8);

const COLUMNS: [TaskColumn; 10] = [
    ("task", None, Name, 0),
    ("name", Some(TaskSortKey::Name), Name, 1),
    ("state", None, Word(9), 4),
    ("busy", Some(TaskSortKey::Busy), Number(6), 3),
    ("scheduled", Some(TaskSortKey::Scheduled), Number(6), 6),
    ("polls/s", Some(TaskSortKey::Polls), Number(7), 7),
    ("bytes/s", Some(TaskSortKey::Bytes), Number(9), 5),
    ("requests/s", Some(TaskSortKey::Requests), Number(7), 8),
    ("memory", Some(TaskSortKey::Memory), Number(7), 10),
    ("age", Some(TaskSortKey::Age), Number(10), 9),
];

/// The columns of a snapshot as text: the first ones.
const TEXT_COLUMNS: usize = 7;

/// The rank of the column that the tasks are sorted by.
const SORTED_RANK: u8 = 2;

/// Formats a row for each task, in this order. The head of its column has an arrow.
pub(super) fn table(tasks: &Tasks, order: TaskOrder) -> Table {
    let mut sorted: Vec<&Task> = tasks.tasks.iter().collect();
    // Equal tasks stay in the order received.
    sorted.sort_by(|one, other| match order.is_ascending() {
        true => compare(one, other, order.key),
        false => compare(other, one, order.key),
    });
    let arrow = if order.is_ascending() { "↑" } else { "↓" };
    let columns = COLUMNS.map(|(head, key, content, rank)| match key == Some(order.key) {
        true => Column::new(&format!("{head} {arrow}"), content, rank.min(SORTED_RANK)),
        false => Column::new(head, content, rank),
    });
    rows(&sorted, columns.into())
}

/// Formats a row for each task as a part of a snapshot, in the order received.
pub(super) fn text_table(tasks: &Tasks) -> Table {
    let columns = COLUMNS.iter().take(TEXT_COLUMNS);
    let columns = columns.map(|(head, _, content, rank)| Column::new(head, *content, *rank));
    rows(&Vec::from_iter(&tasks.tasks), columns.collect())
}

fn rows(tasks: &[&Task], columns: Vec<Column>) -> Table {
    let rows = tasks.iter().map(|task| cells(task).into()).collect();
    Table { columns, rows, marked: None, failing: Vec::new(), rest: None }
}

/// Compares numbers of the last second, as the program itself does.
fn compare(one: &Task, other: &Task, key: TaskSortKey) -> Ordering {
    match key {
        TaskSortKey::Kind => one.kind.cmp(&other.kind),
        TaskSortKey::Name => one.name.cmp(&other.name),
        TaskSortKey::State => other.state.cmp(&one.state),
        _ => number(one, key).total_cmp(&number(other, key)),
    }
}

fn number(task: &Task, key: TaskSortKey) -> f64 {
    let rates = task.rates.unwrap_or_default();
    match key {
        TaskSortKey::Busy => rates.busy,
        TaskSortKey::Scheduled => rates.scheduled,
        TaskSortKey::Polls => rates.polls,
        TaskSortKey::Requests => rates.requests,
        TaskSortKey::Bytes => rates.bytes,
        TaskSortKey::Memory => task.memory_bytes as f64,
        TaskSortKey::Age => task.age,
        TaskSortKey::Kind | TaskSortKey::Name | TaskSortKey::State => 0.0,
    }
}

fn cells(task: &Task) -> [String; COLUMNS.len()] {
    let rates = task.rates;
    let number = |number: Option<f64>| number.map(|it| format!("{it:.1}")).unwrap_or_default();
    [
        safe(&task.kind),
        safe(&task.name),
        task.state.word().to_owned(),
        percent(rates.map(|rates| rates.busy)),
        percent(rates.map(|rates| rates.scheduled)),
        number(rates.map(|rates| rates.polls)),
        rates.map(|rates| rate(rates.bytes)).unwrap_or_default(),
        number(rates.map(|rates| rates.requests)),
        bytes(task.memory_bytes),
        span(task.age as u64),
    ]
}

/// Formats a share of the time.
pub(super) fn percent(share: Option<f64>) -> String {
    share.map(|share| format!("{:.1}%", share * 100.0)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use weir_inside::TaskSortKey;
    use weir_view::{Task, TaskRates, TaskState, TaskWork, Tasks};

    use super::{COLUMNS, TaskOrder, table, text_table};
    use crate::terminal::Painter;

    const PLAIN: Painter = Painter { colour: false };

    fn task(name: &str, number: f64) -> Task {
        let rates = TaskRates {
            busy: number,
            scheduled: number,
            polls: number,
            requests: number,
            bytes: number,
        };
        Task {
            id: 1,
            kind: "upload".to_owned(),
            name: name.to_owned(),
            state: TaskState::Running,
            place: String::new(),
            age: number,
            memory_bytes: number as u64,
            work: TaskWork::default(),
            rates: Some(rates),
        }
    }

    #[test]
    fn hostile_names_are_escaped() {
        let tasks = Tasks { tasks: vec![task("\x1b[2J", 0.5)], ..Tasks::default() };
        let lines = text_table(&tasks).lines(usize::MAX, PLAIN);
        assert!(lines[1].starts_with("  upload  \\x1b[2J  running  50.0%"), "{lines:?}");
        let lines = table(&tasks, TaskOrder::default()).lines(80, PLAIN);
        assert!(lines[1].starts_with("  upload  \\x1b[2J  running     50.0%"), "{lines:?}");
    }

    #[test]
    fn each_column_can_be_sorted_and_is_never_left_out() {
        let tasks = vec![task("b", 2.0), task("c", 3.0), task("a", 1.0)];
        let tasks = Tasks { tasks, ..Tasks::default() };
        for (head, key, ..) in COLUMNS {
            let Some(key) = key else { continue };
            for is_reversed in [false, true] {
                let lines = table(&tasks, TaskOrder { key, is_reversed }).lines(40, PLAIN);
                let is_ascending = (key == TaskSortKey::Name) != is_reversed;
                let arrow = if is_ascending { '↑' } else { '↓' };
                assert!(lines[0].contains(&format!("{head} {arrow}")), "{lines:?}");
                let first = if is_ascending { "  upload  a" } else { "  upload  c" };
                assert!(lines[1].starts_with(first), "{lines:?}");
            }
        }
    }
}
