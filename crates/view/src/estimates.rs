//! Notes on numbers that are not exact.

use weir_core::Field;

use crate::number::separated;
use crate::report::Report;
use crate::words::REMAINDER_VALUE;

impl Report {
    /// Returns whether a field's list or quantiles are estimates. If so, its number of distinct
    /// values is a lower bound.
    pub fn is_estimated(&self, field: &str) -> bool {
        self.estimated.iter().any(|name| name == field)
    }

    /// Returns a clause about the effects of the memory limit: which numbers are not exact, and how
    /// far they may be off. It does not include advice. All reports use the same words.
    pub fn memory_note(&self) -> Option<String> {
        if self.unlisted_max.is_empty() && !self.filter_estimated {
            return None;
        }
        let mut note = "memory limit reached".to_owned();
        if !self.unlisted_max.is_empty() {
            let fields: Vec<&str> = self.unlisted_max.keys().map(String::as_str).collect();
            let bounds = self.unlisted_max.iter();
            let bounds = bounds.map(|(field, most)| format!("{} ({field})", separated(*most)));
            note += &format!(
                ": values of {} first seen after that point are grouped as \"{REMAINDER_VALUE}\", \
                 except frequent ones, whose counts may be lower bounds (≥); any other value has at \
                 most this many {}: {}",
                fields.join(", "),
                self.kind.noun(0),
                bounds.collect::<Vec<_>>().join(", "),
            );
        }
        if self.filter_estimated {
            note += "; the conditions cannot be decided for grouped values, so all numbers are \
                     estimates";
        }
        Some(note)
    }

    /// Returns a clause stating that durations are rounded, if there are too many distinct ones.
    pub fn rounding_note(&self) -> Option<String> {
        let is_rounded = |field: &&Field| self.is_estimated(field.name());
        let rounded = Field::NUMBERS.iter().filter(is_rounded);
        let rounded: Vec<&str> = rounded.map(|field| field.name()).collect();
        (!rounded.is_empty() && !self.filter_estimated).then(|| {
            let fields = rounded.join(", ");
            format!("{fields} has so many different values that quantiles are rounded to 0.05%")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Report;

    #[test]
    fn the_notes_name_the_fields_and_the_bounds() {
        let mut report = Report::default();
        assert_eq!((report.memory_note(), report.rounding_note()), (None, None));
        report.unlisted_max = [("client".to_owned(), 1_234), ("path".to_owned(), 5)].into();
        report.estimated = ["client", "path", "request_time"].map(str::to_owned).into();
        let note = "memory limit reached: values of client, path first seen after that point are \
                    grouped as \"(all other values)\", except frequent ones, whose counts may be \
                    lower bounds (≥); any other value has at most this many requests: 1,234 \
                    (client), 5 (path)";
        assert_eq!(report.memory_note().as_deref(), Some(note));
        assert!(report.rounding_note().is_some_and(|note| note.starts_with("request_time has")));
        report.filter_estimated = true;
        assert!(
            report.memory_note().is_some_and(|note| note.ends_with("all numbers are estimates"))
        );
        assert_eq!(report.rounding_note(), None);
    }
}
