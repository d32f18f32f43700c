//! The bottleneck of the gateway: the part in which requests spend the most time.

use weir_view::{RouteStage, RouteStageKind, SlowestStage};

use super::{busy, bytes_per_second, of_kinds, percent, requests_per_second, size, waiting};

/// A part of the time of a backend's requests.
#[derive(Clone, Copy)]
enum Part {
    /// In the gateway itself.
    Gateway,
    /// Until the head of the response.
    Head,
    /// Until the backend has sent more of the response.
    Body,
    /// Until the client has taken what was sent.
    Client,
}

impl Part {
    fn place(self, backend: &str) -> String {
        match self {
            Self::Gateway => "in the gateway".to_owned(),
            Self::Head => {
                format!("before the head of the response of the backend {backend} arrives")
            }
            Self::Body => format!("while the backend {backend} sends its responses"),
            Self::Client => format!("while clients read the responses of the backend {backend}"),
        }
    }
}

/// Requests that take less time than this on average are held up nowhere.
const DURATION_MIN_S: f64 = 0.01;

/// Returns the part of the gateway in which requests spend the most time, if there are requests.
/// Nothing is marked if they are fast.
pub(super) fn of_gateway(stages: &[RouteStage]) -> Option<SlowestStage> {
    use RouteStageKind::{Backend, Client, Gateway};
    let parts = of_kinds(stages, &[Gateway, Backend, Client]).flat_map(|(index, stage)| {
        let part = match stage.stage {
            Gateway => Part::Gateway,
            Backend => Part::Head,
            _ => Part::Client,
        };
        [(index, part, busy(stage)), (index, Part::Body, waiting(stage))]
    });
    let all: f64 = parts.clone().map(|(.., time)| time).sum();
    let (index, part, time) = parts.max_by(|one, other| one.2.total_cmp(&other.2))?;
    if all <= 0.0 {
        return None;
    }
    let stage = stages.get(index)?;
    let (name, share) = (&stage.name, percent(time / all));
    let ended: f64 = of_kinds(stages, &[Client]).map(|(_, stage)| requests_per_second(stage)).sum();
    if all < DURATION_MIN_S * ended {
        let reason = format!(
            "Requests take {:.1} ms on average; most of it, {share}, passes {}.",
            1_000.0 * all / ended,
            part.place(name)
        );
        return Some(SlowestStage { stage: None, reason });
    }
    let reason = match part {
        Part::Head => format!(
            "Requests wait for the backend {name}: {share} of their time passes before the head of its response \
             arrives."
        ),
        Part::Body => format!(
            "Requests wait for the backend {name}: {share} of their time passes while it sends its responses, at \
             {} per second.",
            size(bytes_per_second(stage))
        ),
        Part::Client => format!(
            "Requests wait for the clients: {share} of their time passes while clients read the responses of the \
             backend {name}, at {} per second.",
            size(bytes_per_second(stage))
        ),
        Part::Gateway => format!(
            "Requests wait in the gateway: {share} of their time passes before they are sent to a server of the \
             backend {name}. They wait for tokens, lookups, sessions, limits, or a free connection."
        ),
    };
    let is_backend = |other: &RouteStage| {
        other.stage == Backend && other.name == stage.name && other.number == stage.number
    };
    let marked = match part {
        Part::Body => stages.iter().position(is_backend).unwrap_or(index),
        _ => index,
    };
    Some(SlowestStage { stage: Some(marked), reason })
}
