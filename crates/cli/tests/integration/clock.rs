//! `weir gateway` while the system clock is set. libfaketime simulates the clock.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;

use crate::gateway::backend;
use crate::metrics::{Watched, get, value};
use crate::support::{Folder, text};

const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";

const HOUR_S: i64 = 3_600;

/// Returns a token that is valid for ten minutes, starting a number of seconds from now.
fn token(from_s: i64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    let from = now as i64 + from_s;
    let claims = format!(
        r#"{{"iss":"https://login.example","aud":"api","nbf":{from},"exp":{}}}"#,
        from + 600
    );
    let encode = |part: &[u8]| URL_SAFE_NO_PAD.encode(part);
    let signed = format!("{}.{}", encode(br#"{"alg":"HS256"}"#), encode(claims.as_bytes()));
    let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, SECRET), signed.as_bytes());
    format!("{signed}.{}", encode(signature.as_ref()))
}

/// A gateway that reads the offset of its clock from a file.
struct Gate {
    watched: Watched,
    address: String,
    clock: PathBuf,
}

impl Gate {
    fn start(folder: &Folder) -> Self {
        let library = std::env::var("FAKETIME_LIBRARY").expect("the path of libfaketime");
        let clock = folder.file("clock", b"+0");
        folder.file("secret", SECRET);
        let limits = "limit_req_zone $binary_remote_addr zone=a:1m rate=1r/m;\nlimit_req zone=a;\n";
        folder.file("limits.conf", limits.as_bytes());
        let config = format!(
            "listen = [\"127.0.0.1:0\"]\n[issuers.app]\nissuer = \"https://login.example\"\n\
             audience = \"api\"\nalgorithms = [\"HS256\"]\nsecret_file = \"secret\"\n\
             [backends.one]\ninstances = [\"http://{}\"]\n\
             [[routes]]\npath = \"/\"\nissuer = \"app\"\nbackend = \"one\"\n\
             [[limits]]\nrule_file = \"limits.conf\"\nmode = \"shadow\"\n",
            backend("one")
        );
        let path = folder.file("gateway.toml", config.as_bytes());
        let environment = [
            ("LD_PRELOAD", &*library),
            ("FAKETIME_TIMESTAMP_FILE", text(&clock)),
            ("FAKETIME_NO_CACHE", "1"),
            // Only the wall clock changes; the monotonic clock cannot be set.
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
        ];
        let watched = Watched::start_with(&["gateway", text(&path)], &environment);
        let address = watched.heard("weir: answering at tcp://").to_owned();
        Self { watched, address, clock }
    }

    /// Sets the clock to a number of seconds from the true time.
    fn set_clock(&self, offset_s: i64) {
        write_at_once(&self.clock, &format!("{offset_s:+}"));
    }

    /// The statuses of requests with these tokens.
    fn statuses<const N: usize>(&self, tokens: [&str; N]) -> [u16; N] {
        tokens.map(|token| {
            let answer = get(&self.address, "/", &format!("Authorization: Bearer {token}\r\n"));
            answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status")
        })
    }
}

/// Replaces a file in one step, so that no reader sees a part of it.
fn write_at_once(path: &Path, content: &str) {
    let new = path.with_extension("new");
    std::fs::write(&new, content).expect("written");
    std::fs::rename(new, path).expect("replaced");
}

/// Tokens are checked against the current wall clock. Limits restart after the clock was set back,
/// both jumps are logged or counted, and no record is lost.
#[test]
#[ignore = "needs libfaketime; `cargo xtask test` runs it"]
fn a_gateway_survives_a_clock_that_is_set() {
    let folder = Folder::new();
    let gate = Gate::start(&folder);
    let (now, later) = (token(-60), token(HOUR_S - 60));
    let tokens = [&*now, &*later, &*now, &*later];
    let as_it_was = [200, 401, 200, 401];
    assert_eq!(gate.statuses(tokens), as_it_was);
    for (offset_s, jump, jumps, expected) in [
        (HOUR_S, "forward", 1.0, [401, 200, 401, 200]),
        (0, "back", 1.0, as_it_was),
        (-24 * HOUR_S, "back", 2.0, [401; 4]),
        (100_000 * HOUR_S, "forward", 2.0, [401; 4]),
        (0, "back", 3.0, as_it_was),
    ] {
        gate.set_clock(offset_s);
        let sample = format!("weir_gateway_clock_jumps_total{{direction=\"{jump}\"}}");
        gate.watched.wait_for(&sample, jumps);
        assert_eq!(gate.statuses(tokens), expected, "{offset_s} s");
    }
    let said = gate.watched.hear("the clock has gone forward by ");
    assert!(said.contains(" by 3600 s: ") || said.contains(" by 3599 s: "), "{said}");
    let numbers = gate.watched.wait_for("weir_read_records_total", 24.0);
    let file = format!("{{file=\"{}\"}}", text(&folder.path("limits.conf")));
    let resets = value(&numbers, &format!("weir_gateway_limit_clock_resets_total{file}"));
    assert_eq!(resets, 3.0);
    let rejected = "weir_gateway_limit_decisions_total{limit=\"a\",verdict=\"would_reject\"}";
    assert_eq!(value(&numbers, rejected), 18.0, "each time all but the first of four");
}
