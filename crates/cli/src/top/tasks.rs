//! Tasks and threads as tables.

use weir_view::{Task, Tasks, Thread};

use super::table::{NAME_COLUMNS_MAX, Table};
use crate::display::{rate, safe};
use crate::terminal::fit_middle;

/// A row for each task, in the order in which they came: the busiest first.
pub(super) fn tasks(tasks: &Tasks) -> Table<7> {
    Table {
        head: ["task", "name", "state", "busy", "scheduled", "polls/s", "bytes/s"],
        left_columns: 3,
        rows: tasks.tasks.iter().map(task).collect(),
        marked: None,
    }
}

/// A row for each thread, the busiest first.
pub(super) fn threads(tasks: &Tasks) -> Table<6> {
    let mut threads: Vec<&Thread> = tasks.threads.iter().collect();
    let running = |thread: &Thread| thread.rates.and_then(|rates| rates.running);
    threads.sort_by(|one, other| {
        running(other).unwrap_or_default().total_cmp(&running(one).unwrap_or_default())
    });
    Table {
        head: ["thread", "state", "on a processor", "waits for one", "busy", "waits/s"],
        left_columns: 2,
        rows: threads.into_iter().map(thread).collect(),
        marked: None,
    }
}

fn task(task: &Task) -> [String; 7] {
    let rates = task.rates;
    let number = |number: Option<f64>| number.map(|it| format!("{it:.1}")).unwrap_or_default();
    [
        fit_middle(&safe(&task.kind), NAME_COLUMNS_MAX),
        fit_middle(&safe(&task.name), NAME_COLUMNS_MAX),
        task.state.word().to_owned(),
        percent(rates.map(|rates| rates.busy)),
        percent(rates.map(|rates| rates.scheduled)),
        number(rates.map(|rates| rates.polls)),
        rates.map(|rates| rate(rates.bytes)).unwrap_or_default(),
    ]
}

fn thread(thread: &Thread) -> [String; 6] {
    let rates = thread.rates.unwrap_or_default();
    [
        safe(&thread.name),
        safe(thread.state.as_deref().unwrap_or_default()),
        percent(rates.running),
        percent(rates.waiting),
        percent(rates.busy),
        rates.switches.map(|it| format!("{it:.0}")).unwrap_or_default(),
    ]
}

fn percent(share: Option<f64>) -> String {
    share.map(|share| format!("{:.1}%", share * 100.0)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use weir_view::{Task, TaskRates, TaskState, TaskWork, Tasks, Thread, ThreadWork};

    use super::{tasks, threads};
    use crate::terminal::Screen;

    #[test]
    fn the_busiest_come_first_and_hostile_names_are_escaped() {
        let task = Task {
            id: 1,
            kind: "upload".to_owned(),
            name: "\x1b[2J".to_owned(),
            state: TaskState::Running,
            place: String::new(),
            age: 1.0,
            memory_bytes: 0,
            work: TaskWork::default(),
            rates: Some(TaskRates { busy: 0.5, polls: 2.0, ..TaskRates::default() }),
        };
        let thread = |id, name: &str, running| Thread {
            id,
            name: name.to_owned(),
            state: Some("S".to_owned()),
            processor: None,
            busy_source: None,
            work: ThreadWork::default(),
            rates: Some(ThreadWork { running: Some(running), ..ThreadWork::default() }),
        };
        let seen = Tasks {
            tasks: vec![task],
            threads: vec![thread(1, "idle", 0.0), thread(2, "works\n", 0.9)],
            ..Tasks::default()
        };
        let screen = Screen { columns: 80, text_columns: usize::MAX, colour: false };
        let lines = tasks(&seen).lines(9, screen);
        assert!(lines[1].starts_with("  upload  \\x1b[2J  running  50.0%"), "{lines:?}");
        let lines = threads(&seen).lines(9, screen);
        assert!(lines[1].starts_with("  works\\n") && lines[1].contains("90.0%"), "{lines:?}");
        assert!(lines[2].starts_with("  idle"), "{lines:?}");
    }
}
