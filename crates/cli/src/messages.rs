//! Messages about many inputs, in a bounded number of lines.

use crate::display::{safe, separated};
use crate::outcome::say;
use crate::sources::Complaint;

/// The most messages about inputs that are printed at once. An archive can have 10,000 files.
pub(crate) const MESSAGES_MAX: usize = 20;

/// Prints complaints about inputs; see [`merge`].
pub(crate) fn say_all<'a>(complaints: impl IntoIterator<Item = &'a Complaint>) {
    merge(complaints).iter().for_each(say);
}

/// Returns the messages for complaints about inputs: one for all inputs with the same sentence, and
/// [`MESSAGES_MAX`] in total.
pub(crate) fn merge<'a>(complaints: impl IntoIterator<Item = &'a Complaint>) -> Vec<String> {
    let mut groups: Vec<(&Complaint, u64)> = Vec::new();
    let mut rest = 0;
    for complaint in complaints {
        let is_same = |(first, _): &(&Complaint, u64)| first.sentence == complaint.sentence;
        match groups.iter().position(is_same) {
            Some(index) => groups[index].1 += 1,
            None if groups.len() < MESSAGES_MAX => groups.push((complaint, 0)),
            None => rest += 1,
        }
    }
    let message = |(Complaint { name, sentence }, others): &(&Complaint, u64)| {
        let name = safe(name);
        match others {
            0 => format!("{name}: {sentence}"),
            others => format!("{name} and {}: {sentence}", files(*others, "other")),
        }
    };
    let mut messages: Vec<String> = groups.iter().map(message).collect();
    if rest > 0 {
        let files = files(rest, "more");
        messages.push(format!("{files} had messages of their own; name fewer files to see them"));
    }
    messages
}

/// Returns the option that gives a command a format, quoted for a shell.
pub(crate) fn format_option(definition: &str) -> String {
    // A quote ends the text of a shell's argument.
    format!("--format '{}'", safe(definition).replace('\'', "'\\''"))
}

/// Returns the start of a sentence about an input of which no line matches, while some line is
/// short enough.
pub(crate) fn none_matches(lines: u64, too_long: u64) -> String {
    let shown = separated(lines);
    match (lines, too_long) {
        (1, _) => "its only line does not match".to_owned(),
        (_, 0) => format!("none of its {shown} lines matches"),
        _ => {
            format!(
                "none of its {shown} lines, {} of them over 1 MiB, matches",
                separated(too_long)
            )
        }
    }
}

/// Returns the sentence about an input whose `lines` lines are all over the limit.
pub(crate) fn all_too_long(lines: u64) -> String {
    let lines = match lines {
        1 => "its only line".to_owned(),
        lines => format!("each of its {} lines", separated(lines)),
    };
    format!("{lines} is over 1 MiB long, so it is not an access log")
}

/// Formats a number of files, such as `35 other files`.
pub(crate) fn files(number: u64, adjective: &str) -> String {
    let noun = if number == 1 { "file" } else { "files" };
    format!("{} {adjective} {noun}", separated(number))
}

#[cfg(test)]
mod tests {
    use super::{MESSAGES_MAX, merge};
    use crate::sources::Complaint;

    fn complaint(name: usize, sentence: &str) -> Complaint {
        Complaint { name: format!("{name}.log"), sentence: sentence.to_owned() }
    }

    #[test]
    fn inputs_with_one_sentence_share_a_message() {
        let complaints = [
            complaint(0, "is empty"),
            complaint(1, "is a directory"),
            complaint(2, "is empty"),
            complaint(3, "is empty"),
            complaint(4, "is a directory"),
        ];
        let messages =
            ["0.log and 2 other files: is empty", "1.log and 1 other file: is a directory"];
        assert_eq!(merge(&complaints), messages);
        assert_eq!(merge(&complaints[..2]), ["0.log: is empty", "1.log: is a directory"]);
    }

    #[test]
    fn the_number_of_messages_is_bounded() {
        let all: Vec<_> = (0..10_000).map(|name| complaint(name, &format!("{name}"))).collect();
        let messages = merge(&all);
        assert_eq!(messages.len(), MESSAGES_MAX + 1);
        let last = "9,980 more files had messages of their own; name fewer files to see them";
        assert_eq!(messages[MESSAGES_MAX], last);
    }
}
