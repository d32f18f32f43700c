//! The bottleneck between the sources and the data sets: the parsers, or the sources.
//!
//! Two waits tell which side is faster: sources wait for room in the queue if the parsers are
//! slower, and parsers wait for blocks if the sources are.

use weir_view::{RouteStage, RouteStageKind, SlowestStage};

use super::{busy, bytes_per_second, of_kinds, percent, size, waiting};

/// The parsers are the bottleneck if they work, or wait for one another, for at least this share of
/// the time.
const OCCUPIED_SHARE: f64 = 0.8;

/// A fuller queue means that the sources are faster than the parsers. With slower sources it holds
/// at most the blocks that are being parsed, a third of it.
const FILL_SHARE: f64 = 0.7;

/// A source that waits for less than this share of the time is not held up.
const WAIT_SHARE: f64 = 0.1;

/// What the parsers do, as shares of the time of their threads.
struct Parsers {
    busy: f64,
    /// Waiting for the turn of a block, or for readers of the data set.
    blocked: f64,
    /// The stage in which they are busiest.
    busiest: Option<usize>,
}

impl Parsers {
    /// Returns `None` if no parser has an open source.
    fn read(stages: &[RouteStage]) -> Option<Self> {
        use RouteStageKind::{Append, Parse, Read};
        let (_, parse) = of_kinds(stages, &[Parse]).next()?;
        let threads = parse.threads.filter(|threads| *threads > 0)? as f64;
        let work = of_kinds(stages, &[Read, Parse, Append]);
        let total: f64 = work.clone().map(|(_, stage)| busy(stage)).sum();
        let busiest = work.max_by(|one, other| busy(one.1).total_cmp(&busy(other.1)));
        Some(Self {
            busy: total / threads,
            blocked: waiting(parse) / threads,
            busiest: busiest.filter(|_| total > 0.0).map(|(index, _)| index),
        })
    }

    fn idle(&self) -> f64 {
        (1.0 - self.busy - self.blocked).max(0.0)
    }
}

/// The open sources through which something flows, or which wait.
struct Sources<'s> {
    active: Vec<(usize, &'s RouteStage)>,
    /// All sources, to tell those of the same name apart.
    all: Vec<&'s RouteStage>,
    /// Whether there are several data sets.
    has_data_sets: bool,
}

impl<'s> Sources<'s> {
    fn read(stages: &'s [RouteStage]) -> Self {
        let all = of_kinds(stages, &[RouteStageKind::Source]);
        let is_active = |stage: &RouteStage| {
            !stage.has_ended && (bytes_per_second(stage) > 0.0 || waiting(stage) > 0.0)
        };
        let views = of_kinds(stages, &[RouteStageKind::View]);
        let mut numbers = all.clone().chain(views).filter_map(|(_, stage)| data_set(stage));
        let first = numbers.next();
        Self {
            has_data_sets: numbers.any(|number| Some(number) != first),
            active: all.clone().filter(|(_, stage)| is_active(stage)).collect(),
            all: all.map(|(_, stage)| stage).collect(),
        }
    }

    /// Returns the active source with the highest value.
    fn max_by(&self, value: fn(&RouteStage) -> f64) -> Option<(usize, &'s RouteStage)> {
        let sources = self.active.iter().copied();
        sources.max_by(|one, other| value(one.1).total_cmp(&value(other.1)))
    }

    /// Returns the name of a source, with its data set if there are several, and with its number if
    /// another one in the same data set has the same name.
    fn name(&self, source: &RouteStage) -> String {
        let is_alike =
            |other: &&&RouteStage| other.name == source.name && data_set(other) == data_set(source);
        let mut name = source.name.clone();
        if let Some(number) = data_set(source).filter(|_| self.has_data_sets) {
            name.push_str(&format!(" of data set {number}"));
        }
        if let Some(number) = &source.number
            && self.all.iter().filter(is_alike).count() > 1
        {
            name.push_str(&format!(" (number {number})"));
        }
        name
    }

