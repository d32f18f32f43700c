//! Fuzz targets: functions of untrusted bytes, with the properties that must hold.
//!
//! A target panics if a property does not hold. `fuzz/engine` feeds the targets to libFuzzer, which
//! `cargo xtask abuse fuzz` builds and runs. Tests of this crate replay the inputs of
//! `fuzz/corpus`, and run a few thousand mutations of them.
//!
//! ```
//! let target = weir_fuzz::target("conditions").unwrap();
//! target(b"status>=500 and not path~\"^/health\"");
//! ```

mod exports;
mod formats;
#[cfg(unix)]
mod heads;
mod http2;
mod packed;
mod proxy;
mod rules;
mod saved;
mod streams;
mod structured;
mod tokens;

/// A function that panics if a property does not hold for these bytes.
pub type Target = fn(&[u8]);

/// All targets by name, each of which is the name of a folder in `fuzz/corpus`.
pub const TARGETS: &[(&str, Target)] = &[
    ("websocket", streams::websocket),
    ("http2", http2::http2),
    #[cfg(unix)]
    ("heads", heads::heads),
    ("framing", streams::framing),
    ("proxy", proxy::proxy),
    ("packed", packed::packed),
    ("archives", packed::archives),
    ("json", formats::json),
    ("definitions", formats::definitions),
    ("catalog", formats::catalog),
    ("exports", exports::exports),
    ("saved", saved::saved),
    ("conditions", rules::conditions),
    ("rules", rules::rules),
    ("structured", structured::structured),
    ("token", tokens::token),
];

/// The target with this name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.iter().find(|(known, _)| *known == name).map(|(_, target)| *target)
}
