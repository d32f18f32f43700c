//! What a jail looked at, and why nothing fails.

use weir_core::RecordKind;

use super::jail::Jail;
use super::pattern::{Found, NearestMiss, Pattern};
use crate::evidence::{LineTally, LogCounts, LookedAt, PatternMatches, log_of};

/// The most patterns that are compared with lines that none of them matches.
const COMPARED_MAX: usize = 20;

/// How the log compares with the one that a jail reads, as a sentence.
enum FoundLog {
    /// It is of another kind.
    Other(String),
    /// It may be the one.
    Perhaps(String),
    /// Its format is not known.
    Unknown,
}

impl Jail {
    /// Returns what a replay of the jail looked at.
    pub(super) fn evidence(&self, log: &LogCounts, tally: &LineTally, evaluated: u64) -> LookedAt {
        let matches = tally.matches.iter().copied().chain(std::iter::repeat(0));
        let patterns = self.filter.failures.iter().zip(matches);
        let patterns = patterns
            .map(|(pattern, lines)| PatternMatches { pattern: pattern.text().to_owned(), lines });
        LookedAt {
            lines: log.lines.max(tally.read),
            records: tally.read,
            evaluated,
            dated: Some(tally.dated),
            patterns: patterns.collect(),
            nothing: (evaluated == 0).then(|| self.nothing(log, tally)),
            unparsed: 0,
        }
    }

    /// Explains why no failure was counted.
    fn nothing(&self, log: &LogCounts, tally: &LineTally) -> String {
        if tally.read == 0 && log.left_out.is_some() {
            return "The conditions select no record.".to_owned();
        }
        if tally.read == 0 {
            return "The log has no lines.".to_owned();
        }
        if tally.matches.iter().any(|lines| *lines > 0) {
            return "All matches are of addresses that `ignoreip` or `ignoreself` excludes."
                .to_owned();
        }
        let mut sentences = vec!["No line matches a failregex.".to_owned()];
        match self.found_log(tally) {
            FoundLog::Other(sentence) => {
                sentences.push(sentence);
                return sentences.join(" ");
            }
            FoundLog::Perhaps(sentence) => sentences.push(sentence),
            FoundLog::Unknown => {}
        }
        sentences.extend(self.nearest_miss(tally));
        if tally.dated == 0 {
            sentences
                .push("No line has a date that the jail finds: check `datepattern`.".to_owned());
        }
        sentences.join(" ")
    }

    /// Compares the log with the one that the jail reads.
    fn found_log(&self, tally: &LineTally) -> FoundLog {
        let sample: Vec<&[u8]> = tally.sampled().collect();
        let detection = weir_core::detect(&sample.join(&b'\n'));
        let Some(best) = detection.best().filter(|best| best.parsed_lines > 0) else {
            return FoundLog::Unknown;
        };
        let kind = best.format.kind();
        let found = format!("{} ({})", log_of(kind), best.format.name());
        let Some(path) = &self.log_path else {
            return FoundLog::Perhaps(format!("The log is {found}."));
        };
        let path = path.lines().next().unwrap_or_default();
        match kind_of(path).filter(|wanted| *wanted != kind) {
            Some(wanted) => FoundLog::Other(format!(
                "The jail reads {} (`logpath = {path}`), and this log is {found}. Name the log that \
                 the jail reads.",
                log_of(wanted)
            )),
            None => FoundLog::Perhaps(format!("The jail reads `{path}`; this log is {found}.")),
        }
    }

    /// Names the line that the longest beginning of a pattern fits.
    fn nearest_miss(&self, tally: &LineTally) -> Option<String> {
        let lines: Vec<String> =
            tally.sampled().map(|line| self.without_date(&String::from_utf8_lossy(line))).collect();
        if let Some(prefix) = &self.filter.prefix {
            let contents: Vec<String> =
                lines.iter().filter_map(|line| content(prefix, line)).collect();
            if contents.is_empty() {
                let miss = NearestMiss::find(prefix, &lines)?;
                return Some(sentence("prefregex", prefix, miss.length, lines.get(miss.line)?));
            }
            return self.nearest_failure(&contents);
        }
        self.nearest_failure(&lines)
    }

    /// Finds the pattern of a failure of which the largest part fits.
    fn nearest_failure(&self, lines: &[String]) -> Option<String> {
        let share = |(_, pattern, miss): &(usize, &Pattern, NearestMiss)| {
            miss.length as f64 / pattern.text().len().max(1) as f64
        };
        let patterns = self.filter.failures.iter().enumerate().take(COMPARED_MAX);
        let misses = patterns.filter_map(|(number, pattern)| {
            NearestMiss::find(pattern, lines).map(|miss| (number, pattern, miss))
        });
        let nearest = misses.max_by(|one, other| share(one).total_cmp(&share(other)));
        let (number, pattern, miss) = nearest?;
        let name = format!("failregex {}", number + 1);
        Some(sentence(&name, pattern, miss.length, lines.get(miss.line)?))
    }

    /// The line without its date, as the patterns get it.
    fn without_date(&self, line: &str) -> String {
        let (start, end) = self.filter.detector.find_by_templates(line).cut;
        format!("{}{}\n", &line[..start], &line[end..])
    }
}

/// The part of a line that the prefix leaves to the other patterns; `None` if it does not match.
fn content(prefix: &Pattern, line: &str) -> Option<String> {
    let Found::Match(groups) = prefix.find(line) else { return None };
    let content = groups.name("content").map(|content| content.as_str());
    let content = content.filter(|content| !content.is_empty());
    Some(content.map_or_else(|| line.to_owned(), |content| format!("{content}\n")))
}

/// The longest part of a pattern or a line that is quoted, in characters.
const QUOTED_MAX: usize = 60;

fn sentence(name: &str, pattern: &Pattern, length: usize, line: &str) -> String {
    let (fits, rest) = pattern.text().split_at(length);
    let skipped = fits.chars().count().saturating_sub(QUOTED_MAX);
    let begin = if skipped > 0 { "..." } else { "" };
    let fits: String = fits.chars().skip(skipped).collect();
    format!(
        "Nearest miss: {name} fits up to `{begin}{fits}`, but not `{}` after it, in the line `{}`.",
        beginning(rest),
        beginning(line.trim_end())
    )
}

/// A text, or its beginning if it is long.
fn beginning(text: &str) -> String {
    match text.char_indices().nth(QUOTED_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// The kind of log that a path names.
fn kind_of(path: &str) -> Option<RecordKind> {
    let path = path.to_lowercase();
    match (path.contains("error"), path.contains("access")) {
        (true, false) => Some(RecordKind::ErrorLogLine),
        (false, true) => Some(RecordKind::Request),
        (_, _) => None,
    }
}
