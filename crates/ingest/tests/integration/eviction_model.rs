//! A model of how parsers, the evictor and a consumer share the memory for values while nothing is
//! kept ([`Retention::UntilConsumed`](weir_ingest::Retention)), run through every interleaving.
//!
//! Each block has one value of its own, which takes one unit of memory. No interleaving may reach a
//! state in which a value finds no memory, in which too many blocks wait to be appended, or in
//! which nothing can go on. Rules that the pipeline once had do reach such states, so the search is
//! known to find them.
//!
//! A step of the model is what the pipeline does under one lock, or between two. Source:
//! `pipeline/worker.rs`, `queue/block_queue.rs`, `pipeline/retention/evictor.rs`.

use std::collections::HashSet;

/// The blocks of the log.
const BLOCKS: u8 = 9;
const WORKERS: usize = 2;
/// The blocks that a worker parses before it must append one.
const PARSED_MAX: usize = 2;
/// The blocks whose turn may be over before they are appended.
const UNAPPENDED_MAX: u8 = 3;
/// The blocks that may be in progress when the parsers pause.
const IN_PROGRESS_MAX: u8 = (WORKERS * PARSED_MAX) as u8;

/// The rules of the pipeline, and those that it had before.
#[derive(Clone, Copy)]
struct Rules {
    /// The units of memory at which the parsers pause. There are as many more as the blocks in
    /// progress can take.
    pressed: u8,
    /// Parsers are paused as soon as a value has memory; before, when its block was appended.
    pauses_when_resolved: bool,
    /// Blocks whose turn is over are bounded until they are appended.
    bounds_unappended: bool,
}

