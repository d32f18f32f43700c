//! The colours of charts, the same on the page and in HTML reports.
//!
//! Failures are strong and successes are pale, because most requests succeed. Status classes differ
//! in lightness as well as in hue (blue, grey, amber, dark red or pink), so that they differ in
//! print and without red-green vision. Failures have a contrast of at least 3:1 to the background;
//! pale areas have a line along their top that has it. The list for other fields follows Okabe and
//! Ito.

use weir_core::STATUS_CLASS;

use crate::words::{NO_VALUE, REMAINDER_VALUE};

/// A colour for light and for dark backgrounds, as `#rrggbb`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThemedColour {
    /// On a light background.
    pub light: &'static str,
    /// On a dark background.
    pub dark: &'static str,
}

const fn themed(light: &'static str, dark: &'static str) -> ThemedColour {
    ThemedColour { light, dark }
}

/// The colours of the status classes, from `1xx` to `5xx`.
pub const STATUS_COLOURS: [ThemedColour; 5] = [
    themed("#8a6fb0", "#b49ad6"),
    themed("#c3daee", "#2d4f70"),
    themed("#e1e7ec", "#222d38"),
    themed("#d87a0b", "#f0a23a"),
    themed("#ab0f3a", "#ee4a70"),
];

/// The line along the top of the areas of pale status classes, by the digit of the class.
pub const STATUS_EDGES: [(u8, ThemedColour); 2] =
    [(2, themed("#4a86bb", "#6ba6d8")), (3, themed("#7d8b99", "#8494a5"))];

/// The colour of records without a value, and of values without their own group.
pub const OTHER_COLOUR: ThemedColour = themed("#6b7280", "#7d8793");

/// The colours of the values of other fields, in the order of their groups.
pub const SERIES_COLOURS: [ThemedColour; 8] = [
    themed("#2f7ebc", "#4a9ad8"),
    themed("#d87a0b", "#f0a23a"),
    themed("#1b8a6b", "#3fbf96"),
    themed("#ab0f3a", "#ee4a70"),
    themed("#8a6fb0", "#b49ad6"),
    themed("#8a7400", "#d9cc5a"),
    themed("#3a9bb5", "#6fc7dd"),
    themed("#a8623a", "#d9946c"),
];

/// The colours of a map of durations, from few records to many. Lines in the colour of text lie over
/// them, with a contrast of at least 3:1.
pub const HEAT_COLOURS: [ThemedColour; 6] = [
    themed("#cfe1f1", "#213a55"),
    themed("#b0cde6", "#284e70"),
    themed("#90b7d9", "#30628c"),
    themed("#719fcb", "#3a74a4"),
    themed("#568ab9", "#4482b5"),
    themed("#417aae", "#4f8ec3"),
];

/// Levels of error logs (syslog's, RFC 5424) and actions of firewalls, with the digit of the status
/// class that they resemble.
pub const OUTCOMES: [(u8, &[&str]); 5] = [
    (1, &["debug"]),
    (2, &["info", "allow", "accept", "pass", "permit"]),
    (3, &["notice"]),
    (4, &["warn", "limit"]),
    (5, &["emerg", "alert", "crit", "error", "block", "drop", "reject", "deny"]),
];

/// How much each further value with the same colour fades towards the background, in percent.
pub const FADE_PERCENT: u8 = 22;
/// The maximum that a value fades, in percent.
pub const FADE_PERCENT_MAX: u8 = 66;

/// The colour of a group in a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hue {
    /// The colour of a status class, by its digit: 1 to 5.
    Status(u8),
    /// An index into [`SERIES_COLOURS`].
    Series(usize),
    /// [`OTHER_COLOUR`].
    Other,
}

