//! Which stage the rest waits for, with the reason as a sentence.

use weir_view::{PassedRates, RouteStage, RouteStageKind, SlowestStage};

/// From this share of their time on, the parsers are what sources wait for.
const BUSY_SHARE: f64 = 0.8;

/// Finds the slowest stage by the rates of all.
pub(super) fn slowest(stages: &[RouteStage]) -> SlowestStage {
    let nowhere = |reason: &str| SlowestStage { stage: None, reason: reason.to_owned() };
    if stages.iter().all(|stage| stage.rates.is_none()) {
        return nowhere("The rates are known in a second.");
    }
    of_gateway(stages)
        .or_else(|| of_parsers(stages))
        .or_else(|| of_source(stages))
        .unwrap_or_else(|| nowhere("Nothing flows at the moment."))
}

fn rates(stage: &RouteStage) -> PassedRates {
    stage.rates.unwrap_or_default()
}

fn busy(stage: &RouteStage) -> f64 {
    rates(stage).busy.unwrap_or_default()
}

/// The stages of these kinds, each with its index.
fn of_kinds<'s>(
    stages: &'s [RouteStage],
    kinds: &'s [RouteStageKind],
) -> impl Iterator<Item = (usize, &'s RouteStage)> + Clone {
    stages.iter().enumerate().filter(|(_, stage)| kinds.contains(&stage.stage))
}

/// Where the time of requests goes, if there are any.
fn of_gateway(stages: &[RouteStage]) -> Option<SlowestStage> {
    use RouteStageKind::{Backend, Client, Gateway};
    let parts = of_kinds(stages, &[Gateway, Backend, Client]);
    let all: f64 = parts.clone().map(|(_, stage)| busy(stage)).sum();
    let (index, stage) = parts.max_by(|one, other| busy(one.1).total_cmp(&busy(other.1)))?;
    if all <= 0.0 {
        return None;
    }
    let (name, share) = (&stage.name, percent(busy(stage) / all));
    let reason = match stage.stage {
        Backend => format!(
            "Requests wait for the backend {name}: {share} of their time passes until the head of its answer \
             has come."
        ),
        Client => format!(
            "Requests wait for the clients: {share} of their time passes while they take the answers of the \
             backend {name}."
        ),
        _ => format!(
            "Requests wait in the gateway: {share} of their time passes before a server of the backend {name} \
             is turned to, for tokens, look-ups, sessions, limits, or a free connection."
        ),
    };
    Some(SlowestStage { stage: Some(index), reason })
}

/// The parsers, if they are busy nearly all the time.
fn of_parsers(stages: &[RouteStage]) -> Option<SlowestStage> {
    use RouteStageKind::{Append, Parse, Read};
    // Without a session there are no parsers.
    let threads = stages.iter().find(|stage| stage.stage == Parse)?.threads;
    let threads = threads.filter(|threads| *threads > 0)? as f64;
    let work = of_kinds(stages, &[Read, Parse, Append]);
    let share = work.clone().map(|(_, stage)| busy(stage)).sum::<f64>() / threads;
    let (index, stage) = work.max_by(|one, other| busy(one.1).total_cmp(&busy(other.1)))?;
    if share < BUSY_SHARE {
        return None;
    }
    let share = percent(share.min(1.0));
    let reason = match stage.stage {
        Read => format!("The parsers work {share} of the time, mostly to read and unpack files."),
        Append => format!(
            "The parsers work {share} of the time, mostly to append what they have parsed: there are many new \
             values."
        ),
        _ => format!("Sources wait for the parsers, which work {share} of the time."),
    };
    Some(SlowestStage { stage: Some(index), reason })
}

/// The source that brings most, if any brings something: the parsers have time for more.
fn of_source(stages: &[RouteStage]) -> Option<SlowestStage> {
    let speed = |stage: &RouteStage| rates(stage).bytes.unwrap_or_default();
    let sources = of_kinds(stages, &[RouteStageKind::Source]);
    let (index, source) = sources.max_by(|one, other| speed(one.1).total_cmp(&speed(other.1)))?;
    if speed(source) <= 0.0 {
        return None;
    }
    let reason = format!(
        "The parsers wait for the source {}, which brings {} a second.",
        source.name,
        size(speed(source))
    );
    Some(SlowestStage { stage: Some(index), reason })
}

fn percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}

/// Bytes in a decimal unit.
fn size(bytes: f64) -> String {
    match bytes {
        1e9.. => format!("{:.2} GB", bytes / 1e9),
        1e6.. => format!("{:.1} MB", bytes / 1e6),
        1e3.. => format!("{:.1} kB", bytes / 1e3),
        _ => format!("{bytes:.0} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use weir_view::{PassedRates, RouteStage, RouteStageKind};

    use super::slowest;

    fn stage(kind: RouteStageKind, name: &str, busy: f64, bytes: f64) -> RouteStage {
        let rates = PassedRates { busy: Some(busy), bytes: Some(bytes), ..PassedRates::default() };
        let threads = (kind == RouteStageKind::Parse).then_some(2);
        RouteStage { rates: Some(rates), threads, ..RouteStage::new(kind, name) }
    }

    #[test]
    fn the_slowest_stage_is_named_with_the_reason() {
        use RouteStageKind::{Append, Backend, Client, Gateway, Parse, Read, Source};
        let gateway = |wait, header, body| {
            vec![
                stage(Gateway, "a", wait, 0.0),
                stage(Backend, "a", header, 0.0),
                stage(Client, "a", body, 0.0),
                stage(Source, "gateway", 0.0, 1_000.0),
                stage(Parse, "", 0.01, 0.0),
            ]
        };
        let log = |read, parse, append| {
            vec![
                stage(Source, "a.log", 0.0, 2.5e6),
                stage(Source, "b.log", 0.0, 1.0),
                stage(Read, "", read, 0.0),
                stage(Parse, "", parse, 0.0),
                stage(Append, "", append, 0.0),
            ]
        };
        let mut without_sessions = log(0.0, 0.0, 0.0).split_off(2);
        without_sessions[1].threads = Some(0);
        for (stages, index, words) in [
            (gateway(1.0, 8.0, 1.0), Some(1), "for the backend a: 80% of their time"),
            (gateway(8.0, 1.0, 1.0), Some(0), "in the gateway: 80% of their time"),
            (gateway(1.0, 1.0, 2.0), Some(2), "for the clients: 50% of their time"),
            (gateway(0.0, 0.0, 0.0), Some(3), "wait for the source gateway, which brings 1.0 kB"),
            (log(0.1, 1.7, 0.1), Some(3), "wait for the parsers, which work 95% of the time"),
            (log(1.0, 0.8, 0.1), Some(2), "work 95% of the time, mostly to read"),
            (log(0.1, 0.8, 1.0), Some(4), "mostly to append"),
            (log(0.1, 0.5, 0.0), Some(0), "wait for the source a.log, which brings 2.5 MB"),
            (vec![stage(Source, "a.log", 0.0, 0.0)], None, "Nothing flows"),
            (vec![RouteStage::new(Source, "a.log")], None, "in a second"),
            (without_sessions, None, "Nothing flows"),
        ] {
            let found = slowest(&stages);
            assert_eq!(found.stage, index, "{found:?}");
            assert!(found.reason.contains(words), "{words}: {found:?}");
        }
    }
}
