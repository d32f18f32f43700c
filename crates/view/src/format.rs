//! The name and the definition of a format, as they are shown.

use crate::report::Format;

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
