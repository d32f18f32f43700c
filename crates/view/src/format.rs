//! The name and the definition of a format, as they are shown.

use std::sync::Arc;

use weir_core::LogSource;

use crate::report::{Format, FormatCount};

impl Format {
    /// The one format of some sources: `mixed` with a line for each if they have several, and
    /// empty if none is known.
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
        Self { name: "mixed".to_owned(), definition }
    }
}

impl Format {
    /// The format of the records of some sources. A source without records counts with the format
    /// that it is read in.
    pub fn of_sources<S: LogSource>(sources: &[S]) -> Self {
        Self::of_all(sources.iter().flat_map(formats_of).map(Arc::as_ref))
    }
}

/// The formats of a source's records: its newest one if all have the same name, as the lists of
/// fields of a W3C log do.
fn formats_of<S: LogSource>(source: &S) -> Vec<&Arc<weir_core::Format>> {
    let formats: Vec<_> = source.records_by_format().iter().map(|(format, _)| format).collect();
    let has_one_name = formats.windows(2).all(|pair| pair[0].name() == pair[1].name());
    if has_one_name { source.format().into_iter().collect() } else { formats }
}

impl FormatCount {
    /// The records of each format in some sources, the format with the most records first.
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
        Self { name: format.name().to_owned(), definition: format.definition().to_owned() }
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
