//! Rules in the panels of a page.

use std::fmt::Write as _;

use serde_json::{Value, json};
use weir_server::ServerOptions;

use crate::common::{Live, TestServer, close, log, long_expressions};

const RULE: &str = "limit_req_zone $binary_remote_addr zone=one:10m rate=1r/s;
limit_req zone=one burst=5;";

impl Live {
    pub(crate) async fn try_rule(&mut self, panel: u32, query: Value, rule: Value) {
        let message = json!({ "type": "rules", "panel": panel, "query": query, "rule": rule });
        self.sender.send_text(&message.to_string()).await.expect("the server reads");
    }

    async fn try_rule_with(&mut self, id: u64, rule: Value, details: Value) {
        let message = json!({
            "type": "rules", "panel": 0, "query": { "id": id }, "rule": rule, "details": details,
        });
        self.sender.send_text(&message.to_string()).await.expect("the server reads");
    }

    /// The next answer to a panel; skips views.
    pub(crate) async fn ruled(&mut self) -> Value {
        loop {
            let message = self.message().await;
            if message["type"] == "rules" {
                return message;
            }
            assert_eq!(message["type"], "view", "{message}");
        }
    }

    /// The next answer that satisfies the condition.
    async fn ruled_where(&mut self, condition: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.ruled().await;
            if condition(&message) {
                return message;
            }
        }
    }
}

/// Requests by client and second.
fn requests(counts: &[(&str, usize)], second: u32) -> Vec<u8> {
    let mut log = String::new();
    for (client, count) in counts {
        for number in 0..*count {
            let _ = writeln!(
                log,
                "{client} - - [22/Nov/2026:10:00:{second:02} +0000] \"GET /{number} HTTP/1.1\" \
                 200 5 \"-\" \"curl/8\""
            );
        }
    }
    log.into_bytes()
}

