//! The place on the overview: the pane that has the keys, and what is chosen in each.

use std::collections::BTreeMap;
use std::ops::Range;

use weir_view::{Bucket, Report, RowValue, TopRow};

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
    rows: BTreeMap<String, ChosenRow>,
}

/// A row that is chosen. Rows of a log that grows move, so the value counts.
#[derive(Debug, PartialEq, Eq)]
struct ChosenRow {
    value: RowValue,
    /// Where it was last, in case that it is gone.
    row: usize,
}

/// The bar that is chosen in the chart, by its start: bars move while a log grows.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::watch) struct ChartPlace {
    /// `None` for the last bar.
    bar: Option<String>,
    /// The other end of the part that is chosen.
    mark: Option<String>,
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

    /// The place of the chosen row of a list.
    pub(in crate::watch) fn row(&self, field: &str, rows: &[TopRow]) -> usize {
        let Some(chosen) = self.rows.get(field) else { return 0 };
        let found = rows.iter().position(|row| is_same(&row.value, &chosen.value));
        found.unwrap_or(chosen.row).min(rows.len().saturating_sub(1))
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
                let rows = report.top.get(&field).map_or(&[][..], Vec::as_slice);
                let Some(by) = rows_by(key) else { return false };
                self.go_by(&field, by, rows);
            }
            (key, Pane::Chart) => {
                let Some(histogram) = &report.histogram else { return false };
                let bars = shown_buckets(histogram, size.columns).0;
                match key {
                    Key::Character(' ' | 'v') => self.chart.mark(&bars),
                    key => match bars_by(key) {
                        Some(by) => self.chart.go_by(by, &bars),
                        None => return false,
                    },
                }
            }
        }
        true
    }

    /// Chooses the row that is `by` rows further down, or the nearest.
    fn go_by(&mut self, field: &str, by: isize, rows: &[TopRow]) {
        let row = moved(self.row(field, rows), by, rows.len());
        let Some(chosen) = rows.get(row) else { return };
        self.rows.insert(field.to_owned(), ChosenRow { value: chosen.value.clone(), row });
    }
}

impl ChartPlace {
    /// The place of the chosen bar.
    pub(in crate::watch) fn at(&self, bars: &[Bucket]) -> usize {
        let last = bars.len().saturating_sub(1);
        self.bar.as_deref().map_or(last, |start| bar_of(start, bars))
    }

    /// The part between the mark and the chosen bar, with both, if there is a mark.
    pub(in crate::watch) fn marked(&self, bars: &[Bucket]) -> Option<Range<usize>> {
        let (at, mark) = (self.at(bars), bar_of(self.mark.as_deref()?, bars));
        Some(at.min(mark)..at.max(mark) + 1)
    }

    /// Half of the bars, around the chosen one.
    pub(super) fn around(&self, bars: &[Bucket]) -> Range<usize> {
        let length = bars.len().div_ceil(2);
        let start = self.at(bars).saturating_sub(length / 2).min(bars.len() - length);
        start..start + length
    }

    fn go_by(&mut self, by: isize, bars: &[Bucket]) {
        let bar = moved(self.at(bars), by, bars.len());
        self.bar = bars.get(bar).map(|bar| bar.start.clone());
    }

