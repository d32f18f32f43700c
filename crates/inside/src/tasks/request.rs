//! What somebody who looks at tasks asks for.

use weir_server::query_parameters;

/// Tasks that are listed if the request does not say how many.
const TASKS: usize = 200;

/// Tasks that are listed at most. A page with more would be slow, and nobody reads it to the end.
const TASKS_MAX: usize = 1_000;

/// Which tasks are asked for, and in which order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TasksRequest {
    pub(super) sort: SortKey,
    pub(super) is_ascending: bool,
    /// A part of the kind, the name, the state or the place, in lower case.
    pub(super) find: String,
    pub(super) tasks_max: usize,
}

/// By what tasks are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SortKey {
    Kind,
    Name,
    State,
    Age,
    Memory,
    Polls,
    Busy,
    Scheduled,
    Requests,
    Bytes,
}

const SORT_KEYS: [(&str, SortKey); 10] = [
    ("busy", SortKey::Busy),
    ("scheduled", SortKey::Scheduled),
    ("polls", SortKey::Polls),
    ("requests", SortKey::Requests),
    ("bytes", SortKey::Bytes),
    ("memory", SortKey::Memory),
    ("age", SortKey::Age),
    ("kind", SortKey::Kind),
    ("name", SortKey::Name),
    ("state", SortKey::State),
];

impl Default for TasksRequest {
    fn default() -> Self {
        let find = String::new();
        Self { sort: SortKey::Busy, is_ascending: false, find, tasks_max: TASKS }
    }
}

impl TasksRequest {
    /// The request for a path, with its query; `None` if the path is another one.
    ///
    /// # Errors
    /// If a parameter has no valid value: a sentence.
    pub(crate) fn read(path: &str, query: Option<&str>) -> Option<Result<Self, String>> {
        (path == "/tasks.json").then(|| Self::with_parameters(query))
    }

    fn with_parameters(query: Option<&str>) -> Result<Self, String> {
        let mut request = Self::default();
        for (name, value) in query_parameters(query) {
            match name.as_str() {
                "sort" => request.sort = sort_key(&value)?,
                "order" => {
                    request.is_ascending = match value.as_str() {
                        "ascending" => true,
                        "descending" => false,
                        _ => return Err(format!("order={value}: write ascending or descending")),
                    };
                }
                "find" => request.find = value.to_lowercase(),
                "limit" => {
                    let valid = value.parse().ok().filter(|limit| *limit <= TASKS_MAX);
                    request.tasks_max = valid.ok_or_else(|| {
                        format!("limit={value}: write a number from 0 to {TASKS_MAX}")
                    })?;
                }
                _ => return Err(format!("`{name}` is none of sort, order, find and limit")),
            }
        }
        Ok(request)
    }
}

fn sort_key(name: &str) -> Result<SortKey, String> {
    let known = SORT_KEYS.iter().find(|(known, _)| *known == name);
    known.map(|(_, key)| *key).ok_or_else(|| {
        let names: Vec<&str> = SORT_KEYS.iter().map(|(known, _)| *known).collect();
        format!("sort={name}: write one of {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::{SortKey, TasksRequest};

    #[test]
    fn parameters_are_checked() {
        let read = |query| TasksRequest::read("/tasks.json", query).expect("the path");
        assert_eq!(read(None), Ok(TasksRequest::default()));
        let asked = read(Some("sort=name&order=ascending&find=A%20b&limit=3"));
        let (sort, is_ascending, find) = (SortKey::Name, true, "a b".to_owned());
        assert_eq!(asked, Ok(TasksRequest { sort, is_ascending, find, tasks_max: 3 }));
        for (query, reason) in [
            ("sort=x", "sort=x: write one of busy, scheduled,"),
            ("order=x", "order=x: write"),
            ("limit=1001", "limit=1001: write a number from 0 to 1000"),
            ("limit=-1", "limit=-1: write"),
            ("top=3", "`top` is none of"),
        ] {
            let refused = read(Some(query)).expect_err(query);
            assert!(refused.starts_with(reason), "{refused}");
        }
        assert_eq!(TasksRequest::read("/tasks", None), None);
    }
}
