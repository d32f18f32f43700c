//! The line in which a person types a filter.

use weir_core::Condition;

use super::completion::{Completion, complete};
use crate::full_screen::Key;
use crate::watch::answers::Answers;

/// The most characters of a filter. Nobody types more.
const CHARACTERS_MAX: usize = 2_000;

/// A filter that is being typed.
#[derive(Debug, Default)]
pub(in crate::watch) struct Entry {
    text: Vec<char>,
    /// The position of the cursor, in characters.
    cursor: usize,
    completion: Option<Completion>,
}

/// What follows a key in the line.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::watch) enum EntryStep {
    Typing,
    /// The line is closed, and the filter stays as it was.
    Left,
    /// The line is closed, and this is the filter.
    Entered(String),
}

impl Entry {
    /// The line with the conditions of a filter.
    pub(super) fn of_conditions(conditions: &[String]) -> Self {
        let text: Vec<char> = match conditions {
            [condition] => condition.chars().collect(),
            // Brackets around what `and` would tear apart.
            conditions => {
                conditions.iter().map(bracketed).collect::<Vec<_>>().join(" and ").chars().collect()
            }
        };
        Self { cursor: text.len(), text, completion: None }
    }

    /// The text before the cursor, and that from it on.
    pub(in crate::watch) fn parts(&self) -> (String, String) {
        let (before, after) = self.text.split_at(self.cursor);
        (before.iter().collect(), after.iter().collect())
    }

    /// The texts that Tab goes through, and which one is in the line.
    pub(in crate::watch) fn candidates(&self) -> Option<(&[String], usize)> {
        self.completion.as_ref().map(Completion::shown)
    }

    /// Why the text is not a filter yet.
    pub(in crate::watch) fn error(&self) -> Option<String> {
        let text = self.text.iter().collect::<String>();
        if text.trim().is_empty() {
            return None;
        }
        Condition::parse(&text).err().map(|error| error.to_string())
    }

    /// Does what a key means here.
    pub(super) fn press(&mut self, key: Key, answers: &Answers) -> EntryStep {
        match key {
            Key::Tab | Key::BackTab => {
                self.complete(answers, key == Key::BackTab);
                return EntryStep::Typing;
            }
            Key::Enter => {
                let text = self.text.iter().collect::<String>().trim().to_owned();
                // A text that is not valid stays, with the reason.
                let is_valid = text.is_empty() || Condition::parse(&text).is_ok();
                return if is_valid { EntryStep::Entered(text) } else { EntryStep::Typing };
            }
            // The list of candidates goes first.
            Key::Escape if self.completion.take().is_some() => return EntryStep::Typing,
            Key::Escape | Key::Control('g') => return EntryStep::Left,
            _ => {}
        }
        self.completion = None;
        let end = self.text.len();
        match key {
            Key::Character(character) if end < CHARACTERS_MAX => {
                self.text.insert(self.cursor, character);
                self.cursor += 1;
            }
            Key::Backspace if self.cursor > 0 => {
                self.cursor -= 1;
                self.text.remove(self.cursor);
            }
            Key::Delete | Key::Control('d') if self.cursor < end => {
                self.text.remove(self.cursor);
            }
            Key::Left | Key::Control('b') => self.cursor = self.cursor.saturating_sub(1),
            Key::Right | Key::Control('f') => self.cursor = (self.cursor + 1).min(end),
            Key::Home | Key::Control('a') => self.cursor = 0,
            Key::End | Key::Control('e') => self.cursor = end,
            Key::Control('u') => {
                self.text.drain(..self.cursor);
                self.cursor = 0;
            }
            Key::Control('k') => self.text.truncate(self.cursor),
            Key::Control('w') => {
                let start = self.start_of_word();
                self.text.drain(start..self.cursor);
                self.cursor = start;
            }
            _ => {}
        }
        EntryStep::Typing
    }

    fn start_of_word(&self) -> usize {
        let before = &self.text[..self.cursor];
        let word_end = before.iter().rposition(|c| !c.is_whitespace()).map_or(0, |at| at + 1);
        before[..word_end].iter().rposition(|c| c.is_whitespace()).map_or(0, |at| at + 1)
    }

    /// Puts the next candidate for the word before the cursor into the line.
    fn complete(&mut self, answers: &Answers, backwards: bool) {
        let completion = match self.completion.take() {
            Some(completion) => Some(completion.next(backwards)),
            None => complete(&self.text[..self.cursor], answers),
        };
        let Some(completion) = completion else { return };
        let text: Vec<char> = completion.text().chars().collect();
        self.text.splice(completion.start..self.cursor, text.iter().copied());
        self.cursor = completion.start + text.len();
        self.completion = Some(completion).filter(|completion| completion.shown().0.len() > 1);
    }
}

fn bracketed(condition: &String) -> String {
    let is_one = Condition::parse(condition).is_ok_and(|parsed| parsed.conjunction().is_some());
    if is_one { condition.clone() } else { format!("({condition})") }
}

#[cfg(test)]
mod tests {
    use super::{Entry, EntryStep};
    use crate::full_screen::Key;
    use crate::watch::answers::Answers;

    fn typed(conditions: &[&str], keys: &[Key]) -> (Entry, EntryStep) {
        let conditions: Vec<String> = conditions.iter().map(|it| (*it).to_owned()).collect();
        let mut entry = Entry::of_conditions(&conditions);
        let answers = Answers::default();
        let steps: Vec<_> = keys.iter().map(|key| entry.press(*key, &answers)).collect();
        (entry, steps.into_iter().next_back().unwrap_or(EntryStep::Typing))
    }

    fn characters(text: &str) -> Vec<Key> {
        text.chars().map(Key::Character).collect()
    }

    #[test]
    fn a_line_is_edited_at_its_cursor() {
        let keys = [
            characters("statuss=404"),
            vec![Key::Home, Key::Right, Key::Delete, Key::Character('t'), Key::End],
            vec![Key::Left, Key::Left, Key::Left, Key::Left, Key::Backspace],
        ];
        let (entry, _) = typed(&[], &keys.concat());
        assert_eq!(entry.parts(), ("status".to_owned(), "=404".to_owned()));
        let (entry, _) = typed(&["status=404", "path^=/a"], &[Key::Control('w')]);
        assert_eq!(entry.parts().0, "status=404 and ");
        let (entry, _) = typed(&["status=404"], &[Key::Control('u'), Key::Character('é')]);
        assert_eq!(entry.parts(), ("é".to_owned(), String::new()));
    }

    #[test]
    fn only_a_valid_filter_is_entered() {
        let entered = |text: &str| typed(&[], &[characters(text), vec![Key::Enter]].concat());
        assert_eq!(entered(" status=404 ").1, EntryStep::Entered("status=404".to_owned()));
        assert_eq!(entered("").1, EntryStep::Entered(String::new()));
        let (entry, step) = entered("status==404");
        assert_eq!(step, EntryStep::Typing);
        assert!(entry.error().is_some());
        assert_eq!(typed(&["status=404"], &[Key::Escape]).1, EntryStep::Left);
    }

    #[test]
    fn conditions_keep_their_meaning_in_one_line() {
        let (entry, _) = typed(&["status=404 or status=403", "path^=/a"], &[Key::Home]);
        assert_eq!(entry.parts().1, "(status=404 or status=403) and path^=/a");
    }
}
