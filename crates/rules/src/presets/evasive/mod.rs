//! mod_evasive of Apache, as `access_checker` of mod_evasive24.c decides.
//!
//! Each client has two kinds of counters: one for each page, and one for the site. A counter grows
//! with each request that comes less than the interval after the one before it, and starts again
//! otherwise. If a counter is over its limit, the request is rejected and the client is blocked for
//! `DOSBlockingPeriod`. Each request during that time is rejected, too, and starts it again.
//!
//! With version 1.10.1, which Debian has, the first time that a client is over a count, this request
//! alone is rejected; the client is held from the second time on. That was seen with Apache 2.4.71 in
//! one process: of requests for one page and then others, the statuses are 200 200 200 403 200 200,
//! and 403 for all once the page is over its count again.
//!
//! The module counts in whole seconds, by the arrival of a request. Apache's own log has that
//! second, so a replay of it is exact. Other logs have the second in which the request ended, and
//! how long it took. The arrival may then be in either of two seconds. [`replay`] counts such a log
//! with intervals that are one second longer, which reject whatever the module may have rejected. A
//! request that passes has surely passed. The first one of a client that does not pass, and all of
//! its later ones, are undecided.

mod gate;
mod history;
mod replay;

use weir_core::{Field, RecordFields};

use self::gate::EvasiveGate;
use self::replay::EvasiveReplay;
use crate::error::RuleError;
use crate::event::{EventHead, Events};
use crate::gate::{CannotEnforce, Gate, GateOptions, check_fields};
use crate::rule::{Family, Line, MissingField, Observer, Replay, Rule};
use crate::windows::lines;

/// The settings, in whole seconds and requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Settings {
    page: Count,
    site: Count,
    block_s: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Count {
    most: i64,
    interval_s: i64,
}

/// The limits of a configuration.
#[derive(Debug)]
pub(crate) struct EvasiveRule {
    name: String,
    settings: Settings,
    notes: Vec<RuleError>,
}

/// Whether a text has directives of mod_evasive.
pub(in crate::presets) fn looks_like(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().to_ascii_lowercase().starts_with("dos"))
        && ["dospagecount", "dossitecount"]
            .iter()
            .any(|name| text.to_ascii_lowercase().contains(name))
}

/// Reads the directives; those that are missing have the defaults of the module.
///
/// # Errors
/// If one is not a number.
pub(crate) fn parse(text: &str, name: &str) -> Result<EvasiveRule, RuleError> {
    let mut settings = Settings {
        page: Count { most: 2, interval_s: 1 },
        site: Count { most: 50, interval_s: 1 },
        block_s: 10,
    };
    let mut notes = Vec::new();
    for words in lines(text) {
        let [name, value, ..] = words[..] else { continue };
        let slot = match name.text.to_ascii_lowercase().as_str() {
            "dospagecount" => &mut settings.page.most,
            "dospageinterval" => &mut settings.page.interval_s,
            "dossitecount" => &mut settings.site.most,
            "dossiteinterval" => &mut settings.site.interval_s,
            "dosblockingperiod" => &mut settings.block_s,
            "doswhitelist" | "doswhitelisturi" => {
                notes.push(name.error(format!("`{}` is not followed", name.text)));
                continue;
            }
            _ => continue,
        };
        let digits = value.text.trim_matches('"');
        *slot = digits.parse::<u32>().ok().filter(|number| *number > 0).map(i64::from).ok_or_else(
            || value.error(format!("`{digits}` is not a number from 1 to {}", u32::MAX)),
        )?;
    }
    Ok(EvasiveRule { name: name.to_owned(), settings, notes })
}

impl Rule for EvasiveRule {
    fn name(&self) -> &str {
        &self.name
    }

    fn family(&self) -> Family {
        Family::ModEvasive
    }

    fn description(&self) -> String {
        let Settings { page, site, block_s } = self.settings;
        format!(
            "{} requests of a page in {} s, {} of the site in {} s, blocked for {block_s} s",
            page.most, page.interval_s, site.most, site.interval_s
        )
    }

