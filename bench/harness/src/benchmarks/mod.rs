//! The benchmarks, in the order in which they run.

mod filter;
mod gateway;
mod grep;
mod http;
mod inside;
mod memory;
mod page;
mod parse;
mod queries;
mod report;
mod rules;
mod upload;

use crate::settings::Settings;
use crate::table::Table;
use weir_tools::shell::Outcome;

/// One of the benchmarks.
pub(crate) struct Benchmark {
    /// What it measures. Any of these names selects it.
    pub(crate) names: &'static [&'static str],
    pub(crate) run: fn(&Settings) -> Outcome<Vec<Table>>,
}

/// All benchmarks.
pub(crate) const BENCHMARKS: [Benchmark; 11] = [
    Benchmark { names: &["parse"], run: parse::run },
    Benchmark { names: &["report"], run: report::run },
    Benchmark { names: &["grep"], run: grep::run },
    Benchmark { names: &["upload", "picture"], run: upload::run },
    Benchmark { names: &["page"], run: page::run },
    Benchmark { names: &["http"], run: http::run },
    Benchmark { names: &["gateway"], run: gateway::run },
    Benchmark { names: &["inside"], run: inside::run },
    Benchmark { names: &["filter"], run: filter::run },
    Benchmark { names: &["rules"], run: rules::run },
    Benchmark { names: &["memory"], run: memory::run },
];
