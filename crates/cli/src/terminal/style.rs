//! Colours of the terminal's own palette, so that they follow its theme.

use crate::display::colour_number;

/// The style of a text: the parameters of an SGR sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style(&'static str);

impl Style {
    /// Without any style.
    pub(crate) const PLAIN: Self = Self("");
    /// A title.
    pub(crate) const TITLE: Self = Self("1");
    /// Less important text.
    pub(crate) const DIM: Self = Self("2");
    /// An error.
    pub(crate) const WRONG: Self = Self("31");
    /// What the keys act on.
    pub(crate) const SELECTED: Self = Self("7");
    /// The bars of lists.
    pub(crate) const BAR: Self = Self("36");
}

/// The colours of a histogram's groups, foreground and background.
const GROUPS: [(&str, Style); 7] = [
    ("42", Style("32")),
    ("46", Style("36")),
    ("43", Style("33")),
    ("41", Style("31")),
    ("45", Style("35")),
    ("44", Style("34")),
    ("47", Style("37")),
];

/// The colour of group number `index` of a stack, see [`colour_number`].
pub(crate) fn group(index: usize, name: &str) -> Style {
    GROUPS[group_number(index, name)].1
}

/// The style of a cell in which group `lower` stands before the background of group `upper`.
pub(crate) fn cell(lower: (usize, &str), upper: (usize, &str)) -> (Style, &'static str) {
    (group(lower.0, lower.1), GROUPS[group_number(upper.0, upper.1)].0)
}

fn group_number(index: usize, name: &str) -> usize {
    colour_number(index, name, GROUPS.len())
}

/// Colours text, unless colours are off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Painter {
    /// Whether colours are shown.
    pub(crate) colour: bool,
}

impl Painter {
    /// The text in that style.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        self.paint_on(style, "", text)
    }

    /// The text in that style on a background.
    pub(crate) fn paint_on(self, style: Style, background: &str, text: &str) -> String {
        match (self.colour, style.0, background) {
            (false, ..) | (_, "", "") => text.to_owned(),
            (_, style, "") => format!("\x1b[{style}m{text}\x1b[0m"),
            (_, style, background) => format!("\x1b[{style};{background}m{text}\x1b[0m"),
        }
    }
}
