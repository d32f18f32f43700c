//! The options of generated traffic.

/// The seed, size, start and shape of the traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrafficOptions {
    /// The same seed produces the same bytes on every platform.
    pub seed: u64,
    /// The traffic ends with the first line that reaches this number of bytes; `None` never ends.
    ///
    /// The time that the traffic covers is proportional to the square root of the size: 5 days for
    /// 1 GiB, and at least 10 minutes.
    pub bytes: Option<u64>,
    /// The time of the first line, in seconds since 1 January 1970, UTC.
    pub start: i64,
    /// The kind of log.
    pub shape: Shape,
}

impl Default for TrafficOptions {
    /// Endless combined traffic from midnight of Monday, 2 November 2026, with seed 1.
    fn default() -> Self {
        Self { seed: 1, bytes: None, start: 1_793_577_600, shape: Shape::Combined }
    }
}

/// A kind of log: normal traffic, or one of the inputs that are slow to parse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shape {
    /// Traffic of a web shop.
    #[default]
    Combined,
    /// The same traffic with a million distinct user agents in turn.
    ManyAgents,
    /// Only line feeds.
    EmptyLines,
    /// The traffic with spaces instead of line feeds, and one line feed at the end.
    OneLine,
    /// The traffic with one long request of 64 MiB, or of half the size if that is less.
    LongLines,
    /// The traffic with a run of NUL bytes at the start of a line, which is two fifths of the
    /// size. A log that is truncated while it is written contains such runs.
    NulRun,
    /// The traffic at one line a second, so that the timestamp changes on every line.
    EverySecond,
}

impl Shape {
    /// Every shape, in the order of the variants.
    pub const ALL: [Self; 7] = [
        Self::Combined,
        Self::ManyAgents,
        Self::EmptyLines,
        Self::OneLine,
        Self::LongLines,
        Self::NulRun,
        Self::EverySecond,
    ];

    /// The name of the shape for users.
    pub fn name(self) -> &'static str {
        match self {
            Self::Combined => "combined",
            Self::ManyAgents => "many-agents",
            Self::EmptyLines => "empty-lines",
            Self::OneLine => "one-line",
            Self::LongLines => "long-lines",
            Self::NulRun => "nul-run",
            Self::EverySecond => "every-second",
        }
    }

    /// The shape with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|shape| shape.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_shapes_agree() {
        for shape in Shape::ALL {
            assert_eq!(Shape::parse(shape.name()), Some(shape));
        }
        assert_eq!(Shape::parse("NUL run"), None);
    }
}
