//! The folded format of stacks, which flame graph programs read.

use std::fmt::Write;

use crate::profile::{Profile, Stack};

impl Profile {
    /// Writes one line per stack: the thread and the functions, separated by `;`, a space, and the
    /// samples, or the bytes in a profile of memory. A `;` or a control character in a name becomes
    /// `_`.
    pub fn folded(&self) -> String {
        self.folded_lines(None)
    }

    /// Like [`Self::folded`], with a name for each stack before its thread, such as its stage.
    pub fn folded_by(&self, name_of: fn(&Stack) -> &'static str) -> String {
        self.folded_lines(Some(name_of))
    }

    fn folded_lines(&self, name_of: Option<fn(&Stack) -> &'static str>) -> String {
        let mut text = String::new();
        for stack in &self.stacks {
            if let Some(name_of) = name_of {
                push_name(&mut text, name_of(stack));
                text.push(';');
            }
            push_name(&mut text, &stack.thread);
            for function in &*stack.functions {
                text.push(';');
                push_name(&mut text, function);
            }
            // Writing to a string cannot fail.
            let _ = writeln!(text, " {}", stack.samples);
        }
        text
    }
}

fn push_name(text: &mut String, name: &str) {
    let is_special = |character: char| character == ';' || character.is_control();
    text.extend(name.chars().map(|it| if is_special(it) { '_' } else { it }));
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, SystemTime};

    use crate::profile::{ProfileKind, ProfileMetadata};
    use crate::{Profile, Stack};

    #[test]
    fn a_stack_is_a_line() {
        let stack = |thread: &str, functions: &[&str], samples| Stack {
            thread: thread.to_owned(),
            functions: functions.iter().map(|name| Arc::from(*name)).collect(),
            samples,
        };
        let stacks = vec![
            stack("parse 1", &["main", "<[T; 4] as core::fmt::Debug>::fmt"], 2),
            stack("a\nb\u{1b}", &[], 1),
        ];
        let metadata = ProfileMetadata {
            kind: ProfileKind::Processor,
            begun: SystemTime::UNIX_EPOCH,
            duration: Duration::ZERO,
            period: 0,
            total: 0,
            lost: 0,
        };
        let profile = Profile::new(stacks, metadata);
        let folded = "parse 1;main;<[T_ 4] as core::fmt::Debug>::fmt 2\na_b_ 1\n";
        assert_eq!(profile.folded(), folded);
        let by_length = profile.folded_by(|stack| match stack.functions.len() {
            0 => "short",
            _ => "long",
        });
        let folded = "long;parse 1;main;<[T_ 4] as core::fmt::Debug>::fmt 2\nshort;a_b_ 1\n";
        assert_eq!(by_length, folded);
    }
}
