//! The place on the overview: the pane that has the keys, and what is chosen in each.

use std::collections::BTreeMap;
use std::ops::Range;

use weir_view::Report;

use crate::display::fields_with_values;
use crate::full_screen::{Key, Size};
use crate::terminal::shown_buckets;

/// The rows or bars that a key for a page goes over.
const PAGE: isize = 10;

/// A part of the overview that can have the keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::watch) enum Pane {
    Chart,
    /// The list of a field.
    List(String),
}

/// The pane that has the keys, and what is chosen in each.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::watch) struct Places {
    /// `None` for the first list.
    pane: Option<Pane>,
    pub(in crate::watch) chart: ChartPlace,
    /// The chosen row of each list in which one was chosen.
    rows: BTreeMap<String, usize>,
}

/// The bar that is chosen in the chart.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::watch) struct ChartPlace {
    /// `None` for the last bar.
    bar: Option<usize>,
    /// The other end of the part that is chosen.
    mark: Option<usize>,
}

impl Places {
    /// The pane that has the keys. Lists that are gone have none.
    pub(in crate::watch) fn pane(&self, report: &Report) -> Pane {
        let lists = fields_with_values(report);
        match (&self.pane, lists.first()) {
            (Some(Pane::List(field)), _) if lists.contains(&field.as_str()) => {
                Pane::List(field.clone())
            }
            (Some(Pane::Chart), _) | (_, None) => Pane::Chart,
            (_, Some(first)) => Pane::List((*first).to_owned()),
        }
    }

    /// Gives the keys to the pane that is `by` panes further. The chart is before the lists.
    fn go_to_next(&mut self, report: &Report, by: isize) {
        let lists = fields_with_values(report);
        let index = match self.pane(report) {
            Pane::Chart => 0,
            Pane::List(field) => 1 + lists.iter().position(|list| *list == field).unwrap_or(0),
        };
        let next = (index as isize + by).rem_euclid(1 + lists.len() as isize) as usize;
        self.pane = Some(match next.checked_sub(1) {
            None => Pane::Chart,
            Some(list) => Pane::List(lists[list].to_owned()),
        });
    }

    /// The chosen row of a list with so many rows.
    pub(in crate::watch) fn row(&self, field: &str, rows: usize) -> usize {
        self.rows.get(field).copied().unwrap_or(0).min(rows.saturating_sub(1))
    }

    /// Forgets the chosen bar, because the bars become others.
    pub(super) fn forget_bar(&mut self) {
        self.chart = ChartPlace::default();
    }

    /// Drops the mark in the chart. Returns whether there was one.
    pub(super) fn unmark(&mut self) -> bool {
        self.chart.unmark()
    }

    /// Does what a key means if it only moves. Returns whether it does.
    pub(super) fn press(&mut self, key: Key, report: &Report, size: Size) -> bool {
        match (key, self.pane(report)) {
            (Key::Tab, _) => self.go_to_next(report, 1),
            (Key::BackTab, _) => self.go_to_next(report, -1),
            (Key::Down | Key::Character('j'), Pane::Chart) => self.go_to_next(report, 1),
            (Key::Left | Key::Character('h'), Pane::List(_)) => self.go_to_next(report, -1),
            (Key::Right | Key::Character('l'), Pane::List(_)) => self.go_to_next(report, 1),
            (key, Pane::List(field)) => {
                let rows = report.top.get(&field).map_or(0, Vec::len);
                let Some(by) = rows_by(key) else { return false };
                self.go_by(&field, by, rows);
            }
            (key, Pane::Chart) => {
                let Some(histogram) = &report.histogram else { return false };
                let bars = shown_buckets(histogram, size.columns).0.len();
                match key {
                    Key::Character(' ' | 'v') => self.chart.mark(bars),
                    key => match bars_by(key) {
                        Some(by) => self.chart.go_by(by, bars),
                        None => return false,
                    },
                }
            }
        }
        true
    }

    /// Chooses the row that is `by` rows further down, or the nearest.
    fn go_by(&mut self, field: &str, by: isize, rows: usize) {
        let row = moved(self.row(field, rows), by, rows);
        self.rows.insert(field.to_owned(), row);
    }
}

impl ChartPlace {
    /// The chosen one of so many bars.
    pub(in crate::watch) fn at(&self, bars: usize) -> usize {
        let last = bars.saturating_sub(1);
        self.bar.unwrap_or(last).min(last)
    }

    /// The part between the mark and the chosen bar, with both, if there is a mark.
    pub(in crate::watch) fn marked(&self, bars: usize) -> Option<Range<usize>> {
        let (at, mark) = (self.at(bars), self.mark?.min(bars.saturating_sub(1)));
        Some(at.min(mark)..at.max(mark) + 1)
    }

    /// Half of the bars, around the chosen one.
    pub(super) fn around(&self, bars: usize) -> Range<usize> {
        let length = bars.div_ceil(2);
        let start = self.at(bars).saturating_sub(length / 2).min(bars - length);
        start..start + length
    }

    fn go_by(&mut self, by: isize, bars: usize) {
        self.bar = Some(moved(self.at(bars), by, bars));
    }

    /// Sets the mark, or drops it.
    fn mark(&mut self, bars: usize) {
        self.mark = match self.mark {
            Some(_) => None,
            None => Some(self.at(bars)),
        };
    }

    /// Drops the mark. Returns whether there was one.
    fn unmark(&mut self) -> bool {
        self.mark.take().is_some()
    }
}

/// By how many rows a key goes down in a list.
fn rows_by(key: Key) -> Option<isize> {
    Some(match key {
        Key::Up | Key::Character('k') => -1,
        Key::Down | Key::Character('j') => 1,
        Key::PageUp | Key::Control('b') => -PAGE,
        Key::PageDown | Key::Control('f') | Key::Character(' ') => PAGE,
        Key::Home | Key::Character('g') => isize::MIN,
        Key::End | Key::Character('G') => isize::MAX,
        _ => return None,
    })
}

/// By how many bars a key goes to the right in the chart.
fn bars_by(key: Key) -> Option<isize> {
    Some(match key {
        Key::Left | Key::Character('h') => -1,
        Key::Right | Key::Character('l') => 1,
        Key::PageUp | Key::Control('b') => -PAGE,
        Key::PageDown | Key::Control('f') => PAGE,
        Key::Home | Key::Character('g') => isize::MIN,
        Key::End | Key::Character('G') => isize::MAX,
        _ => return None,
    })
}

fn moved(from: usize, by: isize, count: usize) -> usize {
    from.saturating_add_signed(by).min(count.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::ChartPlace;

    #[test]
    fn half_of_the_bars_lie_around_the_chosen_one() {
        let around = |bar, bars| ChartPlace { bar: Some(bar), mark: None }.around(bars);
        assert_eq!(around(0, 10), 0..5);
        assert_eq!(around(5, 10), 3..8);
        assert_eq!(around(9, 10), 5..10);
        assert_eq!(around(9, 1), 0..1);
        assert_eq!(around(9, 0), 0..0);
        assert_eq!(ChartPlace::default().around(4), 2..4, "the last bar is chosen first");
    }

    #[test]
    fn a_part_has_both_of_its_ends() {
        let mut place = ChartPlace::default();
        assert_eq!(place.marked(10), None);
        place.mark(10);
        place.go_by(-3, 10);
        assert_eq!(place.marked(10), Some(6..10));
        assert_eq!(place.marked(4), Some(3..4), "of fewer bars");
        place.go_by(isize::MIN, 10);
        assert_eq!(place.marked(10), Some(0..10));
        assert!(place.unmark() && !place.unmark());
    }
}
