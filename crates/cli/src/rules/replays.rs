//! The replays of all rules over the events of a log.

use weir_rules::{Decision, Events, LimitSweep, Replay, Rule, RuleReport};

/// The events of some lines of a text.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    /// The name of the text, if these are its first lines.
    pub(super) begins: Option<String>,
    /// The events, by rule.
    pub(super) events: Vec<Events>,
    /// The number of lines. The line numbers of the events count from the first of them.
    pub(super) lines: u64,
    /// By rule: why the records of a format cannot be observed, if they cannot.
    pub(super) missing: Vec<Option<String>>,
    /// By rule: whether the records of a format can be observed.
    pub(super) is_bound: Vec<bool>,
}

impl Chunk {
    /// A chunk without lines.
    pub(super) fn new(rules: usize) -> Self {
        Self {
            begins: None,
            events: vec![Events::default(); rules],
            lines: 0,
            missing: vec![None; rules],
            is_bound: vec![false; rules],
        }
    }

    /// The memory taken, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.events.iter().map(Events::memory_bytes).sum()
    }
}

/// Receives a decision: the number of the rule, the names of the sources, and the decision about a
/// line of one of them.
pub(super) type Decide<'a> = dyn FnMut(usize, &[String], &Decision<'_>) + 'a;

/// A replay for each rule.
pub(super) struct Replays<'r> {
    replays: Vec<Box<dyn Replay + 'r>>,
    sources: Vec<String>,
    /// The lines of the last source so far.
    lines: u64,
    memory_bytes_max: usize,
    /// The number of events that came after the memory was used up.
    pub(super) dropped: u64,
    /// By rule: why no record could be observed.
    pub(super) missing: Vec<Option<String>>,
    is_bound: Vec<bool>,
}

impl<'r> Replays<'r> {
    pub(super) fn new(rules: &'r [Box<dyn Rule>], memory_bytes_max: usize) -> Self {
        Self {
            replays: rules.iter().map(|rule| rule.replay()).collect(),
            sources: Vec::new(),
            lines: 0,
            memory_bytes_max,
            dropped: 0,
            missing: vec![None; rules.len()],
            is_bound: vec![false; rules.len()],
        }
    }

    /// Replays the events of the next lines.
    pub(super) fn take(&mut self, chunk: Chunk) {
        if let Some(name) = chunk.begins {
            self.sources.push(name);
            self.lines = 0;
        }
        let source = (self.sources.len() as u32).saturating_sub(1);
        let memory_bytes: usize = self.replays.iter().map(|replay| replay.memory_bytes()).sum();
        let is_full = memory_bytes > self.memory_bytes_max;
        for (number, events) in chunk.events.iter().enumerate() {
            self.is_bound[number] |= chunk.is_bound[number];
            let missing = &mut self.missing[number];
            *missing = missing.take().or_else(|| chunk.missing[number].clone());
            missing.take_if(|_| self.is_bound[number]);
            if is_full {
                self.dropped += events.len() as u64;
                continue;
            }
            for event in events.iter() {
                self.replays[number].take(source, self.lines + event.line + 1, &event);
            }
        }
        self.lines += chunk.lines;
    }

    /// Returns, by rule, the sweep over other settings, for rules that support it.
    pub(super) fn sweeps(&self) -> Vec<Option<LimitSweep>> {
        self.replays.iter().map(|replay| replay.sweep()).collect()
    }

    /// Ends the replays. Returns their reports, and the names of the sources.
    pub(super) fn finish(
        self,
        mut decide: Option<&mut Decide<'_>>,
    ) -> (Vec<RuleReport>, Vec<String>) {
        let sources = self.sources;
        let mut reports = Vec::new();
        for (number, replay) in self.replays.into_iter().enumerate() {
            reports.push(match &mut decide {
                Some(decide) => {
                    let mut of_rule = |decision: &Decision<'_>| decide(number, &sources, decision);
                    replay.finish(Some(&mut of_rule))
                }
                None => replay.finish(None),
            });
        }
        (reports, sources)
    }
}
