//! libFuzzer with the target that `WEIR_FUZZ_TARGET` names.

#![no_main]

use std::sync::LazyLock;

use weir_fuzz::{TARGETS, Target, target};

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("WEIR_FUZZ_TARGET").unwrap_or_default();
    target(&name).unwrap_or_else(|| {
        let names: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
        let names = names.join(", ");
        eprintln!("WEIR_FUZZ_TARGET: `{name}` is not a target; choose one of {names}");
        std::process::exit(2)
    })
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| TARGET(bytes));