const RULES: Rules = Rules { pressed: 2, pauses_when_resolved: true, bounds_unappended: true };

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum WorkerStep {
    /// Waits until parsers need not pause, if it has parsed no block.
    Admit,
    /// Takes a task. Whether it must append was decided before.
    Take { must_append: bool },
    /// Has found memory for the values of this block, and ends its turn.
    Resolved(u8),
    /// Appends this block.
    Append(u8),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct WorkerState {
    step: WorkerStep,
    /// Blocks that wait for their turn.
    parsed: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum EvictorStep {
    /// Waits for a request.
    Wait,
    Begin,
    /// Waits for the blocks before this one, and then evicts the values of these blocks.
    Sweep {
        taken: u8,
        dead: u16,
        seen: Seen,
    },
    Release(Seen),
    /// Waits for a reason to evict again.
    Repeat(Seen),
}

/// What the evictor saw before an eviction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Seen {
    consumed: u8,
    had_pending: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    workers: [WorkerState; WORKERS],
    evictor: EvictorStep,
    /// The number of blocks taken from the log, and of those whose turn is over.
    taken: u8,
    turn: u8,
    /// Blocks that are parsed completely, by bit. Those before `appended` are appended.
    done: u16,
    appended: u8,
    consumed: u8,
    /// Blocks whose values have memory, by bit.
    held: u16,
    must_pause: bool,
    is_requested: bool,
}

impl State {
    fn start() -> Self {
        let worker = WorkerState { step: WorkerStep::Admit, parsed: Vec::new() };
        Self {
            workers: [worker.clone(), worker],
            evictor: EvictorStep::Wait,
            taken: 0,
            turn: 0,
            done: 0,
            appended: 0,
            consumed: 0,
            held: 0,
            must_pause: false,
            is_requested: false,
        }
    }

    fn used(&self) -> u8 {
        self.held.count_ones() as u8
    }

    fn request_if_pressed(&mut self, rules: Rules) {
        if self.used() >= rules.pressed {
            (self.must_pause, self.is_requested) = (true, true);
        }
    }

    /// All states that one step of a worker, the consumer or the evictor leads to.
    fn successors(&self, rules: Rules) -> Vec<Self> {
        let workers = (0..WORKERS).filter_map(|worker| self.after_worker(worker, rules));
        let others = [self.after_consumer(), self.after_evictor(rules)];
        workers.chain(others.into_iter().flatten()).collect()
    }

    fn after_worker(&self, index: usize, rules: Rules) -> Option<Self> {
        let mut next = self.clone();
        let WorkerState { step, parsed } = &mut next.workers[index];
        match *step {
            WorkerStep::Admit if parsed.is_empty() && self.must_pause => return None,
            WorkerStep::Admit => {
                let is_full = parsed.len() >= PARSED_MAX;
                let must_append = is_full || (!parsed.is_empty() && self.must_pause);
                *step = WorkerStep::Take { must_append };
            }
            WorkerStep::Take { must_append } => {
                let unappended = self.turn - self.appended;
                let may_parse = !rules.bounds_unappended || unappended < UNAPPENDED_MAX;
                if parsed.first() == Some(&self.turn) {
                    let block = parsed.remove(0);
                    *step = WorkerStep::Resolved(block);
                    next.held |= 1 << block;
                    if rules.pauses_when_resolved {
                        next.request_if_pressed(rules);
                    }
                } else if !must_append && may_parse && self.taken < BLOCKS {
                    parsed.push(self.taken);
                    *step = WorkerStep::Admit;
                    next.taken += 1;
                } else {
                    return None;
                }
            }
            WorkerStep::Resolved(block) => {
                *step = WorkerStep::Append(block);
                next.turn += 1;
            }
            WorkerStep::Append(block) => {
                *step = WorkerStep::Admit;
                next.done |= 1 << block;
                while next.done >> next.appended & 1 == 1 {
                    next.appended += 1;
                    next.request_if_pressed(rules);
                }
            }
        }
        Some(next)
    }

    fn after_consumer(&self) -> Option<Self> {
        let is_pending = self.consumed < self.appended;
        is_pending.then(|| Self { consumed: self.consumed + 1, ..self.clone() })
    }

    fn after_evictor(&self, rules: Rules) -> Option<Self> {
        let mut next = self.clone();
        match self.evictor {
            EvictorStep::Wait if !self.is_requested => return None,
            EvictorStep::Wait => {
                next.is_requested = false;
                next.evictor = EvictorStep::Begin;
            }
            EvictorStep::Begin => {
                let had_pending = self.consumed < self.appended;
                let seen = Seen { consumed: self.consumed, had_pending };
                let dead = self.held & ((1 << self.consumed) - 1);
                next.evictor = EvictorStep::Sweep { taken: self.taken, dead, seen };
            }
            EvictorStep::Sweep { taken, .. } if self.appended < taken => return None,
            EvictorStep::Sweep { dead, seen, .. } => {
                next.held &= !dead;
                next.evictor = EvictorStep::Release(seen);
            }
            EvictorStep::Release(seen) => {
                let has_room = self.used() < rules.pressed;
                let may_free_more = seen.had_pending || self.is_requested;
                if self.must_pause && may_free_more && !has_room {
                    next.evictor = EvictorStep::Repeat(seen);
                } else {
                    (next.must_pause, next.is_requested) = (false, false);
                    next.evictor = EvictorStep::Wait;
                }
            }
            EvictorStep::Repeat(seen) if self.consumed == seen.consumed && !self.is_requested => {
                return None;
            }
            EvictorStep::Repeat(_) => {
                next.is_requested = false;
                next.evictor = EvictorStep::Begin;
            }
        }
        Some(next)
    }
}

/// What goes wrong in some interleaving.
#[derive(Debug, PartialEq, Eq)]
enum Fault {
    ValueWithoutMemory,
    TooManyUnappended,
    Standstill,
}

/// Runs every interleaving. Returns the number of states, or a fault and the state that has it.
fn run(rules: Rules) -> Result<usize, (Fault, State)> {
    let (mut reached, mut open) = (HashSet::new(), vec![State::start()]);
    while let Some(state) = open.pop() {
        if !reached.insert(state.clone()) {
            continue;
        }
        let next = state.successors(rules);
        if state.used() > rules.pressed + IN_PROGRESS_MAX - 1 {
            return Err((Fault::ValueWithoutMemory, state));
        }
        if state.turn - state.appended >= UNAPPENDED_MAX + IN_PROGRESS_MAX {
            return Err((Fault::TooManyUnappended, state));
        }
        if next.is_empty() && state.consumed < BLOCKS {
            return Err((Fault::Standstill, state));
        }
        open.extend(next);
    }
    Ok(reached.len())
}

/// Memory for all values of the log, so that no pause bounds anything.
const AMPLE: u8 = BLOCKS + 1;

#[test]
fn no_interleaving_loses_a_value_or_stops() {
    for pressed in [1, RULES.pressed, 3, AMPLE] {
        let states = run(Rules { pressed, ..RULES });
        let states = states.unwrap_or_else(|(fault, state)| panic!("{fault:?}: {state:#?}"));
        assert!(states > 1_000, "{states}");
    }
}

#[test]
fn the_search_finds_the_faults_of_earlier_rules() {
    let of = |rules| run(rules).map_err(|(fault, _)| fault);
    let late_pause = Rules { pauses_when_resolved: false, bounds_unappended: false, ..RULES };
    assert_eq!(of(late_pause), Err(Fault::ValueWithoutMemory));
    let unbounded = Rules { pressed: AMPLE, bounds_unappended: false, ..RULES };
    assert_eq!(of(unbounded), Err(Fault::TooManyUnappended));
}
