//! The gateway with options that give it work beside its requests: messages, traces, and a client
//! of `/glass` that waits for a request that never comes.

use super::collector::Collector;
use super::free_address;
use super::gateway::{Setup, Turn, measure};
use super::watcher::Watcher;
use crate::benchmarks::gateway::proxies::{self, Program};
use crate::settings::Settings;
use crate::table::Table;
use weir_tools::shell::Outcome;

/// A condition that no request meets.
const NEVER: &str = "status%3D599";

/// A gateway that is compared with the first one.
struct Variant {
    name: &'static str,
    program: Program,
    /// The admin address at which a client waits for a request, if one does.
    glass: Option<String>,
}

pub(super) fn tables(settings: &Settings, setup: &Setup) -> Outcome<[Table; 2]> {
    let collector = Collector::start()?;
    let variants = variants(settings, setup.backend.port, &collector.endpoint)?;
    let turns = variants.iter().map(|variant| Turn {
        name: variant.name,
        program: &variant.program,
        begin: Box::new(|seconds| match &variant.glass {
            Some(admin) => Watcher::waiting(admin, NEVER, seconds),
            None => Watcher::nobody(),
        }),
    });
    let tables = measure(settings, setup, "the gateway with options", turns.collect())?;
    if collector.received_bytes() == 0 {
        return Err("the collector has received no spans".into());
    }
    Ok(tables)
}

fn variants(settings: &Settings, backend: u16, endpoint: &str) -> Outcome<Vec<Variant>> {
    let plain = |name, additions: &str, options: &[&str]| -> Outcome<Variant> {
        let program = proxies::weir_with(settings, backend, additions, options)?;
        Ok(Variant { name, program, glass: None })
    };
    let traces = |share| format!("[traces]\nendpoint = \"{endpoint}\"\nshare = {share}\n");
    let admin = free_address()?;
    let glass = plain("a client that waits at /glass", "", &["--admin", &admin])?;
    Ok(vec![
        plain("without messages", "", &["--log", "off"])?,
        plain("--log info, as text", "", &["--log", "info", "--log-as", "text"])?,
        plain("traces of 1 % of the requests", &traces("0.01"), &[])?,
        plain("traces of all requests", &traces("1.0"), &[])?,
        plain("--admin", "", &["--admin", &free_address()?])?,
        Variant { glass: Some(admin.clone()), ..glass },
    ])
}
