//! The forms of an export.

use weir_query::ExportFormat;

/// A form in which the server writes the selected records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The fields of each record.
    Fields(ExportFormat),
    /// The lines of the log, read from its files again.
    Lines,
}

impl Form {
    /// All forms. Of those that a client accepts equally, the first one is sent.
    pub(crate) const ALL: [Self; 5] = [
        Self::Fields(ExportFormat::Csv),
        Self::Fields(ExportFormat::JsonLines),
        Self::Fields(ExportFormat::Parquet),
        Self::Fields(ExportFormat::Arrow),
        Self::Lines,
    ];

    /// Returns the name in requests.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fields(format) => format.name(),
            Self::Lines => "lines",
        }
    }

    /// Returns the form with this [name](Self::name).
    pub(crate) fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.name() == name)
    }

    /// Returns the file name extension without a dot.
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Self::Fields(format) => format.extension(),
            Self::Lines => "log",
        }
    }

    /// Returns the media type. Lines may have any encoding.
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Fields(format) => format.media_type(),
            Self::Lines => "text/plain",
        }
    }
}
