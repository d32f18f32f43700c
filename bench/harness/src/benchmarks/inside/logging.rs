//! The cost of a log call, and a check that release builds leave out the debug and trace events.

use std::path::Path;

use crate::build;
use crate::measure::{Contender, Unit, take_turns};
use crate::settings::{Settings, folder, text};
use crate::table::{Table, Threshold};
use weir_tools::shell::{Outcome, command, output_of};

/// A call that the filter leaves out may take this much longer than none: a few loads and branches,
/// a ten thousandth of a request of the gateway.
const DISABLED_NS_MAX: f64 = 2.0;

const NONE: &str = "no call";
const DISABLED: &str = "off by the filter";

/// The calls that are timed, with the arguments of the example.
const CALLS: [(&str, &str, bool); 7] = [
    (NONE, "none", false),
    (DISABLED, "disabled", false),
    ("repeated and only counted", "counted", false),
    ("as text, dropped", "text", false),
    ("as text, to a file", "text", true),
    ("as JSON, dropped", "json", false),
    ("as JSON, to a file", "json", true),
];

/// The table; with the shares of the processor time of a request in microseconds, if that is known.
pub(super) fn table(settings: &Settings, request_us: Option<f64>) -> Outcome<Table> {
    let example = build::example(settings, "log_calls")?;
    let file = text(&folder()?.join("log-calls.log"));
    let contenders = CALLS.map(|(name, kind, is_to_file)| {
        let (example, file) = (&example, if is_to_file { &file } else { "-" });
        Contender::new(name, settings.runs, move || {
            Ok(output_of(&mut command(example, &[kind, file]))?.trim().parse()?)
        })
    });
    let rows = take_turns(contenders.into(), Unit::Nanoseconds)?;
    let mut table = Table::list("inside", "a call of the log at info, with two fields", rows);
    let median = |name| table.row(name).map(|row| row.median());
    let cost = median(DISABLED).zip(median(NONE)).map(|(disabled, none)| disabled - none);
    if let Some(request_us) = request_us {
        table.notes.push(shares(&table, request_us));
    }
    // The cost in an unoptimized build is meaningless.
    let cost = cost.filter(|_| !settings.is_smoke);
    table.add_goal("ns for a call that is off", cost, Threshold::AtMost(DISABLED_NS_MAX));
    Ok(table)
}

/// The share of the gateway's processor time that one call for each request would take.
fn shares(table: &Table, request_us: f64) -> String {
    let share = |ns: f64| format!("{:.2} %", ns / 1e3 / request_us * 100.0);
    let rows = table.rows.iter().filter(|row| row.name != NONE);
    let shares: Vec<String> =
        rows.map(|row| format!("{} {}", row.name, share(row.median()))).collect();
    format!(
        "one call for each request of the gateway, by its processor time of {request_us:.1} µs: {}",
        shares.join(", ")
    )
}

/// Checks that a release build has no text of an event below the level info, and a debug build all
/// of them.
pub(super) fn check_levels(settings: &Settings) -> Outcome {
    let program = std::fs::read(settings.weir())?;
    let has = |wanted: &str| program.windows(wanted.len()).any(|it| it == wanted.as_bytes());
    let texts = debug_texts(&weir_tools::shell::root().join("crates"))?;
    if texts.len() < DEBUG_TEXTS_MIN {
        return Err(format!("only {} debug events were found in the sources", texts.len()).into());
    }
    // A text of the level info, which is in both.
    if !has("the filter of the log is changed") {
        return Err("the texts of events are not found in the program".into());
    }
    let wrong = texts.iter().find(|wanted| has(wanted) != settings.is_smoke);
    let Some(text) = wrong else { return Ok(()) };
    Err(match settings.is_smoke {
        true => format!("the debug build does not have the debug event `{text}`"),
        false => format!("the release build has the debug event `{text}`"),
    }
    .into())
}

/// The sources have at least this many debug and trace events.
const DEBUG_TEXTS_MIN: usize = 8;

/// The texts of all debug and trace events in the sources of a folder, up to the first place that
/// is filled in.
fn debug_texts(folder: &Path) -> Outcome<Vec<String>> {
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let is_test = path.ends_with("tests") || path.ends_with("examples");
        if path.is_dir() && !is_test {
            texts.extend(debug_texts(&path)?);
        } else if path.extension().is_some_and(|it| it == "rs") {
            texts.extend(texts_of(&std::fs::read_to_string(&path)?));
        }
    }
    Ok(texts)
}

fn texts_of(source: &str) -> Vec<String> {
    let calls = ["tracing::debug!(", "tracing::trace!("];
    let events = calls.into_iter().flat_map(|call| source.split(call).skip(1));
    let text = |event| {
        let text = last_text(event)?.split('{').next().unwrap_or_default();
        (text.len() > 8).then(|| text.to_owned())
    };
    events.filter_map(text).collect()
}

/// The last text in quotes before the bracket that ends a call.
fn last_text(call: &str) -> Option<&str> {
    let (mut open, mut begun, mut is_escaped, mut last) = (1, None, false, None);
    for (index, character) in call.char_indices() {
        match (begun, character) {
            (Some(start), '"') if !is_escaped => {
                last = call.get(start..index);
                begun = None;
            }
            (Some(_), _) => is_escaped = character == '\\' && !is_escaped,
            (None, '"') => begun = Some(index + 1),
            (None, '(') => open += 1,
            (None, ')') if open == 1 => return last,
            (None, ')') => open -= 1,
            (None, _) => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::texts_of;

    #[test]
    fn the_text_of_an_event_is_its_last_argument() {
        let source = r#"
            tracing::debug!(%peer, why = "no", "a sender is {state} now");
            tracing::info!("another level");
            tracing::trace!(
                bytes,
                "some bytes have come",
            );
            match it { Ok(()) => tracing::debug!(why = why(1), "it \"really\" ended"), }"#;
        let expected = ["a sender is ", r#"it \"really\" ended"#, "some bytes have come"];
        assert_eq!(texts_of(source), expected);
    }
}
