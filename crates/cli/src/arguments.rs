//! The arguments of the whole command line. Each subcommand declares its own.

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::bench::BenchArguments;
use crate::completions::CompletionsArguments;
use crate::config::{self, ConfigArguments, Refusal};
use crate::count::CountArguments;
use crate::demo::DemoArguments;
use crate::export::ExportArguments;
use crate::formats::FormatsArguments;
use crate::gateway::GatewayArguments;
use crate::grep::GrepArguments;
use crate::listen::ListenArguments;
use crate::manual::ManualArguments;
use crate::mistype;
use crate::outcome;
use crate::report::ReportArguments;
use crate::rules::RulesArguments;
use crate::save::SaveArguments;
use crate::serve::ServeArguments;
use crate::top::TopArguments;
use crate::version::{VERSION, VersionArguments};
use crate::watch::WatchArguments;

/// Shows what happens to a web server's traffic: in the browser and in the terminal.
///
/// With log files, or without arguments, it serves a page that shows them, prints the page's
/// address and opens a browser if there is one. Nothing is written to disk, and only programs on
/// this machine can reach the page, unless --listen says otherwise.
#[derive(Debug, Parser)]
#[command(name = "weir", version = VERSION, args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    #[command(flatten)]
    pub(crate) serve: ServeArguments,

    /// Leave out the options that files of the configuration set; see `weir config --help`
    #[arg(long, global = true)]
    no_config: bool,
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
  weir watch access.log              a screen of the terminal to stay in
  weir grep -c 404 access.log        the lines that match
  weir count --by status access.log  how many requests have each value
  weir export --output access.parquet access.log
                                     the records as Parquet, CSV or JSON lines
  weir save logs.weir access.log     the records as a data set, which the page and the report
                                     open at once
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
    Save(SaveArguments),
    Listen(ListenArguments),
    Gateway(GatewayArguments),
    Rules(RulesArguments),
    Watch(WatchArguments),
    Top(TopArguments),
    Formats(FormatsArguments),
    Demo(DemoArguments),
    Bench(BenchArguments),
    Completions(CompletionsArguments),
    Man(ManualArguments),
    Config(ConfigArguments),
    Version(VersionArguments),
}

/// Parses the arguments of this process, with the defaults of the configuration. If either is not
/// valid, prints a message and returns the exit code.
pub(crate) fn parse() -> Result<Arguments, ExitCode> {
    let arguments: Vec<_> = std::env::args_os().collect();
    let weir = Arguments::command();
    let parsed = config::matches(&weir, &arguments).and_then(|matches| {
        let parsed = Arguments::from_arg_matches(&matches);
        parsed.map_err(|error| Refusal::Arguments(error.format(&mut Arguments::command())))
    });
    parsed.map_err(|refusal| match refusal {
        Refusal::Arguments(error) => {
            mistype::with_hint(error, &Arguments::command(), &arguments).exit()
        }
        Refusal::Configuration(failure) => outcome::exit_code(Err(failure)),
    })
}
