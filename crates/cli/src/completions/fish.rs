//! Mends the script for fish.
//!
//! The generator offers the options of `weir` itself only as the first word. They may also come after
//! the files of `weir FILE...`.

/// The condition under which the generator offers options of `weir` itself, and commands.
const FIRST_WORD: &str = "complete -c weir -n \"__fish_weir_needs_command\" -";

/// The start of the first offer, after the functions.
const OFFERS: &str = "complete -c weir ";

/// Offers the options of `weir` itself wherever the first word is none of these commands.
pub(super) fn with_options_after_files(script: &str, commands: &[String]) -> String {
    let (functions, offers) = script.split_at(script.find(OFFERS).unwrap_or(script.len()));
    let commands = commands.join(" ");
    let mut mended = format!(
        "{functions}function __fish_weir_without_command\n    \
         set -l cmd (__fish_weir_needs_command)\n    \
         not contains -- \"$cmd[1]\" help {commands}\nend\n\n"
    );
    for line in offers.split_inclusive('\n') {
        match line.strip_prefix(FIRST_WORD) {
            Some(rest) if rest.starts_with(['l', 's']) => {
                mended += &format!("{OFFERS}-n \"__fish_weir_without_command\" -{rest}");
            }
            _ => mended += line,
        }
    }
    mended
}
