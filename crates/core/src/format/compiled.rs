//! A compiled log format.
//!
//! A format is what all notations and known names come to. It holds no state of a log: parsers have
//! their caches, and trackers the changes of the format. So it is shared by all threads behind an
//! `Arc`, and two sources in one format share it too.
//!
//! A clone copies the program, and is only made to change the name, the wrapper or the year of a
//! format.

pub(super) mod client_choice;
mod derived;
pub(super) mod line_options;
mod records;
mod surroundings;
mod times;

use std::sync::Arc;

use self::client_choice::{ClientChoice, ClientSource};
use self::line_options::LineOptions;
pub(super) use self::surroundings::{ENVELOPES_MAX, IN_JSON};
pub use self::times::{YearOrigin, YearReference};
use super::own_names::unique_name;
use super::program::Program;
use super::program::head::Head;
use super::program::json::{Envelope, UNREAD_MEMBERS};
use super::program::tail::MORE_VALUES;
use super::program::wrapper::Wrapper;
use crate::derived::DerivedPart;
use crate::field::Field;
use crate::schema::RecordKind;
use crate::value::AddressMask;

/// A compiled log format: its name, its fields, and the program that reads its lines.
///
/// Formats come from [`Format::parse`], [`crate::format_by_name`], [`crate::detect`] or a
/// [`crate::FormatTracker`]. A line is in the format if all of its values have the form that the
/// definition requires. It then becomes a record with exactly the fields of [`Self::fields`] and
/// [`Self::extra_fields`], of which some may be absent in a line. Otherwise it is unparsed, and a
/// [`crate::Mismatch`] says where and why.
///
/// A format is immutable and can be shared between threads. A [`crate::LineParser`] reads lines
/// with it.
///
/// # Examples
///
/// ```
/// use weir_core::{Field, Format};
///
/// let format = Format::parse(r#"$remote_addr [$time_local] "$request" $status $trace_id"#)?;
/// assert_eq!(format.name(), "custom");
/// assert!(format.fills(Field::Path));
/// assert!(!format.fills(Field::Bytes));
/// assert_eq!(format.extra_fields(), ["trace_id"]);
/// # Ok::<(), weir_core::FormatError>(())
/// ```
///
/// # Required and optional values
///
/// Every value of a definition must be there in a line, even if only as `-`. In JSON, keys are
/// optional unless they are marked; in delimited lines, the values after `?` are.
#[derive(Debug, Clone)]
pub struct Format {
    name: String,
    definition: String,
    /// The names of the extra fields, by index.
    extra_fields: Vec<String>,
    /// Each once, in column order.
    fields: Vec<Field>,
    program: Program,
    year: Option<YearReference>,
    wrapper: Option<Wrapper>,
    /// The index of the first extra field of the wrapper.
    wrapper_extra: usize,
    /// The JSON objects around each line, the outermost first.
    envelopes: Vec<Arc<Envelope>>,
    /// Whether the time comes from the wrapper.
    takes_wrapper_time: bool,
    /// See [`Format::has_local_times`].
    has_local_times: bool,
    /// See [`Format::unitless_members`].
    unitless_members: Vec<String>,
    /// The parts before each line.
    head: Option<Arc<Head>>,
    /// See [`Format::suggested_definition`].
    suggestion: Option<String>,
    /// See [`Format::with_line_options`].
    options: Option<Arc<LineOptions>>,
    /// Where the client comes from by the options.
    client_source: Option<ClientSource>,
    /// The derived fields that the options add. They are the last of the extra fields.
    derived: Vec<DerivedPart>,
}

impl Format {
    /// A format named `custom`.
    pub(super) fn new(
        definition: &str,
        fields: Vec<Field>,
        extra_fields: Vec<String>,
        program: Program,
    ) -> Self {
        Self {
            name: "custom".to_owned(),
            definition: definition.trim().to_owned(),
            extra_fields,
            fields,
            program,
            year: None,
            wrapper: None,
            wrapper_extra: 0,
            envelopes: Vec::new(),
            takes_wrapper_time: false,
            has_local_times: false,
            unitless_members: Vec::new(),
            head: None,
            suggestion: None,
            options: None,
            client_source: None,
            derived: Vec::new(),
        }
    }

