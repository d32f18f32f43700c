//! Jails that are read, mistakes in them, and small logs.

use std::collections::BTreeMap;

use proptest::prelude::*;
use weir_rules::{Exactness, Family, RuleFiles, Verdict, parse_rules};

use super::{log, mistake, replay, replay_parts, rule, rules, short};

/// A line of an access log.
fn line(client: &str, minute: u32, second: u32, status: u16) -> String {
    format!(
        "{client} - - [17/Dec/2025:09:{minute:02}:{second:02} +0000] \"GET / HTTP/1.1\" {status} 1 \"-\" \"-\"\n"
    )
}

const JAIL: &str = r#"
[web]
maxretry = 3
findtime = 1m
bantime = 2m
failregex = ^<HOST> \S+ \S+ \[\] "[^"]*" 404
"#;

#[test]
fn a_jail_bans_at_maxretry() {
    let mut log = String::new();
    for second in [0, 5, 10, 15, 20, 25] {
        log += &line("192.0.2.1", 0, second, 404);
        log += &line("192.0.2.2", 0, second, 200);
    }
    log += &line("192.0.2.1", 3, 0, 404);
    let replayed = replay(&*rule(JAIL), log.as_bytes());
    let start = 1_765_962_000;
    let bans: Vec<_> = replayed.report.bans.iter().map(short).collect();
    let ban = |second: i64, line, already_banned| {
        let key = "192.0.2.1".to_owned();
        (key, start + second, Some(start + second + 120), line, already_banned)
    };
    assert_eq!(bans, [ban(10, 5, false), ban(25, 11, true)]);
    assert_eq!(replayed.report.bans[1].matches, [(0, 7), (0, 9), (0, 11)]);
    let requests = replayed.report.requests;
    assert_eq!((requests.passed, requests.rejected, requests.undecided), (4, 3, 0));
    let [trip] = &replayed.report.trips[..] else { panic!("{:?}", replayed.report.trips) };
    assert_eq!((trip.peak, trip.margin, trip.line), (6.0, 3.0, 5));
    let steps: Vec<_> =
        replayed.report.steps.iter().map(|step| (&*step.setting, step.tripped)).collect();
    assert_eq!(steps, [("maxretry=1", 1), ("maxretry=6", 1)]);
}

#[test]
fn texts_that_are_searched_first_change_nothing() {
    let mut middle = String::new();
    for second in 10..30 {
        let client = second % 7;
        middle += &format!("denied 2025-12-17 09:00:{second} from 192.0.2.{client}\r\n");
        middle += &format!("refused from 192.0.2.{client} at [17/Dec/2025:09:00:{second} +0000]\n");
    }
    let logs = [log(1, 500), log(2, 500), middle];
    let mut failures = 0;
    for pattern in [
        r#"^<HOST> - - \[\] "GET /admin"#,
        r#"^<HOST> .*" 40[34] 162 "-" "-"$"#,
        r#"^<ADDR> \S+ \S+ \[\] "(?:GET|POST) /(?:wp-login|cgi-bin)"#,
        r"^denied  from <HOST>$",
        r"^refused from <HOST> at \[\]$",
    ] {
        let jail = |pattern: &str| {
            let (start, _) = JAIL.split_once("failregex").expect("the pattern");
            rule(&format!("{start}failregex = {pattern}\n"))
        };
        // No text is certain if upper and lower case are the same.
        let (fast, slow) = (jail(pattern), jail(&format!("(?i:{pattern})")));
        for log in &logs {
            let (fast, slow) = (replay(&*fast, log.as_bytes()), replay(&*slow, log.as_bytes()));
            assert_eq!(fast.failures, slow.failures, "{pattern}");
            assert_eq!(fast.report.bans, slow.report.bans, "{pattern}");
            failures += fast.failures.len();
        }
    }
    assert!(failures > 200, "{failures}");
}

