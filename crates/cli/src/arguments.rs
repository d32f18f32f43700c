//! The arguments of the whole command line. Each subcommand declares its own.

use clap::{CommandFactory, Parser, Subcommand};

use crate::bench::BenchArguments;
use crate::completions::CompletionsArguments;
use crate::count::CountArguments;
use crate::demo::DemoArguments;
use crate::export::ExportArguments;
use crate::formats::FormatsArguments;
use crate::gateway::GatewayArguments;
use crate::grep::GrepArguments;
use crate::listen::ListenArguments;
use crate::manual::ManualArguments;
use crate::mistype;
use crate::report::ReportArguments;
use crate::rules::RulesArguments;
use crate::serve::ServeArguments;
use crate::top::TopArguments;

/// Shows what happens to a web server's traffic: in the browser and in the terminal.
///
/// With log files, or without arguments, it serves a page that shows them, prints the page's
/// address and opens a browser if there is one. Nothing is written to disk, and only programs on
/// this machine can reach the page, unless --listen says otherwise.
#[derive(Debug, Parser)]
#[command(name = "weir", version, args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    #[command(flatten)]
    pub(crate) serve: ServeArguments,
}

const EXAMPLES: &str = "\
Examples:
  weir                               a page to drop logs on
  weir access.log access.log.1.gz    the page with these logs
  weir --follow access.log           the same, and lines that are appended later
  weir --follow --keep 1h access.log of these, the last hour
  weir listen udp://127.0.0.1:5140   the page of the lines that servers send
  weir gateway gateway.toml          the page of a gateway in front of web services
  weir report access.log             the same in the terminal
  weir grep -c 404 access.log        the lines that match
  weir count --by status access.log  how many requests have each value
  weir export --output access.parquet access.log
                                     the records as Parquet, CSV or JSON lines
  weir rules --rule limits.conf access.log
                                     which requests a rate limit would reject
  weir top --admin 127.0.0.1:9464    what flows through a running weir
  weir demo                          the page with made-up traffic

Write a log that has the name of a command as ./report.
Exit codes: 0 something was read; 1 no line matched the format; 2 wrong usage, or a file could
not be read to its end.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Report(ReportArguments),
    Grep(GrepArguments),
    Count(CountArguments),
    Export(ExportArguments),
    Listen(ListenArguments),
    Gateway(GatewayArguments),
    Rules(RulesArguments),
    Top(TopArguments),
    Formats(FormatsArguments),
    Demo(DemoArguments),
    Bench(BenchArguments),
    Completions(CompletionsArguments),
    Man(ManualArguments),
}

/// Parses the arguments of this process. If they are not valid, prints a message and ends the
/// process.
pub(crate) fn parse() -> Arguments {
    Arguments::try_parse().unwrap_or_else(|error| {
        let arguments: Vec<_> = std::env::args_os().collect();
        mistype::with_hint(error, &Arguments::command(), &arguments).exit()
    })
}
