//! What to generate.

/// Seed, size, start and shape of the traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The same seed gives the same bytes, on every platform.
    pub seed: u64,
    /// Ends with the first line that reaches this many bytes; `None` never ends.
    ///
    /// The size decides how much time the traffic covers: 5 days for 1 GiB, and otherwise in
    /// proportion to the square root of the size, 10 minutes at the least.
    pub bytes: Option<u64>,
    /// Time of the first line, in seconds since 1 January 1970, UTC.
    pub start: i64,
    /// What kind of log.
    pub shape: Shape,
}

impl Default for Options {
    /// Endless combined traffic from midnight of Monday, 2 November 2026, with seed 1.
    fn default() -> Self {
        Self { seed: 1, bytes: None, start: 1_793_577_600, shape: Shape::Combined }
    }
}

/// A kind of log: normal traffic, or one of the inputs that slow parsers down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shape {
    /// Traffic of a web shop.
    #[default]
    Combined,
    /// The same with a million distinct user agents, in turn.
    ManyAgents,
    /// Line feeds, nothing else.
    EmptyLines,
    /// The traffic with spaces in place of line feeds, and one line feed at the end.
    OneLine,
    /// The traffic with one request of 64 MiB, or of half the size where that is less, in the
    /// middle.
    LongLines,
    /// The traffic with one run of NUL bytes in the middle, two fifths of the whole, as a
    /// truncated log leaves them: at the start of a line.
    NulRun,
    /// The traffic at one line a second, so that the time stamp changes on every line.
    EverySecond,
}

impl Shape {
    /// Every shape, in the order of their documentation.
    pub const ALL: [Self; 7] = [
        Self::Combined,
        Self::ManyAgents,
        Self::EmptyLines,
        Self::OneLine,
        Self::LongLines,
        Self::NulRun,
        Self::EverySecond,
    ];

    /// The name by which a user asks for the shape.
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

    /// The shape of this name.
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
