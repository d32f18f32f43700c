//! The name and the definition of a format for display.

use std::sync::Arc;

use weir_core::LogSource;

use crate::report::{Format, FormatCount};

impl Format {
    /// Returns the common format of some sources. If they have several, the name is `mixed`, and
    /// the definition has a line for each. Both are empty if no format is known.
    pub fn of_all<'a>(formats: impl IntoIterator<Item = &'a weir_core::Format>) -> Self {
        let mut distinct: Vec<Self> = Vec::new();
        for format in formats.into_iter().map(Self::from) {
            if !distinct.contains(&format) {
                distinct.push(format);
            }
        }
        if distinct.len() <= 1 {
            return distinct.pop().unwrap_or_default();
        }
        let line = |format: &Self| format!("{}: {}", format.name, format.definition);
        let definition = distinct.iter().map(line).collect::<Vec<_>>().join("\n");
        Self { name: "mixed".to_owned(), definition, suggestion: None, client_field: None }
    }
}

impl Format {
    /// Returns the common format of the records of some sources. A source without records counts
    /// with the format in which it is read.
    pub fn of_sources<S: LogSource>(sources: &[S]) -> Self {
        Self::of_all(sources.iter().flat_map(formats_of).map(Arc::as_ref))
    }
}

/// Returns the formats of a source's records. If all have the same name, as for the field lists of
/// a W3C log, only the newest one.
fn formats_of<S: LogSource>(source: &S) -> Vec<&Arc<weir_core::Format>> {
    let formats: Vec<_> = source.records_by_format().iter().map(|(format, _)| format).collect();
    let has_one_name = formats.windows(2).all(|pair| pair[0].name() == pair[1].name());
    if has_one_name { source.format().into_iter().collect() } else { formats }
}

impl FormatCount {
    /// Returns the number of records in each format, in descending order.
    pub fn of_sources<S: LogSource>(sources: &[S]) -> Vec<Self> {
        let mut counts: Vec<Self> = Vec::new();
        for (format, records) in sources.iter().flat_map(LogSource::records_by_format) {
            match counts.iter_mut().find(|count| count.name == format.name()) {
                Some(count) => count.records += records,
                None => counts.push(Self { name: format.name().to_owned(), records: *records }),
            }
        }
        // The sort is stable.
        counts.sort_by_key(|count| std::cmp::Reverse(count.records));
        counts
    }
}

impl From<&weir_core::Format> for Format {
    fn from(format: &weir_core::Format) -> Self {
        Self {
            name: format.name().to_owned(),
            definition: format.definition().to_owned(),
            suggestion: format.suggested_definition().map(str::to_owned),
            client_field: format.client_field(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Format;

    #[test]
    fn several_formats_are_mixed() {
        let parse = |text: &str| weir_core::Format::parse(text).expect("a format");
        let (one, other) = (parse("$remote_addr $status"), parse("$remote_addr $request"));
        assert_eq!(Format::of_all([]), Format::default());
        assert_eq!(Format::of_all([&one, &one]), Format::from(&one));
        let mixed = Format::of_all([&one, &other, &one]);
        assert_eq!(mixed.name, "mixed");
        assert_eq!(mixed.definition, "custom: $remote_addr $status\ncustom: $remote_addr $request");
    }
}