/// Returns the colours of a stack's groups, in group order: the hue, and how far it fades towards
/// the background, in percent.
///
/// ```
/// use weir_view::{Hue, group_hues};
///
/// let groups = ["200", "404", "304", "403"].map(str::to_owned);
/// let hues = group_hues("status", &groups);
/// assert_eq!(hues[1], (Hue::Status(4), 0));
/// assert_eq!(hues[3], (Hue::Status(4), 22));
/// ```
pub fn group_hues(field: &str, groups: &[String]) -> Vec<(Hue, u8)> {
    let hues: Vec<Hue> = match field {
        STATUS_CLASS | "status" => groups.iter().map(|group| status_hue(group)).collect(),
        "level" | "action" => outcome_hues(groups),
        _ => {
            let series = |(at, group): (usize, &String)| match group == REMAINDER_VALUE {
                true => Hue::Other,
                false => Hue::Series(at % SERIES_COLOURS.len()),
            };
            return groups.iter().enumerate().map(|group| (series(group), 0)).collect();
        }
    };
    let fade = |(at, hue): (usize, &Hue)| {
        let before = hues[..at].iter().filter(|other| *other == hue).count();
        let steps = u8::try_from(before).unwrap_or(u8::MAX);
        (*hue, FADE_PERCENT.saturating_mul(steps).min(FADE_PERCENT_MAX))
    };
    hues.iter().enumerate().map(fade).collect()
}

/// Returns the colour of a status code, or of a class such as `4xx`.
fn status_hue(status: &str) -> Hue {
    let digit = status.as_bytes().first().map_or(0, |digit| digit.wrapping_sub(b'0'));
    let rest = status.as_bytes().get(1..).unwrap_or_default();
    let is_status =
        rest.eq_ignore_ascii_case(b"xx") || rest.len() == 2 && rest.iter().all(u8::is_ascii_digit);
    if is_status && (1..=5).contains(&digit) { Hue::Status(digit) } else { Hue::Other }
}

/// Returns the colours of levels or actions. Unknown ones take the remaining colours of the list.
fn outcome_hues(groups: &[String]) -> Vec<Hue> {
    let known = |group: &str| {
        let resembles =
            |(_, names): &&(u8, &[&str])| names.iter().any(|name| group.eq_ignore_ascii_case(name));
        OUTCOMES.iter().find(resembles).map(|(digit, _)| *digit)
    };
    let used: Vec<ThemedColour> = groups
        .iter()
        .filter_map(|group| known(group))
        .map(|digit| STATUS_COLOURS[usize::from(digit) - 1])
        .collect();
    let mut free =
        (0..SERIES_COLOURS.len()).filter(|at| !used.contains(&SERIES_COLOURS[*at])).cycle();
    let hue = |group: &String| match known(group) {
        Some(digit) => Hue::Status(digit),
        None if group == NO_VALUE || group == REMAINDER_VALUE => Hue::Other,
        None => free.next().map_or(Hue::Other, Hue::Series),
    };
    groups.iter().map(hue).collect()
}

#[cfg(test)]
mod tests {
    use super::{Hue, group_hues};

    fn hues(field: &str, groups: &[&str]) -> Vec<(Hue, u8)> {
        let groups: Vec<String> = groups.iter().map(|group| (*group).to_owned()).collect();
        group_hues(field, &groups)
    }

    #[test]
    fn values_of_a_class_share_its_hue() {
        let statuses = ["200", "404", "204", "206", "207", "226", "-", "600"];
        let fades = [0, 0, 22, 44, 66, 66, 0, 22];
        let expected = hues("status", &statuses);
        assert_eq!(expected.iter().map(|(_, fade)| *fade).collect::<Vec<_>>(), fades);
        assert_eq!(hues("status_class", &["5xx", "other"]), [(Hue::Status(5), 0), (Hue::Other, 0)]);
    }

    #[test]
    fn levels_have_the_colours_of_outcomes() {
        // `warn` is amber, so the list begins with blue and skips amber.
        let levels = hues("level", &["warn", "verbose", "quiet", "ERROR", "(none)"]);
        let expected = [Hue::Status(4), Hue::Series(0), Hue::Series(2), Hue::Status(5), Hue::Other];
        assert_eq!(levels.iter().map(|(hue, _)| *hue).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn other_fields_take_the_colours_in_turn() {
        let hosts: Vec<String> = (0..9).map(|host| format!("h{host}")).collect();
        let hues = group_hues("host", &hosts);
        assert_eq!((hues[0], hues[8]), ((Hue::Series(0), 0), (Hue::Series(0), 0)));
    }
}