    /// Sets the mark, or drops it.
    fn mark(&mut self, bars: &[Bucket]) {
        self.mark = match self.mark {
            Some(_) => None,
            None => bars.get(self.at(bars)).map(|bar| bar.start.clone()),
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

/// Whether both stand for the same value, whatever was counted elsewhere.
fn is_same(one: &RowValue, other: &RowValue) -> bool {
    let parts = |value: &RowValue| (value.is_absent, value.is_remainder);
    parts(one) == parts(other) && one.bytes() == other.bytes()
}

/// The bar that begins at an instant, or the one in which it lies if bars were joined meanwhile.
fn bar_of(start: &str, bars: &[Bucket]) -> usize {
    let exact = bars.iter().position(|bar| bar.start == start);
    exact.unwrap_or_else(|| {
        let time = |stamp: &str| stamp.parse::<jiff::Timestamp>().ok();
        let at = time(start);
        bars.iter().rposition(|bar| time(&bar.start) <= at).unwrap_or(0)
    })
}

fn moved(from: usize, by: isize, count: usize) -> usize {
    from.saturating_add_signed(by).min(count.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use weir_view::{Bucket, RowValue, TopRow};

    use super::{ChartPlace, Places};

    /// Bars that begin in each of these minutes.
    fn bars(minutes: Range<usize>) -> Vec<Bucket> {
        let bar = |minute| Bucket {
            start: format!("2025-12-17T09:{minute:02}:00+00:00"),
            ..Bucket::default()
        };
        minutes.map(bar).collect()
    }

    fn rows(values: &[&str]) -> Vec<TopRow> {
        let row = |value: &&str| TopRow {
            value: RowValue::new(value.as_bytes(), false),
            ..TopRow::default()
        };
        values.iter().map(row).collect()
    }

    #[test]
    fn half_of_the_bars_lie_around_the_chosen_one() {
        let around = |bar: usize, count| {
            let bar = bars(bar..bar + 1).pop().map(|bar| bar.start);
            ChartPlace { bar, mark: None }.around(&bars(0..count))
        };
        assert_eq!(around(0, 10), 0..5);
        assert_eq!(around(5, 10), 3..8);
        assert_eq!(around(9, 10), 5..10);
        assert_eq!(around(9, 1), 0..1);
        assert_eq!(around(9, 0), 0..0);
        let last = ChartPlace::default().around(&bars(0..4));
        assert_eq!(last, 2..4, "the last bar is chosen first");
    }

    #[test]
    fn a_part_has_both_of_its_ends() {
        let all = bars(0..10);
        let mut place = ChartPlace::default();
        assert_eq!(place.marked(&all), None);
        place.mark(&all);
        place.go_by(-3, &all);
        assert_eq!(place.marked(&all), Some(6..10));
        assert_eq!(place.marked(&all[..4]), Some(3..4), "of fewer bars");
        place.go_by(isize::MIN, &all);
        assert_eq!(place.marked(&all), Some(0..10));
        assert!(place.unmark() && !place.unmark());
    }

    #[test]
    fn a_chosen_bar_keeps_its_time_while_the_log_grows() {
        let mut place = ChartPlace::default();
        place.go_by(-3, &bars(0..10));
        place.mark(&bars(0..10));
        assert_eq!(place.at(&bars(0..10)), 6);
        assert_eq!(place.at(&bars(0..20)), 6);
        assert_eq!(place.at(&bars(4..20)), 2);
        assert_eq!(place.marked(&bars(4..20)), Some(2..3));
        assert_eq!(place.at(&bars(8..20)), 0, "it is older than what is kept");
        let joined: Vec<Bucket> = bars(0..20).into_iter().step_by(4).collect();
        assert_eq!(place.at(&joined), 1, "09:06 lies in 09:04 to 09:07");
    }

    #[test]
    fn a_chosen_value_keeps_the_cursor_while_rows_move() {
        let mut places = Places::default();
        assert_eq!(places.row("path", &rows(&["/a", "/b"])), 0);
        places.go_by("path", 2, &rows(&["/a", "/b", "/c"]));
        assert_eq!(places.row("path", &rows(&["/a", "/b", "/c"])), 2);
        assert_eq!(places.row("path", &rows(&["/d", "/a", "/b", "/c"])), 3);
        assert_eq!(places.row("path", &rows(&["/c", "/d"])), 0);
        assert_eq!(places.row("path", &rows(&["/d"])), 0, "it is gone");
        assert_eq!(places.row("status", &rows(&["200"])), 0);
    }
}
