//! The current stacks of all threads.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::error::ProfileError;
use crate::function_names::FunctionNames;
use crate::interrupt::{Interrupts, check_library, interrupt};
use crate::sampling_lock::SamplingLock;
use crate::slots::RawStack;
use crate::threads::{own_thread, thread_name, threads};

/// How long to wait for threads to record their stacks. A thread that waits for a device cannot do
/// so.
const TIMEOUT: Duration = Duration::from_millis(200);

/// The interval between two checks for recorded stacks.
const PAUSE: Duration = Duration::from_millis(1);

/// The call stack of one thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadStack {
    /// The thread's number in the operating system.
    pub id: i32,
    /// The thread's name, or its number if it has no name.
    pub name: String,
    /// The thread's state as in `proc(5)`: `R` is running or runnable, `S` waits, `D` waits for a
    /// device.
    pub state: char,
    /// The functions, outermost first; empty if the thread did not record its stack in time.
    pub functions: Vec<Arc<str>>,
}

/// Returns the stacks of all threads except the caller's, ordered by thread number. It waits up to
/// 200 ms for the threads; resolving function names may take another second of processor time.
///
/// # Errors
/// If a profile is running, or the system does not allow it.
pub fn thread_stacks() -> Result<Vec<ThreadStack>, ProfileError> {
    let mut answers: HashMap<i32, RawStack> = HashMap::new();
    let _lock = SamplingLock::take()?;
    check_library()?;
    let interrupts =
        Interrupts::start().map_err(|error| ProfileError::Refused(error.to_string()))?;
    let own = own_thread();
    let mut threads = threads();
    threads.retain(|thread| Some(thread.id) != own);
    let interrupted = threads.iter().filter(|thread| interrupt(thread.id)).count();
    let start = Instant::now();
    while answers.len() < interrupted && start.elapsed() < TIMEOUT {
        interrupts.slots().drain(|stack| {
            answers.insert(stack.thread, stack);
        });
        sleep(PAUSE);
    }
    drop(interrupts);
    let mut names = FunctionNames::default();
    threads.sort_by_key(|thread| thread.id);
    let stacks = threads.into_iter().map(|thread| {
        let stack = answers.get(&thread.id);
        ThreadStack {
            id: thread.id,
            name: thread_name(thread.id),
            state: thread.state,
            functions: stack.map(|it| names.resolve(&it.addresses)).unwrap_or_default(),
        }
    });
    Ok(stacks.collect())
}
