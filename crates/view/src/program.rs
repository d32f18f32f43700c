//! What a running program does, as `--admin` shows it: calls of marked functions, and the stacks of threads.

use serde::{Deserialize, Serialize};

/// The calls of marked functions in a time: the answer to `GET /profile/calls.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CallProfile {
    /// The length of that time in seconds.
    pub seconds: f64,
    /// The calls by function and caller, those with the longest time by themselves first.
    pub calls: Vec<FunctionCalls>,
}

/// The calls of one function by another. Times are in seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FunctionCalls {
    /// The marked function that called it, directly or through others; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// The function.
    pub name: String,
    /// How often it was called.
    pub calls: u64,
    /// The time of the calls without that of marked functions which they called.
    pub own: f64,
    /// The time of the calls with everything that they called; a call within another one of the same function
    /// adds nothing.
    pub accumulated: f64,
}

/// What every thread is in: the answer to `GET /threads/stacks.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadStacks {
    /// The threads, in the order of their numbers.
    pub threads: Vec<NamedStack>,
}

/// The stack of a thread.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NamedStack {
    /// The number by which the system knows the thread.
    pub id: i32,
    /// Its name.
    pub name: String,
    /// Its state as `proc(5)` writes it: `R` runs or could, `S` waits, `D` waits for a device.
    pub state: String,
    /// The functions, from the one that began the thread to the one that runs or waits; none if the thread did
    /// not answer.
    pub functions: Vec<String>,
}