    /// The same format, whose JSON objects are about something else than requests.
    pub(super) fn of_kind(mut self, kind: RecordKind) -> Self {
        if let Program::Json(program) = &mut self.program {
            program.kind = kind;
        }
        self
    }

    /// Makes members of JSON objects, given by name and path, extra fields, and the further ones one more.
    pub(super) fn add_members(&mut self, members: &[(String, String)], definition: String) {
        let indices: Vec<_> = members.iter().map(|(name, _)| self.add_extra_field(name)).collect();
        let (more, unread) =
            (self.add_extra_field(MORE_VALUES), self.add_extra_field(UNREAD_MEMBERS));
        if let Program::Json(program) = &mut self.program {
            for ((_, path), index) in members.iter().zip(indices) {
                program.add_member(path, index);
            }
            (program.more, program.unread) = (Some(more), Some(unread));
            program.index_keys();
        }
        self.definition = definition;
    }

    /// Puts the alternative keys of JSON objects for a field in the order of their ranks, by their number.
    pub(super) fn rank_keys(&mut self, ranks: &[impl Ord]) {
        if let Program::Json(program) = &mut self.program {
            program.rank_keys(ranks);
        }
    }

    /// Leaves out a field of JSON objects that a log does not have.
    pub(super) fn forget_field(&mut self, field: Field) {
        if let Program::Json(program) = &mut self.program {
            program.forget_field(field);
            self.fields.retain(|known| *known != field);
        }
    }

    /// The format's name: that of a known format, one set by [`Self::with_name`], or `custom`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The definition that the format was compiled from. A hand-written format has the shape of
    /// its lines instead, which does not compile.
    ///
    /// [`Format::parse`] compiles it again, unless it is such a shape, to a format for the lines
    /// without their wrapper.
    pub fn definition(&self) -> &str {
        &self.definition
    }

    /// Whether both have the same name and definition, and so read lines alike but for the year of
    /// times without one.
    pub fn is_same_as(&self, other: &Self) -> bool {
        self.name == other.name && self.definition == other.definition
    }

    /// The names of the format's text fields that are not a [`Field`]. Their order is that of
    /// the indexes which [`crate::Record::extra`] takes.
    ///
    /// None is a name of a [`Field`], or one that outputs have for something else, such as `file`: what a log
    /// calls so is `log_file`.
    pub fn extra_fields(&self) -> &[String] {
        &self.extra_fields
    }

    /// The index of the first extra field of the wrapper.
    pub(super) fn wrapper_extra(&self) -> usize {
        self.wrapper_extra
    }

    /// The wrapper that stands around each line, if there is one.
    pub fn wrapper(&self) -> Option<Wrapper> {
        self.wrapper
    }

    /// The kind of the format's records.
    pub fn kind(&self) -> RecordKind {
        self.program.kind()
    }

    /// The known fields that the format fills, each once.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::{Field, Format};
    ///
    /// let format = Format::parse(r#"$remote_addr "$request""#)?;
    /// let fields = [Field::Client, Field::Method, Field::Path, Field::Query, Field::Protocol];
    /// assert!(fields.iter().all(|field| format.fields().contains(field)));
    /// # Ok::<(), weir_core::FormatError>(())
    /// ```
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Whether the format fills `field`.
    ///
    /// A line may still lack the field, for instance the query of a target without `?`.
    pub fn fills(&self, field: Field) -> bool {
        self.fields.contains(&field)
    }

    /// The same format with options for all lines. A format without the field that a choice of the
    /// client names keeps its client.
    pub fn with_line_options(&self, options: &Arc<LineOptions>) -> Self {
        let mut format = self.clone();
        if let Some(choice) = &options.client
            && !format.is_packed()
        {
            format.client_source = ClientSource::of(choice, &mut format);
        }
        format.options = Some(options.clone());
        format.add_derived(&options.derived);
        format
    }

    /// The options of [`Self::with_line_options`].
    pub fn line_options(&self) -> Option<&Arc<LineOptions>> {
        self.options.as_ref()
    }

    /// What of the addresses in all values is hidden.
    pub(crate) fn address_mask(&self) -> Option<AddressMask> {
        self.options.as_ref()?.mask
    }

    /// Where the client comes from, and the choice, if there is one.
    pub(super) fn client_rule(&self) -> Option<(&ClientSource, &ClientChoice)> {
        self.client_source.as_ref().zip(self.options.as_ref()?.client.as_ref())
    }

