//! Servers that other machines can reach.

use std::net::{IpAddr, Ipv4Addr};

use weir_net::socket::Address;
use weir_server::{AccessToken, Server, ServerOptions, StartError};

use crate::common::TestServer;

const TOKEN: &str = "a-token-of-25-characters.";

fn options(address: &str) -> ServerOptions {
    ServerOptions { listen: vec![address.parse().expect("an address")], ..ServerOptions::default() }
}

fn token() -> Option<AccessToken> {
    Some(AccessToken::new(TOKEN).expect("a token"))
}

#[tokio::test]
async fn a_reachable_address_needs_a_token_and_encryption() {
    let everywhere = options("0.0.0.0:0");
    let error = Server::bind(everywhere.clone()).await.expect_err("no token");
    assert!(matches!(error, StartError::NoToken(Address::Tcp(_))), "{error}");
    let with_token = ServerOptions { token: token(), ..everywhere };
    let error = Server::bind(with_token.clone()).await.expect_err("no encryption");
    assert!(matches!(error, StartError::Insecure(Address::Tcp(_))), "{error}");
    let allowed = ServerOptions { allows_insecure_http: true, ..with_token };
    let server = Server::bind(allowed).await.expect("it is allowed");
    let unspecified = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    assert_eq!(server.local_addr().expect("an address").ip(), unspecified);
    for address in ["127.0.0.1:0", "127.1.2.3:0"] {
        Server::bind(options(address)).await.expect("only this machine reaches it");
    }
}

#[tokio::test]
async fn without_the_token_nothing_is_answered() {
    let options = ServerOptions { token: token(), ..options("127.0.0.1:0") };
    let server = TestServer::start(options).await;
    let bearer = format!("Bearer {TOKEN}");
    let link = server.request("GET", &format!("/?token={TOKEN}"), &[]).await;
    let cookie = link.field("set-cookie").and_then(|it| it.split(';').next()).expect("a cookie");
    let cookie = cookie.to_owned();
    for (method, path) in [
        ("GET", "/"),
        ("GET", "/assets/app.js"),
        ("GET", "/s/0123456789abcdef0123456789abcdef"),
        ("POST", "/api/sessions"),
        ("GET", "/api/sessions/0123456789abcdef0123456789abcdef/live"),
        ("GET", "/api/sessions/0123456789abcdef0123456789abcdef/report"),
        ("PUT", "/access.log"),
        ("GET", "/nothing"),
    ] {
        let refused = server.request(method, path, &[]).await;
        assert_eq!(refused.status, 401, "{method} {path}");
        assert_eq!(refused.json()["error"], "no_token");
        assert_eq!(refused.field("www-authenticate"), Some("Bearer"));
        let wrong = [("Authorization", "Bearer a-token-of-25-characters,")];
        assert_eq!(server.request(method, path, &wrong).await.status, 401);
        for field in [("Authorization", &bearer[..]), ("Cookie", &cookie)] {
            let status = server.request(method, path, &[field]).await.status;
            assert_ne!(status, 401, "{method} {path} {field:?}");
        }
    }
    let accepted = [("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")];
    let page = server.request("GET", "/", &accepted).await;
    assert_eq!((page.status, page.field("www-authenticate")), (401, Some("Bearer")));
    assert_eq!(page.field("content-type"), Some("text/html; charset=utf-8"));
    assert!(page.text().contains("<p>this server requires its access token"), "{}", page.text());
    let link = format!("/s/0?token={TOKEN}");
    let let_in = server.request("GET", &link, &[]).await;
    assert_eq!(let_in.status, 200);
    assert!(let_in.text().contains("content=\"0;url=/s/0\""), "{}", let_in.text());
    let script = "<script src=\"/assets/enter.js\" data-address=\"/s/0\"></script>";
    assert!(let_in.text().contains(script), "{}", let_in.text());
    let cookie = let_in.field("set-cookie").expect("a cookie").to_owned();
    let cookie = cookie.split(';').next().expect("a pair");
    assert_eq!(server.request("GET", "/", &[("Cookie", cookie)]).await.status, 200);
    // The link is for browsers, which ask for pages only.
    assert_eq!(
        server.request("POST", &format!("/api/sessions?token={TOKEN}"), &[]).await.status,
        401
    );
    server.stop().await;
}