#[test]
fn longer_bans_for_those_who_were_banned_before() {
    let jail = JAIL.to_owned() + "bantime.increment = true\nbantime.maxtime = 5m\n";
    let mut log = String::new();
    for minute in [0, 5, 15, 40] {
        for second in 0..3 {
            log += &line("192.0.2.1", minute, second, 404);
        }
    }
    let replayed = replay(&*rule(&jail), log.as_bytes());
    let bans: Vec<_> = replayed.report.bans.iter().map(short).collect();
    let lengths: Vec<_> = bans.iter().map(|ban| (ban.3, ban.2.expect("it ends") - ban.1)).collect();
    // After one ban a failure counts for two, after two bans for three.
    assert_eq!(
        lengths,
        [
            (3, 120),
            (5, 240),
            (6, 120),
            (7, 300),
            (8, 120),
            (9, 120),
            (10, 300),
            (11, 120),
            (12, 120)
        ]
    );
    assert!(bans[2].4 && !bans[3].4);
}

#[test]
fn addresses_of_the_jail_are_ignored() {
    let jail = JAIL.to_owned() + "ignoreip = 192.0.2.0/28, 2001:db8::/32 example.org\n";
    let mut log = String::new();
    for client in ["192.0.2.1", "192.0.2.16", "2001:db8::7", "127.0.0.1"] {
        log += &line(client, 0, 0, 404);
    }
    let rule = rule(&jail);
    let replayed = replay(&*rule, log.as_bytes());
    assert_eq!(replayed.failures, [(2, "192.0.2.16".to_owned())]);
    let [note] = rule.notes() else { panic!("{:?}", rule.notes()) };
    assert!(note.message.contains("`example.org` is not an address"), "{note}");
}

#[test]
fn host_names_cannot_be_told() {
    let log = line("host.example.org", 0, 0, 404).repeat(3);
    let replayed = replay(&*rule(JAIL), log.as_bytes());
    assert_eq!((replayed.report.requests.undecided, replayed.report.bans.len()), (3, 0));
    assert!(replayed.report.notes.join(" ").contains("3 failures are of host names"));
    let raw = JAIL.to_owned() + "usedns = raw\n";
    assert_eq!(replay(&*rule(&raw), log.as_bytes()).report.bans.len(), 1);
}

#[test]
fn filters_are_put_together() {
    let mut files = RuleFiles::default();
    let mut add = |name: &str, text: &str| files.add(name.to_owned(), text.to_owned());
    add(
        "web.conf",
        "[INCLUDES]\nbefore = common.conf\n[Definition]\nfailregex = ^ %(client)s (?:<bad-<mode>>)$\nmode = few\nbad-few = four\nbad-all = four|<more>\n[Init]\nmore = five\n",
    );
    add("web.local", "[Definition]\nbad-few = %(known/bad-few)s|4\n");
    add("common.conf", "[DEFAULT]\nclient = <HOST>\n");
    let of = |jail: &str, log: &str| {
        let rule = rules(jail, &files).remove(0);
        let clients = replay(&*rule, log.as_bytes()).failures.into_iter().map(|(_, client)| client);
        clients.collect::<Vec<_>>().join(" ")
    };
    let log = "2025-12-17 09:00:00 192.0.2.1 four\n2025-12-17 09:00:00 192.0.2.2 4\n\
               2025-12-17 09:00:00 192.0.2.3 five\n2025-12-17 09:00:00 192.0.2.4 six\n";
    assert_eq!(of("[web]\nmaxretry = 1\n", log), "192.0.2.1 192.0.2.2");
    assert_eq!(of("[a]\nfilter = web[mode=all]\n", log), "192.0.2.1 192.0.2.3");
    assert_eq!(of("[a]\nfilter = web[mode=all, more=\"six\"]\n", log), "192.0.2.1 192.0.2.4");
    let more = "[a]\nfilter = web\nfailregex = %(known/failregex)s\n  ^ <HOST> six\n";
    assert_eq!(of(more, log), "192.0.2.1 192.0.2.2 192.0.2.4");
}

