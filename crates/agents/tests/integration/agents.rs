//! A table of real agents and what they say, `tests/golden/agents.tsv`. `BLESS=1` rewrites the values;
//! the difference is looked at by a person.

use std::path::PathBuf;
use std::{env, fs};

use weir_agents::{AgentField, AgentLists};

const FIELDS: [&str; 6] =
    ["agent", "system", "device", "crawler", "crawler_kind", "crawler_operator"];

/// Enough that each kind of crawler, device and system occurs.
const AGENTS_MIN: usize = 120;

fn value(lists: &AgentLists, field: &str, agent: &str) -> String {
    let mut value = Vec::new();
    let field = AgentField::by_name(field).expect("it is a field");
    match lists.append(field, agent.as_bytes(), &mut value) {
        true => String::from_utf8(value).expect("it is text"),
        false => "-".to_owned(),
    }
}

#[test]
fn real_agents_say_what_the_table_has() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/agents.tsv");
    let table = fs::read_to_string(&path).expect("the table");
    let lists = AgentLists::embedded();
    let agents: Vec<&str> = table
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split('\t').next().unwrap_or_default())
        .collect();
    let mut found = format!("# agent string\t{}\n", FIELDS.join("\t"));
    for agent in &agents {
        let values = FIELDS.map(|field| value(&lists, field, agent));
        found += &format!("{agent}\t{}\n", values.join("\t"));
    }
    if env::var_os("BLESS").is_some() {
        fs::write(&path, &found).expect("the table is written");
    }
    for (found, expected) in found.lines().zip(table.lines()) {
        assert_eq!(found, expected);
    }
    assert!(agents.len() >= AGENTS_MIN, "{} agents", agents.len());
}

#[test]
fn the_family_is_the_agent_without_its_version() {
    let lists = AgentLists::embedded();
    let firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";
    assert_eq!(value(&lists, "agent_family", firefox), "Firefox");
    assert_eq!(value(&lists, "agent_family", "Mozilla/5.0 (compatible; GPTBot/1.2)"), "GPTBot");
    assert_eq!(value(&lists, "agent_family", "-"), "-");
}

#[test]
fn hostile_agents_are_read_in_bounded_time() {
    let lists = AgentLists::embedded();
    let long = ["Mozilla/5.0 (", &"Android 1; ".repeat(1 << 20), ") Chrome/1 Safari/1"].concat();
    let slow = "HbbTV/1.1.1 (;".repeat(10_000);
    for agent in [&*long, &*slow, &"(".repeat(1 << 20), &"a/".repeat(1 << 20), "\0\0\0", ""] {
        for field in FIELDS {
            let mut value = Vec::new();
            lists.append(
                AgentField::by_name(field).expect("a field"),
                agent.as_bytes(),
                &mut value,
            );
            assert!(value.len() <= 200, "{field}: {} bytes", value.len());
        }
    }
    let mut value = Vec::new();
    assert!(lists.append(AgentField::Agent, b"\xff\xfeFirefox/12.0\xff", &mut value));
    assert_eq!(value, b"Firefox 12");
}

#[test]
fn lists_of_ones_own_are_used() {
    let mut lists = AgentLists::embedded();
    lists.replace_agents(b"family\t(Ours)/(\\d+)\nsystem\tOurs\tOurOS\n").expect("it is valid");
    lists.replace_crawlers(b"crawler\tOurBot\tseo\tOur Robot\tUs\n").expect("it is valid");
    assert_eq!(value(&lists, "agent", "Ours/7"), "Ours 7");
    assert_eq!(value(&lists, "system", "Ours/7"), "OurOS");
    assert_eq!(value(&lists, "crawler_operator", "OurBot/7"), "Us");
    assert_eq!(value(&lists, "agent", "OurBot/7"), "Our Robot 7");
    assert_eq!(value(&lists, "crawler", "Googlebot/2.1"), "unnamed bot");
    let error = lists.replace_agents(b"family\ta\nfamily\t(b\n").expect_err("it is wrong");
    assert_eq!(error.line(), 2);
    assert_eq!(value(&lists, "agent", "Ours/7"), "Ours 7", "a wrong list changes nothing");
}
