//! What a tracker is told about its source beforehand.

use std::sync::Arc;

use crate::derived::DerivedField;
use crate::format::compiled::line_options::LineOptions;
use crate::format::compiled::{Format, YearReference};
use crate::value::AddressMask;

/// How the format of a source is chosen.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{Format, FormatChoice, FormatTracker, TrackerOptions};
///
/// let format = Arc::new(Format::parse("$remote_addr $status")?);
/// let forced = FormatChoice::Forced(format.clone());
/// let tracker = FormatTracker::new(forced, TrackerOptions::default(), 0);
/// assert!(tracker.is_decided() && Arc::ptr_eq(tracker.format(), &format));
/// # Ok::<(), weir_core::FormatError>(())
/// ```
#[derive(Debug, Clone)]
pub enum FormatChoice {
    /// The known format that matches most of the first lines.
    ///
    /// See [`crate::detect`] for the rule.
    Detect,
    /// This format.
    ///
    /// Lines that are not in it are unparsed. Directives and years are followed as in a detected
    /// one.
    Forced(Arc<Format>),
    /// This format, as if it had been detected: lines that are not in it may be in others.
    ///
    /// For a log that continues another one.
    Known {
        /// The format.
        format: Arc<Format>,
        /// Formats of other lines that are known already; those after the seventh are ignored.
        companions: Vec<Arc<Format>>,
    },
    /// As `Detect`, with options for all lines.
    DetectWith(Arc<LineOptions>),
    /// None, because the lines are not read as records. No time is spent on a search.
    Unread,
}

impl FormatChoice {
    /// The options of all lines, if there are some.
    pub fn line_options(&self) -> Option<Arc<LineOptions>> {
        match self {
            Self::Detect | Self::Unread => None,
            Self::DetectWith(options) => Some(options.clone()),
            Self::Forced(format) | Self::Known { format, .. } => format.line_options().cloned(),
        }
    }

    /// The same choice, whose formats have these derived fields as well.
    #[must_use]
    pub fn deriving(self, fields: Vec<DerivedField>) -> Self {
        if fields.is_empty() {
            return self;
        }
        self.with_options(|options| options.derived.extend(fields))
    }

    /// The same choice, whose formats hide the addresses in all values.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use weir_core::{AddressMask, Field, Format, FormatChoice, LineOutcome, LogReader};
    ///
    /// let format = FormatChoice::Forced(Arc::new(Format::parse("$remote_addr $request_uri")?));
    /// let choice = format.hiding(AddressMask::of_level(1).unwrap());
    /// let FormatChoice::Forced(format) = choice else { panic!("it was forced") };
    /// LogReader::new(format).read(b"192.0.2.77 /?ip=192.0.2.78", |_, outcome| {
    ///     let LineOutcome::Record(record) = outcome else { panic!("a record") };
    ///     assert_eq!(record.text(Field::Client), Some(&b"192.0.2.0"[..]));
    ///     assert_eq!(record.text(Field::Query), Some(&b"ip=192.0.2.0"[..]));
    /// });
    /// # Ok::<(), weir_core::FormatError>(())
    /// ```
    #[must_use]
    pub fn hiding(self, mask: AddressMask) -> Self {
        self.with_options(|options| options.mask = Some(mask))
    }

    fn with_options(self, edit: impl FnOnce(&mut LineOptions)) -> Self {
        let mut options = self.line_options().map(Arc::unwrap_or_clone).unwrap_or_default();
        edit(&mut options);
        let options = Arc::new(options);
        let with = |format: &Arc<Format>| Arc::new(format.with_line_options(&options));
        match self {
            Self::Unread => Self::Unread,
            Self::Detect | Self::DetectWith(_) => Self::DetectWith(options),
            Self::Forced(format) => Self::Forced(with(&format)),
            Self::Known { format, companions } => Self::Known {
                format: with(&format),
                companions: companions.iter().map(with).collect(),
            },
        }
    }
}

/// The knowledge that a [`crate::FormatTracker`] has of its source beforehand.
///
/// The default is for a file whose age is not known: the clock decides the year, and the format
/// stays.
#[derive(Debug, Clone, Copy, Default)]
pub struct TrackerOptions {
    /// The time that determines the year of times without one; without it the current time does, and
    /// a stated year, [`LineOptions::year`], comes before it.
    pub year: Option<YearReference>,
    /// Whether the format is detected again after lines no longer match it, as in a feed that
    /// several senders may reach. A forced format is kept.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::{FormatChoice, FormatTracker, TrackerOptions};
    ///
    /// let options = TrackerOptions { watches_drift: true, ..TrackerOptions::default() };
    /// let mut tracker = FormatTracker::new(FormatChoice::Detect, options, 0);
    /// let common = "192.0.2.7 - - [17/Dec/2025:09:03:01 +0000] \"GET / HTTP/1.1\" 200 5";
    /// tracker.track(format!("{common}\n").as_bytes(), 0);
    /// assert_eq!(tracker.format().name(), "COMMON");
    ///
    /// let combined = format!("{common} \"-\" \"curl/8.0\"\n").repeat(20);
    /// let formats = tracker.track(combined.as_bytes(), 0);
    /// assert!(formats.findings[0].is_change);
    /// assert_eq!(tracker.format().name(), "COMBINED");
    /// ```
    pub watches_drift: bool,
}
