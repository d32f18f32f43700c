//! Writes the TypeScript that the page shares with the server to a folder: the types of this crate,
//! and its words. `cargo xtask types` runs it.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

use ts_rs::{Config, TS};
use weir_core::{STATUS_CLASS, STATUS_CLASSES, Wrapper, format_notes};
use weir_view::{
    LIST_TITLES, LiveReply, LiveRequest, NO_VALUE, REMAINDER_VALUE, SessionCreated, UploadReply,
    UploadRequest,
};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("name the folder to write to")?;
    // Counts of lines and bytes stay below 2^53, so they fit a number of TypeScript.
    let config = Config::new().with_large_int("number").with_out_dir(&folder);
    // The messages of the protocol, each with all types that it contains.
    SessionCreated::export_all(&config)?;
    LiveRequest::export_all(&config)?;
    LiveReply::export_all(&config)?;
    UploadRequest::export_all(&config)?;
    UploadReply::export_all(&config)?;
    std::fs::write(Path::new(&folder).join("words.ts"), words())?;
    Ok(())
}

/// The words as constants.
fn words() -> String {
    let titles = LIST_TITLES.map(|(field, title)| format!("  {field}: {},\n", quoted(title)));
    let formats = list(format_notes().iter().map(|notes| notes.name));
    let wrappers = list(Wrapper::ALL.into_iter().map(Wrapper::name));
    let constants = [
        ("NO_VALUE", quoted(NO_VALUE), "The value that stands for records without the field."),
        (
            "REMAINDER_VALUE",
            quoted(REMAINDER_VALUE),
            "The value that stands for all values beyond the most frequent ones.",
        ),
        ("STATUS_CLASS", quoted(STATUS_CLASS), "The field with the class of the status."),
        (
            "NO_STATUS_CLASS",
            quoted(STATUS_CLASSES[0]),
            "The status class of records without a valid status.",
        ),
        (
            "LIST_TITLES: Record<string, string>",
            format!("{{\n{}}}", titles.concat()),
            "The titles of the top lists by field. Other lists have the field's name for a title.",
        ),
        ("FORMATS", formats, "The names of the known formats."),
        ("WRAPPERS", wrappers, "The names of what may wrap each line of a log."),
    ];
    let mut text =
        "// Generated from crates/view by `cargo xtask types`; do not edit.\n".to_owned();
    for (name, value, about) in constants {
        let _ = write!(text, "\n/** {about} */\nexport const {name} = {value};\n");
    }
    text
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let lines: String = names.map(|name| format!("  {},\n", quoted(name))).collect();
    format!("[\n{lines}]")
}

/// A string of TypeScript. The words contain nothing that would have to be escaped.
fn quoted(word: &str) -> String {
    format!("\"{word}\"")
}
