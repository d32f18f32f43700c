//! Candidates for the word that is being typed: fields, their most frequent values, and keywords.

use weir_core::ConditionOperator;

use crate::watch::answers::Answers;
use crate::watch::question::spelled;

/// The words between conditions.
const KEYWORDS: [&str; 3] = ["and", "or", "not"];

/// The signs after a field whose values are known, longer ones first.
const SIGNS: [(&str, ConditionOperator); 3] = [
    ("!=", ConditionOperator::NotEqual),
    ("^=", ConditionOperator::Prefix),
    ("=", ConditionOperator::Equal),
];

/// The candidates for a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Completion {
    /// Where the word begins, in characters.
    pub(super) start: usize,
    candidates: Vec<String>,
    chosen: usize,
}

impl Completion {
    /// The text in place of the word.
    pub(super) fn text(&self) -> &str {
        &self.candidates[self.chosen]
    }

    /// All candidates, and which one is chosen.
    pub(super) fn shown(&self) -> (&[String], usize) {
        (&self.candidates, self.chosen)
    }

    /// The next candidate, or the one before.
    pub(super) fn next(mut self, backwards: bool) -> Self {
        let step = if backwards { self.candidates.len() - 1 } else { 1 };
        self.chosen = (self.chosen + step) % self.candidates.len();
        self
    }
}

/// Returns the candidates for the word at the end of a text, if there are any.
pub(super) fn complete(text: &[char], answers: &Answers) -> Option<Completion> {
    let start = start_of_word(text);
    let word: String = text[start..].iter().collect();
    let sign_at = |(sign, operator): &(&str, ConditionOperator)| {
        let at = word.find(sign)?;
        Some((at, *operator, at + sign.len()))
    };
    let signed = SIGNS.iter().filter_map(sign_at).min_by_key(|(at, ..)| *at);
    let candidates = match signed {
        Some((at, operator, value)) => {
            values(&word[..at], operator, word[value..].trim_start_matches(['"', '\'']), answers)
        }
        None if word.contains(['<', '>', '~', ':']) => Vec::new(),
        None => names(&word, answers),
    };
    (!candidates.is_empty()).then_some(Completion { start, candidates, chosen: 0 })
}

/// The position after the last blank or bracket that is not within quotation marks.
fn start_of_word(text: &[char]) -> usize {
    let (mut start, mut quote) = (0, None);
    for (at, character) in text.iter().enumerate() {
        match (quote, character) {
            (Some(open), _) if open == *character => quote = None,
            (None, '"' | '\'') => quote = Some(*character),
            (None, '(' | ')') => start = at + 1,
            (None, character) if character.is_whitespace() => start = at + 1,
            _ => {}
        }
    }
    start
}

/// The fields and keywords that begin with a text.
fn names(begin: &str, answers: &Answers) -> Vec<String> {
    let begin = begin.to_ascii_lowercase();
    let starts = |name: &&str| name.to_ascii_lowercase().starts_with(&begin);
    let mut names: Vec<String> = answers
        .fields
        .iter()
        .map(String::as_str)
        .filter(starts)
        .map(|it| format!("{it}="))
        .collect();
    if !begin.is_empty() {
        names.extend(KEYWORDS.iter().copied().filter(starts).map(|it| format!("{it} ")));
    }
    names
}

/// The conditions on a field with its listed values that begin with a text, the most frequent first.
fn values(field: &str, operator: ConditionOperator, begin: &str, answers: &Answers) -> Vec<String> {
    let rows = answers.report().and_then(|report| report.top.get(field));
    let rows = rows.map_or(&[][..], Vec::as_slice).iter();
    let listed = rows.filter(|row| !row.value.is_remainder && !row.value.is_absent);
    let matching = listed.filter(|row| row.value.bytes().starts_with(begin.as_bytes()));
    matching.map(|row| spelled(field, operator, &row.value.bytes())).collect()
}

#[cfg(test)]
mod tests {
    use weir_query::Answer;
    use weir_view::{Report, RowValue, Tally, TopRow};

    use super::complete;
    use crate::watch::answers::Answers;

    fn answers() -> Answers {
        let row =
            |bytes: &[u8]| TopRow { value: RowValue::new(bytes, false), tally: Tally::default() };
        let mut report = Report::default();
        report.top.insert("path".to_owned(), vec![row(b"/a b"), row(b"/about"), row(b"/")]);
        report.top.insert("status".to_owned(), vec![row(b"200"), row(b"404")]);
        let report = Answer {
            report,
            sources: Vec::new(),
            offsets_s: Vec::new(),
            rows_kept: 0,
            log_ns: None,
            selected_period: None,
            period_error: None,
        };
        let fields = ["path", "status", "client"].map(str::to_owned).to_vec();
        Answers { report: Some(Box::new(report)), fields, ..Answers::default() }
    }

    fn completed(text: &str) -> (usize, Vec<String>) {
        let completion = complete(&text.chars().collect::<Vec<_>>(), &answers());
        completion.map_or((0, Vec::new()), |it| (it.start, it.shown().0.to_vec()))
    }

    #[test]
    fn fields_and_values_are_completed() {
        assert_eq!(completed("st"), (0, vec!["status=".to_owned()]));
        assert_eq!(completed("not (PA"), (5, vec!["path=".to_owned()]));
        assert_eq!(completed("status=404 a"), (11, vec!["and ".to_owned()]));
        assert_eq!(completed("status!=4"), (0, vec!["status!=404".to_owned()]));
        let paths = ["path=\"/a b\"", "path=/about"].map(str::to_owned).to_vec();
        assert_eq!(completed("path=/a"), (0, paths.clone()));
        assert_eq!(completed("path=\"/a "), (0, paths[..1].to_vec()));
        assert_eq!(completed("status>4"), (0, vec![]));
        assert_eq!(completed("zzz"), (0, vec![]));
    }

    #[test]
    fn tab_goes_round() {
        let text: Vec<char> = "path=/".chars().collect();
        let completion = complete(&text, &answers()).expect("three paths");
        let round = (0..3).fold(completion.clone(), |completion, _| completion.next(false));
        assert_eq!(round, completion);
        assert_eq!(completion.clone().next(true).text(), "path=/");
    }
}