    /// Returns words for the data sets of the active sources.
    fn data_sets(&self) -> String {
        let mut numbers = self.active.iter().filter_map(|(_, source)| data_set(source));
        match numbers.next() {
            Some(first) if self.has_data_sets && numbers.all(|number| number == first) => {
                format!("data set {first}")
            }
            _ if self.has_data_sets => "the data sets".to_owned(),
            _ => "the data set".to_owned(),
        }
    }
}

/// Returns the number of the data set of a source or of views. The number of a source begins with
/// it.
fn data_set(stage: &RouteStage) -> Option<&str> {
    stage.number.as_deref()?.split('-').next()
}

/// Returns the busiest stage of the parsers, if the sources or the parsers themselves are held up
/// by them.
pub(super) fn of_parsers(stages: &[RouteStage]) -> Option<SlowestStage> {
    let (parsers, sources) = (Parsers::read(stages)?, Sources::read(stages));
    let index = parsers.busiest?;
    let held_up = sources.max_by(waiting).filter(|(_, source)| {
        let wait = waiting(source);
        wait >= WAIT_SHARE && wait > parsers.idle()
    });
    let fill = queue_fill(stages);
    let is_occupied = parsers.busy + parsers.blocked >= OCCUPIED_SHARE;
    if held_up.is_none() && fill < FILL_SHARE && !is_occupied {
        return None;
    }
    let mut reason = activity(stages.get(index)?.stage, &parsers, &sources);
    if let Some((_, source)) = held_up {
        let (name, share) = (sources.name(source), percent(waiting(source)));
        reason.push_str(&format!(
            " The source {name} waits for room in the queue {share} of the time."
        ));
    } else if fill >= FILL_SHARE {
        reason.push_str(&format!(" The queue is {} full.", percent(fill)));
    }
    Some(SlowestStage { stage: Some(index), reason })
}

/// Describes what the parsers are doing.
fn activity(busiest: RouteStageKind, parsers: &Parsers, sources: &Sources<'_>) -> String {
    let share = percent(parsers.busy);
    if parsers.blocked > parsers.busy {
        let (blocked, data_sets) = (percent(parsers.blocked), sources.data_sets());
        return format!(
            "The parsers wait {blocked} of the time for the turn of a block or for readers of {data_sets}, and \
             are busy {share} of it."
        );
    }
    match (busiest, sources.active.len()) {
        (RouteStageKind::Read, _) => format!(
            "The parsers are busy {share} of the time, mostly with reading and unpacking files."
        ),
        (RouteStageKind::Append, _) => format!(
            "The parsers are busy {share} of the time, mostly with appending parsed rows: there are many new \
             values."
        ),
        (_, count @ 2..) => {
            format!("{count} sources wait for the parsers, which are busy {share} of the time.")
        }
        _ => format!("Sources wait for the parsers, which are busy {share} of the time."),
    }
}

/// Returns how full the queue is, from 0 to 1.
fn queue_fill(stages: &[RouteStage]) -> f64 {
    let queue = of_kinds(stages, &[RouteStageKind::Queue]).next();
    let fill = queue.and_then(|(_, queue)| {
        let bytes_max = queue.held_bytes_max.filter(|max| *max > 0)?;
        Some(queue.held_bytes? as f64 / bytes_max as f64)
    });
    fill.unwrap_or_default()
}

/// Returns the source with the most bytes per second, if any. The parsers have time left.
pub(super) fn of_sources(stages: &[RouteStage]) -> Option<SlowestStage> {
    Parsers::read(stages)?;
    let sources = Sources::read(stages);
    let (index, source) = sources.max_by(bytes_per_second)?;
    let (name, speed) = (sources.name(source), size(bytes_per_second(source)));
    let reason = match sources.active.len() {
        1 => format!("The parsers wait for the source {name}, which delivers {speed} per second."),
        count => {
            let all: f64 = sources.active.iter().map(|(_, it)| bytes_per_second(it)).sum();
            format!(
                "The parsers wait for {count} sources, which deliver {} per second. The fastest is {name} with \
                 {speed} per second.",
                size(all)
            )
        }
    };
    Some(SlowestStage { stage: Some(index), reason })
}
