//! Finds the date of a line.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use weir_core::PatternBudget;

use super::fast::{self, BracketDates, FastDate};
use super::template::{DateTemplate, LINE_START};
use super::value::DateValue;
use crate::error::RuleError;

/// The templates that fail2ban tries if a filter names none, in its order.
const DEFAULTS: [&str; 17] = [
    r"%ExY(?P<_sep>[-/.])%m(?P=_sep)%d(?:T|  ?)%H:%M:%S(?:[.,]%f)?(?:\s*%z)?",
    r"(?:%a )?%b %d %k:%M:%S(?:\.%f)?(?: %ExY)?",
    r"(?:%a )?%b %d %ExY %k:%M:%S(?:\.%f)?",
    r"%d(?P<_sep>[-/])%m(?P=_sep)(?:%ExY|%Exy) %k:%M:%S",
    r"%d(?P<_sep>[-/])%b(?P=_sep)%ExY[ :]?%H:%M:%S(?:\.%f)?(?: %z)?",
    r"%m/%d/%ExY:%H:%M:%S",
    r"%m-%d-%ExY %k:%M:%S(?:\.%f)?",
    "EPOCH",
    "{^LN-BEG}%H:%M:%S",
    "^<%m/%d/%Exy@%H:%M:%S>",
    r"%Exy%Exm%Exd  ?%H:%M:%S",
    r"%b %d, %ExY %I:%M:%S %p",
    r"^%b-%d-%Exy %k:%M:%S",
    r"%ExY%Exm%Exd(?:T|  ?)%ExH%ExM%ExS(?:[.,]%f)?(?:\s*%z)?",
    r"(?:%Z )?(?:%a )?%b %d %k:%M:%S(?:\.%f)?(?: %ExY)?",
    r"(?:%z )?(?:%a )?%b %d %k:%M:%S(?:\.%f)?(?: %ExY)?",
    "TAI64N",
];

/// The date patterns of stock filters that never find a date before the first brackets of an access
/// log.
const BRACKET_PATTERNS: [&str; 4] = [BRACKETED[0], BRACKETED[1], LINE_START, ISO_START];

/// Those of [`BRACKET_PATTERNS`] that find the date in the first brackets, as the default templates
/// do.
const BRACKETED: [&str; 2] = ["{DEFAULT}", r"^[^\[]*\[({DATE})"];

/// The date pattern of stock filters of nginx.
const ISO_START: &str =
    r"{^LN-BEG}%ExY(?P<_sep>[-/.])%m(?P=_sep)%d[T ]%H:%M:%S(?:[.,]%f)?(?:\s*%z)?";

/// The date of a line, and its position.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(in crate::fail2ban) struct FoundDate {
    /// The range to cut out of the line, in bytes; empty if there is no date.
    pub(in crate::fail2ban) cut: (usize, usize),
    /// The time in nanoseconds since 1970; `None` if there is no date, or it is incomplete.
    pub(in crate::fail2ban) time_ns: Option<i64>,
}

/// The templates of date patterns. Jails with the same pattern share them, because they take a few
/// megabytes for each pattern.
#[derive(Debug, Default)]
pub(in crate::fail2ban) struct DateTemplates {
    known: HashMap<String, Arc<PatternTemplates>>,
    budget: PatternBudget,
}

/// The templates of the lines of a pattern. Those of stock patterns are compiled when a line first
/// needs them: compiling takes milliseconds, and most dates are found without them.
#[derive(Debug)]
struct PatternTemplates {
    lines: Vec<String>,
    made: OnceLock<Vec<DateTemplate>>,
    budget: PatternBudget,
}

impl DateTemplates {
    /// Makes a collection whose templates are compiled within a budget.
    pub(in crate::fail2ban) fn within(budget: &PatternBudget) -> Self {
        Self { known: HashMap::new(), budget: budget.clone() }
    }

