//! Mends the script for zsh.
//!
//! The generator puts the files of `weir FILE...` before the commands, as if `weir access.log report`
//! were possible. zsh then takes the name of a command for a file, and completes nothing after it.

/// The end of the options of `weir` itself, and what the generator lets follow them.
const FILES_BEFORE_COMMANDS: &str = "'::files -- ";
const COMMANDS: &str = "\":: :_weir_commands\" \\\n\"*::: :->weir\" \\\n";

/// The start of the options of `weir` itself.
const ARGUMENTS: &str = "_arguments \"${_arguments_options[@]}\" : \\\n";

/// The start of the code that completes what follows the first word.
const CASE: &str = "        case $line[2] in\n";

/// Completes a command or a file as the first word; after a command what belongs to it, after a file
/// more files and the options of `weir` itself.
pub(super) fn with_files(script: &str) -> String {
    // A script of another shape stays as it is; the tests, which run zsh, would fail then.
    mended(script).unwrap_or_else(|| script.to_owned())
}

fn mended(script: &str) -> Option<String> {
    let (head, rest) = script.split_once(FILES_BEFORE_COMMANDS)?;
    let (_, rest) = rest.split_once('\n')?;
    let rest = rest.strip_prefix(COMMANDS)?;
    let (_, options) = head.split_once(ARGUMENTS)?;
    let (state, rest) = rest.split_once(CASE)?;
    let (commands, functions) = rest.split_once("\n        esac\n    ;;\nesac\n}\n")?;
    let state = state.replace("$line[2]", "$line[1]");
    Some(format!(
        "{head}\":: :_weir_commands_and_files\" \\\n\"*::: :->weir\" \\\n{state}\
         {}{commands}\n            (*)\n{ARGUMENTS}{options}'*:FILE:_files' \\\n&& ret=0\n;;\n        \
         esac\n    ;;\nesac\n}}\n\n\
         _weir_commands_and_files() {{\n    _alternative 'commands:command:_weir_commands' \
         'files:log:_files'\n}}\n{functions}",
        CASE.replace("$line[2]", "$line[1]"),
    ))
}
