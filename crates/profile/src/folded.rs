//! Folded stacks: a line for each, with its functions and its samples.

use std::fmt::Write;

use crate::profile::Profile;

impl Profile {
    /// A line for each stack: its thread and its functions with `;` between them, a space, and its samples, or its bytes of memory.
    /// Programs that draw flame graphs read it. A `;` or a control character in a name becomes `_`.
    pub fn folded(&self) -> String {
        let mut text = String::new();
        for stack in &self.stacks {
            push_name(&mut text, &stack.thread);
            for function in &*stack.functions {
                text.push(';');
                push_name(&mut text, function);
            }
            // Writing into memory does not fail.
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

    use crate::profile::{ProfileKind, Sampled};
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
        let sampled = Sampled {
            kind: ProfileKind::Processor,
            begun: SystemTime::UNIX_EPOCH,
            duration: Duration::ZERO,
            period: 0,
            total: 0,
            lost: 0,
        };
        let folded = Profile::new(stacks, sampled).folded();
        assert_eq!(folded, "parse 1;main;<[T_ 4] as core::fmt::Debug>::fmt 2\na_b_ 1\n");
    }
}