#[test]
fn a_file_that_includes_itself_is_a_mistake_at_its_place() {
    let jail = "[web]\nmaxretry = 1\n";
    let mut files = RuleFiles::default();
    let mut add = |name: &str, text: &str| files.add(name.to_owned(), text);
    add("web.conf", "[Definition]\nfailregex = ^<HOST> x\n[INCLUDES]\nafter = common.conf\n");
    add("common.conf", "[INCLUDES]\nbefore = sub/web.conf\n");
    add("common.local", "[INCLUDES]\nbefore = common.conf\n");
    let error = parse_rules(jail, "jail", Some(Family::Fail2ban), &files).expect_err(jail);
    let path = "web.conf -> common.conf -> web.conf";
    let why =
        format!("filter: common.conf:2: web.conf includes itself ({path}); leave one name out");
    assert_eq!((&*error.message, &jail[error.range]), (&*why, "[web]"));

    let text = "[web]\nfailregex = ^<HOST> x\n[INCLUDES]\nbefore = own.conf\n";
    let error = parse_rules(text, "own.conf", None, &files).expect_err(text);
    assert_eq!(&text[error.range], "before = own.conf");

    // The `.local` file of a file may include that file.
    files.add("common.conf".to_owned(), "[DEFAULT]\nmaxretry = 7\n");
    let rule = rules("[web]\n", &files).remove(0);
    assert!(rule.description().starts_with("maxretry=5"), "{}", rule.description());
}

#[test]
fn many_files_that_include_each_other_are_a_mistake() {
    let mut files = RuleFiles::default();
    for number in 0..300 {
        let next = format!("[INCLUDES]\nbefore = f{}.conf\n", number + 1);
        files.add(format!("f{number}.conf"), next);
    }
    let text = "[INCLUDES]\nbefore = f0.conf\n[web]\nfailregex = ^<HOST> x\n";
    let error = parse_rules(text, "jail", None, &files).expect_err(text);
    assert_eq!(error.message, "more than 200 files or 16 MiB are included");
    assert_eq!(&text[error.range], "[INCLUDES]");
}

#[test]
fn the_files_of_a_jail_are_looked_up_by_their_names() {
    let folder = BTreeMap::from([
        ("web.conf", "[INCLUDES]\nbefore = common.conf\n         gone.conf\n[Definition]\n"),
        ("web.local", "[Definition]\nfailregex = ^<HOST> x\n"),
        ("common.local", "[INCLUDES]\nafter = ../../etc/deep.conf\n"),
        ("deep.conf", "[DEFAULT]\nx = 1\n"),
    ]);
    let text = "[DEFAULT]\nfilter = %(__name__)s\n[web]\nfilter = web[a=1]\n[web2]\nfilter = web\n\
                [off]\nenabled = false\n[other]\n[own]\nfilter =\nfailregex = ^<HOST> x\n\
                [up]\nfilter = ../secret\n[INCLUDES]\nbefore = paths.conf\n";
    let mut files = RuleFiles::default();
    let mut asked = Vec::new();
    let missing = files.complete(text, "jail", None, |name| {
        asked.push(name.to_owned());
        Ok::<_, ()>(folder.get(name).copied())
    });
    let expected = ["paths.conf", "gone.conf", "other.conf", "../secret.conf"].map(str::to_owned);
    assert_eq!(missing, Ok(expected.to_vec()));
    let expected = "paths.conf paths.local web.conf web.local common.conf common.local deep.conf \
                    deep.local gone.conf gone.local other.conf other.local own.conf own.local";
    assert_eq!(asked.join(" "), expected);
    assert_eq!(files.text("deep.conf"), Some("[DEFAULT]\nx = 1\n"));

    let rule = rules("[web]\n", &files).remove(0);
    let notes: Vec<String> = rule.notes().iter().map(ToString::to_string).collect();
    assert!(notes.iter().any(|note| note == "the file gone.conf is missing and is left out"));
    let again =
        files.complete("[web]\n", "jail", Some(Family::Fail2ban), |_| Err::<Option<&str>, _>("no"));
    assert_eq!(again, Err("no"), "the first error is returned");
    let complete =
        files.complete("limit 5 requests in 1m", "a", None, |_| Err::<Option<&str>, _>(1));
    assert_eq!(complete, Ok(Vec::new()), "other families name no files");
}

