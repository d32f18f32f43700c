//! Why no line of a source was read, and a definition that would read them.

use serde::{Deserialize, Serialize};
use weir_core::{TextKind, UnparsedLine, suggest_format};

/// A source of which no line is in a known format.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Unread {
    /// What it is, as a clause after its name: `is a PNG image, not a log`.
    pub reason: String,
    /// Whether it may be a log.
    pub is_log: bool,
    /// A definition for `--format` that reads most of the first lines, made from their values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub suggestion: Option<String>,
}

/// What is said of lines in colours, as a clause after the name of the source.
const HAS_COLOURS: &str = "has the colour codes of a terminal in its lines, so no known format matches; remove \
                           them first: sed 's/\\x1b\\[[0-9;]*m//g' FILE";

impl Unread {
    /// Whether the lines have the colour codes of a terminal, so that they are in no known format.
    pub fn has_colours(&self) -> bool {
        self.reason == HAS_COLOURS
    }

    /// Describes a source with these first lines. Those that were cut off tell no definition.
    pub fn of<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let lines: Vec<&[u8]> = lines.into_iter().collect();
        let whole = lines.iter().copied().filter(|line| line.len() < UnparsedLine::BYTES_MAX);
        // Nothing is known of lines that were not kept.
        let kind = if lines.is_empty() { TextKind::Log } else { TextKind::of(&lines) };
        let (is_log, reason) = match kind {
            TextKind::Binary(Some(name)) => (false, format!("is {name}, not a log")),
            TextKind::Binary(None) => (false, "is not a text file".to_owned()),
            TextKind::Table => {
                (false, "is a table without times or addresses, not a log".to_owned())
            }
            TextKind::Prose => {
                (false, "is a text without times or addresses, not a log".to_owned())
            }
            TextKind::Coloured => (true, HAS_COLOURS.to_owned()),
            TextKind::Log => (true, "has no line in a known format".to_owned()),
        };
        let may_suggest = is_log && kind != TextKind::Coloured;
        let suggestion = suggest_format(whole).filter(|_| may_suggest).map(|it| it.definition);
        Self { reason, is_log, suggestion }
    }
}

#[cfg(test)]
mod tests {
    use super::Unread;

    #[test]
    fn reasons() {
        let of = |lines: &[&str]| Unread::of(lines.iter().map(|line| line.as_bytes()));
        assert_eq!(of(&["%PDF-1.7"]).reason, "is a PDF document, not a log");
        assert!(!of(&["a,b", "1,2"]).is_log);
        let coloured = of(&["192.0.2.7 \x1b[32mGET\x1b[0m /a 200"]);
        assert!(coloured.is_log && coloured.has_colours() && coloured.suggestion.is_none());
        assert!(
            coloured.reason.ends_with(r"sed 's/\x1b\[[0-9;]*m//g' FILE"),
            "{}",
            coloured.reason
        );
        let unread = of(&["2025-12-17 09:03:01.5 [192.0.2.7] GET /a -> 200 in 7"]);
        assert!(unread.is_log);
        assert_eq!(
            unread.suggestion.as_deref(),
            Some(
                "${time(%Y-%m-%d)} ${time(%H:%M:%S)}.${_=fraction} [$remote_addr] \
                 $request_method $request_uri $extra_1 $status $extra_2 $extra_3"
            )
        );
    }
}
