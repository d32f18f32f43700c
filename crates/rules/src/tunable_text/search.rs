//! The search for the places of the numbers.

use std::cell::Cell;
use std::ops::Range;

use super::{TunableText, settings_of};
use crate::settings::RuleSettings;

/// The most places that may be a number.
const PLACES_MAX: usize = 100_000;

pub(super) const SECOND_NS: u64 = 1_000_000_000;

/// Units of durations, the longest first.
const UNITS: [(&str, u64); 7] = [
    ("d", 86_400 * SECOND_NS),
    ("h", 3_600 * SECOND_NS),
    ("m", 60 * SECOND_NS),
    ("min", 60 * SECOND_NS),
    ("s", SECOND_NS),
    ("", SECOND_NS),
    ("ms", SECOND_NS / 1_000),
];

/// A search for the place of a setting.
pub(super) struct PlaceSearch<'a> {
    pub(super) text: &'a TunableText,
    pub(super) own: RuleSettings,
    /// How much may still be read.
    pub(super) bytes_left: Cell<usize>,
}

/// A place, and what is written there instead.
type Edit = (Range<usize>, String);

impl PlaceSearch<'_> {
    /// Returns the place where another number changes a setting, and nothing else.
    pub(super) fn find(
        &self,
        number: u64,
        changed: impl Fn(u64) -> RuleSettings,
    ) -> Option<Range<usize>> {
        // Some numbers must not rise, and others not fall.
        [number.checked_mul(2), Some(number / 2)].into_iter().flatten().find_map(|other| {
            if other == number || other == 0 {
                return None;
            }
            let wanted = changed(other);
            let text = &self.text.excerpt.text;
            // Ways to write the same are tried one after another: each place has one at a time.
            let mut of_places: Vec<(Range<usize>, Vec<String>)> = numbers(text)
                .filter(|place| self.text.excerpt.is_own(place))
                .map(|place| (place.clone(), spellings(&text[place], self.own, wanted)))
                .filter(|(_, spellings)| !spellings.is_empty())
                .take(PLACES_MAX)
                .collect();
            while !of_places.is_empty() {
                let edits: Vec<Edit> = of_places
                    .iter_mut()
                    .map(|(place, spellings)| (place.clone(), spellings.remove(0)))
                    .collect();
                if let Some(place) = self.among(&edits, wanted) {
                    return Some(place);
                }
                of_places.retain(|(_, spellings)| !spellings.is_empty());
            }
            None
        })
    }

    /// Returns the first of these edits that gives the wanted settings alone.
    fn among(&self, edits: &[Edit], wanted: RuleSettings) -> Option<Range<usize>> {
        let text = edited(&self.text.excerpt.text, edits);
        self.bytes_left.set(self.bytes_left.get().checked_sub(text.len().max(1))?);
        let found = self.text.parse(&text).map(|rules| settings_of(&rules));
        match (found, edits) {
            (Some(found), [(place, _)]) => {
                (found == self.text.expected(wanted)).then(|| place.clone())
            }
            (None, [_]) => None,
            // Other rules may have changed, but not this one.
            (Some(found), _) if found.get(self.text.number) == Some(&Some(self.own)) => None,
            _ => {
                let (first, second) = edits.split_at(edits.len() / 2);
                self.among(first, wanted).or_else(|| self.among(second, wanted))
            }
        }
    }
}

/// A text with other numbers at some places.
pub(super) fn edited(text: &str, edits: &[Edit]) -> String {
    let mut edits: Vec<&Edit> = edits.iter().collect();
    edits.sort_by_key(|(place, _)| place.start);
    let (mut edited, mut end) = (String::with_capacity(text.len()), 0);
    for (place, spelling) in edits {
        edited.push_str(&text[end..place.start]);
        edited.push_str(spelling);
        end = place.end;
    }
    edited + &text[end..]
}

/// The places of the numbers of a text, each with the letters of a unit after it. Numbers within
/// names are left out.
fn numbers(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + text[at..].find(|next: char| next.is_ascii_digit())?;
            let rest = &text[start..];
            let digits = rest.find(|next: char| !next.is_ascii_digit()).unwrap_or(rest.len());
            let letters = rest[digits..].find(|next: char| !next.is_ascii_alphabetic());
            let end = start + digits + letters.unwrap_or(rest.len() - digits);
            at = end;
            let before = text[..start].chars().next_back();
            if !before.is_some_and(|before| before.is_alphanumeric() || before == '_') {
                return Some(start..end);
            }
        }
    })
}

/// The ways to write what a number becomes, if it may be the setting that changes.
pub(super) fn spellings(number: &str, now: RuleSettings, wanted: RuleSettings) -> Vec<String> {
    let digits = number.find(|next: char| !next.is_ascii_digit()).unwrap_or(number.len());
    let (value, unit) = number.split_at(digits);
    let Ok(value) = value.parse::<u64>() else { return Vec::new() };
    // What is compared with `>=` is written one higher.
    let count = |now: u64, wanted: u64| match value {
        _ if now == wanted => None,
        same if same == now => Some(format!("{wanted}{unit}")),
        next if Some(next) == now.checked_add(1) => {
            Some(format!("{}{unit}", wanted.checked_add(1)?))
        }
        _ => None,
    };
    let mut spellings = Vec::from_iter(count(now.threshold, wanted.threshold));
    if let (Some(now), Some(wanted)) = (now.refill, wanted.refill) {
        spellings.extend(count(now, wanted));
    }
    let is_period = |(_, unit_ns): &(&str, u64)| value.checked_mul(*unit_ns) == Some(now.period_ns);
    if now.period_ns != wanted.period_ns && UNITS.iter().any(is_period) {
        // The own unit first, so that the text changes least.
        let own = UNITS.iter().filter(|(name, _)| *name == unit);
        let others = UNITS.iter().filter(|(name, _)| *name != unit);
        let whole = |(name, unit_ns): &(&str, u64)| {
            wanted
                .period_ns
                .is_multiple_of(*unit_ns)
                .then(|| format!("{}{name}", wanted.period_ns / unit_ns))
        };
        spellings.extend(own.chain(others).filter_map(whole));
    }
    spellings
}
