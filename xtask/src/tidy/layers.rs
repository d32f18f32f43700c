//! The layers of ARCHITECTURE.md as tables, and the exceptions from them.

use super::forbidden::{Crates, Exception, Rule};

/// The crates that each crate may depend on, outside its tests.
pub(super) const LAYERS: [(&str, &[&str]); 22] = [
    ("core", &[]),
    ("agents", &["weir-core", "weir-sync"]),
    ("demo", &[]),
    ("sync", &[]),
    ("observe", &["weir-sync"]),
    ("net", &["weir-observe", "weir-sync"]),
    ("store", &["weir-core"]),
    ("tables", &["weir-core"]),
    ("ingest", &["weir-core", "weir-observe", "weir-store", "weir-sync", "weir-tables"]),
    ("feed", &["weir-ingest", "weir-net", "weir-observe", "weir-sync"]),
    ("rules", &["weir-core", "weir-sync"]),
    ("view", &["weir-core", "weir-rules"]),
    ("log", &["weir-sync", "weir-view"]),
    ("export", &["weir-core", "weir-view"]),
    ("geo", &["weir-core"]),
    ("query", &["weir-core", "weir-export", "weir-rules", "weir-sync", "weir-view"]),
    (
        "server",
        &[
            "weir-core",
            "weir-ingest",
            "weir-net",
            "weir-observe",
            "weir-query",
            "weir-rules",
            "weir-sync",
            "weir-view",
        ],
    ),
    (
        "gateway",
        &["weir-core", "weir-ingest", "weir-net", "weir-observe", "weir-rules", "weir-sync"],
    ),
    ("profile", &["weir-sync"]),
    (
        "inside",
        &[
            "weir-core",
            "weir-feed",
            "weir-gateway",
            "weir-ingest",
            "weir-log",
            "weir-net",
            "weir-observe",
            "weir-profile",
            "weir-server",
            "weir-sync",
            "weir-view",
        ],
    ),
    (
        "cli",
        &[
            "weir-agents",
            "weir-core",
            "weir-demo",
            "weir-feed",
            "weir-gateway",
            "weir-geo",
            "weir-ingest",
            "weir-inside",
            "weir-log",
            "weir-net",
            "weir-observe",
            "weir-profile",
            "weir-query",
            "weir-rules",
            "weir-server",
            "weir-sync",
            "weir-view",
        ],
    ),
    ("testkit", &["weir-sync"]),
];

/// Paths that crates may not name outside their tests.
pub(super) const FORBIDDEN: &[Rule] = &[
    core("std::fs", "core does no I/O; read files in ingest and pass the bytes"),
    core("std::io", "core does no I/O; pass slices of bytes"),
    core("std::net::TcpListener", "core opens no sockets; net does"),
    core("std::net::TcpStream", "core opens no sockets; net does"),
    core("std::net::UdpSocket", "core opens no sockets; net does"),
    core("std::env", "core does not read its environment; pass the value in"),
    core("std::process", "core starts no processes"),
    core("std::thread", "core starts no threads; ingest does"),
    core("std::sync::Mutex", "core takes no locks; share its values in ingest"),
    core("std::sync::RwLock", "core takes no locks; share its values in ingest"),
    core("std::sync::Condvar", "core takes no locks; share its values in ingest"),
    core("std::sync::mpsc", "core has no queues between threads; ingest does"),
    core("std::time::Instant", "core has no clock; pass the time in"),
    core("std::time::SystemTime", "core has no clock; pass the time in"),
    core("println", "core prints nothing; return the value"),
    core("tokio", "core is not asynchronous"),
    Rule {
        path: "serde",
        crates: Crates::AllExcept(&["gateway", "view", "testkit"]),
        remedy: "only view serialises, and the gateway reads tokens; fill a type of view",
    },
    Rule {
        path: "serde_json",
        crates: Crates::AllExcept(&["agents", "gateway", "view", "testkit"]),
        remedy: "only view serialises, the gateway reads tokens and agents the addresses of crawlers; \
                 fill a type of view",
    },
];

const fn core(path: &'static str, remedy: &'static str) -> Rule {
    Rule { path, crates: Crates::Only(&["core"]), remedy }
}

/// Files that may name a forbidden path all the same.
pub(super) const EXCEPTIONS: &[Exception] = &[
    Exception {
        file: "crates/core/src/pattern/cache_place.rs",
        path: "std::sync::Mutex",
        reason: "a search writes the cache of its thread, as in the pool of the engine",
    },
    Exception {
        file: "crates/core/src/pattern/budget.rs",
        path: "std::sync::Mutex",
        reason: "the list of the patterns whose caches an answer drops, taken when one is compiled",
    },
];
