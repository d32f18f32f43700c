//! docs/formats.md, written from what the known formats' own files say.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use weir_core::{Field, Format, FormatNotes, Wrapper, format_notes, known_formats};

use crate::shell::{Outcome, root};

/// Sample lines are shown up to here.
const SAMPLE_CHARACTERS_MAX: usize = 600;

fn path() -> PathBuf {
    root().join("docs/formats.md")
}

/// Writes it anew.
pub(crate) fn write() -> Outcome {
    fs::write(path(), rendered())?;
    Ok(())
}

/// Fails where the file in the tree is not what would be written.
pub(crate) fn check() -> Outcome {
    if fs::read_to_string(path()).unwrap_or_default() == rendered() {
        return Ok(());
    }
    Err("docs/formats.md is out of date; run `cargo xtask formats`".into())
}

fn rendered() -> String {
    let mut page = HEAD.to_owned();
    for notes in format_notes() {
        let anchor = notes.name.to_lowercase();
        let sentence = notes.about.split(". ").next().unwrap_or_default().trim_end_matches('.');
        let _ = writeln!(page, "- [{}](#{anchor}): {sentence}", notes.name);
    }
    page.push_str(&around());
    for (notes, format) in format_notes().iter().zip(known_formats()) {
        section(notes, format, &mut page);
    }
    page
}

fn section(notes: &FormatNotes, format: &Format, page: &mut String) {
    let what = if notes.is_shape { "Shape" } else { "Definition" };
    let definition = match notes.definition.as_str() {
        "#Fields:" => "#Fields: (what the log's own directive says)",
        definition => definition,
    };
    let sample: Vec<String> = notes.sample.iter().map(|line| shortened(line)).collect();
    let _ = write!(
        page,
        "\n## {}\n\n{}\n\nManual: {}\n\n{what}:\n\n```text\n{definition}\n```\n\nA line of it:\n\n\
         ```text\n{}\n```\n",
        notes.name,
        notes.about,
        notes.manual,
        sample.join("\n"),
    );
    let known = Field::TEXT.iter().chain(&Field::NUMBERS).chain([&Field::Time]);
    let known: Vec<String> =
        known.filter(|field| format.fills(**field)).map(|field| code(field.name())).collect();
    let own: Vec<String> = format.extra_fields().iter().map(|name| code(name)).collect();
    match known.is_empty() {
        true => page.push_str("\nFields: those of its directive.\n"),
        false => {
            let _ = writeln!(page, "\nFields: {}", known.join(", "));
        }
    }
    if !own.is_empty() {
        let _ = writeln!(page, "\nIts own: {}", own.join(", "));
    }
}

fn code(name: &str) -> String {
    format!("`{name}`")
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(SAMPLE_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
    }
}

/// What may stand around every format.
fn around() -> String {
    let mut text = WRAPPERS.to_owned();
    for wrapper in Wrapper::ALL {
        let about = match wrapper {
            Wrapper::Syslog => {
                "a prefix of syslog: RFC 3164 with or without `<PRI>`, also with a time as RFC 3339 \
                 has it, or RFC 5424. Adds `syslog_host` and `syslog_tag`"
            }
            Wrapper::Docker => {
                "docker's json-file driver, `{\"log\":\"...\\n\",\"stream\":\"stdout\",\"time\":\"...\"}`; \
                 the escapes are undone"
            }
            Wrapper::Cri => {
                "Kubernetes' container runtimes, `2025-12-17T09:03:01.25Z stdout F ...`; lines that \
                 the runtime has split (`P`) do not fit, and are counted so"
            }
        };
        let _ = writeln!(text, "- {}: {about}", wrapper.name());
    }
    text.push_str(OTHERS);
    text
}

const HEAD: &str = "\
# Formats

Written by `cargo xtask formats` from the formats' own files in `crates/core/src/format/catalog`,
which also hold the lines that the tests read; do not edit.

Weir finds out by itself which of these a log is in, from its first 1,000 lines or 256 KiB: the
format that gets most fields out of them. `weir formats FILE` shows how well each fits, and
`--format NAME` decides. Values are the log's own bytes: percent signs, pluses and backslashes stay.

";

const WRAPPERS: &str = "
## Around the lines

Something else may have passed the lines on. Detection finds that out too, and says both, as in
`COMBINED in SYSLOG`; `--format` takes the same, with a definition in front as well. A format
without a time takes that of syslog and of Kubernetes.

";

const OTHERS: &str = "
RFC 3164 has no year: such a time is of the last year in which it is at most a day later than the
file was last written to; what comes from elsewhere than a file is of today. Times without a zone are taken as UTC.

## Others

`--format` also takes a `log_format` of nginx and a `LogFormat` of Apache, as they stand in their
configuration, and these notations:

- `json:time=ts,client=ip|addr,status=code!,request_time=took(ms)`: lines that are JSON objects, the
  field's name first, then its key; `|` separates alternatives, `!` says that a line must have it.
- `spaces:time,client(port),cache_result/status,bytes,request_time=took(ms),_,user_agent?`: values
  with spaces between them, or tabs (`tabs:`) or commas (`csv:`), in quotes or without. A slash
  stands between parts of one value, `_` is passed over, behind `?` a line may end.
- `#Fields: date time c-ip cs-uri-stem sc-status`: the directive of the W3C's format, for logs that
  have lost it.
- `${request_time(ms)}` in a `log_format`: a value that is described instead of named.

Kinds in parentheses: `s`, `ms`, `us` and `ns` of durations, `sum` for a part of a duration, `port`
for a client or host with a port, `url` for a path or request that may be a whole URL, a pattern of
strftime for a time.

A definition can stand in a file whose name ends with `.toml`, which is given to `--format`:

```toml
name = \"shop\"
definition = '$remote_addr [$time_local] \"$request\" $status ${request_time=took(ms)} $pool'

[fields]
pool = \"upstream_pool\"   # calls a field of the format's own otherwise
```
";