#[test]
fn an_option_of_a_named_section_has_the_values_of_that_section() {
    let mut files = RuleFiles::default();
    let common = "[DEFAULT]\nlogtype = file\n__prefix_line = <lt_<logtype>/__prefix_line>\n\
                  [lt_file]\n__prefix_line = file\n[lt_journal]\n__prefix_line = journal\n";
    files.add("common.conf".to_owned(), common);
    let filter = "[INCLUDES]\nbefore = common.conf\n[Definition]\n\
                  failregex = ^ %(__prefix_line)s <HOST>$\n\
                  [lt_journal]\n__extra = (?: extra)?\n\
                  __prefix_line = %(known/__prefix_line)s%(__extra)s\n";
    files.add("web.conf".to_owned(), filter);
    for (logtype, failing) in
        [("file", vec!["file"]), ("journal", vec!["journal", "journal extra"])]
    {
        let jail = format!("[web]\nfilter = web[logtype={logtype}]\nmaxretry = 1\n");
        let rule = rules(&jail, &files).remove(0);
        let is_failure = |prefix: &&str| {
            let line = format!("2025-12-17 09:00:00 {prefix} 192.0.2.7\n");
            !replay(&*rule, line.as_bytes()).report.bans.is_empty()
        };
        let found: Vec<&str> =
            ["file", "journal", "journal extra"].into_iter().filter(is_failure).collect();
        assert_eq!(found, failing, "{logtype}");
    }
}

#[test]
fn the_files_in_the_folder_of_a_filter_are_merged_with_it() {
    let filter = |pattern: &str| format!("[Definition]\nfailregex = ^ <HOST> {pattern}$\n");
    let more = "[INCLUDES]\nbefore = common.conf\n[Definition]\n\
                failregex = %(known/failregex)s\n            ^ <HOST> <word>$\n";
    let texts = BTreeMap::from([
        ("web.conf", filter("conf")),
        ("web.local", "[Definition]\nmaxlines = 1\n".to_owned()),
        ("common.conf", "[DEFAULT]\nword = common\n".to_owned()),
    ]);
    let of_folder = [
        ("9.local", filter("9")),
        ("a.conf", filter("a")),
        ("b.conf", more.to_owned()),
        ("c.txt", filter("c")),
    ];
    let jail = "[web]\nmaxretry = 1\nignoreip =\n";
    let failing = |of_folder: &[(&str, String)]| {
        let mut files = RuleFiles::default();
        let mut listed = Vec::new();
        let missing = files.complete_with_folders(
            jail,
            "jail",
            None,
            |name| Ok::<_, ()>(texts.get(name).cloned()),
            |folder| {
                listed.push(folder.to_owned());
                let files = of_folder.iter().filter(|_| folder == "web.d");
                Ok(files.map(|(name, text)| ((*name).to_owned(), text.clone())).collect())
            },
        );
        assert_eq!(missing, Ok(Vec::new()));
        assert!(listed.contains(&"web.d".to_owned()), "{listed:?}");
        let rule = rules(jail, &files).remove(0);
        let words = ["conf", "a", "common", "9", "c"];
        let is_failure = |word: &&str| {
            let line = format!("2025-12-17 09:00:00 192.0.2.7 {word}\n");
            !replay(&*rule, line.as_bytes()).report.bans.is_empty()
        };
        words.into_iter().filter(is_failure).collect::<Vec<_>>()
    };
    assert_eq!(failing(&[]), ["conf"]);
    assert_eq!(failing(&of_folder[1..2]), ["a"], "it comes after web.conf");
    assert_eq!(failing(&of_folder[1..]), ["a", "common"], "a file may include others");
    assert_eq!(failing(&of_folder), ["9"], "it comes after web.local");
}

#[test]
fn several_jails_are_several_rules() {
    let text = "[DEFAULT]\nbantime = -1\nfailregex = ^<HOST> x\n[a]\nmaxretry = 2\n[b]\nenabled = false\n[c]\nenabled = true\n";
    let all = rules(text, &RuleFiles::default());
    let names: Vec<&str> = all.iter().map(|rule| rule.name()).collect();
    assert_eq!(names, ["a", "c"]);
    assert_eq!(all[0].description(), "maxretry=2 findtime=600 bantime=-1, 1 failregex");
}