async fn start(log: &[u8]) -> (TestServer, Live) {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    server.upload(session.id()).await.send_file("a", log, 100_000).await;
    let mut live = server.live(session.id()).await;
    live.view_where(|view| view.complete).await;
    (server, live)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_is_replayed_over_what_the_query_selects() {
    let log = requests(&[("192.0.2.1", 20), ("192.0.2.2", 3), ("192.0.2.3", 1)], 7);
    let (server, mut live) = start(&log).await;
    live.try_rule(0, json!({ "id": 4 }), json!({ "text": RULE, "name": "mine" })).await;
    let reply = live.ruled().await;
    assert_eq!((&reply["panel"], &reply["query"]), (&json!(0), &json!(4)), "{reply}");
    let answer = &reply["answer"];
    assert_eq!((&answer["complete"], &answer["notes"]), (&json!(true), &json!([])));
    let [of_rule] = &answer["rules"].as_array().expect("rules")[..] else { panic!("{answer}") };
    let rule = &of_rule["rule"];
    assert_eq!(rule["keys"], json!({ "seen": 3, "tripped": 1, "undecided": 0 }));
    assert_eq!((&rule["family"], &rule["exactness"]), (&json!("nginx"), &json!("bounded")));
    assert_eq!(rule["trips"][0]["key"], "192.0.2.1");
    assert_eq!(rule["closest"][0]["key"], "192.0.2.2");
    let curve = &of_rule["curve"];
    // A second drains up to a request.
    assert_eq!(curve["peaks"], json!([18.501, 1.899]));
    assert_eq!(curve["points"][0], json!({ "burst": 0, "keys": 2, "requests": 21 }));
    assert_eq!(curve["points"][5], json!({ "burst": 5, "keys": 1, "requests": 14 }));
    // A filter leaves the others out.
    let query = json!({ "id": 5, "conditions": ["client!=192.0.2.1"] });
    live.try_rule(0, query, json!({ "text": RULE, "family": "nginx" })).await;
    let keys = &live.ruled().await["answer"]["rules"][0]["rule"]["keys"];
    assert_eq!(keys, &json!({ "seen": 2, "tripped": 0, "undecided": 0 }));
    drop(live);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_file_hides_no_mistake() {
    let (server, mut live) = start(&requests(&[("192.0.2.1", 20)], 7)).await;
    let jail = "[web]\nfilter = no-such-filter\nmaxretry = 3\n";
    live.try_rule(0, json!({ "id": 1 }), json!({ "text": jail, "family": "fail2ban" })).await;
    let reply = live.ruled().await;
    let message = reply["error"]["message"].as_str().expect("a message");
    assert!(message.contains("which this server has not"), "{message}");
    let mistaken = "[web]\nfilter = no-such-filter\n[other]\nfailregex = ^<HOST> (\n";
    live.try_rule(0, json!({ "id": 2 }), json!({ "text": mistaken, "family": "fail2ban" })).await;
    let reply = live.ruled().await;
    let message = reply["error"]["message"].as_str().expect("a message");
    assert!(!message.contains("which this server has not"), "{message}");
    drop(live);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_whose_field_is_missing_leaves_the_others_of_its_text() {
    let (server, mut live) = start(&requests(&[("192.0.2.1", 20)], 7)).await;
    let zone = "limit_conn_zone $binary_remote_addr zone=c:1m;\nlimit_conn c 1;";
    live.try_rule(0, json!({ "id": 1 }), json!({ "text": format!("{RULE}\n{zone}") })).await;
    let reply = live.ruled().await;
    let rules = reply["answer"]["rules"].as_array().expect("rules");
    let outcome = |at: usize| {
        let rule = &rules[at]["rule"];
        let why = rule["looked_at"]["nothing"].as_str().unwrap_or_default();
        (rule["keys"]["tripped"].as_u64(), rule["exactness"].as_str(), why.to_owned())
    };
    let why = "connections at the same time cannot be counted without the time that each request \
               took: add $request_time to log_format";
    assert_eq!(outcome(0), (Some(1), Some("bounded"), String::new()), "{reply}");
    assert_eq!(outcome(1), (Some(0), Some("nothing"), why.to_owned()), "{reply}");
    // Alone it is refused, as a text without any rule that can be replayed.
    live.try_rule(0, json!({ "id": 2 }), json!({ "text": zone })).await;
    let reply = live.ruled().await;
    assert_eq!((&reply["error"]["message"], &reply["answer"]), (&json!(why), &Value::Null));
    // Beside the other text, there is nothing to compare with.
    let details = json!({ "against": { "text": zone } });
    live.try_rule_with(3, json!({ "text": RULE }), details).await;
    let reply = live.ruled().await;
    let answer = &reply["answer"];
    assert_eq!(answer["rules"][0]["rule"]["keys"]["tripped"], 1, "{reply}");
    assert_eq!(answer["comparison"], Value::Null, "{reply}");
    drop(live);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mistake_is_answered_with_its_place() {
    let (server, mut live) = start(&requests(&[("192.0.2.1", 2)], 0)).await;
    let text = RULE.replace("burst", "brust");
    live.try_rule(3, json!({ "id": 1 }), json!({ "text": text })).await;
    let reply = live.ruled().await;
    assert_eq!((&reply["panel"], &reply["answer"]), (&json!(3), &Value::Null), "{reply}");
    assert_eq!(reply["error"]["name"], "bad_rule");
    let place = &reply["place"];
    assert_eq!((&place["line"], &place["column"]), (&json!(2), &json!(20)), "{reply}");
    assert!(place["excerpt"].as_str().expect("a text").contains("\n                   ^"));
    for (query, rule, name, part) in [
        (json!({}), json!({ "text": RULE, "family": "cisco" }), "bad_rule", "use one of nginx"),
        (json!({}), json!({ "text": "x".repeat(600_000) }), "bad_request", "512 KiB"),
        (json!({ "conditions": ["status==4"] }), json!({ "text": RULE }), "bad_query", ""),
        (json!({ "conditions": ["x".repeat(70_000)] }), json!({ "text": RULE }), "bad_request", ""),
        (json!({}), json!(7), "bad_request", "cannot be read"),
        (
            json!({}),
            json!({ "text": RULE.replace("binary_remote_addr", "http_x_key") }),
            "bad_rule",
            "$http_x_key",
        ),
    ] {
        live.try_rule(0, query, rule).await;
        let error = &live.ruled().await["error"];
        let message = error["message"].as_str().expect("a text");
        assert!(error["name"] == name && message.contains(part), "{part}: {error}");
    }
    live.try_rule(8, json!({}), json!({ "text": RULE })).await;
    let reply = live.ruled().await;
    assert_eq!((&reply["panel"], &reply["error"]["name"]), (&json!(8), &json!("bad_request")));
    drop(live);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_is_not_longer_because_rules_are() {
    let (server, mut live) = start(&requests(&[("192.0.2.1", 2)], 0)).await;
    live.ask(json!({ "conditions": ["x".repeat(70_000)] })).await;
    assert_eq!(close(&mut live.receiver).await.0, 1009);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn panels_are_answered_apart_and_only_for_the_newest_question() {
    let (server, mut live) = start(&log(300_000)).await;
    let rule = json!({ "text": RULE });
    for id in 0..50 {
        live.try_rule(0, json!({ "id": id }), rule.clone()).await;
    }
    let mut answers = 1;
    while live.ruled().await["query"] != 49 {
        answers += 1;
    }
    assert!(answers < 25, "{answers} answers");
    // A long replay ends when the panel is cleared, and when it gets a new question.
    let clauses = json!([{ "field": "path", "op": "~", "values": long_expressions() }]);
    live.try_rule(0, json!({ "id": 60, "clauses": clauses }), rule.clone()).await;
    live.try_rule(0, json!({}), Value::Null).await;
    live.try_rule(0, json!({ "id": 61, "clauses": clauses }), rule.clone()).await;
    live.try_rule(0, json!({ "id": 62 }), rule.clone()).await;
    assert_eq!(live.ruled().await["query"], 62);
    // Panels do not replace each other's questions, and no view waits for them.
    for panel in 0..8 {
        live.try_rule(panel, json!({ "id": 70 + panel }), rule.clone()).await;
    }
    live.ask(json!({ "id": 7 })).await;
    while live.message().await["view"]["query"] != 7 {}
    let mut panels = Vec::new();
    for panel in 0..8u64 {
        live.try_rule(panel as u32, json!({ "id": 80 + panel }), rule.clone()).await;
        let reply = live.ruled_where(|reply| reply["query"] == 80 + panel).await;
        panels.push(reply["panel"].as_u64());
    }
    assert_eq!(panels, (0..8).map(Some).collect::<Vec<_>>());
    drop(live);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_renewed_when_the_data_has_grown() {
    let (server, session) = TestServer::start_pinned(ServerOptions::default()).await;
    let mut live = server.live(session.id()).await;
    // The rule is tried before the first line.
    live.try_rule(1, json!({ "id": 1 }), json!({ "text": RULE })).await;
    let keys = |reply: &Value| reply["answer"]["rules"][0]["rule"]["keys"]["seen"].clone();
    assert_eq!(keys(&live.ruled().await), 0);
    let mut upload = server.upload(session.id()).await;
    upload.send_file("a", &requests(&[("192.0.2.1", 9)], 1), 100_000).await;
    let reply = live.ruled_where(|reply| keys(reply) == 1).await;
    assert_eq!((&reply["panel"], &reply["query"]), (&json!(1), &json!(1)));
    upload.send_file("b", &requests(&[("192.0.2.2", 9)], 2), 100_000).await;
    live.ruled_where(|reply| keys(reply) == 2 && reply["answer"]["complete"] == true).await;
    drop(live);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_may_ask_for_other_settings_good_clients_and_a_comparison() {
    let counts = [("192.0.2.1", 90), ("192.0.2.2", 9), ("192.0.2.3", 4), ("10.0.0.1", 12)];
    let (server, mut live) = start(&requests(&counts, 7)).await;
    let rule = json!({ "text": RULE });
    live.try_rule_with(1, rule.clone(), json!({})).await;
    let answer = &live.ruled().await["answer"];
    let [of_rule] = &answer["rules"].as_array().expect("rules")[..] else { panic!("{answer}") };
    assert_eq!((&of_rule["grid"], &answer["comparison"]), (&Value::Null, &Value::Null));
    let none = json!({
        "judged": 3, "good": 0, "requests": 0, "reasons": [], "clients": [], "peaks": [],
        "is_incomplete": false,
    });
    assert_eq!(of_rule["collateral"], none);

    let against = json!({ "text": RULE.replace("burst=5", "burst=20") });
    let details = json!({
        "grid": true, "good_networks": ["10.0.0.0/8", "192.0.2.3"], "against": against,
    });
    live.try_rule_with(2, rule.clone(), details).await;
    let answer = &live.ruled().await["answer"];
    let of_rule = &answer["rules"][0];
    let grid = &of_rule["grid"];
    let [own_rate, own_burst] =
        [0, 1].map(|at| grid["own"][at].as_u64().expect("a place") as usize);
    assert_eq!(
        (&grid["rates"][own_rate]["setting"], &grid["bursts"][own_burst]),
        (&json!("1r/s"), &json!(5))
    );
    assert_eq!(grid["keys"][own_rate][own_burst], 3);
    let advice = &grid["advice"];
    assert_eq!(
        (&advice["suggestion"]["keys"], &advice["slowest_rejected"]["client"]),
        (&json!(1), &json!("192.0.2.1"))
    );
    let busiest = &advice["suggestion"]["busiest_spared"];
    assert_eq!((&busiest["client"], &busiest["looks"]), (&json!("10.0.0.1"), &json!("program")));
    let clients = of_rule["rule"]["clients"].as_array().expect("clients");
    let named = clients.iter().find(|client| client["client"] == "10.0.0.1").expect("the office");
    assert_eq!((&named["good"], &named["agent"]), (&json!(["named_network"]), &json!("curl")));
    let collateral = &of_rule["collateral"];
    assert_eq!((&collateral["judged"], &collateral["good"]), (&json!(3), &json!(1)));
    assert_eq!(collateral["reasons"], json!([{ "reason": "named_network", "keys": 1 }]));
    assert_eq!(collateral["clients"][0]["key"], "10.0.0.1");
    assert_eq!(collateral["peaks"], json!([10.546, 2.758]));
    let compared = &answer["comparison"];
    assert_eq!(compared["both"], json!({ "keys": 1, "list": ["192.0.2.1"] }));
    assert_eq!(compared["first_only"], json!({ "keys": 0, "list": [] }));
    assert_eq!(compared["second_only"], json!({ "keys": 2, "list": ["10.0.0.1", "192.0.2.2"] }));
    assert_eq!(compared["first"]["rejected"], 69);

    // A text that is not a rule, or that needs a field the log lacks, is not compared with.
    for text in ["limit_req brust;".to_owned(), RULE.replace("binary_remote_addr", "http_x_key")] {
        live.try_rule_with(3, rule.clone(), json!({ "against": { "text": text } })).await;
        let answer = &live.ruled().await["answer"];
        assert_eq!(answer["comparison"], Value::Null);
        assert_eq!(answer["rules"][0]["rule"]["keys"]["tripped"], 3, "{answer}");
    }
    for (networks, part) in [
        (vec!["10.0.0.0/33".to_owned()], "`10.0.0.0/33` is not a valid network"),
        (vec!["x".repeat(900)], "is not a valid network"),
        (vec!["10.0.0.0/8".to_owned(); 257], "name at most 256"),
    ] {
        live.try_rule_with(4, rule.clone(), json!({ "good_networks": networks })).await;
        let error = &live.ruled().await["error"];
        let message = error["message"].as_str().expect("a text");
        assert!(error["name"] == "bad_request" && message.contains(part), "{message}");
        assert!(message.len() < 300, "{message}");
    }
    drop(live);
    server.stop().await;
}
