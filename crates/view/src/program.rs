//! The calls of marked functions and the stacks of threads in a running program, for `--admin`.

use serde::{Deserialize, Serialize};

/// The calls of marked functions in a period: the answer to `GET /profile/calls.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct CallProfile {
    /// The length of the period in seconds.
    pub seconds: f64,
    /// The calls by function and caller, in descending order of their own time.
    pub calls: Vec<FunctionCalls>,
}

/// The calls of one function from another. Times are in seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FunctionCalls {
    /// The marked function that called it, directly or through others; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub caller: Option<String>,
    /// The function.
    pub name: String,
    /// The number of calls.
    pub calls: u64,
    /// The time of the calls, without that of the marked functions that they called.
    pub own: f64,
    /// The time of the calls, including everything that they called. A recursive call adds nothing.
    pub accumulated: f64,
}

/// The stacks of all threads: the answer to `GET /threads/stacks.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ThreadStacks {
    /// The threads, in order of their numbers.
    pub threads: Vec<NamedStack>,
}

/// The stack of a thread.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct NamedStack {
    /// The thread id of the system.
    pub id: i32,
    /// Its name.
    pub name: String,
    /// The state as in `proc(5)`: `R` running or runnable, `S` sleeping, `D` waiting for a device.
    pub state: String,
    /// The functions, from the outermost to the innermost; empty if the thread did not respond.
    pub functions: Vec<String>,
}