    /// Returns the templates of a pattern, given as its lines.
    fn of(&mut self, lines: &[&str]) -> Result<Arc<PatternTemplates>, (String, RuleError)> {
        let pattern = lines.join("\n");
        if let Some(known) = self.known.get(&pattern) {
            return Ok(Arc::clone(known));
        }
        let lines = if lines.is_empty() { &["{DEFAULT}"] } else { lines };
        let made = if lines.iter().all(|line| BRACKET_PATTERNS.contains(line)) {
            OnceLock::new()
        } else {
            OnceLock::from(made_of(lines, &self.budget)?)
        };
        let lines = lines.iter().map(|line| (*line).to_owned()).collect();
        let templates = Arc::new(PatternTemplates { lines, made, budget: self.budget.clone() });
        self.known.insert(pattern, Arc::clone(&templates));
        Ok(templates)
    }
}

impl PatternTemplates {
    fn get(&self) -> &[DateTemplate] {
        if let Some(made) = self.made.get() {
            return made;
        }
        let made = made_of(&self.lines, &self.budget);
        if made.is_err() && self.budget.is_stopped() {
            // The work may begin again.
            return &[];
        }
        // A pattern that may be invalid was compiled in advance.
        self.made.get_or_init(|| made.unwrap_or_default())
    }
}

/// Compiles the templates of the lines of a pattern.
///
/// # Errors
/// The line and the error, if a line is not valid.
fn made_of<T: AsRef<str>>(
    lines: &[T],
    budget: &PatternBudget,
) -> Result<Vec<DateTemplate>, (String, RuleError)> {
    let mut templates = Vec::new();
    for line in lines.iter().map(AsRef::as_ref) {
        add(line, &mut templates, budget).map_err(|error| (line.to_owned(), error))?;
    }
    Ok(templates)
}

/// Finds dates.
///
/// fail2ban remembers the position of the dates in previous lines, and prefers it. Here, each line
/// is independent: a template that matches at the start of the line wins, or else the match that
/// begins first. The results differ only if a line has two dates, and the second one is at the
/// position of the previous line's date.
#[derive(Debug, Clone)]
pub(in crate::fail2ban) struct DateDetector {
    templates: Arc<PatternTemplates>,
    offset_s: i64,
    /// Whether a date in the first brackets is the date of the line.
    finds_brackets: bool,
    /// Whether the date of an nginx error log at the start of the line is the date of the line.
    finds_start: bool,
}

impl DateDetector {
    /// Reads a `datepattern`, one template per line, with `%` instead of `%%`; the empty pattern
    /// stands for the defaults. `offset_s` is the zone of dates without one, in seconds east of
    /// Greenwich.
    ///
    /// # Errors
    /// If a template is not valid; the error has its line in the pattern.
    pub(in crate::fail2ban) fn new(
        pattern: &str,
        offset_s: i64,
        templates: &mut DateTemplates,
    ) -> Result<Self, (String, RuleError)> {
        let lines: Vec<&str> =
            pattern.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let templates = templates.of(&lines)?;
        let first = lines.first().copied().unwrap_or_default();
        let has_brackets = |line: &&str| BRACKETED.contains(line);
        Ok(Self {
            templates,
            offset_s,
            finds_brackets: lines.iter().all(|line| BRACKET_PATTERNS.contains(line))
                && (lines.is_empty() || lines.iter().any(has_brackets)),
            finds_start: ["", "{DEFAULT}", LINE_START, ISO_START].contains(&first),
        })
    }

    /// Finds the date of a web server's line without templates, with the same result. `None` if the
    /// line has to be searched by templates.
    pub(in crate::fail2ban) fn find_fast(
        &self,
        line: &[u8],
        dates: &mut BracketDates,
    ) -> Option<FoundDate> {
        let in_brackets = if self.finds_brackets { dates.find(line) } else { None };
        let at_start = || fast::at_start(line, self.offset_s).filter(|_| self.finds_start);
        let (cut, time): FastDate = in_brackets.or_else(at_start)?;
        Some(FoundDate { cut, time_ns: Some(time * 1_000_000_000) })
    }

