//! Threads as a table.

use weir_view::{Tasks, Thread};

use super::table::Content::{Name, Number, Word};
use super::table::{Column, Table};
use super::tasks::percent;
use crate::display::safe;

/// Formats a row for each thread, the busiest first.
pub(super) fn table(tasks: &Tasks) -> Table {
    let mut threads: Vec<&Thread> = tasks.threads.iter().collect();
    let running = |thread: &Thread| thread.rates.and_then(|rates| rates.running);
    threads.sort_by(|one, other| {
        running(other).unwrap_or_default().total_cmp(&running(one).unwrap_or_default())
    });
    let columns = vec![
        Column::new("thread", Name, 0),
        Column::new("state", Word(5), 4),
        Column::new("on a processor", Number(6), 2),
        Column::new("waits for one", Number(6), 3),
        Column::new("busy", Number(6), 1),
        Column::new("waits/s", Number(7), 5),
    ];
    let rows = threads.into_iter().map(cells).collect();
    Table { columns, rows, marked: None, failing: Vec::new(), rest: None }
}

fn cells(thread: &Thread) -> Vec<String> {
    let rates = thread.rates.unwrap_or_default();
    vec![
        safe(&thread.name),
        safe(thread.state.as_deref().unwrap_or_default()),
        percent(rates.running),
        percent(rates.waiting),
        percent(rates.busy),
        rates.switches.map(|it| format!("{it:.0}")).unwrap_or_default(),
    ]
}

#[cfg(test)]
mod tests {
    use weir_view::{Tasks, Thread, ThreadWork};

    use super::table;
    use crate::terminal::Painter;

    #[test]
    fn the_busiest_come_first_and_hostile_names_are_escaped() {
        let thread = |id, name: &str, running| Thread {
            id,
            name: name.to_owned(),
            state: Some("S".to_owned()),
            processor: None,
            busy_source: None,
            work: ThreadWork::default(),
            rates: Some(ThreadWork { running: Some(running), ..ThreadWork::default() }),
        };
        let threads = vec![thread(1, "idle", 0.0), thread(2, "works\n", 0.9)];
        let tasks = Tasks { threads, ..Tasks::default() };
        let lines = table(&tasks).lines(usize::MAX, Painter { colour: false });
        assert!(lines[1].starts_with("  works\\n") && lines[1].contains("90.0%"), "{lines:?}");
        assert!(lines[2].starts_with("  idle"), "{lines:?}");
    }
}
