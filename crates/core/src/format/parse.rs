//! Compiles a format from a name or a definition.
//!
//! The one entrance for text from a person: an argument of the command, a field of the page, a line
//! of a server's configuration. A name is tried first, since no name is a definition.

use super::catalog::format_by_name;
use super::compiled::{Format, IN_JSON};
use super::error::FormatError;
use super::nearest::nearest_names;
use super::notation;
use super::program::json::EnvelopeShape;
use super::program::wrapper::Wrapper;
use super::surroundings::written_surroundings;

impl Format {
    /// Compiles a format from the name of a known format or from a definition.
    ///
    /// A definition is in one of these notations:
    ///
    /// - an nginx `log_format` as in nginx.conf: the whole directive, its quoted
    ///   strings, or the bare text. `${request_time(ms)}` names a field and its kind, as in
    ///   the delimited notation below;
    /// - an Apache `LogFormat`, likewise;
    /// - `json:time=ts,client=ip|addr,status=code!,request_time=took(ms),trace=headers.Trace`
    ///   for lines that are JSON objects;
    /// - `spaces:time,client,cache_result/status,bytes,request_time=took(ms),_,user_agent?`,
    ///   or `tabs:` or `csv:`, for values with a separator between them;
    /// - `#Fields: date time c-ip cs-uri-stem sc-status`, the directive of the W3C extended
    ///   log format, for the lines after it;
    /// - `log-format %h %^[%d:%t %^] "%r" %s %b`, with lines `date-format` and `time-format`, of
    ///   GoAccess's configuration, or the bare text.
    ///
    /// In the JSON notation each item is a field, `=` and a key. Keys are compared without
    /// case; a point leads into an object, and an array stands for its first element.
    /// Alternative keys are separated by `|`, and the first one that a line has is read. `!`
    /// marks a required field: a line without it does not match. The time is always required, and
    /// so is a status or a request line if the definition has one and does not mark it with `?`.
    /// Durations are in seconds, in the unit in parentheses (`s`, `ms`, `us`, `ns`), or texts with
    /// a unit (`1.5ms`).
    ///
    /// In the delimited notation the fields are in the order of the line. `field=column(kind)`
    /// names the column in the log and the kind of the value: a unit of durations as above, `sum`
    /// for a duration to be added to others, `port` for a client or host with a port, `url` for a
    /// path or request that may be a whole URL, `number` for an extra field that is a number, or a
    /// strftime pattern for a time. `/` separates the parts of one value, `_` skips a value, and
    /// after `?` a line may end or have further values.
    ///
    /// `COMBINED and rt=$request_time "$tls" after TIME $container |` is a known format with values
    /// after its lines and parts before them, as [`Self::suggested_definition`] writes it: keyed
    /// values may be missing and in any order.
    ///
    /// A name that is not a [`crate::Field`] becomes one of [`Format::extra_fields`]. Each
    /// definition may end with ` in SYSLOG`, ` in DOCKER` or ` in CRI`; see [`Wrapper`]; or with
    /// ` in JSON:message` for lines in the member `message` of JSON objects.
    ///
    /// # Errors
    /// If the text is neither a known name nor a valid definition. The error points at the
    /// character.
    ///
    /// ```
    /// use weir_core::Format;
    ///
    /// assert_eq!(Format::parse("combined")?.name(), "COMBINED");
    /// assert_eq!(Format::parse("COMBINED in SYSLOG")?.extra_fields(), ["syslog_host", "syslog_tag"]);
    ///
    /// let error = Format::parse("$remote_addr ${status").unwrap_err();
    /// assert_eq!(error.column(), 14);
    /// # Ok::<(), weir_core::FormatError>(())
    /// ```
    ///
    /// Each notation, with the same three fields:
    ///
    /// ```
    /// use weir_core::{Field, Format};
    ///
    /// for definition in [
    ///     "log_format short '$remote_addr [$time_local] $status';",
    ///     r#"LogFormat "%h %t %>s" short"#,
    ///     "json:client=ip,time=ts,status=code",
    ///     "spaces:client,time(%FT%T%z),status",
    ///     "#Fields: c-ip date time sc-status",
    ///     "%h %^[%d:%t %^] %s",
    /// ] {
    ///     let format = Format::parse(definition)?;
    ///     let fields = [Field::Client, Field::Time, Field::Status];
    ///     assert!(fields.iter().all(|field| format.fills(*field)), "{definition}");
    /// }
    /// # Ok::<(), weir_core::FormatError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, FormatError> {
        if let Some((inside, wrapper)) = Wrapper::split(text) {
            return Self::parse(inside)?.wrapped_in(wrapper).ok_or_else(|| {
                let name = wrapper.name();
                let message = format!("this format cannot be wrapped; remove ` in {name}`");
                FormatError::new(text, 0, message)
            });
        }
        if let Some((inside, path)) = text.rsplit_once(IN_JSON) {
            let line = path.trim().to_owned();
            let shape = EnvelopeShape { line, time: None, fields: Vec::new() };
            return Self::parse(inside)?.in_envelope(shape).ok_or_else(|| {
                let message = format!("this format cannot stand in JSON; remove `{IN_JSON}{path}`");
                FormatError::new(text, 0, message)
            });
        }
        if let Some(format) = written_surroundings(text) {
            return format;
        }
        let name = notation::name_of(text).unwrap_or(text);
        match format_by_name(name.trim()) {
            Some(format) => Ok(format),
            None => notation::compile(text).unwrap_or_else(|| Err(unknown(text))),
        }
    }
}

fn unknown(definition: &str) -> FormatError {
    let hint = match &nearest_names(definition)[..] {
        [] => "write one with nginx variables ($status), Apache directives (%>s) or JSON keys \
               (json:time=ts,client=ip,status=code)"
            .to_owned(),
        [name] => format!("did you mean {name}?"),
        [names @ .., last] => format!("did you mean {} or {last}?", names.join(", ")),
    };
    let message = format!("this is neither the name of a known format nor a definition; {hint}");
    FormatError::new(definition, 0, message)
}