    fn notes(&self) -> &[RuleError] {
        &self.notes
    }

    fn bind<'r>(&'r self, fields: &RecordFields) -> Result<Box<dyn Observer + 'r>, MissingField> {
        for name in ["client", "path"] {
            fields.accessor(name)?;
        }
        Ok(Box::new(EvasiveObserver { is_arrival: fields.has_arrival_times() }))
    }

    fn replay<'r>(&'r self) -> Box<dyn Replay + 'r> {
        Box::new(EvasiveReplay::new(self.settings))
    }

    fn gate(
        &self,
        fields: &RecordFields,
        options: GateOptions,
    ) -> Result<Box<dyn Gate>, CannotEnforce> {
        check_fields(["client", "path"], fields)?;
        Ok(Box::new(EvasiveGate::new(&self.name, self.settings, options)))
    }
}

/// Emits an event for each request, with the client and the path. The tag is whether its time is
/// that of the arrival.
struct EvasiveObserver {
    is_arrival: bool,
}

impl Observer for EvasiveObserver {
    fn observe(&mut self, line: &Line<'_>, events: &mut Events) {
        let Some(record) = line.record else { return };
        let (Some(client), Some(path)) = (record.text(Field::Client), record.text(Field::Path))
        else {
            return;
        };
        let duration_ns = record.number(Field::RequestTime).filter(|_| !self.is_arrival);
        let head = EventHead {
            line: line.number,
            time_ns: record.time.map(|time| time.unix_ns),
            duration_ns: duration_ns.unwrap_or(0),
            tag: u32::from(self.is_arrival),
        };
        events.put(head, [client, path]);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Count, Settings, looks_like, parse};
    use crate::event::{EventHead, Events};
    use crate::report::{Decision, Verdict};
    use crate::rule::Rule;