#[test]
fn mistakes_are_shown_at_their_place() {
    let jail = |option: &str| format!("[web]\n{option}\n");
    for (text, place, part) in [
        (jail("failregex = ^<HOST> (a|b"), "(", "not closed"),
        (jail("failregex = ^<HOST> a\nignoreregex = b\n  [a-"), "[", "not closed"),
        (jail("failregex = ^<HOST> [a-\n  ^<HOST> a)"), "[", "not closed"),
        (jail("failregex = ^<HOST> a)"), ")", "closes no group"),
        (jail("failregex = ^<HOST> **"), "*", "repeats a repetition"),
        (jail("failregex = ^<HOST> <ADDR>"), "<ADDR>", "twice"),
        (jail("failregex = ^<HOST> \\y"), "\\y", "not an escape"),
        (jail("failregex = ^no host"), "^no host", "does not say who fails"),
        (jail("failregex = ^<HOST> (?P=user)"), "(?P=user)", "no such group"),
        (jail("failregex = ^<HOST> (?m:a)"), "m", "flag is not supported"),
        (jail("failregex = %(missing)s"), "failregex = %(missing)s", "not defined"),
        (jail("failregex = ^<HOST>\nmaxretry = three"), "three", "not a valid number"),
        (jail("failregex = ^<HOST>\nfindtime = 10 parsecs"), "10 parsecs", "not a valid duration"),
        (jail("failregex = ^<HOST>\ndatepattern = %%Q"), "%Q", "not a field"),
        (jail("failregex = ^<HOST>\nlogtimezone = Mars"), "Mars", "not a zone"),
        (jail("filter = nowhere"), "filter = nowhere", "`nowhere` is missing"),
        (jail("enabled = false"), "[web]", "no jail is enabled"),
        (jail("maxretry"), "maxretry", "neither a [section] nor an option"),
    ] {
        let (message, marked) = mistake(&text);
        assert_eq!(marked, place, "{text}: {message}");
        assert!(message.contains(part), "{text}: {message}");
    }
}

#[test]
fn what_is_not_supported_is_named() {
    let text = "[web]\nfailregex = ^<HOST> a\n  ^a<SKIPLINES>^<HOST>\nignorecommand = /bin/true\nmaxlines = 5\nbantime.increment = true\nbantime.formula = ban.Time\nbantime.rndtime = 1m\n";
    let rule = rule(text);
    let notes: Vec<String> = rule.notes().iter().map(ToString::to_string).collect();
    for part in ["<SKIPLINES>", "commands are not run", "one at a time", "formulas", "random"] {
        assert!(notes.iter().any(|note| note.contains(part)), "{part}: {notes:?}");
    }
}

#[test]
fn a_pattern_that_takes_too_long_ends() {
    let text = "[web]\nfailregex = ^ <HOST> (?=((a+)+)+$)(?:(a+)+)+\\b!$\n";
    let log = format!("2025-12-17 09:00:00 192.0.2.1 {}b\n", "a".repeat(3_000));
    let replayed = replay(&*rule(text), log.as_bytes());
    assert!(replayed.failures.is_empty());
    assert!(replayed.report.requests.undecided <= 1);
}

#[test]
fn an_ignoreregex_that_takes_too_long_makes_its_line_undecided() {
    let jail = |ignored: &str| {
        format!("[web]\nfailregex = ^ <HOST> \nmaxretry = 1\nignoreregex = {ignored}\n")
    };
    let log = format!(
        "2025-12-17 09:00:00 192.0.2.1 {}x HTTP\n2025-12-17 09:00:00 192.0.2.2 b\n",
        "a".repeat(60)
    );
    let slow = "(?:(?=a)a+)+y";
    for (ignored, bans, undecided) in [
        (slow.to_owned(), 1, 1),
        (format!("{slow}|x HTTP"), 1, 1),
        // fail2ban ignores a line that any of them matches.
        (format!("{slow}\n  x HTTP"), 1, 0),
        ("nothing".to_owned(), 2, 0),
    ] {
        let replayed = replay(&*rule(&jail(&ignored)), log.as_bytes());
        let report = replayed.report;
        assert_eq!((report.bans.len(), report.requests.undecided), (bans, undecided), "{ignored}");
        let is_named = report.notes.iter().any(|note| note.contains("take a pattern too long"));
        assert_eq!(is_named, undecided > 0, "{:?}", report.notes);
        let exactness = if is_named { Exactness::Bounded } else { Exactness::Exact };
        assert_eq!(report.exactness, exactness);
    }
    // With more patterns for failures, the whole line is searched first.
    let several =
        jail(slow).replace("^ <HOST> ", "^ <HOST> c\n ^ <HOST> d\n ^ <HOST> e\n ^ <HOST> ");
    let report = replay(&*rule(&several), log.as_bytes()).report;
    assert_eq!((report.bans.len(), report.requests.undecided), (1, 1));
    let unmatched = several.replace("^ <HOST> \n", "^ <HOST> f\n");
    let report = replay(&*rule(&unmatched), log.as_bytes()).report;
    assert_eq!((report.bans.len(), report.requests.undecided), (0, 0));
}

