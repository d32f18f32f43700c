//! What the keys change: the order of the tasks, and which lists are shown.

use weir_inside::TaskSortKey;

/// The columns by which tasks are sorted, in the order in which a key goes through them.
const SORT_KEYS: [TaskSortKey; 8] = [
    TaskSortKey::Busy,
    TaskSortKey::Scheduled,
    TaskSortKey::Polls,
    TaskSortKey::Requests,
    TaskSortKey::Bytes,
    TaskSortKey::Memory,
    TaskSortKey::Age,
    TaskSortKey::Name,
];

/// The order of tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TaskOrder {
    pub(super) key: TaskSortKey,
    /// Whether the order is the opposite of the usual one. Numbers usually begin with the highest,
    /// names with the first.
    pub(super) is_reversed: bool,
}

/// The lists below the stages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Lists {
    #[default]
    Both,
    Tasks,
    Threads,
}

/// A change by a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Control {
    NextSortKey,
    Reverse,
    NextLists,
    Pause,
    Help,
}

/// The state that the keys change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Controls {
    pub(super) order: TaskOrder,
    pub(super) lists: Lists,
    pub(super) is_paused: bool,
    pub(super) shows_help: bool,
}

impl TaskOrder {
    /// Returns whether the lowest number, or the first name, comes first.
    pub(super) fn is_ascending(self) -> bool {
        (self.key == TaskSortKey::Name) != self.is_reversed
    }
}

impl Controls {
    /// Applies a change.
    pub(super) fn apply(&mut self, control: Control) {
        match control {
            Control::NextSortKey => {
                let at = SORT_KEYS.iter().position(|key| *key == self.order.key);
                let next = at.map_or(0, |at| (at + 1) % SORT_KEYS.len());
                self.order = TaskOrder { key: SORT_KEYS[next], is_reversed: false };
            }
            Control::Reverse => self.order.is_reversed = !self.order.is_reversed,
            Control::NextLists => {
                self.lists = match self.lists {
                    Lists::Both => Lists::Tasks,
                    Lists::Tasks => Lists::Threads,
                    Lists::Threads => Lists::Both,
                };
            }
            Control::Pause => self.is_paused = !self.is_paused,
            Control::Help => self.shows_help = !self.shows_help,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Control, Controls, Lists, SORT_KEYS, TaskOrder};

    #[test]
    fn keys_go_through_all_columns_and_lists() {
        let mut controls = Controls::default();
        let mut names = Vec::new();
        for _ in SORT_KEYS {
            names.push((controls.order.key.name(), controls.order.is_ascending()));
            controls.apply(Control::NextSortKey);
        }
        let (name, numbers) = names.split_last().expect("there are keys");
        assert_eq!(*name, ("name", true));
        let expected = ["busy", "scheduled", "polls", "requests", "bytes", "memory", "age"];
        assert_eq!(numbers, expected.map(|name| (name, false)));
        let mut lists = Vec::new();
        for _ in 0..3 {
            controls.apply(Control::NextLists);
            lists.push(controls.lists);
        }
        assert_eq!(lists, [Lists::Tasks, Lists::Threads, Lists::Both]);
        assert_eq!(controls, Controls::default());
    }

    #[test]
    fn an_order_is_reversed_until_another_column_is_chosen() {
        let mut controls = Controls::default();
        controls.apply(Control::Reverse);
        assert!(controls.order.is_ascending());
        controls.apply(Control::NextSortKey);
        assert_eq!(controls.order, TaskOrder { key: SORT_KEYS[1], is_reversed: false });
        for (control, expected) in [
            (Control::Pause, Controls { is_paused: true, ..controls }),
            (Control::Help, Controls { shows_help: true, ..controls }),
        ] {
            let mut changed = controls;
            changed.apply(control);
            assert_eq!(changed, expected);
            changed.apply(control);
            assert_eq!(changed, controls);
        }
    }
}