    /// Finds the date of a line.
    pub(in crate::fail2ban) fn find_by_templates(&self, line: &str) -> FoundDate {
        let mut best = None;
        for template in self.templates.get() {
            let Some(found) = template.find(line, self.offset_s) else { continue };
            if template.is_anchored {
                best = Some(found);
                break;
            }
            if best.is_none_or(|best| found.start < best.start) {
                best = Some(found);
            }
        }
        best.map_or(FoundDate::default(), |found| FoundDate {
            cut: found.cut,
            time_ns: match found.value {
                DateValue::Time(time) => Some((time * 1e9).round() as i64),
                DateValue::Unknown => None,
            },
        })
    }
}

/// Adds the templates that a line of a `datepattern` stands for.
fn add(
    line: &str,
    templates: &mut Vec<DateTemplate>,
    budget: &PatternBudget,
) -> Result<(), RuleError> {
    let upper = line.to_uppercase();
    let mut all: Vec<DateTemplate> = Vec::new();
    if line.contains('%')
        || !["{DEFAULT}", LINE_START].contains(&&*upper) && !upper.contains("{DATE}")
    {
        let line = if upper == "{NONE}" { "{UNB}^" } else { line };
        let template = DateTemplate::new(line, budget)?;
        template.compile(line)?;
        all.push(template);
    } else if upper.contains("{DATE}") {
        let at = upper.find("{DATE}").unwrap_or(0);
        let (before, after) = (&line[..at], &line[at + "{DATE}".len()..]);
        for default in DEFAULTS.iter().filter(|default| default.contains('%')) {
            let default = default.strip_prefix(LINE_START).unwrap_or(default);
            all.push(DateTemplate::new(&format!("{before}{default}{after}"), budget)?);
        }
        // All of them have the same text before and after the date.
        all.first().map_or(Ok(()), |template| template.compile(line))?;
    } else {
        for default in DEFAULTS.iter().filter(|default| !default.contains('^')) {
            all.push(DateTemplate::new(&format!("{LINE_START}{default}"), budget)?);
        }
        for default in DEFAULTS {
            all.push(DateTemplate::new(default, budget)?);
        }
        all.retain(|template| template.is_anchored || upper == "{DEFAULT}");
    }
    for template in all {
        if templates.iter().all(|known| known.text != template.text) {
            templates.push(template);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, LazyLock};

    use proptest::prelude::*;

    use super::{
        BRACKETED, BracketDates, DateDetector, DateTemplates, FoundDate, ISO_START, LINE_START,
    };

    fn detector(pattern: &str) -> DateDetector {
        DateDetector::new(pattern, 3_600, &mut DateTemplates::default()).expect("it is valid")
    }

    #[test]
    fn equal_patterns_share_their_templates() {
        let mut templates = DateTemplates::default();
        let mut detector = |pattern, offset_s| {
            DateDetector::new(pattern, offset_s, &mut templates).expect("it is valid").templates
        };
        let first = detector("", 0);
        assert!(Arc::ptr_eq(&first, &detector(" \n", 3_600)));
        assert!(!Arc::ptr_eq(&first, &detector("{EPOCH}", 0)));
        assert!(Arc::ptr_eq(&detector("{EPOCH}", 0), &detector("{EPOCH}", 0)));
    }

    fn find(detector: &DateDetector, line: &str, dates: &mut BracketDates) -> FoundDate {
        let fast = detector.find_fast(line.as_bytes(), dates);
        fast.unwrap_or_else(|| detector.find_by_templates(line))
    }

    #[test]
    fn dates_of_many_programs_are_found() {
        let detector = detector("");
        for (line, date, time) in [
            (
                "1.2.3.4 - - [17/Dec/2025:09:00:00 +0100] x",
                "17/Dec/2025:09:00:00 +0100",
                Some(1_765_958_400),
            ),
            ("2025/12/17 09:00:00 [error] x", "2025/12/17 09:00:00", Some(1_765_958_400)),
            (
                "[Wed Dec 17 09:00:00.123456 2025] [core:error] x",
                "Wed Dec 17 09:00:00.123456 2025",
                Some(1_765_958_400),
            ),
            ("2025-12-17T09:00:00.5Z x", "2025-12-17T09:00:00.5Z", Some(1_765_962_000)),
            ("1765962000.123 x", "1765962000.123", Some(1_765_962_000)),
            ("@400000006942712a x", "", None),
            ("Dec 17 09:00:00 host x", "Dec 17 09:00:00", Some(93_427_200)),
            ("12/17/2025:09:00:00 x", "12/17/2025:09:00:00", Some(1_765_958_400)),
            ("no date", "", None),
        ] {
            let FoundDate { cut, time_ns: found } =
                find(&detector, line, &mut BracketDates::default());
            assert_eq!(&line[cut.0..cut.1], date, "{line}");
            assert_eq!(found.map(|found| found / 1_000_000_000), time, "{line}");
        }
    }

    /// The starts of lines.
    fn start() -> impl Strategy<Value = String> {
        prop_oneof![
            "[0-9]{1,3}\\.[0-9]{1,3}\\.1\\.2 - [a-z-]{1,5} ",
            "[0-9a-f:]{2,20} - - ",
            "10\\.0\\.0\\.1 - [a-z]{0,3}@[0-9a-f]{3,6} ",
            "10\\.0\\.0\\.1 - a?@[0-9a-f]{23,26}b?x? ",
            "[0-9]{1,2}:[0-9]{2}:[0-9]{2}[ :a-f0-9]{0,5} - - ",
            "[0-9 ]{0,16}",
            "[ -~]{0,20}",
            Just("2025-12-17 09:00:00 ".to_owned()),
        ]
    }

    /// The dates of lines, some of them not valid.
    fn date() -> impl Strategy<Value = String> {
        prop_oneof![
            "\\[[0-3][0-9]/(Dec|feb|Xyz)/20[0-9]{2}:[0-2][0-9]:[0-6][0-9]:[0-6][0-9] [+-][0-2][0-9]00\\]",
            "20[0-9]{2}/[01][0-9]/[0-3][0-9] [0-2][0-9]:[0-6][0-9]:[0-6][0-9] \\[",
            "\\[[0-9/A-Z: +]{10,26}\\]",
        ]
    }

    /// A detector for each fast path.
    static DETECTORS: LazyLock<[DateDetector; 4]> = LazyLock::new(|| {
        let of_nginx = [ISO_START, BRACKETED[1], LINE_START].join("\n");
        ["", BRACKETED[1], LINE_START, &of_nginx].map(detector)
    });

    proptest! {
        #[test]
        fn fast_dates_are_those_of_the_templates(
            start in start(),
            date in date(),
            other in date(),
            clock in "[0-2][0-9]:[0-6][0-9]:[0-6][0-9]",
            has_start in any::<bool>(),
        ) {
            let start = if has_start { start } else { String::new() };
            let line = format!("{start}{date} \"GET /{other} HTTP/1.1\" 200");
            // Then another time of the same day, if the date has the form of access logs.
            let next = match line.find("/20") {
                Some(at) => line.char_indices().map(|(place, letter)| {
                    let letter_of_clock = place.checked_sub(at + 6).and_then(|place| clock.get(place..=place));
                    letter_of_clock.and_then(|text| text.chars().next()).unwrap_or(letter)
                }).collect(),
                None => line.clone(),
            };
            for detector in DETECTORS.iter() {
                let mut dates = BracketDates::default();
                for line in [&line, &next] {
                    let found = detector.find_by_templates(line);
                    prop_assert_eq!(find(detector, line, &mut dates), found, "{}", line);
                }
            }
        }
    }
}
