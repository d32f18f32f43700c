//! What a program serves under a name, and the list of sessions.

use weir_server::{AccessToken, DataSetName, Server, ServerOptions, SessionHandle};

use crate::common::{Response, TestServer};

const TOKEN: &str = "a-token-of-26-characters..";

/// Starts a server that serves a data set under a name.
async fn start(name: &str, options: ServerOptions) -> (TestServer, SessionHandle) {
    let server = Server::bind(options).await.expect("a free port");
    let session = server.new_served(&name.parse().expect("a name")).expect("a session");
    assert!(server.new_served(&DataSetName::default()).is_err(), "there is one already");
    (TestServer::serving(server), session)
}

fn ids(list: &Response) -> Vec<String> {
    let list = list.json();
    let sessions = list["sessions"].as_array().expect("a list");
    sessions.iter().map(|session| session["id"].as_str().expect("an id").to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_an_address() {
    let (server, session) = start("web1", ServerOptions::default()).await;
    assert_eq!((session.id(), &*session.path()), ("web1", "/d/web1"));
    let get = async |path: &str| server.request("GET", path, &[]).await;
    for path in ["/", "/new", "/d/web1", "/d/web1/", "/?where=status%3D404"] {
        let page = get(path).await;
        assert_eq!(page.status, 200, "{path}");
        assert_eq!(page.field("cache-control"), Some("no-store"), "{path}");
        let served = "<meta name=\"weir-served\" content=\"web1\" />";
        assert!(page.text().contains(served), "{path}: {}", page.text());
    }
    // The page says what is wrong, and where to go.
    for path in ["/d/web2", "/s/web1", "/s/00112233445566778899aabbccddeeff", "/d/", "/d/web1//"] {
        let page = server.request("GET", path, &[("Accept", "text/html")]).await;
        assert_eq!(page.status, 404, "{path}");
        assert!(page.text().contains("weir-served") || page.text().contains("<a href=\"/\">"));
    }
    assert_eq!(get("/api/sessions/web1/report").await.json()["lines"], 0);
    assert_eq!(get("/api/sessions/web2/report").await.json()["error"], "unknown_session");
    let kept = server.request("DELETE", "/api/sessions/web1", &[]).await;
    assert_eq!((kept.status, &kept.json()["error"]), (409, &"served_session".into()));
    assert!(session.pipeline().is_some());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_is_dropped_elsewhere_has_an_address_of_its_own() {
    let (server, session) = start("web1", ServerOptions::default()).await;
    let put =
        server.put("a.log", b"::1 - - [17/Dec/2025:09:00:00 +0000] \"GET / HTTP/1.1\" 200 5\n");
    let path = put.await.field("location").expect("an address").to_owned();
    assert!(path.starts_with("/s/") && path.len() == 3 + 32, "{path}");
    assert_eq!(server.report("web1").await["lines"], 0);
    // Without a token, any program of this machine may ask.
    let list = server.request("GET", "/api/sessions", &[]).await;
    assert_eq!(ids(&list), ["web1"]);
    let summary = list.json()["sessions"][0].clone();
    assert_eq!(summary["path"], "/d/web1");
    assert_eq!((&summary["is_served"], &summary["sources"]), (&true.into(), &0.into()));
    assert_eq!(server.request("GET", "/api/sessions/web1", &[]).await.json(), summary);
    // Whoever knows the id may ask for it.
    let id = path.trim_start_matches("/s/");
    let upload = server.request("GET", &format!("/api/sessions/{id}"), &[]).await.json();
    assert_eq!((&upload["path"], &upload["is_served"]), (&path.as_str().into(), &false.into()));
    assert_eq!((&upload["lines"], &upload["complete"]), (&1.into(), &true.into()));
    drop(session);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_token_all_sessions_are_listed() {
    let token = AccessToken::new(TOKEN).expect("a token");
    let options = ServerOptions { token: Some(token), ..ServerOptions::default() };
    let (server, _session) = start("web1", options).await;
    let bearer = format!("Bearer {TOKEN}");
    let fields = [("Authorization", &*bearer)];
    let created = server.request("POST", "/api/sessions", &fields).await.json();
    let list = server.request("GET", "/api/sessions", &fields).await;
    assert_eq!(ids(&list), ["web1", created["id"].as_str().expect("an id")]);
    for path in ["/", "/d/web1", "/api/sessions", "/api/sessions/web1"] {
        assert_eq!(server.request("GET", path, &[]).await.status, 401, "{path}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_after_a_restart_is_not_the_one_before() {
    let mut tags = Vec::new();
    for _ in 0..2 {
        let (server, session) = start("web1", ServerOptions::default()).await;
        let log = b"::1 - - [17/Dec/2025:09:00:00 +0000] \"GET / HTTP/1.1\" 200 5\n";
        server.upload("web1").await.send_file("a", log, 1 << 10).await;
        let export = server.request("GET", "/api/sessions/web1/export?format=csv", &[]).await;
        tags.push(export.field("etag").expect("a tag").to_owned());
        drop(session);
        server.stop().await;
    }
    assert_ne!(tags[0], tags[1]);
}