#[test]
fn values_that_multiply_are_refused() {
    let mut nested = "[x]\nfailregex = ^<HOST> x%(a0)s\n".to_owned();
    for number in 0..9 {
        nested += &format!("a{number} = {}\n", format!("%(a{})s", number + 1).repeat(20));
    }
    let repeated = format!("a = {}\nb = {}\n", "<b>".repeat(60_000), "x".repeat(100_000));
    let repeated = format!("[Definition]\nfailregex = ^<HOST> <a>\n{repeated}");
    for text in [nested.clone() + "a9 =\n", nested.clone() + "a9 = y\n", repeated] {
        let (message, _) = mistake(&text);
        assert!(message.contains("come to more than 8 MiB"), "{message}");
    }
    // The same in an option that is read for each section.
    let enabled = (0..200).map(|number| format!("[s{number}]\nenabled = %(a0)s\n"));
    let defaults = nested.replace("[x]", "[DEFAULT]") + "a9 =\n";
    let files = RuleFiles::default();
    let parsed = parse_rules(&(defaults + &enabled.collect::<String>()), "test", None, &files);
    assert!(parsed.is_err());
}

#[test]
fn a_jail_over_several_lines_is_named_and_the_others_are_replayed() {
    let skipping = "[skipping]\nfailregex = ^a<SKIPLINES>^<HOST>\n";
    let text = format!("{skipping}{JAIL}");
    let all = rules(&text, &RuleFiles::default());
    let [web] = &all[..] else { panic!("{} jails", all.len()) };
    assert!(web.notes().is_empty(), "{:?}", web.notes());
    let notes: Vec<String> = web.omitted_rules().iter().map(ToString::to_string).collect();
    let part = "[skipping] is not followed: there is no";
    assert!(notes.iter().any(|note| note.contains(part)), "{notes:?}");
    let log = line("192.0.2.1", 0, 0, 404).repeat(3);
    assert_eq!(replay(&**web, log.as_bytes()).report.bans.len(), 1);
}

#[test]
fn lines_of_one_connection_are_joined() {
    let text = "[door]\nmaxretry = 1\nprefregex = ^ <F-MLFID>door\\[\\d+\\]:</F-MLFID> <F-CONTENT>.+</F-CONTENT>$\n\
                failregex = ^failed for <F-USER>\\S+</F-USER>$\n  ^<F-NOFAIL>call</F-NOFAIL> from <HOST>$\n  \
                ^<F-MLFFORGET><F-MLFGAINED>open</F-MLFGAINED></F-MLFFORGET> for <F-USER>\\S+</F-USER>$\n  \
                ^<F-NOFAIL><F-MLFFORGET>gone</F-MLFFORGET></F-NOFAIL>$\n";
    let log = "2025-12-17 09:00:00 door[1]: call from 192.0.2.1\n\
               2025-12-17 09:00:01 door[2]: call from 192.0.2.2\n\
               2025-12-17 09:00:02 door[1]: failed for alice\n\
               2025-12-17 09:00:03 door[3]: failed for bob\n\
               2025-12-17 09:00:04 door[2]: open for carol\n\
               2025-12-17 09:00:05 door[3]: call from 192.0.2.3\n\
               2025-12-17 09:00:06 door[4]: gone\n";
    let replayed = replay(&*rule(text), log.as_bytes());
    assert_eq!(replayed.failures, [(3, "192.0.2.1".to_owned()), (6, "192.0.2.3".to_owned())]);
    assert_eq!(replayed.report.bans.len(), 2);
}

