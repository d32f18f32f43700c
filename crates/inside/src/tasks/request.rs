//! The parameters of a request for tasks.

use weir_server::query_parameters;

use crate::parameters::ParameterError;

/// The default limit of listed tasks.
const TASKS: usize = 200;

/// The highest limit of listed tasks. A longer page would be slow, and too long to read.
const TASKS_MAX: usize = 1_000;

/// A request for tasks: which ones, how many, and in which order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TasksRequest {
    pub(super) sort: TaskSortKey,
    pub(super) is_ascending: bool,
    /// A part of the kind, name, state or place of the tasks to list, in lower case.
    pub(super) find: String,
    pub(super) tasks_max: usize,
}

/// The column by which tasks are sorted. A number that changes is compared by its last second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TaskSortKey {
    /// The kind.
    Kind,
    /// The name.
    Name,
    /// The state.
    State,
    /// The time since the task began.
    Age,
    /// The size of its future.
    Memory,
    /// How often it ran.
    Polls,
    /// How long it ran.
    #[default]
    Busy,
    /// How long it waited for a thread.
    Scheduled,
    /// The requests that it answered.
    Requests,
    /// The bytes that it received and sent.
    Bytes,
}

impl TaskSortKey {
    /// Returns its name as a value of the parameter `sort`.
    pub fn name(self) -> &'static str {
        SORT_KEYS.iter().find(|(_, key)| *key == self).map_or("", |(name, _)| name)
    }
}

const SORT_KEYS: [(&str, TaskSortKey); 10] = [
    ("busy", TaskSortKey::Busy),
    ("scheduled", TaskSortKey::Scheduled),
    ("polls", TaskSortKey::Polls),
    ("requests", TaskSortKey::Requests),
    ("bytes", TaskSortKey::Bytes),
    ("memory", TaskSortKey::Memory),
    ("age", TaskSortKey::Age),
    ("kind", TaskSortKey::Kind),
    ("name", TaskSortKey::Name),
    ("state", TaskSortKey::State),
];

impl Default for TasksRequest {
    fn default() -> Self {
        let find = String::new();
        Self { sort: TaskSortKey::Busy, is_ascending: false, find, tasks_max: TASKS }
    }
}

impl TasksRequest {
    /// Parses a path with its query; `None` if the path is not `/tasks.json`.
    ///
    /// # Errors
    /// If a parameter is invalid.
    pub(crate) fn read(path: &str, query: Option<&str>) -> Option<Result<Self, ParameterError>> {
        (path == "/tasks.json").then(|| Self::with_parameters(query))
    }

    fn with_parameters(query: Option<&str>) -> Result<Self, ParameterError> {
        let mut request = Self::default();
        for (name, value) in query_parameters(query) {
            match name.as_str() {
                "sort" => request.sort = sort_key(&value)?,
                "order" => {
                    request.is_ascending = match value.as_str() {
                        "ascending" => true,
                        "descending" => false,
                        other => {
                            let expected = "ascending or descending";
                            return Err(ParameterError::value("order", other, expected));
                        }
                    };
                }
                "find" => request.find = value.to_lowercase(),
                "limit" => {
                    let valid = value.parse().ok().filter(|limit| *limit <= TASKS_MAX);
                    request.tasks_max = valid.ok_or_else(|| {
                        let expected = format!("a number from 0 to {TASKS_MAX}");
                        ParameterError::value("limit", &value, expected)
                    })?;
                }
                other => {
                    return Err(ParameterError::unknown(other, "sort, order, find or limit"));
                }
            }
        }
        Ok(request)
    }
}

fn sort_key(name: &str) -> Result<TaskSortKey, ParameterError> {
    let known = SORT_KEYS.iter().find(|(known, _)| *known == name);
    known.map(|(_, key)| *key).ok_or_else(|| {
        let names: Vec<&str> = SORT_KEYS.iter().map(|(known, _)| *known).collect();
        ParameterError::value("sort", name, format!("one of {}", names.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::{TaskSortKey, TasksRequest};

    #[test]
    fn parameters_are_checked() {
        let read = |query| TasksRequest::read("/tasks.json", query).expect("the path");
        assert_eq!(read(None), Ok(TasksRequest::default()));
        let asked = read(Some("sort=name&order=ascending&find=A%20b&limit=3"));
        let (sort, is_ascending, find) = (TaskSortKey::Name, true, "a b".to_owned());
        assert_eq!(asked, Ok(TasksRequest { sort, is_ascending, find, tasks_max: 3 }));
        for (query, reason) in [
            ("sort=x", "sort=x: write one of busy, scheduled,"),
            ("order=x", "order=x: write"),
            ("limit=1001", "limit=1001: write a number from 0 to 1000"),
            ("limit=-1", "limit=-1: write"),
            ("top=3", "unknown parameter `top`"),
        ] {
            let refused = read(Some(query)).expect_err(query).to_string();
            assert!(refused.starts_with(reason), "{refused}");
        }
        assert_eq!(TasksRequest::read("/tasks", None), None);
    }
}
