//! The layers of ARCHITECTURE.md as tables.

/// The crates that each crate may depend on, outside its tests.
pub(super) const LAYERS: [(&str, &[&str]); 9] = [
    ("core", &[]),
    ("demo", &[]),
    ("net", &[]),
    ("ingest", &["weir-core"]),
    ("feed", &["weir-ingest"]),
    ("view", &["weir-core"]),
    ("server", &["weir-core", "weir-ingest", "weir-net", "weir-view"]),
    ("cli", &["weir-core", "weir-demo", "weir-feed", "weir-ingest", "weir-server", "weir-view"]),
    ("testkit", &[]),
];