    /// A request of one client: its stamp and duration in milliseconds, and its page.
    type Request<'a> = (i64, u64, &'a str);

    /// The lines of rejected and undecided requests.
    fn replayed(text: &str, tag: u32, requests: &[Request<'_>]) -> (Vec<u64>, Vec<u64>) {
        let rule = parse(text, "test").expect(text);
        let mut replay = rule.replay();
        let mut events = Events::default();
        for (line, (stamp_ms, duration_ms, path)) in requests.iter().enumerate() {
            let head = EventHead {
                line: line as u64,
                time_ns: Some(stamp_ms * 1_000_000),
                duration_ns: duration_ms * 1_000_000,
                tag,
            };
            assert!(events.put(head, [&b"a"[..], path.as_bytes()]));
        }
        for event in events.iter() {
            replay.take(0, event.line + 1, &event);
        }
        let (mut rejected, mut undecided) = (Vec::new(), Vec::new());
        replay.finish(Some(&mut |decision: &Decision<'_>| match decision.verdict {
            Verdict::Rejected => rejected.push(decision.line),
            Verdict::Undecided => undecided.push(decision.line),
            _ => {}
        }));
        (rejected, undecided)
    }

    /// As [`replayed`], with whole seconds, and durations if the stamps are those of ends.
    fn over(text: &str, tag: u32, requests: &[(i64, &str)]) -> (Vec<u64>, Vec<u64>) {
        let duration_ms = if tag == 0 { 300 } else { 0 };
        let requests: Vec<_> =
            requests.iter().map(|(second, path)| (second * 1_000, duration_ms, *path)).collect();
        replayed(text, tag, &requests)
    }

    /// `access_checker` and the table of mod_evasive24.c, line by line. Returns the lines that are
    /// rejected.
    fn naive(settings: &Settings, requests: &[Request<'_>]) -> Vec<u64> {
        let mut nodes: Vec<(String, i64, i64)> = Vec::new();
        let mut rejected = Vec::new();
        for (index, (stamp_ms, duration_ms, path)) in requests.iter().enumerate() {
            let now = (stamp_ms - *duration_ms as i64).div_euclid(1_000);
            let find = |nodes: &[(String, i64, i64)], key: &str| {
                nodes.iter().position(|(known, ..)| known == key)
            };
            let mut result_is_forbidden = false;
            let held = find(&nodes, "a").filter(|at| now - nodes[*at].1 < settings.block_s);
            if let Some(at) = held {
                result_is_forbidden = true;
                nodes[at].1 = now;
            } else {
                for (key, limit) in
                    [(format!("a_{path}"), settings.page), ("a_SITE".to_owned(), settings.site)]
                {
                    match find(&nodes, &key) {
                        Some(at) => {
                            let (_, last, count) = &mut nodes[at];
                            if now - *last < limit.interval_s && *count >= limit.most {
                                result_is_forbidden = true;
                            } else if now - *last >= limit.interval_s {
                                *count = 0;
                            }
                            (*last, *count) = (now, *count + 1);
                        }
                        None => nodes.push((key, now, 0)),
                    }
                }
                if result_is_forbidden {
                    match find(&nodes, "a") {
                        Some(at) => nodes[at].1 = now,
                        // `ntt_insert` sets the time of a new node to 0.
                        None => nodes.push(("a".to_owned(), 0, 0)),
                    }
                }
            }
            if result_is_forbidden {
                rejected.push(index as u64 + 1);
            }
        }
        rejected
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_000) })]

        #[test]
        fn decisions_are_those_of_the_module(
            (page, site) in ((1..4i64, 1..4i64), (1..8i64, 1..4i64)),
            block_s in 1..12i64,
            pauses in prop::collection::vec(
                (
                    prop_oneof![6 => 0..200i64, 3 => 0..1_500i64, 1 => 3_000..15_000i64],
                    0..900u64,
                    prop::sample::select(&["/", "/a", "/b"][..]),
                ),
                1..80,
            ),
        ) {
            let (page, site) = (
                Count { most: page.0, interval_s: page.1 },
                Count { most: site.0, interval_s: site.1 },
            );
            let settings = Settings { page, site, block_s };
            let text = format!(
                "DOSPageCount {}\nDOSPageInterval {}\nDOSSiteCount {}\nDOSSiteInterval {}\n\
                 DOSBlockingPeriod {block_s}",
                page.most, page.interval_s, site.most, site.interval_s
            );
            let mut arrival_ms = 1_700_000_000_001;
            let mut requests: Vec<Request<'_>> = Vec::new();
            for (pause_ms, duration_ms, path) in pauses {
                arrival_ms += pause_ms;
                requests.push((arrival_ms + duration_ms as i64, duration_ms, path));
            }
            let (rejected, undecided) = replayed(&text, 0, &requests);
            prop_assert_eq!(&rejected, &naive(&settings, &requests));
            prop_assert!(undecided.is_empty());
            // The same log with the seconds of the ends: no client passes that the module rejects.
            let cut = |(stamp_ms, duration_ms, path): &Request<'static>| {
                (stamp_ms - stamp_ms.rem_euclid(1_000), *duration_ms, *path)
            };
            let requests: Vec<_> = requests.iter().map(cut).collect();
            let (sure, undecided) = replayed(&text, 0, &requests);
            let of_whole_durations = requests.iter().all(|(_, duration_ms, _)| *duration_ms == 0);
            prop_assert!(sure.is_empty() || of_whole_durations);
            prop_assert!(rejected.is_empty() || !undecided.is_empty() || of_whole_durations);
        }
    }

    #[test]
    fn a_client_over_a_count_is_held() {
        let text = "<IfModule mod_evasive20.c>\n  DOSPageCount 2\n  DOSPageInterval 1\n  \
                    DOSSiteCount 4\n  DOSBlockingPeriod \"10\"\n</IfModule>";
        assert!(looks_like(text));
        // The fourth request of a page in a second is over a count of 2.
        let first = [(0, "/"), (0, "/"), (0, "/"), (0, "/"), (0, "/x"), (0, "/x")];
        // The first time, only that request is rejected.
        assert_eq!(over(text, 1, &first[..5]), (vec![4], vec![]));
        // The sixth is over the count of the site, and from the second time on the client is held.
        let later = [(9, "/x"), (18, "/x"), (28, "/x")];
        let page = [&first[..], &later].concat();
        assert_eq!(over(text, 1, &page), (vec![4, 6, 7, 8], vec![]));
        let site: Vec<(i64, &str)> =
            ["/a", "/b", "/c", "/d", "/e", "/f"].iter().map(|path| (0, *path)).collect();
        assert_eq!(over(text, 1, &site), (vec![6], vec![]));
        let apart = [(0, "/"), (1, "/"), (2, "/"), (3, "/"), (4, "/"), (5, "/")];
        assert_eq!(over(text, 1, &apart), (vec![], vec![]));
        // With the second of the end, they may have been in one interval.
        assert_eq!(over(text, 0, &apart), (vec![], vec![4, 5, 6]));
    }

    #[test]
    fn a_stamp_that_is_a_whole_second_by_chance_leaves_a_log_exact() {
        let text = "DOSPageCount 2\nDOSPageInterval 1\nDOSSiteCount 500";
        let start = 1_795_341_600_000;
        let mut requests: Vec<_> = (100..105).map(|at| (start + at, 1, "/a")).collect();
        requests.push((start + 50_000, 5, "/b"));
        assert_eq!(replayed(text, 0, &requests), (vec![4, 5], vec![]));
        // The same of mostly whole seconds: it cannot be told.
        let requests: Vec<_> = (0..5).map(|at| (start + i64::from(at == 4), 1, "/a")).collect();
        assert_eq!(replayed(text, 0, &requests), (vec![], vec![4, 5]));
    }

    #[test]
    fn directives_are_read_as_apache_reads_them() {
        let default = Settings {
            page: Count { most: 2, interval_s: 1 },
            site: Count { most: 50, interval_s: 1 },
            block_s: 10,
        };
        let page = |most| Settings { page: Count { most, ..default.page }, ..default };
        let site = |most| Settings { site: Count { most, ..default.site }, ..default };
        for (text, expected, notes) in [
            ("DOSHashTableSize 3097\nDOSEmailNotify a@b.example", default, 0),
            ("dospagecount 7", page(7), 0),
            ("<IfModule mod_evasive24.c>\r\n\tDOSPageCount\t\"7\"\r\n</IfModule>\r\n", page(7), 0),
            ("# DOSPageCount 9\nDOSPageCount 7 # DOSPageCount 9", page(7), 0),
            ("DOSSiteCount 8\nDOSSiteCount 9", site(9), 0),
            ("DOSSiteCount 4294967295", site(4_294_967_295), 0),
            ("DOSPageCount", default, 0),
            (
                "DOSPageInterval 3\nDOSSiteInterval 4\nDOSBlockingPeriod 5",
                Settings {
                    page: Count { most: 2, interval_s: 3 },
                    site: Count { most: 50, interval_s: 4 },
                    block_s: 5,
                },
                0,
            ),
            ("DOSWhitelist 10.*.*.*\nDOSWhitelistUri /a", default, 2),
        ] {
            let rule = parse(text, "test").expect(text);
            assert_eq!((rule.settings, rule.notes().len()), (expected, notes), "{text}");
        }
        for text in [
            "DOSPageCount 0",
            "DOSPageCount -1",
            "DOSPageCount 2x",
            "DOSPageCount \"\"",
            "DOSBlockingPeriod 4294967296",
        ] {
            assert!(parse(text, "test").is_err(), "{text}");
        }
    }

    #[test]
    fn mistakes_are_refused_at_their_place() {
        let text = "DOSPageCount 2\nDOSSiteCount x\n";
        let error = parse(text, "test").expect_err(text);
        assert_eq!((error.line(text), &text[error.range.clone()]), (2, "x"));
        assert!(error.message.starts_with("`x` is not a number"), "{error}");
        let rule = parse("DOSSiteCount 9\nDOSWhitelist 10.*.*.*", "test").expect("it is valid");
        assert_eq!(rule.notes().len(), 1);
        let expected = "2 requests of a page in 1 s, 9 of the site in 1 s, blocked for 10 s";
        assert_eq!(rule.description(), expected);
    }
}
