//! The stacks of all threads at one moment.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::error::ProfileError;
use crate::function_names::FunctionNames;
use crate::interrupt::{Interrupts, check_library, interrupt};
use crate::slots::RawStack;
use crate::threads::{own_thread, thread_name, threads};
use crate::turn::Turn;

/// How long threads have to note their stacks. One that waits for a device cannot do so.
const PATIENCE: Duration = Duration::from_millis(200);

/// How often it is looked whether they have.
const PAUSE: Duration = Duration::from_millis(1);

/// What a thread is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadStack {
    /// The number by which the system knows it.
    pub id: i32,
    /// Its name; its number if it has none.
    pub name: String,
    /// Its state as `proc(5)` writes it: `R` runs or could, `S` waits, `D` waits for a device.
    pub state: char,
    /// The functions, from the one that began the thread to the one that runs or waits; none if the thread did
    /// not answer.
    pub functions: Vec<Arc<str>>,
}

/// The stacks of all threads but the one that asks, in the order of their numbers. It takes 200 ms at most, and
/// the names of functions a second of processor time.
///
/// # Errors
/// If samples are being taken, or the system does not let it.
pub fn thread_stacks() -> Result<Vec<ThreadStack>, ProfileError> {
    let mut answers: HashMap<i32, RawStack> = HashMap::new();
    let _turn = Turn::take()?;
    check_library()?;
    let interrupts =
        Interrupts::start().map_err(|error| ProfileError::Refused(error.to_string()))?;
    let own = own_thread();
    let mut threads = threads();
    threads.retain(|thread| Some(thread.id) != own);
    let asked = threads.iter().filter(|thread| interrupt(thread.id)).count();
    let start = Instant::now();
    while answers.len() < asked && start.elapsed() < PATIENCE {
        interrupts.slots().take_all(|stack| {
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
            functions: stack.map(|it| names.functions(&it.addresses)).unwrap_or_default(),
        }
    });
    Ok(stacks.collect())
}
