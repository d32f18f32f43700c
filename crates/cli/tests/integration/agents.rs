//! What agents and referrers say, in each command.

use std::fs;

use crate::support::{Folder, line, run, text};

const GOOGLE: &str = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";

/// Five requests of a crawler, a disguise, a browser, a tool and an assistant.
fn log() -> String {
    let time = "01/Apr/2026:12:10:00 +0000";
    let request = "GET / HTTP/1.1";
    [
        line("192.0.2.70", time, request, 200, GOOGLE),
        line("203.0.113.1", time, request, 200, GOOGLE),
        line("198.51.100.1", time, request, 200, FIREFOX)
            .replace("\"-\"", "\"https://www.Google.de/\""),
        line("198.51.100.2", time, request, 200, "curl/8.5.0"),
        line("198.51.100.3", time, request, 200, "Mozilla/5.0 (compatible; GPTBot/1.2)")
            .replace("\"-\"", "\"https://shop.example.org/a\""),
    ]
    .concat()
}

#[test]
fn agents_and_referrers_are_counted_by_what_they_say() {
    let folder = Folder::new();
    let path = folder.file("a.log", log().as_bytes());
    let ranges = folder.file("googlebot.json", br#"{"creationTime": "2026-04-02T00:00:00", "prefixes": [{"ipv4Prefix": "192.0.2.64/27"}]}"#);
    let ranges = ranges.parent().expect("a folder").join("ranges");
    fs::create_dir(&ranges).expect("a folder");
    let file = ranges.join("googlebot.json");
    fs::rename(ranges.with_file_name("googlebot.json"), &file).expect("it is moved");
    for (arguments, expected) in [
        (&["--by", "crawler"][..], "2  Googlebot\n1  (none)\n1  GPTBot\n1  curl\n"),
        (&["--by", "crawler_kind"], "2  search\n1  (none)\n1  ai_training\n1  tool\n"),
        (&["--by", "crawler_operator"], "2  (none)\n2  Google\n1  OpenAI\n"),
        (&["--by", "device"], "4  bot\n1  desktop\n"),
        (&["--by", "system", "--where", "device=desktop"], "1  Linux\n"),
        (&["--by", "agent", "--where", "agent_family=Firefox"], "1  Firefox 145\n"),
        (&["--by", "referer_host"], "3  (none)\n1  google.de\n1  shop.example.org\n"),
        (&["--by", "referer_kind"], "3  (none)\n1  other\n1  search\n"),
        (&["--by", "referer_kind", "--own-host", "example.org"], "3  (none)\n1  own\n1  search\n"),
        (
            &["--by", "crawler_verified", "--crawler-ranges", text(&ranges)],
            "2  (none)\n1  cannot be verified\n1  contradicted\n1  verified\n",
        ),
    ] {
        let run = run([&["count"], arguments, &[text(&path)]].concat());
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{arguments:?}");
        assert_eq!(run.stdout, expected, "{arguments:?}");
    }
    let found = run(["grep", "--where", "agent_family=Firefox", text(&path)]);
    assert_eq!(found.stdout.matches("Firefox/145.0").count(), 1);
    assert_eq!(found.stdout.lines().count(), 1);
    let report = run(["report", "--group", "crawler", text(&path)]);
    assert!(report.stdout.contains("Googlebot"), "{}", report.stdout);
}

#[test]
fn lists_that_cannot_be_used_are_named_with_the_line() {
    let folder = Folder::new();
    let log = folder.file("a.log", log().as_bytes());
    let wrong = folder.file("wrong.txt", b"crawler\ta\tseo\ncrawler\t(b\tseo\n");
    let ours = folder.file("ours.txt", b"crawler\tFirefox\tseo\tFox\tUs\n");
    let empty = folder.file("empty.txt", b"");
    let failed = |arguments: &[&str]| {
        let run = run([&["count"], arguments, &[text(&log)]].concat());
        assert_eq!(run.code, 2, "{arguments:?}: {}", run.stderr);
        run.stderr
    };
    let by = ["--by", "crawler", "--crawlers"];
    let message = failed(&[&by[..], &[text(&wrong)]].concat());
    assert!(message.contains("wrong.txt: line 2: ") && message.contains("unclosed"), "{message}");
    let message = failed(&[&by[..], &[text(&empty)]].concat());
    assert!(message.contains("empty.txt: the list has no entries"), "{message}");
    let message = failed(&["--by", "agent", "--agents", "/no/such/file"]);
    assert!(message.contains("--agents /no/such/file: "), "{message}");
    let message = failed(&["--by", "crawler_verified"]);
    assert!(message.contains("--crawler-ranges"), "{message}");
    let message = failed(&["--by", "referer_kind", "--own-host", "a b"]);
    assert!(message.contains("`a b` is not the name of a host"), "{message}");
    let replaced = run(["count", "--by", "crawler", "--crawlers", text(&ours), text(&log)]);
    assert!(replaced.stdout.contains("1  Fox\n"), "{}", replaced.stdout);
}

#[test]
fn the_version_shows_the_lists() {
    let shown = run(["version", "--lists"]).stdout;
    for expected in ["weir ", "uap-core 0.", "crawler-user-agents 1.", "Apache-2.0", "MIT"] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    assert!(!run(["version"]).stdout.contains("uap-core"));
}