#[test]
fn one_bad_pattern_of_many_is_named_and_the_others_are_replayed() {
    let mut text = "[web]\nmaxretry = 1\nfailregex =\n".to_owned();
    for number in 0..300 {
        text += &match number {
            150 => "  ^ <HOST> (unclosed\n".to_owned(),
            200 => "  ^ nobody\n".to_owned(),
            _ => format!("  ^ <HOST> failure {number}$\n"),
        };
    }
    let rule = rule(&text);
    let [first, second] = rule.notes() else { panic!("{:?}", rule.notes()) };
    assert!(first.message.contains("not closed") && first.message.contains("left out"), "{first}");
    assert_eq!((first.line(&text), second.line(&text)), (154, 204));
    assert!(second.message.contains("does not say who fails"), "{second}");
    let log: String = [0, 150, 299]
        .map(|number| format!("2025-12-17 09:00:00 192.0.2.{} failure {number}\n", number % 255))
        .concat();
    assert_eq!(replay(&*rule, log.as_bytes()).report.bans.len(), 2);
}

#[test]
fn the_folder_of_the_configuration_is_known() {
    let text = "[DEFAULT]\nfilters = %(fail2ban_confpath)s/filter.d\n[web]\nignorecommand = %(filters)s/x <ip>\nfailregex = ^<HOST> x\n";
    let rule = rule(text);
    let [note] = rule.notes() else { panic!("{:?}", rule.notes()) };
    assert!(note.message.contains("commands are not run"), "{note}");
}

#[test]
fn a_log_without_years_is_not_replayed_exactly() {
    let rule = rule("[web]\nmaxretry = 1\nfailregex = ^ <HOST> failure$\n");
    for (stamp, exactness, notes) in
        [("2025-12-17 09:00:00", Exactness::Exact, 0), ("Dec 17 09:00:00", Exactness::Bounded, 1)]
    {
        let report = replay(&*rule, format!("{stamp} 192.0.2.7 failure\n").as_bytes()).report;
        let of_years = report.notes.iter().filter(|note| note.contains("have no year")).count();
        assert_eq!(
            (report.bans.len(), report.exactness, of_years),
            (1, exactness, notes),
            "{stamp}"
        );
    }
}

#[test]
fn other_texts_are_not_jails() {
    let parsed = parse_rules(&log(1, 20), "test", None, &RuleFiles::default());
    assert!(parsed.is_err(), "a log is not a rule");
    let parsed = parse_rules(
        "limit_req_zone $binary_remote_addr zone=a:1m rate=1r/s; limit_req zone=a;",
        "test",
        None,
        &RuleFiles::default(),
    );
    assert!(parsed.is_ok_and(|rules| rules[0].name() != "test" || rules.len() == 1));
}

#[test]
fn one_part_and_many_are_the_same() {
    let log = log(7, 3_000);
    let jail = JAIL.replace("404", "(?:404|403|400)");
    let rule = rule(&jail);
    let whole = replay(&*rule, log.as_bytes());
    assert!(whole.report.bans.len() > 20, "{}", whole.report.bans.len());
    assert!(whole.report.closest.iter().all(|key| key.verdict == Verdict::Passed));
    for parts in [&[1, 2, 99, 100, 101, 1_500][..], &[2_999], &[500, 500, 700]] {
        let apart = replay_parts(&*rule, log.as_bytes(), parts);
        assert_eq!(apart.failures, whole.failures);
        assert_eq!(apart.report, whole.report);
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in "(\\[(web|Definition|DEFAULT)\\]\n|(failregex|maxretry|datepattern|filter|before|findtime) = |\\^<HOST> |[a-z\\[\\](){}*+?|\\\\%<>=-]|\n  |\n){0,30}", line in ".{0,80}") {
        let text = format!("[web]\nfailregex = {text}");
        if let Ok(rules) = parse_rules(&text, "test", Some(weir_rules::Family::Fail2ban), &RuleFiles::default()) {
            for rule in rules {
                replay(&*rule, line.as_bytes());
            }
        }
    }
}