    /// The members of a JSON log that have the name of a duration and numbers without a unit. Each is an
    /// extra field.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::detect;
    ///
    /// let detection = detect(br#"{"time":"2025-12-17T09:03:01Z","status":200,"duration":35}"#);
    /// assert_eq!(detection.best().unwrap().format.unitless_members(), ["duration"]);
    /// ```
    pub fn unitless_members(&self) -> &[String] {
        &self.unitless_members
    }

    /// Sets [`Self::unitless_members`].
    pub(super) fn set_unitless_members(&mut self, members: Vec<String>) {
        self.unitless_members = members;
    }

    /// The same format with another name.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::Format;
    ///
    /// let format = Format::parse("$remote_addr $status")?.with_name("short");
    /// assert_eq!((format.name(), format.definition()), ("short", "$remote_addr $status"));
    /// # Ok::<(), weir_core::FormatError>(())
    /// ```
    pub fn with_name(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// Renames an extra field. Returns whether it did: not if there is no extra field `from`,
    /// and not if another field is called `to` already.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::Format;
    ///
    /// let mut format = Format::parse("$remote_addr $http_x_request_id")?;
    /// assert!(format.rename_field("http_x_request_id", "trace"));
    /// assert!(!format.rename_field("trace", "status"));
    /// assert_eq!(format.extra_fields(), ["trace"]);
    /// # Ok::<(), weir_core::FormatError>(())
    /// ```
    pub fn rename_field(&mut self, from: &str, to: &str) -> bool {
        let is_taken =
            Field::by_name(to).is_some() || self.extra_fields.iter().any(|name| name == to);
        match self.extra_fields.iter_mut().find(|name| *name == from) {
            Some(name) if !is_taken => {
                to.clone_into(name);
                true
            }
            _ => false,
        }
    }

    /// Sets the program for lines that have more values than those of a known format.
    pub(super) fn set_tail(&mut self, definition: String, program: Program) {
        self.definition = definition;
        self.program = program;
    }

    /// Sets the program for lines of the same values.
    pub(super) fn set_program(&mut self, program: Program) {
        self.program = program;
    }

    /// Sets [`Self::suggested_definition`].
    pub(super) fn set_suggestion(&mut self, suggestion: String) {
        self.suggestion = Some(suggestion);
    }

    /// Adds a known field. Returns whether it is new.
    pub(super) fn add_field(&mut self, field: Field) -> bool {
        let is_new = !self.fills(field);
        if is_new {
            self.fields.push(field);
            self.fields.sort_unstable();
        }
        is_new
    }

    /// Adds an extra field with this name, or with a number after it if the name is taken. Returns
    /// its index.
    pub(super) fn add_extra_field(&mut self, name: &str) -> usize {
        self.extra_fields.push(unique_name(name, &self.extra_fields));
        self.extra_fields.len() - 1
    }

    /// The definition of a known format with values after its lines or parts before them, for a
    /// person who knows the names of the values and wants to write them into it. [`Self::parse`]
    /// compiles it to the same format.
    ///
    /// `None` for the formats of other definitions and of the catalogue.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::{Format, detect};
    ///
    /// let line = br#"192.0.2.7 - - [17/Dec/2025:09:03:01 +0000] "GET / HTTP/1.1" 200 5 "-" "a" 7 8"#;
    /// let detection = detect(line);
    /// let format = &detection.best().unwrap().format;
    /// assert_eq!(format.name(), "COMBINED and 2 more values");
    /// assert_eq!(format.suggested_definition(), Some("COMBINED and $extra_1 $extra_2"));
    ///
    /// let named = Format::parse("COMBINED and $pool $shard")?;
    /// assert_eq!(named.extra_fields()[..2], ["pool", "shard"]);
    /// # Ok::<(), weir_core::FormatError>(())
    /// ```
    pub fn suggested_definition(&self) -> Option<&str> {
        self.suggestion.as_deref()
    }

    /// The program that reads the lines.
    pub(super) fn program(&self) -> &Program {
        &self.program
    }

    /// Whether the time comes from the wrapper.
    pub(super) fn takes_wrapper_time(&self) -> bool {
        self.takes_wrapper_time
    }
}
