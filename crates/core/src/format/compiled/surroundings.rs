//! What stands around the lines of a format: a wrapper, or JSON objects.

use std::sync::Arc;

use super::Format;
use crate::field::Field;
use crate::format::program::Program;
use crate::format::program::head::{Head, HeadKind, HeadSink};
use crate::format::program::json::{Envelope, EnvelopeShape};
use crate::format::program::needs::Needs;
use crate::format::program::tail::MORE_VALUES;
use crate::format::program::wrapper::Wrapper;

/// The most JSON objects, one in a member of the other, around a line.
pub(in crate::format) const ENVELOPES_MAX: usize = 3;

/// What stands between the name of a format and the path of the member that holds its lines.
pub(in crate::format) const IN_JSON: &str = " in JSON:";

impl Format {
    /// The format of the same lines inside a wrapper, such as `COMBINED in SYSLOG`.
    ///
    /// Returns `None` if the lines are wrapped already, and if directives stand between them.
    ///
    /// The fields of the wrapper become extra fields, and its time is that of the record if the
    /// lines have none.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::{Field, Format, Wrapper};
    ///
    /// let plain = Format::parse("$remote_addr $status")?;
    /// let wrapped = plain.wrapped_in(Wrapper::Syslog).unwrap();
    /// assert_eq!(wrapped.name(), "custom in SYSLOG");
    /// assert!(wrapped.fills(Field::Time) && !plain.fills(Field::Time));
    /// assert!(wrapped.wrapped_in(Wrapper::Syslog).is_none());
    /// # Ok::<(), weir_core::FormatError>(())
    /// ```
    pub fn wrapped_in(&self, wrapper: Wrapper) -> Option<Self> {
        if self.wrapper.is_some() || !self.program.can_be_wrapped() {
            return None;
        }
        let mut format = self.clone();
        format.name = format!("{} in {}", self.name, wrapper.name());
        format.wrapper = Some(wrapper);
        format.wrapper_extra = self.extra_fields.len();
        if let Some(suggestion) = &mut format.suggestion {
            suggestion.push_str(&format!(" in {}", wrapper.name()));
        }
        let added = wrapper.extra_fields().iter().map(|name| (*name).to_owned());
        format.extra_fields.extend(added);
        if wrapper.has_time() && !self.fills(Field::Time) {
            format.takes_wrapper_time = true;
            format.fields.push(Field::Time);
        }
        Some(format)
    }

    /// The format of the same lines inside a member of JSON objects; `None` if there are
    /// [`ENVELOPES_MAX`] objects around them already, directives between them, or docker's object.
    ///
    /// The other members become extra fields, and the time of the object that of the record if the lines
    /// have none.
    pub(in crate::format) fn in_envelope(&self, shape: EnvelopeShape) -> Option<Self> {
        let is_escaped = self.wrapper.is_some_and(Wrapper::is_escaped);
        if self.envelopes.len() == ENVELOPES_MAX || is_escaped || !self.program.can_be_quoted() {
            return None;
        }
        let takes_time = !self.fills(Field::Time);
        let mut format = self.clone();
        format.name = format!("{}{IN_JSON}{}", self.name, shape.line);
        if let Some(suggestion) = &mut format.suggestion {
            suggestion.push_str(&format!("{IN_JSON}{}", shape.line));
        }
        let fields = shape.fields.iter();
        let indices: Vec<_> = fields.map(|(name, _)| format.add_extra_field(name)).collect();
        let more = format.add_extra_field(MORE_VALUES);
        let envelope = Envelope::new(shape, &indices, Some(more), takes_time);
        if envelope.has_time() {
            format.fields.push(Field::Time);
        }
        format.envelopes.insert(0, Arc::new(envelope));
        Some(format)
    }

    /// The same format with a time, or a word, before each line for each of these names; `-` is a word
    /// without a field.
    pub(in crate::format) fn after(mut self, names: &[&str]) -> Self {
        let parts = names.iter().map(|name| match *name {
            "time" => (HeadKind::Time, HeadSink::Time),
            "-" => (HeadKind::Word, HeadSink::Skip),
            name => (HeadKind::Word, HeadSink::Extra(self.add_extra_field(name))),
        });
        let head = Head { parts: parts.collect(), forwarded: None };
        if head.has_time() {
            self.add_field(Field::Time);
        }
        self.set_head(head);
        self
    }

    /// The JSON objects around each line, the outermost first.
    pub(in crate::format) fn envelopes(&self) -> &[Arc<Envelope>] {
        &self.envelopes
    }

    /// The same format for other lines that stand where those of `own` stand: in its wrapper, and in its
    /// JSON objects.
    pub(in crate::format) fn surrounded_as(&self, own: &Self) -> Option<Self> {
        let format = match own.wrapper {
            Some(wrapper) => self.wrapped_in(wrapper)?,
            None => self.clone(),
        };
        let mut shapes = own.envelopes.iter().rev().map(|envelope| envelope.shape.clone());
        shapes.try_fold(format, |format, shape| format.in_envelope(shape))
    }
    /// Sets the parts that stand before each line.
    pub(in crate::format) fn set_head(&mut self, head: Head) {
        self.head = Some(Arc::new(head));
    }

    /// The parts before each line.
    pub(in crate::format) fn head(&self) -> Option<&Head> {
        self.head.as_deref()
    }

    /// Whether something may stand around the lines of the format: not if directives stand between
    /// them, and not if the lines have no time.
    pub(in crate::format) fn may_be_surrounded(&self) -> bool {
        self.program.can_be_wrapped() && self.fills(Field::Time) && self.head.is_none()
    }

    /// What each line has, if no directive is among the lines.
    pub(in crate::format) fn needs(&self) -> Needs<'_> {
        let is_escaped = self.wrapper.is_some_and(Wrapper::is_escaped);
        let has_directives =
            matches!(&self.program, Program::Delimited(program) if program.has_directives());
        if is_escaped || has_directives || !self.envelopes.is_empty() {
            return Needs::default();
        }
        let needs = self.program.needs();
        // With something before it, the object is not the line.
        let is_bare = self.wrapper.is_none() && self.head.is_none();
        if is_bare { needs } else { Needs { keys: &[], ..needs } }
    }
}
