//! The HTML report as programs for mail show it: without its style and without drawings.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{Folder, generated, run, text};

/// Programs that show a page as text, with their arguments. Those that are not installed are left
/// out.
const PROGRAMS: [&[&str]; 3] = [
    &["w3m", "-dump", "-cols", "200", "-T", "text/html"],
    &["lynx", "-dump", "-width=200", "-force_html"],
    &["html2text", "-width", "200"],
];

/// Elements that begin a line of their own.
const BLOCKS: [&str; 14] = [
    "details", "div", "figure", "footer", "h1", "h2", "header", "li", "p", "section", "summary",
    "table", "tr", "ul",
];

/// The text of a page without these elements.
fn text_without(page: &str, dropped: &[&str]) -> String {
    let mut page = page.to_owned();
    for name in dropped {
        let (start_tag, end_tag) = (format!("<{name}"), format!("</{name}>"));
        while let Some(start) = page.find(&start_tag) {
            let end = start + page[start..].find(&end_tag).expect("its end") + end_tag.len();
            page.replace_range(start..end, "");
        }
    }
    let mut text = String::new();
    for part in page.split('<') {
        let (tag, after) = part.split_once('>').unwrap_or(("", part));
        let name = tag.trim_start_matches('/').split(' ').next().unwrap_or_default();
        text += match name {
            "td" | "th" => " ",
            name if BLOCKS.contains(&name) => "\n",
            _ => "",
        };
        text += after;
    }
    text
}

/// The same text with one blank between words.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The texts that programs make of a page, with the names of the programs.
fn texts(page: &std::path::Path) -> Vec<(String, String)> {
    let html = std::fs::read_to_string(page).expect("a page");
    let mut texts = vec![
        ("no drawing".to_owned(), text_without(&html, &["style", "svg"])),
        // Some leave out what they do not know, but not the text in it.
        ("no drawing, but its text".to_owned(), text_without(&html, &["style"])),
    ];
    for program in PROGRAMS {
        let mut command = Command::new(program[0]);
        command.args(&program[1..]).arg(page).env("LC_ALL", "C.UTF-8").stdin(Stdio::null());
        match command.output() {
            Ok(output) => {
                let shown = String::from_utf8_lossy(&output.stdout).into_owned();
                texts.push((program[0].to_owned(), shown));
            }
            Err(error) => println!("{} is left out: {error}", program[0]),
        }
    }
    texts
}

/// The numbers of each row of the chart's table, by the time of the row.
fn chart_rows(text: &str) -> Vec<(String, Vec<u64>)> {
    let row = |line: &str| {
        let line = words(line);
        let is_time = line.len() > 19 && line.as_bytes()[4] == b'-' && line.as_bytes()[13] == b':';
        let numbers = line.get(19..)?.replace(',', "");
        let numbers: Result<Vec<u64>, _> = numbers.split_whitespace().map(str::parse).collect();
        is_time.then_some((line[..19].to_owned(), numbers.ok()?))
    };
    text.lines().filter_map(row).collect()
}

#[test]
fn figures_are_readable_without_style_and_drawings() {
    let folder = Folder::new();
    let log = folder.file("a.log", &generated(512 << 10));
    let page = folder.path("page.html");
    assert_eq!(run(["report", "--html", text(&page), text(&log)]).code, 0);
    let report: Value =
        serde_json::from_str(&run(["report", "--json", text(&log)]).stdout).expect("JSON");
    let number = |name: &str| weir_view::separated(report[name].as_u64().expect("a number"));
    let top = &report["top"]["path"][0];
    let path = top["value"].as_str().expect("a path");
    let count = weir_view::separated(top["count"].as_u64().expect("a count"));
    let buckets = report["histogram"]["buckets"].as_array().expect("buckets");
    let texts = texts(&page);
    for (program, text) in &texts {
        let shown = words(text);
        for figure in [
            format!("Requests {} ", number("matching")),
            format!("Errors {} error rate ", number("errors")),
            format!(" {} bytes", number("bytes_sent")),
            "The chart as a table".to_owned(),
            "from requests 2xx 3xx 4xx 5xx".to_owned(),
        ] {
            assert!(shown.contains(&figure), "{program}, {figure}:\n{text}");
        }
        let row = |line: &str| {
            let line = words(line);
            line.starts_with(&format!("{count} ")) && line.ends_with(path)
        };
        assert!(text.lines().any(row), "{program}, {count} {path}:\n{text}");

        let rows = chart_rows(text);
        assert!((10..=60).contains(&rows.len()), "{program}:\n{text}");
        for (index, (from, numbers)) in rows.iter().enumerate() {
            let until = rows.get(index + 1).map_or("9999", |(next, _)| next);
            let is_in = |bucket: &&Value| {
                let start = bucket["start"].as_str().expect("a time").replace('T', " ");
                (from.as_str()..until).contains(&&start[..19])
            };
            let own = buckets.iter().filter(is_in);
            let expected: u64 = own.map(|bucket| bucket["count"].as_u64().expect("a count")).sum();
            assert_eq!(numbers[0], expected, "{program}, {from}:\n{text}");
            assert_eq!(numbers[0], numbers[1..].iter().sum::<u64>(), "{program}, {from}");
        }
    }
}
