//! The replays of all rules over the events of a log.

use weir_rules::{Decision, Events, LimitSweep, LineTally, LogCounts, Replay, Rule, RuleReport};

/// The events of a block of a text.
#[derive(Debug, Default)]
pub(super) struct BlockEvents {
    /// The name of the text, if this is its first block.
    pub(super) begins: Option<String>,
    /// The number of lines of the text before the block. The line numbers of the events count from
    /// there.
    pub(super) lines_before: u64,
    /// The events, by rule.
    pub(super) events: Vec<Events>,
    /// What the block consists of, without the numbers of its lines.
    pub(super) log: LogCounts,
    /// By rule: why the records of a format cannot be observed, if they cannot.
    pub(super) missing: Vec<Option<String>>,
    /// By rule: whether the records of a format can be observed.
    pub(super) is_bound: Vec<bool>,
    /// By rule: the parts of it that the records of a format cannot decide.
    pub(super) left_out: Vec<Vec<String>>,
}

impl BlockEvents {
    /// A block without lines.
    pub(super) fn new(rules: usize) -> Self {
        Self {
            begins: None,
            lines_before: 0,
            events: vec![Events::default(); rules],
            log: LogCounts::default(),
            missing: vec![None; rules],
            is_bound: vec![false; rules],
            left_out: vec![Vec::new(); rules],
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

/// A limit of which other settings can be tried.
pub(super) struct Swept {
    pub(super) sweep: LimitSweep,
    /// The keys that some setting might reject, with their numbers in the sweep.
    pub(super) suspects: Vec<(usize, Box<[u8]>)>,
}

/// A replay for each rule.
pub(super) struct Replays<'r> {
    replays: Vec<Box<dyn Replay + 'r>>,
    sources: Vec<String>,
    memory_bytes_max: usize,
    /// The number of events that came after the memory was used up.
    pub(super) dropped: u64,
    /// By rule: why no record could be observed.
    pub(super) missing: Vec<Option<String>>,
    is_bound: Vec<bool>,
    /// By rule: the parts of it that some records could not decide.
    pub(super) left_out: Vec<Vec<String>>,
    /// The records of the log.
    pub(super) log: LogCounts,
    /// By rule: what it found in lines.
    pub(super) tallies: Vec<LineTally>,
}

impl<'r> Replays<'r> {
    pub(super) fn new(rules: &'r [Box<dyn Rule>], memory_bytes_max: usize) -> Self {
        Self {
            replays: rules.iter().map(|rule| rule.replay()).collect(),
            sources: Vec::new(),
            memory_bytes_max,
            dropped: 0,
            missing: vec![None; rules.len()],
            is_bound: vec![false; rules.len()],
            left_out: vec![Vec::new(); rules.len()],
            log: LogCounts::default(),
            tallies: vec![LineTally::default(); rules.len()],
        }
    }

    /// Replays the events of the next block.
    pub(super) fn take(&mut self, block: BlockEvents) {
        self.sources.extend(block.begins);
        let source = (self.sources.len() as u32).saturating_sub(1);
        let memory_bytes: usize = self.replays.iter().map(|replay| replay.memory_bytes()).sum();
        let is_full = memory_bytes > self.memory_bytes_max;
        self.log += block.log;
        for (number, events) in block.events.iter().enumerate() {
            self.is_bound[number] |= block.is_bound[number];
            self.tallies[number].add(events.tally());
            let missing = &mut self.missing[number];
            *missing = missing.take().or_else(|| block.missing[number].clone());
            missing.take_if(|_| self.is_bound[number]);
            for part in &block.left_out[number] {
                if !self.left_out[number].contains(part) {
                    self.left_out[number].push(part.clone());
                }
            }
            if is_full {
                self.dropped += events.len() as u64;
                continue;
            }
            for event in events.iter() {
                self.replays[number].take(source, block.lines_before + event.line + 1, &event);
            }
        }
    }

    /// Returns, by rule, the sweep over other settings, for rules that support it. `suspects`
    /// returns the numbers of the keys to name.
    pub(super) fn sweeps(
        &self,
        suspects: impl Fn(&LimitSweep) -> Vec<usize>,
    ) -> Vec<Option<Swept>> {
        let swept = |replay: &dyn Replay| {
            let sweep = replay.sweep()?;
            let key = |number: usize| Some((number, replay.sweep_key(number as u32)?.into()));
            Some(Swept { suspects: suspects(&sweep).into_iter().filter_map(key).collect(), sweep })
        };
        self.replays.iter().map(|replay| swept(&**replay)).collect()
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
